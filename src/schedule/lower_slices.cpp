// Slices with a free axis in front of an index: `%w[*, l]`. The elements of such a slice lie apart,
// so its call gets a copy of the device function that takes the whole tensor, and the index as a
// scalar parameter.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "ir/printer.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/lower.h"

namespace etc {
namespace {

/// Copies a device function; some of its parameters become slices of whole tensors.
class DeviceCopy {
 public:
  DeviceCopy(Module& module, const CallNode& call) : module_(module), call_(call) {}

  Device Run(std::string name) {
    const Device original = module_.devices[call_.callee];
    Device copy;
    copy.name = std::move(name);
    copy.range = original.range;
    copy.braces = original.braces;
    for (SymbolId id : original.scalars) {
      copy.scalars.push_back(CopySymbol(id));
    }
    for (size_t i = 0; i < original.params.size(); ++i) {
      copy.params.push_back(Param(original.params[i], call_.args[i], copy.scalars));
    }
    copy.tasks = Axes(original.tasks);
    copy.body = Block(original.body);
    return copy;
  }

 private:
  /// A copy of a parameter, or the whole tensor in the place of its slice.
  TensorId Param(TensorId id, const Argument& argument, std::vector<SymbolId>& scalars) {
    Tensor param = module_.tensors[id];
    param.value_lo = Expr(param.value_lo);
    param.value_hi = Expr(param.value_hi);
    param.counts = param.counts ? tensors_.at(param.counts).tensor : TensorId{};
    for (SymbolId& index : param.indices) {
      index = index ? CopySymbol(index) : index;
    }
    if (!HasFreeAxes(argument)) {
      TensorId copy = module_.tensors.Add(std::move(param));
      tensors_[id] = {copy, {}};
      return copy;
    }
    Argument slice;
    const Tensor whole = module_.tensors[argument.tensor];
    for (size_t axis = 0; axis < argument.indices.size(); ++axis) {
      ExprId index;
      if (argument.indices[axis]) {
        Symbol scalar{fmt::format("{}_{}", param.name, axis),
                      SymbolKind::Scalar,
                      param.range,
                      {},
                      MakeInt(module_, 0),
                      whole.shape[axis],
                      {}};
        scalars.push_back(module_.symbols.Add(std::move(scalar)));
        index = MakeRef(module_, scalars.back());
      }
      slice.indices.push_back(index);
    }
    param.shape = whole.shape;
    slice.tensor = module_.tensors.Add(std::move(param));
    tensors_[id] = slice;
    return slice.tensor;
  }

  SymbolId CopySymbol(SymbolId id) {
    SymbolId copy = module_.symbols.Add(Symbol(module_.symbols[id]));
    symbols_[id] = MakeRef(module_, copy);
    return copy;
  }

  ExprId Expr(ExprId id) { return Clone(module_, id, symbols_, tensors_); }

  std::vector<ExprId> Exprs(const std::vector<ExprId>& ids) {
    std::vector<ExprId> copies;
    for (ExprId id : ids) {
      copies.push_back(Expr(id));
    }
    return copies;
  }

  Axis OneAxis(const Axis& axis) {
    Axis copy;
    copy.lo = Expr(axis.lo);
    copy.hi = Expr(axis.hi);
    copy.var = CopySymbol(axis.var);
    return copy;
  }

  std::vector<Axis> Axes(const std::vector<Axis>& axes) {
    std::vector<Axis> copies;
    for (const Axis& axis : axes) {
      copies.push_back(OneAxis(axis));
    }
    return copies;
  }

  std::vector<StmtId> Block(const std::vector<StmtId>& body) {
    std::vector<StmtId> copies;
    for (StmtId id : body) {
      const Stmt stmt = module_.stmts[id];  // a copy: the table grows
      copies.push_back(
          module_.AddStmt(std::visit([&](const auto& node) { return Stmt(Copy(node)); }, stmt),
                          module_.RangeOf(id)));
    }
    return copies;
  }

