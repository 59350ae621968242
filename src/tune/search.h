// The search for the quickest options: one thing after the other, all else as it is best so far.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "expand/decisions.h"

namespace etc {

/// One thing that is open, and the options that are worth a measurement. The first is what is
/// decided so far.
struct Coordinate {
  Question question;
  std::vector<std::string> options;
};

/// The number of an option for each coordinate.
using Assignment = std::vector<size_t>;

/// Where launches are measured.
class TrialBench {
 public:
  virtual ~TrialBench() = default;
  /// What will be measured unless something changes: it may be made ready, all at once.
  virtual void Expect(const std::vector<Assignment>& trials) = 0;
  /// Milliseconds of a launch of each, measured by turns; infinite for one that cannot be had.
  /// Nothing where the measurement was stopped.
  virtual std::optional<std::vector<double>> Measure(const std::vector<Assignment>& trials) = 0;
};

/// What the search found at a coordinate.
struct SearchStep {
  size_t number = 0;  // of the steps of this round
  size_t of = 0;
  const Coordinate* coordinate = nullptr;
  size_t before = 0;  // options
  size_t after = 0;
  double before_ms = 0;
  double after_ms = 0;
};

struct SearchResult {
  Assignment best;
  double first_ms = 0;  // as it was before
  double best_ms = 0;
  bool stopped = false;
  std::optional<double> taken_back_ms = {};  // of what was found, where it was no gain in the end
};

/// A gain below this part of the time is noise.
inline constexpr double kLeastGain = 0.004;

/// Goes round until nothing changes, at most `rounds` times. An option is taken when it is quicker
/// by `kLeastGain` twice: among all, and then beside the best so far alone. `on_step` hears of each
/// coordinate. What is left of a round is announced in front of it and after each change, of which
/// `on_step` has heard by then.
[[nodiscard]] SearchResult Search(const std::vector<Coordinate>& coordinates, int rounds,
                                  TrialBench& bench,
                                  const std::function<void(const SearchStep&)>& on_step);

/// Holds what was found to the times of the last turns, beside what was there before. Where it is
/// no gain there, `best` is what was there before.
void Conclude(SearchResult& result, double before_ms, double after_ms);

}  // namespace etc
