#include "simulator/prepared_share.h"

namespace etc {

PreparedShare::PreparedShare(const Module& module, const Share& of, std::optional<int64_t> looks,
                             const std::vector<EventRef>& pushed, const Sizes& sizes, Slots& slots)
    : share(&of),
      ahead(looks),
      first(module, of.first, sizes, slots),
      range_waits(module, of.range_waits, sizes, slots),
      enter_waits(module, of.enter_waits, sizes, slots),
      waits(module, of.waits, sizes, slots),
      notifies(module, of.notifies, sizes, slots),
      leave_notifies(module, of.leave_notifies, sizes, slots),
      arrivals(module, of.arrivals, sizes, slots),
      after_arrivals(module, of.after_arrivals, sizes, slots),
      pushed_by(module, pushed, sizes, slots) {
  for (const Axis& axis : of.axes) {
    axes.emplace_back(CompiledExpr(module, axis.lo, sizes, slots),
                      CompiledExpr(module, axis.hi, sizes, slots));
  }
  for (const Argument& argument : of.args) {
    std::vector<CompiledExpr>& compiled = indices.emplace_back();
    for (ExprId index : argument.indices) {
      compiled.emplace_back(module, index, sizes, slots);
    }
  }
}

TensorSlice PreparedShare::SliceOf(size_t argument, const Slots& slots) const {
  TensorSlice slice{share->args[argument].tensor, {}};
  for (const CompiledExpr& index : indices[argument]) {
    slice.second.push_back(index.Evaluate(slots).value_or(0));
  }
  return slice;
}

}  // namespace etc
