#include "simulator/critical_path.h"

#include <utility>

namespace etc {

std::vector<PathTimes> CriticalPath(const SimProgram& program, const SimRun& run) {
  std::vector<PathTimes> path(program.steps.size());
  // The task of each SM in front of a task.
  std::vector<uint32_t> before(program.tasks.size(), kNoTask);
  std::vector<uint32_t> last(static_cast<size_t>(program.machine.sms), kNoTask);
  uint32_t at = kNoTask;
  for (uint32_t i = 0; i < program.tasks.size(); ++i) {
    before[i] = std::exchange(last[run.tasks[i].sm], i);
    if (at == kNoTask || run.tasks[i].finished > run.tasks[at].finished) {
      at = i;
    }
  }
  // Backwards, from the last result.
  double now = run.makespan;
  bool by_result = true;  // whether what follows waited for the stored result
  while (at != kNoTask) {
    const SimTimes& times = run.tasks[at];
    PathTimes& mine = path[program.tasks[at].step];
    if (by_result) {
      mine.signals += now - times.ended;
    }
    if (times.joined != kNoTask) {
      // It had done all but what it waited for.
      mine.signals += times.ended - run.tasks[times.joined].finished;
      now = run.tasks[times.joined].finished;
      at = times.joined;
      by_result = true;
      continue;
    }
    mine.data += times.starved;
    mine.cache += times.slowed;
    mine.work += times.ended - times.begun - times.starved - times.slowed;
    bool by_signal = times.after != kNoTask && times.ready > times.arrived;
    uint32_t next = by_signal ? times.after : before[at];
    bool launched = program.steps[program.tasks[at].step].launched;
    by_result = by_signal || launched;
    double from = next == kNoTask ? 0
                  : by_result     ? run.tasks[next].finished
                                  : run.tasks[next].ended;
    mine.signals += times.begun - from;
    now = from;
    at = next;
  }
  return path;
}

}  // namespace etc