  For Copy(const For& loop) {
    std::vector<Axis> axes = Axes(loop.axes);
    return {std::move(axes), Block(loop.body), loop.sequential};
  }
  If Copy(const If& branch) {
    return {Expr(branch.condition), Block(branch.body), Block(branch.otherwise), branch.else_range};
  }
  Let Copy(const Let& let) {
    ExprId value = Expr(let.value);
    return {CopySymbol(let.symbol), value};
  }
  LetPair Copy(const LetPair& pair) {
    ExprId reduction = Expr(pair.reduction);
    return {CopySymbol(pair.value), CopySymbol(pair.index), reduction};
  }
  LocalDecl Copy(const LocalDecl& local) {
    TensorId copy = module_.tensors.Add(Tensor(module_.tensors[local.tensor]));
    tensors_[local.tensor] = {copy, {}};
    return {copy};
  }
  Assign Copy(const Assign& assign) {
    const Argument& target = tensors_.at(assign.tensor);
    return {target.tensor, Behind(target.indices, Exprs(assign.indices)), Expr(assign.value),
            assign.adds};
  }
  TopK Copy(const TopK& topk) {
    Axis axis = OneAxis(topk.axis);
    ExprId body = Expr(topk.body);
    Axis rank = OneAxis(topk.rank);
    const Argument& values = tensors_.at(topk.values);
    const Argument& positions = tensors_.at(topk.positions);
    return {values.tensor,
            Behind(values.indices, Exprs(topk.value_indices)),
            positions.tensor,
            Behind(positions.indices, Exprs(topk.position_indices)),
            rank,
            axis,
            body};
  }

  Module& module_;
  const CallNode& call_;
  Substitution symbols_;
  TensorSubstitution tensors_;
};

class SliceLowering {
 public:
  explicit SliceLowering(Module& module) : module_(module) {
    for (const Item& item : module.items) {
      if (const auto* device = std::get_if<DeviceId>(&item)) {
        names_.insert(module.devices[*device].name);
      } else if (const auto* graph = std::get_if<GraphId>(&item)) {
        names_.insert(module.graphs[*graph].name);
      }
    }
  }

  void Run() {
    std::vector<Item> items;
    for (const Item& item : module_.items) {
      if (const auto* graph = std::get_if<GraphId>(&item)) {
        Block(std::vector<NodeId>(module_.graphs[*graph].body));
        items.insert(items.end(), made_.begin(),
                     made_.end());  // a function stands before its calls
        made_.clear();
      }
      items.push_back(item);
    }
    module_.items = std::move(items);
  }

 private:
  void Block(const std::vector<NodeId>& nodes) {
    VisitNodes(module_, nodes, [&](NodeId id) {
      std::visit(Overloaded{
                     [&](CallNode& call) {
                       if (std::any_of(call.args.begin(), call.args.end(), HasFreeAxes)) {
                         call = Lower(call);
                       }
                     },
                     [](const OneOf<BufferDecl, EventDecl, Repeat, Region, Share> auto&) {},
                 },
                 module_.nodes[id]);
    });
  }

  CallNode Lower(CallNode call) {
    DeviceId callee = CopyFor(call);
    for (Argument& argument : call.args) {
      if (HasFreeAxes(argument)) {
        std::copy_if(argument.indices.begin(), argument.indices.end(),
                     std::back_inserter(call.scalars), [](ExprId index) { return bool{index}; });
        argument.indices.clear();
      }
    }
    call.callee = callee;
    return call;
  }

  /// One copy serves all calls that leave the same axes free of tensors of the same shape.
  DeviceId CopyFor(const CallNode& call) {
    std::string key = fmt::format("{}", call.callee.value);
    for (const Argument& argument : call.args) {
      key += ";";
      for (size_t axis = 0; HasFreeAxes(argument) && axis < argument.indices.size(); ++axis) {
        key += argument.indices[axis] ? "i" : "*";
      }
      for (ExprId extent : module_.tensors[argument.tensor].shape) {
        key += HasFreeAxes(argument) ? "," + Print(module_, extent) : "";
      }
    }
    auto found = copies_.find(key);
    if (found == copies_.end()) {
      DeviceId copy = module_.devices.Add(
          DeviceCopy(module_, call).Run(UniqueName(module_.devices[call.callee].name)));
      made_.emplace_back(copy);
      found = copies_.emplace(std::move(key), copy).first;
    }
    return found->second;
  }

  std::string UniqueName(const std::string& of) {
    std::string name = of + "_strided";
    for (int i = 2; !names_.insert(name).second; ++i) {
      name = fmt::format("{}_strided_{}", of, i);
    }
    return name;
  }

  Module& module_;
  std::set<std::string> names_;
  std::map<std::string, DeviceId> copies_;
  std::vector<Item> made_;
};

}  // namespace

void LowerSlices(Module& module) { SliceLowering(module).Run(); }

}  // namespace etc
