// The tasks of a program at given sizes, one by one, and the order that its events give them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "analysis/order/steps.h"
#include "analysis/program.h"

namespace etc {

class TaskSample {
 public:
  /// A task: its iterations and coordinates.
  using Task = std::vector<int64_t>;

  /// The module and the program must outlive it.
  TaskSample(const Module& module, const CallProgram& program, Env sizes);

  const Env& sizes() const { return sizes_; }
  /// Whether the tasks are known: they are not too many, and no data decide.
  bool has_tasks() const { return has_tasks_; }

  /// The waits and notifies of the program have changed: those that are not `left` are forgotten.
  /// Those `without` count as none.
  void EventsChanged(const std::set<const EventRef*>& left,
                     const std::set<const EventRef*>& without);

  /// Whether it is known for what all tasks wait. Must be asked after each change.
  bool Link();
  /// The number of a task, of the call; nothing where there is no such task.
  std::optional<size_t> NumberOf(size_t call, const Task& task) const;
  /// Whether a chain of events leads from one task to another.
  bool IsBefore(size_t first, size_t second) { return After(first)[second] != kNone; }
  /// Whether a chain of these steps does.
  bool IsBeforeBy(const StepSet& steps, size_t first, size_t second) const {
    return Search(first, &steps)[second] != kNone;
  }
  /// The calls that a shortest chain leads through, both ends included.
  std::vector<size_t> PathOf(size_t first, size_t second);

 private:
  static constexpr size_t kNone = SIZE_MAX;

  /// A task and an element that it waits for or notifies.
  struct Touch {
    size_t task;
    size_t element;
  };
  /// Nothing where they are not known.
  using Touches = std::optional<std::vector<Touch>>;
  struct Elements {
    size_t first;
    std::vector<int64_t> extents;
  };
  using OnTask = std::function<bool(const Task&)>;

  bool ListTasks();
  bool ForTasks(const ProgramCall& call, Task& task, Env& env, const OnTask& visit) const;
  std::optional<int64_t> Int(ExprId id, const Env& env) const;
  std::optional<std::vector<int64_t>> ExtentsOf(EventId event) const;
  const std::optional<Elements>& ElementsOf(EventId event);
  void ForgetIfOthers();
  Touches TouchesOf(const ProgramCall& call, const TaskEdge& edge);
  bool ForVariables(const EventRef& ref, size_t at, Env& env,
                    const std::function<bool()>& visit) const;
  bool ForElements(const EventRef& ref, const Elements& event, size_t at, size_t offset,
                   const Env& env, const std::function<bool(size_t)>& visit) const;
  const std::vector<size_t>& After(size_t task);
  std::vector<size_t> Search(size_t task, const StepSet* steps) const;

  const Module& module_;
  const CallProgram& program_;
  Env sizes_;
  std::vector<std::map<Task, size_t>> numbers_;  // of the tasks of each call
  std::vector<size_t> calls_;                    // of each task
  bool has_tasks_;
  std::map<EventId, std::optional<Elements>> elements_;
  size_t element_count_ = 0;
  std::map<const EventRef*, Touches> touches_;
  std::set<const EventRef*> without_;
  bool linked_ = false;
  bool complete_ = false;                        // all touches are known
  std::vector<std::vector<size_t>> notified_;    // the elements, by task
  std::vector<std::vector<size_t>> waiting_;     // the tasks, by element
  std::map<size_t, std::vector<size_t>> after_;  // for each task, the one before it in a chain
};

}  // namespace etc
