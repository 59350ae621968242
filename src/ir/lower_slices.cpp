// Slices with a free axis in front of an index: `%w[*, l]`. The elements of such a slice lie apart,
// so its call gets a copy of the device function that takes the whole tensor, and the index as a
// scalar parameter.
#include "ir/lower_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "ir/device_copy.h"
#include "ir/printer.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "support/unique_name.h"

namespace etc {
namespace {

/// Copies a device function; some of its parameters become slices of whole tensors.
class StridedCopy {
 public:
  StridedCopy(Module& module, DeviceId callee, const std::vector<Argument>& args)
      : module_(module), callee_(callee), args_(args), copier_(module) {}

  Device Run(std::string name) {
    const Device original = module_.devices[callee_];
    Device copy;
    copy.name = std::move(name);
    copy.range = original.range;
    copy.braces = original.braces;
    for (SymbolId id : original.scalars) {
      copy.scalars.push_back(copier_.CopySymbol(id));
    }
    for (size_t i = 0; i < original.params.size(); ++i) {
      copy.params.push_back(Param(original.params[i], args_[i], copy.scalars));
    }
    copy.tasks = copier_.Axes(original.tasks);
    copy.body = copier_.Block(original.body);
    return copy;
  }

 private:
  /// A copy of a parameter, or the whole tensor in the place of its slice.
  TensorId Param(TensorId id, const Argument& argument, std::vector<SymbolId>& scalars) {
    if (!HasFreeAxes(argument)) {
      return copier_.CopyParam(id);
    }
    Tensor param = copier_.ParamOf(id);
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
    copier_.tensors[id] = slice;
    return slice.tensor;
  }

  Module& module_;
  DeviceId callee_;
  const std::vector<Argument>& args_;
  DeviceCopier copier_;
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
      } else if (const auto* kernel = std::get_if<KernelId>(&item)) {
        Block(std::vector<NodeId>(module_.kernels[*kernel].body));
      }
      items.insert(items.end(), made_.begin(), made_.end());  // functions stand before their calls
      made_.clear();
      items.push_back(item);
    }
    module_.items = std::move(items);
  }

 private:
  void Block(const std::vector<NodeId>& nodes) {
    VisitNodes(module_, nodes, [&](NodeId id) {
      std::visit(Overloaded{
                     [&](OneOf<CallNode, Share> auto& call) {
                       if (std::any_of(call.args.begin(), call.args.end(), HasFreeAxes)) {
                         call = Lower(call);
                       }
                     },
                     [](const OneOf<BufferDecl, EventDecl, Repeat, Region, Dispatch> auto&) {},
                 },
                 module_.nodes[id]);
    });
  }

  template <class AnyCall>
  AnyCall Lower(AnyCall call) {
    DeviceId callee = CopyFor(call.callee, call.args);
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
  DeviceId CopyFor(DeviceId callee, const std::vector<Argument>& args) {
    std::string key = fmt::format("{}", callee.value);
    for (const Argument& argument : args) {
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
          StridedCopy(module_, callee, args)
              .Run(UniqueName(module_.devices[callee].name + "_strided", names_)));
      made_.emplace_back(copy);
      found = copies_.emplace(std::move(key), copy).first;
    }
    return found->second;
  }

  Module& module_;
  std::set<std::string> names_;
  std::map<std::string, DeviceId> copies_;
  std::vector<Item> made_;
};

}  // namespace

void LowerSlices(Module& module) { SliceLowering(module).Run(); }

}  // namespace etc
