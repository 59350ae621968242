#include "analysis/body_scope.h"

#include "ir/partial.h"
#include "ir/walk.h"

namespace etc {

BodyScope::BodyScope(Unknowns& unknowns, const ProgramCall& call, const BodyReader* reader)
    : unknowns_(unknowns),
      module_(unknowns.module()),
      call_(call),
      reader_(reader),
      task_(unknowns, call, 1),
      intervals_(unknowns.module(), unknowns.program().ranges),
      scope_(task_.domain) {
  for (const EnclosingRepeat& repeat : call.repeats) {
    intervals_.Set(repeat.var, repeat.iterations);
  }
  for (size_t i = 0; i < call.scalars.size(); ++i) {
    intervals_.Set(call.device->scalars[i], intervals_.Of(call.scalars[i]));
  }
  for (size_t i = 0; i < call.axes.size(); ++i) {
    intervals_.Set(call.axes[i].var, call.axes[i]);
    intervals_.Set(call.task_symbols[i], call.axes[i]);
  }
  if (reader != nullptr) {
    FindStored();
    FindEmpty();
  }
}

/// The parameters whose elements the call may store to, by this name or another.
void BodyScope::FindStored() {
  const std::vector<TensorId>& params = call_.device->params;
  for (size_t a = 0; a < params.size(); ++a) {
    for (size_t b = 0; b < params.size(); ++b) {
      if (call_.args[a].tensor == call_.args[b].tensor &&
          module_.tensors[params[b]].access != Access::In) {
        stored_.insert(params[a]);
      }
    }
  }
}

/// The tensors of which it matters what the task writes before it reads them: those that hold
/// nothing when it starts, and those that hold nothing when the launch starts.
void BodyScope::FindEmpty() {
  std::set<TensorId> read = ReadBy(module_, call_.device->body);
  for (TensorId tensor : read) {
    if (module_.tensors[tensor].kind == TensorKind::Local) {
      empty_.insert(tensor);
    }
  }
  for (size_t a = 0; a < call_.args.size(); ++a) {
    TensorId param = call_.device->params[a];
    TensorId memory = call_.args[a].tensor;
    bool is_own = module_.tensors[param].access == Access::Out ||
                  (stored_.contains(param) && StartsEmpty(module_.tensors[memory]));
    if (is_own && read.contains(param)) {
      empty_.insert(memory);
    }
  }
}

/// Whether the scope is exactly where the condition has the wanted value.
bool BodyScope::EnterBranch(ExprId condition, bool wanted) {
  Converter::Condition where = task_.converter.Where(condition, wanted);
  scope_ = scope_ & where.set;
  exact_ = exact_ && where.exact;
  return where.exact;
}

bool BodyScope::IsPartial(ExprId expr) const {
  bool partial = false;
  VisitExprs(module_, expr, [&](ExprId id) { partial |= bool{PartialOperand(module_, id)}; });
  return partial;
}

bool BodyScope::IsPartial(const EventRef& ref) const {
  bool partial = false;
  VisitExprs(module_, ref, [&](ExprId id) { partial |= bool{PartialOperand(module_, id)}; });
  return partial;
}

void BodyScope::CheckSlices() {
  for (const Argument& arg : call_.args) {
    for (size_t i = 0; reader_ != nullptr && i < arg.indices.size(); ++i) {
      CheckIndex(arg.tensor, i, arg.indices[i], task_.exact);
    }
  }
}

void BodyScope::CheckIndex(TensorId tensor, size_t axis, ExprId index, bool exact) {
  using Kind = IndexUse::Kind;
  if (intervals_.IsInside(index, module_.tensors[tensor].shape[axis])) {
    reader_->on_index(call_, {Kind::Element, tensor, axis, index, true});
    return;
  }
  IndexUse use{Kind::Element, tensor, axis, index, false};
  use.value = task_.converter.Int(index);
  use.least = unknowns_.Constant(0);
  use.extent = task_.converter.Int(module_.tensors[tensor].shape[axis]);
  use.scope = &scope_;
  use.exact = exact;
  auto values = intervals_.Of(index);
  use.at_least = values && values->lo >= 0;
  reader_->on_index(call_, use);
}

/// The values of scalar parameters are in the ranges that the device function declares.
void BodyScope::CheckScalars() {
  Converter& converter = task_.converter;
  for (size_t i = 0; reader_ != nullptr && i < call_.scalars.size(); ++i) {
    const Symbol& scalar = module_.symbols[call_.device->scalars[i]];
    if (scalar.lo) {
      PwAff value = converter.Int(call_.scalars[i]);
      PwAff lo = converter.Int(scalar.lo), hi = converter.Int(scalar.hi);
      reader_->on_index(call_, {IndexUse::Kind::Scalar,
                                {},
                                i,
                                call_.scalars[i],
                                false,
                                value,
                                lo,
                                hi,
                                &scope_,
                                task_.exact});
    }
  }
}

/// A division by zero or a shift too far has no useful value.
void BodyScope::CheckOperation(ExprId id) {
  ExprId operand = reader_ == nullptr ? ExprId{} : PartialOperand(module_, id);
  if (!operand) {
    return;
  }
  bool divides = !IsShift(module_, id);
  auto values = intervals_.Of(operand);
  bool proved = values && (divides ? values->lo >= 1 || values->hi <= -1
                                   : values->lo >= 0 && values->hi <= 63);
  if (!proved) {
    reader_->on_index(call_, {divides ? IndexUse::Kind::Divisor : IndexUse::Kind::Places,
                              {},
                              0,
                              operand,
                              false,
                              task_.converter.Int(operand),
                              unknowns_.Constant(0),
                              unknowns_.Constant(64),
                              &scope_,
                              exact_,
                              id});
  }
}

/// There are as many elements as are taken.
void BodyScope::CheckRanks(const TopK& topk) {
  if (reader_ == nullptr) {
    return;
  }
  PwAff taken = task_.converter.Int(topk.rank.hi);
  PwAff there = task_.converter.Int(topk.axis.hi);
  if (topk.axis.lo) {
    there = there - task_.converter.Int(topk.axis.lo);
  }
  PwAff one = unknowns_.Constant(1);
  Set some = scope_ & Le(one, taken);
  reader_->on_index(call_, {IndexUse::Kind::TopK,
                            {},
                            0,
                            topk.rank.hi,
                            false,
                            taken - one,
                            unknowns_.Constant(0),
                            there,
                            &some,
                            exact_});
}

/// The elements that there are.
Set BodyScope::ElementsOf(TensorId memory) {
  std::vector<PwAff> extents = ElementExtents(unknowns_, memory);
  Set inside = unknowns_.All();
  for (size_t i = 0; i < extents.size(); ++i) {
    PwAff element = unknowns_.Param(ElementName(i));
    inside = inside & Le(unknowns_.Constant(0), element) & Lt(element, extents[i]);
  }
  return inside;
}

}  // namespace etc
