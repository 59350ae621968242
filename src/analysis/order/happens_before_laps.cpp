// How many iterations of a repeat chains of steps may take from a call back to itself, without a
// look at its tasks.
#include <algorithm>
#include <queue>

#include "analysis/order/happens_before.h"
#include "analysis/sets/task_pairs.h"

namespace etc {
namespace {

/// Of a step that leads to many later iterations, the nearest ones count.
constexpr int64_t kMostDistances = 4;
/// Of the laps of a call, the shortest ones are looked at.
constexpr size_t kMostLaps = 6;
/// The longest chain that is followed for a lap, in steps to later iterations.
constexpr size_t kMostCrossings = 8;

/// How many iterations later a single step leads: the smallest numbers.
std::vector<int64_t> SmallestDistances(const Map& pairs, size_t repeats) {
  Set distances = Distances(InLaterIteration(pairs, repeats), repeats);
  auto least = ToInt(Val(isl_set_dim_min_val(distances.copy(), 0)));
  auto most = ToInt(Val(isl_set_dim_max_val(distances.copy(), 0)));
  if (!least || !most) {
    return {};
  }
  std::vector<int64_t> found{*least};
  for (int64_t distance = *least + 1; distance <= std::min(*most, *least + kMostDistances - 1);
       ++distance) {
    Set these(isl_set_fix_si(distances.copy(), isl_dim_set, 0, static_cast<int>(distance)));
    if (!IsEmpty(these)) {
      found.push_back(distance);
    }
  }
  return found;
}

/// How far it is from one call to another, in iterations and then in steps to later ones.
using Way = std::pair<int64_t, size_t>;

struct Link {
  size_t to;
  Way way;
};

/// The shortest way from a call to each one, by its place in the repeat.
std::vector<std::optional<Way>> ShortestWays(const std::vector<std::vector<Link>>& links,
                                             size_t from) {
  std::vector<std::optional<Way>> ways(links.size());
  using Open = std::pair<Way, size_t>;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  open.push({{0, 0}, from});
  while (!open.empty()) {
    auto [way, at] = open.top();
    open.pop();
    if (ways[at]) {
      continue;
    }
    ways[at] = way;
    for (const Link& link : links[at]) {
      if (!ways[link.to]) {
        open.push({{way.first + link.way.first, way.second + link.way.second}, link.to});
      }
    }
  }
  return ways;
}

}  // namespace

/// Of the calls of a repeat that is number `repeats` around them.
const HappensBefore::Laps& HappensBefore::LapsOf(Calls repeat, size_t repeats) {
  auto [found, fresh] = laps_.try_emplace({repeat.begin, repeats});
  Laps& laps = found->second;
  for (size_t from = repeat.begin; fresh && from < repeat.end; ++from) {
    for (size_t to = repeat.begin; to < repeat.end; ++to) {
      const Map& direct = Directly(from, to);
      if (!direct) {
        continue;
      }
      // A single step that leads back in program order leads to a later iteration.
      bool in_one = from < to || calls_[from].repeats.size() > repeats + 1;
      if (in_one && !IsEmpty(InOneIteration(direct, repeats + 1))) {
        laps.same.emplace_back(from, to);
      }
      std::vector<int64_t> distances = SmallestDistances(direct, repeats);
      if (!distances.empty()) {
        laps.crossings.push_back({from, to, std::move(distances)});
      }
    }
  }
  return laps;
}

/// The laps that chains from the call back to itself make, the shortest through each single step to
/// a later iteration, and of how many such steps they are made.
std::map<int64_t, size_t> HappensBefore::LapsThrough(size_t call, Calls repeat, size_t repeats) {
  const Laps& laps = LapsOf(repeat, repeats);
  std::vector<std::vector<Link>> there(repeat.end - repeat.begin);
  std::vector<std::vector<Link>> back(there.size());
  auto add = [&](size_t from, size_t to, Way way) {
    there[from - repeat.begin].push_back({to - repeat.begin, way});
    back[to - repeat.begin].push_back({from - repeat.begin, way});
  };
  for (const auto& [from, to] : laps.same) {
    add(from, to, {0, 0});
  }
  for (const Crossing& crossing : laps.crossings) {
    add(crossing.from, crossing.to, {crossing.distances.front(), 1});
  }
  auto to_each = ShortestWays(there, call - repeat.begin);
  auto from_each = ShortestWays(back, call - repeat.begin);
  std::map<int64_t, size_t> found;
  for (const Crossing& crossing : laps.crossings) {
    const auto& first = to_each[crossing.from - repeat.begin];
    const auto& rest = from_each[crossing.to - repeat.begin];
    for (int64_t distance : crossing.distances) {
      if (first && rest && first->second + rest->second < kMostCrossings) {
        size_t& crossings = found[first->first + distance + rest->first];
        crossings = std::max(crossings, first->second + 1 + rest->second);
      }
    }
  }
  while (found.size() > kMostLaps) {
    found.erase(std::prev(found.end()));
  }
  return found;
}

}  // namespace etc
