// Walks an event program at given sizes, element by element.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/compiled_expr.h"
#include "analysis/program.h"

namespace etc {

class EventWalk {
 public:
  /// `budget` is how many elements may be visited; what is used is taken off.
  EventWalk(const Module& module, const CallProgram& program, const Sizes& sizes, int64_t& budget);

  /// An event at these sizes. Not `known`: its count or a reference depends on data. `outside`: a
  /// reference leaves it, so that its counts cannot be right either.
  struct EventState {
    EventId id;
    bool known = true;
    bool outside = false;
    std::vector<int64_t> extents;
    std::vector<int64_t> expected;  // the count of each element, row-major
  };
  const std::vector<EventState>& events() const { return events_; }

  /// An element that tasks of one step wait for or notify; how many of them do.
  struct Touch {
    const TaskEdge* ref;
    size_t event;
    int64_t element;
    int64_t times;
  };
  using OnTouch = std::function<void(const Touch&)>;

  /// Calls `on_step` for each step, repeats unrolled, in order. False when the budget ran out.
  bool Run(const std::function<void(size_t step)>& on_step);

  /// For use inside `on_step`.
  void Waits(size_t step, const OnTouch& on_touch) { Visit(steps_[step].waits, on_touch); }
  void Notifies(size_t step, const OnTouch& on_touch) { Visit(steps_[step].notifies, on_touch); }

  /// An index that is outside of its event, with the values of the variables in it.
  struct Outside {
    const TaskEdge* ref;
    size_t axis;
    int64_t index;
    int64_t extent;
    std::string variables;  // "i = 3, l = 0"
  };
  std::function<void(const Outside&)> on_outside;

  /// "%done[0, 3]"
  std::string Name(size_t event, int64_t element) const;

 private:
  struct CompiledLoop {
    std::vector<size_t> slots;
    CompiledExpr lo;
    CompiledExpr hi;
  };
  struct CompiledIndex {
    CompiledExpr lo;
    CompiledExpr hi;
    bool has_hi = false;
    bool all = false;
  };
  struct CompiledRef {
    const TaskEdge* ref;
    size_t event;
    std::vector<CompiledLoop> loops;    // variables that the reference uses
    std::vector<CompiledLoop> factors;  // the others: they multiply how often it happens
    std::vector<CompiledIndex> indices;
    CompiledExpr guard;  // where the reference has one
  };
  struct CompiledStep {
    std::vector<CompiledRef> waits;
    std::vector<CompiledRef> notifies;
  };

  void AddEvent(EventId id);
  void AddVariables();
  CompiledRef Compile(const ProgramCall& step, const TaskEdge& ref);
  bool RunRange(size_t begin, size_t end, const std::function<void(size_t)>& on_step);
  void Visit(const std::vector<CompiledRef>& refs, const OnTouch& on_touch);
  void VisitLoop(const CompiledRef& ref, size_t depth, const OnTouch& on_touch);
  void VisitPoint(const CompiledRef& ref, const OnTouch& on_touch);
  void VisitBox(const CompiledRef& ref, size_t axis, int64_t offset, int64_t times,
                const OnTouch& on_touch);
  void ReportOutside(const CompiledRef& ref, size_t axis, int64_t index);
  std::string Variables(ExprId id) const;

  const Module& module_;
  const CallProgram& program_;
  const Sizes& sizes_;
  int64_t& budget_;
  Slots slots_;
  std::vector<Interval> box_;  // the elements at the point that is being visited
  std::vector<EventState> events_;
  std::map<EventId, size_t> event_index_;
  std::vector<CompiledStep> steps_;
  std::map<size_t, std::pair<CompiledExpr, CompiledExpr>> repeats_;  // by position of Enter
};

}  // namespace etc
