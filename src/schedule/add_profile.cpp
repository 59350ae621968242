#include <algorithm>

#include "ir/evaluate.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/lower.h"

namespace etc {
namespace {

// Of an axis whose range is read from a tensor, where it may have more. Spans for which there is no
// room are counted.
constexpr int64_t kUnknownExtent = 64;

// Of a case's tasks an SM may take more than its equal part: so many times as much, and so many
// more for cases of few tasks. Room for all tasks on each SM would grow with the square of the SMs.
constexpr int64_t kPartsOfCase = 4;
constexpr int64_t kMoreOfCase = 8;

/// Counts the records that a role of an SM may write down. The consumers write most: all waits,
/// tasks and notifies, where the first span begins, and where spans do not begin as the ones in
/// front of them end.
class SpanCounter {
 public:
  SpanCounter(Module& module, const Kernel& kernel)
      : module_(module), ranges_(RangesOf(module, kernel)) {}

  ExprId Of(const Kernel& kernel) {
    bool launches = kernel.schedule == ScheduleKind::Kernels;
    ExprId total;
    for (const ShareSite& site : SharesOf(module_, kernel)) {
      intervals_.clear();
      ExprId times = MakeInt(module_, 1);
      for (NodeId id : site.repeats) {
        const Repeat repeat = std::get<Repeat>(module_.nodes[id]);
        times = MakeMul(module_, times, Extent({repeat.var, repeat.lo, repeat.hi}));
      }
      ExprId spans = OfShare(std::get<Share>(module_.nodes[site.share]), bool{site.dispatch});
      // Each launch has room of its own.
      ExprId all = launches ? spans : MakeMul(module_, times, spans);
      total = !total     ? all
              : launches ? Apply(Intrinsic::Max, total, all)
                         : MakeAdd(module_, total, all);
    }
    ExprId begin = MakeInt(module_, 1);
    return total ? MakeAdd(module_, total, begin) : begin;
  }

 private:
  ExprId OfShare(const Share share, bool is_case) {
    auto count = [](const std::vector<EventRef>& refs) {
      return static_cast<int64_t>(refs.size());
    };
    const int64_t once =
        count(share.range_waits) + count(share.enter_waits) + count(share.leave_notifies) + 1;
    const int64_t each = count(share.waits) + count(share.notifies) + 1 +
                         static_cast<int64_t>(!share.after_waits.empty());
    ExprId tasks = MakeInt(module_, 1);
    for (const Axis& axis : share.axes) {
      tasks = MakeMul(module_, tasks, Extent(axis));
    }
    ExprId of_sm = Apply(Intrinsic::CeilDiv, tasks, MakeRef(module_, module_.sms));
    if (is_case) {
      ExprId most = MakeAdd(module_, MakeMul(module_, of_sm, MakeInt(module_, kPartsOfCase)),
                            MakeInt(module_, kMoreOfCase));
      of_sm = Apply(Intrinsic::Min, tasks, most);
    }
    if (share.pushed_by) {  // each task is entered and left for itself
      return MakeMul(module_, of_sm, MakeInt(module_, each + once));
    }
    return MakeAdd(module_, MakeMul(module_, of_sm, MakeInt(module_, each)),
                   MakeInt(module_, once));
  }

  /// As many values as an axis may have whatever those around it are.
  ExprId Extent(const Axis& axis) {
    auto lo =
        axis.lo ? Bounds(module_, axis.lo, intervals_, ranges_) : std::optional(Interval{0, 0});
    auto hi = Bounds(module_, axis.hi, intervals_, ranges_);
    const bool sizes = FollowsFromSizes(axis.lo) && FollowsFromSizes(axis.hi);
    if (lo && hi) {
      intervals_[axis.var] = {lo->lo, std::max(lo->lo, hi->hi - 1)};
    }
    if (sizes) {
      return axis.lo ? MakeSub(module_, axis.hi, axis.lo) : axis.hi;
    }
    const int64_t most = lo && hi ? std::max<int64_t>(0, hi->hi - lo->lo) : kUnknownExtent;
    if (ReadsTensor(module_, {axis})) {
      return MakeInt(module_, std::min(most, kUnknownExtent));
    }
    return lo && FollowsFromSizes(axis.hi) ? MakeSub(module_, axis.hi, MakeInt(module_, lo->lo))
                                           : MakeInt(module_, most);
  }

  /// Whether no index, iteration or element is in an expression.
  bool FollowsFromSizes(ExprId id) const {
    return !FindExpr(module_, id, [&](const Expr& expr) {
      const auto* ref = std::get_if<SymbolRef>(&expr);
      return std::holds_alternative<Load>(expr) ||
             (ref != nullptr && module_.symbols[ref->symbol].kind != SymbolKind::Dim &&
              module_.symbols[ref->symbol].kind != SymbolKind::Const);
    });
  }

  ExprId Apply(Intrinsic op, ExprId left, ExprId right) {
    return module_.AddExpr(Call{op, {left, right}});
  }

  Module& module_;
  DimRanges ranges_;
  std::map<SymbolId, Interval> intervals_;  // of the axes and repeats around
};

}  // namespace

bool AddProfile(Module& module, const ScheduleOptions&, Diagnostics&) {
  for (KernelId id : module.kernels.Ids()) {
    if (!module.kernels[id].profile) {
      const Kernel kernel = module.kernels[id];  // a copy: counting grows other tables
      module.kernels[id].profile = Profile{SpanCounter(module, kernel).Of(kernel)};
    }
  }
  return true;
}

}  // namespace etc
