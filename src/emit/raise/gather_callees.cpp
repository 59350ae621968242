#include "emit/raise/callees.h"
#include "emit/raise/passes.h"

namespace etc {

void GatherCallees(RaisedModule& raised) {
  for (RaisedKernel& kernel : raised.kernels) {
    kernel.ranges = RangesOf(raised.module, kernel.kernel);
    kernel.devices = DevicesOf(raised.module, kernel.kernel);
    kernel.flagged = FlaggedParams(raised.module, kernel.kernel);
    kernel.computed = ComputedParams(raised.module, kernel.kernel);
  }
}

}  // namespace etc
