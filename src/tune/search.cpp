#include "tune/search.h"

#include <algorithm>

namespace etc {
namespace {

bool IsGain(double before, double after) { return after < before * (1 - kLeastGain); }

class Descent {
 public:
  Descent(const std::vector<Coordinate>& coordinates, TrialBench& bench)
      : coordinates_(coordinates), bench_(bench) {
    result_.best.resize(coordinates.size());
  }

  SearchResult Run(int rounds, const std::function<void(const SearchStep&)>& on_step) {
    bool changed = true;
    for (int round = 0; round < rounds && changed && !result_.stopped; ++round) {
      changed = false;
      Expect(0);
      for (size_t i = 0; i < coordinates_.size() && !result_.stopped; ++i) {
        size_t before = result_.best[i];
        const bool improved = Improve(i);
        if (!result_.stopped) {
          on_step({i + 1, coordinates_.size(), &coordinates_[i], before, result_.best[i],
                   before_ms_, result_.best_ms});
        }
        // Behind the step: a stop may come while the programs are made, and what was found is kept.
        if (improved) {
          changed = true;
          Expect(i + 1);
        }
      }
    }
    return result_;
  }

 private:
  /// The best so far, and all that differ from it in this coordinate.
  std::vector<Assignment> TrialsOf(size_t at) const {
    std::vector<Assignment> trials = {result_.best};
    for (size_t option = 0; option < coordinates_[at].options.size(); ++option) {
      if (option != result_.best[at]) {
        trials.push_back(result_.best);
        trials.back()[at] = option;
      }
    }
    return trials;
  }

  void Expect(size_t from) {
    std::vector<Assignment> all;
    for (size_t at = from; at < coordinates_.size(); ++at) {
      std::vector<Assignment> trials = TrialsOf(at);
      all.insert(all.end(), trials.begin(), trials.end());
    }
    bench_.Expect(all);
  }

  bool Improve(size_t at) {
    std::vector<Assignment> trials = TrialsOf(at);
    std::optional<std::vector<double>> times = Measure(trials);
    if (!times) {
      return false;
    }
    before_ms_ = result_.best_ms = times->front();
    auto least =
        static_cast<size_t>(std::min_element(times->begin(), times->end()) - times->begin());
    if (!IsGain(times->front(), (*times)[least])) {
      return false;
    }
    // Once more, beside the best alone: of many that are alike one is always the quickest.
    std::optional<std::vector<double>> again = Measure({result_.best, trials[least]});
    if (!again || !IsGain((*again)[0], (*again)[1])) {
      return false;
    }
    result_.best = trials[least];
    before_ms_ = (*again)[0];
    result_.best_ms = (*again)[1];
    return true;
  }

  std::optional<std::vector<double>> Measure(const std::vector<Assignment>& trials) {
    std::optional<std::vector<double>> times = bench_.Measure(trials);
    result_.stopped |= !times;
    if (times && result_.first_ms == 0) {
      result_.first_ms = times->front();
    }
    return times;
  }

  const std::vector<Coordinate>& coordinates_;
  TrialBench& bench_;
  SearchResult result_;
  double before_ms_ = 0;  // of what was the best in front of a step, by the turns of that step
};

}  // namespace

SearchResult Search(const std::vector<Coordinate>& coordinates, int rounds, TrialBench& bench,
                    const std::function<void(const SearchStep&)>& on_step) {
  return Descent(coordinates, bench).Run(rounds, on_step);
}

void Conclude(SearchResult& result, double before_ms, double after_ms) {
  result.first_ms = before_ms;
  result.best_ms = after_ms;
  if (!IsGain(before_ms, after_ms)) {
    result.taken_back_ms = after_ms;
    result.best_ms = before_ms;
    std::fill(result.best.begin(), result.best.end(), 0);
  }
}

}  // namespace etc
