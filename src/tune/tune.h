// What `etc tune` does: measures whole launches of programs that differ in what was decided.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "bench/place.h"
#include "compile/options.h"
#include "compile/session.h"
#include "compile/tuning.h"
#include "tune/search.h"

namespace etc {

struct TuneJob {
  SourceOptions source;
  TargetOptions target;
  std::string graph;                      // empty: the only one
  std::map<std::string, int64_t> dims;    // the sizes at which launches are measured
  std::map<std::string, int64_t> values;  // of every element of an integer parameter
  int64_t launches = 50;
  int rounds = 2;
  double near = 0.05;  // options that the simulator takes for slower by more are not measured
};

struct TuneResult {
  std::vector<Coordinate> coordinates;
  SearchResult search;
};

/// Finds the quickest options for the range that the sizes lie in, beside what `tuning` says of the
/// others, and sets them there. `stop`: ends after the launch at hand and keeps what was found.
/// `on_step` hears of each thing that was decided. Nothing after an error.
[[nodiscard]] std::optional<TuneResult> Tune(const TuneJob& job, const Module& open, Tuning& tuning,
                                             const std::atomic<bool>& stop,
                                             const std::function<void(const SearchStep&)>& on_step,
                                             Session& session);

}  // namespace etc
