#include "pushes.h"

#include <fmt/format.h>

#include <map>

namespace etc::mutation {
namespace {

class Finding {
 public:
  explicit Finding(const ConcreteProgram& program) : program_(program) {
    for (const Step& step : program.steps) {
      for (size_t t = step.begin; t < step.end; ++t) {
        for (const Signal& arrival : program.tasks[t].arrivals) {
          arrivers_[arrival.element].push_back(t);
        }
        // What is notified on leaving a step comes from each of its tasks.
        for (const auto* signals : {&program.tasks[t].notifies, &step.leave}) {
          for (const Signal& signal : *signals) {
            if (program.tasks[t].body || signals != &step.leave) {
              notifiers_[signal.element].push_back(t);
            }
          }
        }
      }
    }
  }

  PushFaults Run() {
    for (const Queue& queue : program_.queues) {
      int64_t pushed = 0;
      for (size_t s = queue.begin; s < queue.end; ++s) {
        pushed += program_.steps[s].pushed ? program_.steps[s].tasks : 0;
        LookAt(queue, program_.steps[s]);
      }
      if (pushed > queue.capacity) {
        faults_.overflow = fmt::format("{} tasks for {} places", pushed, queue.capacity);
      }
    }
    return std::move(faults_);
  }

 private:
  void LookAt(const Queue& queue, const Step& step) {
    for (size_t t = step.begin; t < step.end; ++t) {
      const Task& task = program_.tasks[t];
      if (task.trigger &&
          program_.needed[*task.trigger] != static_cast<int64_t>(arrivers_[*task.trigger].size())) {
        // Too many arrivals push it once, but some come behind that.
        bool never =
            program_.needed[*task.trigger] < 1 ||
            program_.needed[*task.trigger] > static_cast<int64_t>(arrivers_[*task.trigger].size());
        if (never) {
          faults_.never = task.name + " is never pushed";
        }
      }
      for (const auto* waits : {&task.waits, &step.enter}) {
        for (const Signal& wait : *waits) {
          for (size_t other : notifiers_[wait.element]) {
            if (IsPushedIn(queue, other) && !IsGivenBefore(other, t)) {
              faults_.early = fmt::format("{} may be given out before {}", task.name,
                                          program_.tasks[other].name);
            }
          }
        }
      }
    }
  }

  bool IsPushedIn(const Queue& queue, size_t task) const {
    return program_.tasks[task].trigger && program_.steps[queue.begin].begin <= task &&
           task < program_.steps[queue.end - 1].end;
  }

  /// Whether arrivals lead from the one to the other.
  bool IsGivenBefore(size_t first, size_t task) const {
    if (!program_.tasks[task].trigger) {
      return false;
    }
    auto found = arrivers_.find(*program_.tasks[task].trigger);
    if (found == arrivers_.end()) {
      return false;
    }
    // One that is not needed for the count may come later.
    if (program_.needed[found->first] < static_cast<int64_t>(found->second.size())) {
      return false;
    }
    for (size_t before : found->second) {
      if (before == first || (before < task && IsGivenBefore(first, before))) {
        return true;
      }
    }
    return false;
  }

  const ConcreteProgram& program_;
  std::map<size_t, std::vector<size_t>> arrivers_;   // by element of a trigger
  std::map<size_t, std::vector<size_t>> notifiers_;  // by element of an event
  PushFaults faults_;
};

}  // namespace

PushFaults FindPushFaults(const ConcreteProgram& program) { return Finding(program).Run(); }

}  // namespace etc::mutation
