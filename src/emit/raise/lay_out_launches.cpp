// What a launch is given, and which launches there are.

#include <algorithm>

#include "emit/raise/graph_dims.h"
#include "emit/raise/passes.h"

namespace etc {

void LayOutLaunches(RaisedModule& raised) {
  for (RaisedKernel& kernel : raised.kernels) {
    raised.consumer_warps = kernel.kernel.consumer_warps;
    raised.has_checks |= HasChecks(kernel.kernel);
    raised.has_watchdog |= kernel.kernel.watchdog.has_value();
    raised.has_profile |= kernel.kernel.profile.has_value();
    kernel.dims = GraphDims(raised.module, kernel.kernel.graph);
    if (kernel.kernel.schedule != ScheduleKind::Kernels) {
      continue;
    }
    for (const ShareSite& site : SharesOf(raised.module, kernel.kernel)) {
      RaisedLaunch launch{site.share};
      for (NodeId repeat : site.repeats) {
        launch.iterations.push_back(std::get<Repeat>(raised.module.nodes[repeat]).var);
      }
      kernel.iterations = std::max(kernel.iterations, launch.iterations.size());
      kernel.launches.push_back(std::move(launch));
    }
  }
}

}  // namespace etc
