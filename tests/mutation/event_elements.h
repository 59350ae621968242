// The elements of the events of a concrete program: which of them a reference names, and what they
// count.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "concrete.h"
#include "interpreter.h"

namespace etc::mutation {

/// What it finds goes into `program`: an index outside, or that something is not known.
class EventElements {
 public:
  EventElements(const Module& module, Interpreter& interpreter, ConcreteProgram& program)
      : module_(module), interpreter_(interpreter), program_(program) {}

  void Declare(EventId event);

  /// Adds the elements that a reference names, under the values of its variables now.
  void Add(const EventRef& ref, std::vector<Signal>& signals);

  /// The count of an element, which may be read from a tensor: when a task waits for it.
  void Need(size_t element);

  /// The elements that are notified and that nothing waits for: no launch reads their counts, but
  /// they must be right.
  std::vector<size_t> NotifiedOnly() const;

 private:
  /// The elements of an event.
  struct Counters {
    size_t base;
    std::vector<int64_t> shape;
  };

  void Add(const EventRef& ref, const Counters& event, size_t axis, int64_t offset,
           std::vector<Signal>& signals);

  const Module& module_;
  Interpreter& interpreter_;
  ConcreteProgram& program_;
  std::map<EventId, Counters> events_;
  std::vector<EventId> owners_;  // by element
  std::vector<bool> counted_;    // by element
};

}  // namespace etc::mutation
