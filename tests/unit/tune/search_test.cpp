// The search of `etc tune`, on a clock that is made up.
#include "tune/search.h"

#include <doctest/doctest.h>

#include <limits>

namespace etc {
namespace {

Coordinate Open(std::string parameter, std::vector<std::string> options) {
  return {Question{"f", std::move(parameter), {}, {}, {}, {}}, std::move(options)};
}

/// A launch takes 10 ms and what each option adds.
class Clock : public TrialBench {
 public:
  explicit Clock(std::vector<std::vector<double>> adds) : adds_(std::move(adds)) {}

  void Expect(const std::vector<Assignment>& trials) override { expected.push_back(trials); }

  std::optional<std::vector<double>> Measure(const std::vector<Assignment>& trials) override {
    if (measured_++ == stop_at) {
      return std::nullopt;
    }
    std::vector<double> times;
    for (const Assignment& trial : trials) {
      double ms = 10 + drift * measured_;
      for (size_t i = 0; i < trial.size(); ++i) {
        ms += adds_[i][trial[i]];
      }
      times.push_back(ms + (noise && times.size() == 1 && measured_ % 2 == 1 ? -1 : 0));
    }
    return times;
  }

  int stop_at = -1;    // the measurement that is stopped
  bool noise = false;  // the second of every other measurement looks quick
  double drift = 0;    // what each measurement adds to all times
  std::vector<std::vector<Assignment>> expected;

 private:
  std::vector<std::vector<double>> adds_;
  int measured_ = 0;
};

SearchResult Run(const std::vector<Coordinate>& coordinates, Clock& clock, int rounds = 3,
                 std::vector<SearchStep>* steps = nullptr) {
  return Search(coordinates, rounds, clock, [&](const SearchStep& step) {
    if (steps != nullptr) {
      steps->push_back(step);
    }
  });
}

const std::vector<Coordinate> kTwo = {Open("rows", {"16", "8", "24"}), Open("parts", {"1", "2"})};

TEST_CASE("the quickest option of each coordinate is found") {
  Clock clock({{0, 2, -3}, {0, -1}});
  std::vector<SearchStep> steps;
  SearchResult found = Run(kTwo, clock, 3, &steps);
  CHECK(found.best == Assignment{2, 1});
  CHECK(found.first_ms == 10);
  CHECK(found.best_ms == 6);
  CHECK_FALSE(found.stopped);
  // A second round changes nothing, so there is no third.
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].before == 0);
  CHECK(steps[0].after == 2);
  CHECK(steps[0].before_ms == 10);
  CHECK(steps[0].after_ms == 7);
  CHECK(steps[2].before == steps[2].after);
}

TEST_CASE("both times of a step are of the same turns") {
  Clock clock({{0, 2, -3}, {0, -1}});
  clock.drift = 5;
  std::vector<SearchStep> steps;
  (void)Run(kTwo, clock, 1, &steps);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].before_ms == steps[0].after_ms + 3);
  CHECK(steps[1].before_ms == steps[1].after_ms + 1);
}

TEST_CASE("what is not quicker by more than noise stays") {
  Clock clock({{0, -0.02, -0.03}, {0, 0.5}});
  CHECK(Run(kTwo, clock).best == Assignment{0, 0});
}

TEST_CASE("an option that looks quick once only is not taken") {
  Clock clock({{0, 0, 0}, {0, 0}});
  clock.noise = true;
  CHECK(Run(kTwo, clock).best == Assignment{0, 0});
}

TEST_CASE("an option that cannot be had is not taken") {
  double never = std::numeric_limits<double>::infinity();
  Clock clock({{0, never, -1}, {0, never}});
  CHECK(Run(kTwo, clock).best == Assignment{2, 0});
}

TEST_CASE("a stop keeps what was found") {
  Clock clock({{0, 2, -3}, {0, -1}});
  clock.stop_at = 2;  // the first two are those of the first coordinate
  SearchResult found = Run(kTwo, clock);
  CHECK(found.stopped);
  CHECK(found.best == Assignment{2, 0});
  CHECK(found.best_ms == 7);
}

TEST_CASE("a stop before anything was measured leaves all as it is") {
  Clock clock({{0, -1, -1}, {0, -1}});
  clock.stop_at = 0;
  SearchResult found = Run(kTwo, clock);
  CHECK(found.stopped);
  CHECK(found.best == Assignment{0, 0});
}

TEST_CASE("what is measured is announced in front of a round and after a change") {
  Clock clock({{0, 2, -3}, {0, 1}});
  (void)Run(kTwo, clock, 1);
  REQUIRE(clock.expected.size() == 2);
  CHECK(clock.expected[0] == std::vector<Assignment>{{0, 0}, {1, 0}, {2, 0}, {0, 0}, {0, 1}});
  CHECK(clock.expected[1] == std::vector<Assignment>{{2, 0}, {2, 1}});
}

TEST_CASE("a change is told before the programs that it asks for are made") {
  Clock clock({{0, 2, -3}, {0, 1}});
  std::vector<size_t> announced;
  (void)Search(kTwo, 1, clock,
               [&](const SearchStep&) { announced.push_back(clock.expected.size()); });
  CHECK(announced == std::vector<size_t>{1, 2});
}

TEST_CASE("what is no gain in the end is taken back") {
  SearchResult found{{2, 1}, 10, 6};
  Conclude(found, 9, 7);
  CHECK(found.best == Assignment{2, 1});
  CHECK(found.best_ms == 7);
  CHECK_FALSE(found.taken_back_ms);
  Conclude(found, 9, 9.5);
  CHECK(found.best == Assignment{0, 0});
  CHECK(found.first_ms == 9);
  CHECK(found.best_ms == 9);
  CHECK(found.taken_back_ms == 9.5);
}

TEST_CASE("without coordinates there is nothing to search") {
  Clock clock({});
  CHECK(Run({}, clock).best.empty());
}

}  // namespace
}  // namespace etc
