// A launch of a concrete program whose SMs draw the tasks of cases: what happens follows from the
// order of draws, too. So there is no run that shows what all others do, and every state is
// visited.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "concrete.h"

namespace etc::mutation {

/// Whether SMs draw any task of the program.
bool HasDraws(const ConcreteProgram& program);

struct DrawsFound {
  bool hangs = false;
  std::vector<std::vector<bool>> starts_before_end;  // [a][b]: b may start before a ends
};

/// What walking all interleavings on so many SMs of each rank finds; nothing when there are more
/// than `max_states` states.
std::optional<DrawsFound> ExploreDraws(const ConcreteProgram& program, int64_t sms,
                                       size_t max_states);

}  // namespace etc::mutation
