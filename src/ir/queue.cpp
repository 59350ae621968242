#include "ir/queue.h"

#include <algorithm>

#include "ir/task_count.h"
#include "ir/walk.h"

namespace etc {

bool ArriveByPush(const Module& module, const Share& share) {
  return share.pushed_by && !IsBox(module, share.axes);
}

bool CountsPushes(const Module& module, const Dispatch& dispatch) {
  return std::any_of(dispatch.cases.begin(), dispatch.cases.end(), [&](NodeId id) {
    return ArriveByPush(module, std::get<Share>(module.nodes[id]));
  });
}

int64_t DispatchCounters(const Module& module, const Dispatch& dispatch) {
  int64_t of_queue = dispatch.capacity ? 2 + (CountsPushes(module, dispatch) ? 1 : 0) : 0;
  return static_cast<int64_t>(dispatch.cases.size()) + of_queue;
}

size_t MostGiven(const Module& module, const Share& share) {
  if (IsBox(module, share.axes)) {
    return share.axes.size();
  }
  size_t outer = OuterAxes(module, share.axes);
  size_t given = 0;
  std::vector<Axis> first;
  while (given < outer) {
    first.push_back(share.axes[given]);
    if (!IsBox(module, first)) {
      break;
    }
    ++given;
  }
  return given;
}

}  // namespace etc
