// Which elements of events a task waits for or notifies, at given sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "analysis/compiled_expr.h"
#include "ir/module.h"

namespace etc {

/// References to events, prepared for many tasks. A reference that depends on data names no
/// element.
class EventElements {
 public:
  /// `slots` has the variables of repeats and tasks; those of the references' own axes are added.
  EventElements(const Module& module, const std::vector<EventRef>& refs, const Sizes& sizes,
                Slots& slots);

  using OnElement = std::function<void(EventId event, int64_t element)>;

  /// For the values that the variables have now.
  void Visit(Slots& slots, const OnElement& on_element) const;

  /// Whether any reference varies with one of the variables.
  [[nodiscard]] bool VariesWith(const Module& module, const std::vector<Axis>& axes) const;
  [[nodiscard]] bool IsEmpty() const { return refs_.empty(); }
  /// Whether some reference names elements that data decide.
  [[nodiscard]] bool DependsOnData() const { return depends_on_data_; }

 private:
  struct Loop {
    size_t slot;
    CompiledExpr lo, hi;
  };
  struct Index {
    CompiledExpr lo, hi;
    bool has_hi = false;
    bool all = false;
  };
  struct Ref {
    const EventRef* ref;
    std::vector<int64_t> extents;
    std::vector<Loop> loops;
    std::vector<Index> indices;
    CompiledExpr guard;
  };

  void VisitLoop(const Ref& ref, size_t depth, Slots& slots, const OnElement& on_element) const;
  void VisitBox(const Ref& ref, size_t axis, int64_t offset, const Slots& slots,
                const OnElement& on_element) const;

  std::vector<Ref> refs_;
  bool depends_on_data_ = false;
};

}  // namespace etc
