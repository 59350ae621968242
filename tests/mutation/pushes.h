// What is wrong with the queues of a concrete program: a task that nobody pushes, places that are
// too few, and a rule that some programs survive which break it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "concrete.h"

namespace etc::mutation {

struct PushFaults {
  std::optional<std::string> never;     // a task that is never pushed
  std::optional<std::string> overflow;  // more tasks than places
  /// A task that is given out while one that it waits for may not be: no arrivals lead from the one
  /// to the other.
  std::optional<std::string> early;
};

PushFaults FindPushFaults(const ConcreteProgram& program);

}  // namespace etc::mutation
