// The numbering of tasks: which axes of a share are loops, and how wide the numbers are.

#include <limits>

#include "emit/raise/known_values.h"
#include "emit/raise/passes.h"
#include "ir/task_count.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// Whether a share has less than 2^31 tasks at all sizes.
bool HasFewTasks(const KnownValues& known, const Share& share) {
  auto most = MostTasks(share.axes, [&](ExprId bound) { return known.Of(bound); });
  return most && *most <= std::numeric_limits<int32_t>::max();
}

}  // namespace

void NumberTasks(RaisedModule& raised) {
  for (RaisedKernel& kernel : raised.kernels) {
    KnownValues known(kernel);
    for (auto& [id, each] : kernel.shares) {
      each.loops = OuterAxes(raised.module, each.share.axes);
      each.by_value = each.loops == 1 && ReadsTensor(raised.module, each.share.axes);
      raised.has_task_ranges |= each.by_value;
      each.coordinates = HasFewTasks(known, each.share) ? Division::Small : Division::Floor;
      each.first = each.share.first && known.FitsU32(each.share.first, 0) ? Division::Small
                                                                          : Division::Floor;
    }
  }
}

}  // namespace etc
