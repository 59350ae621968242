// Finds iterations of one loop that touch one element, one of them writing: by where in the loops
// of a body each touch happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/ids.h"

namespace etc::mutation {

/// For each loop around, the outermost first: which run of a loop it is, and which iteration.
struct LoopStep {
  size_t run;
  int64_t iteration;
  bool operator==(const LoopStep&) const = default;
};
using LoopPlace = std::vector<LoopStep>;

/// Of values that each iteration of a loop reads.
inline constexpr int64_t kEachIteration = -1;

/// The touches of one task.
template <class Key>
class IterationTouches {
 public:
  void Clear() { touches_.clear(); }

  /// Through which names an element is touched by this iteration and by an earlier one that it
  /// depends on; nothing where it depends on none.
  using Names = std::pair<TensorId, TensorId>;
  std::optional<Names> Add(const Key& key, const LoopPlace& place, TensorId name, bool write) {
    std::vector<Touch>& before = touches_[key];
    for (const Touch& touch : before) {
      if ((touch.write || write) && Differ(touch.place, place)) {
        return Names(touch.name, name);
      }
    }
    if (before.empty() || before.back().place != place || before.back().write != write ||
        before.back().name != name) {
      before.push_back({place, name, write});
    }
    return std::nullopt;
  }

 private:
  struct Touch {
    LoopPlace place;
    TensorId name;
    bool write;
  };

  /// Whether both are in one run of a loop, in different iterations.
  static bool Differ(const LoopPlace& a, const LoopPlace& b) {
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
      if (a[i] != b[i]) {
        return a[i].run == b[i].run;
      }
    }
    return false;
  }

  std::map<Key, std::vector<Touch>> touches_;
};

}  // namespace etc::mutation
