#include "ir/device_copy.h"

#include <utility>

namespace etc {

SymbolId DeviceCopier::CopySymbol(SymbolId id) {
  Symbol symbol = module_.symbols[id];
  symbol.lo = Expr(symbol.lo);
  symbol.hi = Expr(symbol.hi);
  SymbolId copy = module_.symbols.Add(std::move(symbol));
  symbols[id] = MakeRef(module_, copy);
  return copy;
}

Tensor DeviceCopier::ParamOf(TensorId id) {
  Tensor param = module_.tensors[id];
  param.shape = Exprs(param.shape);
  param.tile = Exprs(param.tile);
  for (SymbolId& index : param.indices) {
    index = index ? CopySymbol(index) : index;
  }
  param.value_lo = Expr(param.value_lo);
  param.value_hi = Expr(param.value_hi);
  param.counts = tensors.contains(param.counts) ? tensors.at(param.counts).tensor : TensorId{};
  param.present = {};  // the copy is there
  return param;
}

TensorId DeviceCopier::CopyParam(TensorId id) {
  TensorId copy = module_.tensors.Add(ParamOf(id));
  tensors[id] = {copy, {}};
  return copy;
}

std::vector<ExprId> DeviceCopier::Exprs(const std::vector<ExprId>& ids) {
  std::vector<ExprId> copies;
  for (ExprId id : ids) {
    copies.push_back(Expr(id));
  }
  return copies;
}

Axis DeviceCopier::OneAxis(const Axis& axis) {
  Axis copy;
  copy.lo = Expr(axis.lo);
  copy.hi = Expr(axis.hi);
  copy.var = CopySymbol(axis.var);
  return copy;
}

std::vector<Axis> DeviceCopier::Axes(const std::vector<Axis>& axes) {
  std::vector<Axis> copies;
  for (const Axis& axis : axes) {
    copies.push_back(OneAxis(axis));
  }
  return copies;
}

std::vector<Impl> DeviceCopier::Impls(const std::vector<Impl>& impls) {
  std::vector<Impl> copies = impls;
  for (Impl& impl : copies) {
    for (ImplArg& arg : impl.args) {
      arg.value = Expr(arg.value);
    }
    for (auto* operands : {&impl.preloaded, &impl.fetched, &impl.flagged, &impl.phased}) {
      std::erase_if(*operands, [&](TensorId operand) { return !tensors.contains(operand); });
      for (TensorId& operand : *operands) {
        operand = tensors.at(operand).tensor;
      }
    }
    impl.flagged_if = Expr(impl.flagged_if);
    std::erase_if(impl.boxes, [&](const Box& box) { return !tensors.contains(box.tensor); });
    for (Box& box : impl.boxes) {
      box = {tensors.at(box.tensor).tensor, Expr(box.rows), Expr(box.columns)};
    }
  }
  return copies;
}

std::vector<StmtId> DeviceCopier::Block(const std::vector<StmtId>& body) {
  std::vector<StmtId> copies;
  for (StmtId id : body) {
    const Stmt stmt = module_.stmts[id];  // a copy: the table grows
    copies.push_back(module_.AddStmt(
        std::visit([&](const auto& node) { return Stmt(Copy(node)); }, stmt), module_.RangeOf(id)));
  }
  return copies;
}

For DeviceCopier::Copy(const For& loop) {
  std::vector<Axis> axes = Axes(loop.axes);
  return {std::move(axes), Block(loop.body), loop.sequential};
}

If DeviceCopier::Copy(const If& branch) {
  return {Expr(branch.condition), Block(branch.body), Block(branch.otherwise), branch.else_range};
}

Let DeviceCopier::Copy(const Let& let) {
  ExprId value = Expr(let.value);
  return {CopySymbol(let.symbol), value};
}

LetPair DeviceCopier::Copy(const LetPair& pair) {
  ExprId reduction = Expr(pair.reduction);
  return {CopySymbol(pair.value), CopySymbol(pair.index), reduction};
}

LocalDecl DeviceCopier::Copy(const LocalDecl& local) {
  Tensor tensor = module_.tensors[local.tensor];
  tensor.shape = Exprs(tensor.shape);
  TensorId copy = module_.tensors.Add(std::move(tensor));
  tensors[local.tensor] = {copy, {}};
  return {copy};
}

/// What a store to the tensor becomes a store to: where it is not copied, it itself.
Argument DeviceCopier::Target(TensorId id) const {
  auto found = tensors.find(id);
  return found == tensors.end() ? Argument{id, {}} : found->second;
}

Assign DeviceCopier::Copy(const Assign& assign) {
  const Argument target = Target(assign.tensor);
  return {target.tensor, Behind(target.indices, Exprs(assign.indices)), Expr(assign.value),
          assign.adds, Expr(assign.peer)};
}

TopK DeviceCopier::Copy(const TopK& topk) {
  Axis axis = OneAxis(topk.axis);
  ExprId body = Expr(topk.body);
  Axis rank = OneAxis(topk.rank);
  const Argument values = Target(topk.values);
  const Argument positions = Target(topk.positions);
  return {values.tensor,
          Behind(values.indices, Exprs(topk.value_indices)),
          positions.tensor,
          Behind(positions.indices, Exprs(topk.position_indices)),
          rank,
          axis,
          body};
}

Device CopyDevice(Module& module, DeviceId id, const std::vector<TensorId>& params,
                  const std::vector<SymbolId>& scalars, Substitution symbols, std::string name) {
  const Device original = module.devices[id];
  DeviceCopier copier(module);
  copier.symbols = std::move(symbols);
  Device copy;
  copy.name = std::move(name);
  copy.range = original.range;
  copy.braces = original.braces;
  for (TensorId param : params) {
    copy.params.push_back(copier.CopyParam(param));
  }
  for (SymbolId scalar : scalars) {
    copy.scalars.push_back(copier.CopySymbol(scalar));
    module.symbols[copy.scalars.back()].present = {};  // the copy is there
  }
  copy.tasks = copier.Axes(original.tasks);
  copy.impls = copier.Impls(original.impls);
  copy.body = copier.Block(original.body);
  return copy;
}

}  // namespace etc
