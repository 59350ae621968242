#include "simulator/event_elements.h"

#include <algorithm>

#include "ir/walk.h"

namespace etc {

EventElements::EventElements(const Module& module, const std::vector<EventRef>& refs,
                             const Sizes& sizes, Slots& slots) {
  for (const EventRef& ref : refs) {
    bool by_data = false;
    VisitExprs(module, ref,
               [&](ExprId id) { by_data |= std::holds_alternative<Load>(module.exprs[id]); });
    Ref prepared{&ref, {}, {}, {}, {}};
    for (const EventDim& dim : module.events[ref.event].dims) {
      auto extent = EvaluateInt(module, dim.extent, sizes.dims, sizes.ranges);
      by_data |= !extent;
      prepared.extents.push_back(extent.value_or(0));
    }
    if (by_data) {
      depends_on_data_ = true;
      continue;
    }
    for (const Axis& axis : ref.axes) {
      size_t slot = slots.Of(axis.var);
      prepared.loops.push_back({slot, CompiledExpr(module, axis.lo, sizes, slots),
                                CompiledExpr(module, axis.hi, sizes, slots)});
    }
    for (const EventIndex& index : ref.indices) {
      prepared.indices.push_back({CompiledExpr(module, index.lo, sizes, slots),
                                  CompiledExpr(module, index.hi, sizes, slots), bool{index.hi},
                                  index.all});
    }
    prepared.guard = CompiledExpr(module, ref.guard, sizes, slots);
    refs_.push_back(std::move(prepared));
  }
}

bool EventElements::VariesWith(const Module& module, const std::vector<Axis>& axes) const {
  return std::any_of(refs_.begin(), refs_.end(), [&](const Ref& prepared) {
    bool varies = false;
    VisitExprs(module, *prepared.ref, [&](ExprId id) {
      const auto* ref = std::get_if<SymbolRef>(&module.exprs[id]);
      varies |= ref != nullptr && std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
                  return axis.var == ref->symbol;
                });
    });
    return varies;
  });
}

void EventElements::Visit(Slots& slots, const OnElement& on_element) const {
  for (const Ref& ref : refs_) {
    VisitLoop(ref, 0, slots, on_element);
  }
}

void EventElements::VisitLoop(const Ref& ref, size_t depth, Slots& slots,
                              const OnElement& on_element) const {
  if (depth < ref.loops.size()) {
    const Loop& loop = ref.loops[depth];
    int64_t hi = loop.hi.Evaluate(slots).value_or(0);
    for (int64_t value = loop.lo.Evaluate(slots).value_or(0); value < hi; ++value) {
      slots[loop.slot] = value;
      VisitLoop(ref, depth + 1, slots, on_element);
    }
  } else if (!ref.ref->guard || ref.guard.Evaluate(slots).value_or(0) != 0) {
    VisitBox(ref, 0, 0, slots, on_element);
  }
}

void EventElements::VisitBox(const Ref& ref, size_t axis, int64_t offset, const Slots& slots,
                             const OnElement& on_element) const {
  if (axis == ref.indices.size()) {
    on_element(ref.ref->event, offset);
    return;
  }
  const Index& index = ref.indices[axis];
  int64_t lo = index.all ? 0 : index.lo.Evaluate(slots).value_or(0);
  int64_t hi = index.all      ? ref.extents[axis]
               : index.has_hi ? index.hi.Evaluate(slots).value_or(0)
                              : lo + 1;
  for (int64_t i = std::max<int64_t>(lo, 0); i < std::min(hi, ref.extents[axis]); ++i) {
    VisitBox(ref, axis + 1, offset * ref.extents[axis] + i, slots, on_element);
  }
}

}  // namespace etc
