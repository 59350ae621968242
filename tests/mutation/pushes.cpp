#include "pushes.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>

namespace etc::mutation {
namespace {

class Finding {
 public:
  explicit Finding(const ConcreteProgram& program) : program_(program) {
    for (const Step& step : program.steps) {
      SetOwners(step);
      for (size_t t = step.begin; t < step.end; ++t) {
        for (const Signal& arrival : program.tasks[t].arrivals) {
          arrivers_[arrival.element].push_back(owners_[t]);
          ++arrivals_[arrival.element];
        }
        // What is notified on leaving a step comes from each of its tasks.
        for (const auto* signals : {&program.tasks[t].notifies, &step.leave}) {
          for (const Signal& signal : *signals) {
            if (program.tasks[t].body || signals != &step.leave) {
              notifiers_[signal.element].push_back(owners_[t]);
            }
          }
        }
      }
    }
  }

  PushFaults Run() {
    for (const Queue& queue : program_.queues) {
      for (const Push& push : queue.pushes) {
        for (const Signal& arrival : push.arrivals) {
          pushers_[arrival.element].push_back(push.element);
          ++arrivals_[arrival.element];
        }
      }
    }
    for (size_t q = 0; q < program_.queues.size(); ++q) {
      const Queue& queue = program_.queues[q];
      for (const Push& push : queue.pushes) {
        if (IsNever(push.element)) {
          faults_.never = push.name + " is never complete";
        }
      }
      int64_t pushed = 0;
      for (size_t s = queue.begin; s < queue.end; ++s) {
        if (program_.steps[s].queue != q) {
          continue;  // of another rank
        }
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
  /// What stands beside a task, to read where it waits, notifies or arrives, is its own.
  void SetOwners(const Step& step) {
    std::map<int64_t, size_t> bodies;
    for (size_t t = step.begin; t < step.end; ++t) {
      if (program_.tasks[t].body) {
        bodies[program_.tasks[t].number] = t;
      }
    }
    for (size_t t = step.begin; t < step.end; ++t) {
      auto body = bodies.find(program_.tasks[t].number);
      bool beside = program_.tasks[t].runs == Task::Runs::Once && body != bodies.end();
      owners_[t] = beside ? body->second : t;
    }
  }

  void LookAt(const Queue& queue, const Step& step) {
    for (size_t t = step.begin; t < step.end; ++t) {
      const Task& task = program_.tasks[t];
      if (task.trigger && IsNever(*task.trigger)) {
        faults_.never = task.name + " is never pushed";
      }
      for (const auto* waits : {&task.waits, &step.enter}) {
        for (const Signal& wait : *waits) {
          for (size_t other : notifiers_[wait.element]) {
            // Who arrives for a task may wait for the task itself.
            bool own = !task.body && other == owners_[t];
            if (!own && IsPushedIn(queue, other) && !IsGivenBefore(other, owners_[t])) {
              faults_.early = fmt::format("{} may be given out before {}", task.name,
                                          program_.tasks[other].name);
            }
          }
        }
      }
    }
  }

  /// Whether the task is pushed in the dispatch of the queue, on any rank.
  bool IsPushedIn(const Queue& queue, size_t task) const {
    return program_.tasks[task].trigger && program_.steps[queue.begin].begin <= task &&
           task < program_.steps[queue.end - 1].end;
  }

  /// Whether an element is never complete. Too many arrivals complete it once, but some come behind
  /// that.
  bool IsNever(size_t element) {
    return program_.needed[element] < 1 || program_.needed[element] > arrivals_[element];
  }

  /// Whether arrivals lead from the one to the other.
  bool IsGivenBefore(size_t first, size_t task) const {
    std::set<size_t> seen;
    return program_.tasks[task].trigger && IsBefore(first, *program_.tasks[task].trigger, seen);
  }

  /// Whether the task is in the queue before what the element pushes. `seen`: elements looked at.
  bool IsBefore(size_t first, size_t element, std::set<size_t>& seen) const {
    auto all = arrivals_.find(element);
    // One that is not needed for the count may come later.
    if (all == arrivals_.end() || program_.needed[element] < all->second ||
        !seen.insert(element).second) {
      return false;
    }
    if (auto found = arrivers_.find(element); found != arrivers_.end()) {
      for (size_t before : found->second) {
        const std::optional<size_t>& trigger = program_.tasks[before].trigger;
        if (before == first || (trigger && IsBefore(first, *trigger, seen))) {
          return true;
        }
      }
    }
    if (auto found = pushers_.find(element); found != pushers_.end()) {
      for (size_t before : found->second) {
        if (program_.tasks[first].trigger == before || IsBefore(first, before, seen)) {
          return true;
        }
      }
    }
    return false;
  }

  const ConcreteProgram& program_;
  std::map<size_t, size_t> owners_;                  // by task
  std::map<size_t, std::vector<size_t>> arrivers_;   // by element of a trigger: tasks
  std::map<size_t, std::vector<size_t>> pushers_;    // the same: elements, by their pushes
  std::map<size_t, int64_t> arrivals_;               // the same: of both
  std::map<size_t, std::vector<size_t>> notifiers_;  // by element of an event
  PushFaults faults_;
};

}  // namespace

PushFaults FindPushFaults(const ConcreteProgram& program) { return Finding(program).Run(); }

}  // namespace etc::mutation
