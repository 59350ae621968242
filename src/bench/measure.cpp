#include "bench/measure.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "runtime/hash.h"
#include "tensor/compare.h"

namespace etc {
namespace {

constexpr int kWarmUp = 3;
constexpr int64_t kChunkBytes = int64_t{64} << 20;

/// What a program left in a tensor: the elements of an out, a hash of an inout, which may be as
/// large as a model's cache.
struct Written {
  Bytes elements;
  std::string hash;
};

std::string HashOf(BenchPlace& place, const void* data, int64_t bytes) {
  std::string hash;
  Bytes chunk(static_cast<size_t>(std::min(bytes, kChunkBytes)));
  for (int64_t at = 0; at < bytes; at += kChunkBytes) {
    int64_t size = std::min(kChunkBytes, bytes - at);
    place.Fetch(chunk.data(), static_cast<const char*>(data) + at, size);
    hash += runtime::HashText({chunk.data(), static_cast<size_t>(size)});
  }
  return hash;
}

Written Read(BenchPlace& place, const BenchTensor& tensor) {
  Written written;
  if (tensor.access == ETC_INOUT) {
    written.hash = HashOf(place, tensor.data, tensor.bytes);
  } else {
    written.elements.resize(static_cast<size_t>(tensor.bytes));
    place.Fetch(written.elements.data(), tensor.data, tensor.bytes);
  }
  return written;
}

using Results = std::map<std::string, Written>;

Results ReadAll(BenchPlace& place, const BenchTensors& tensors) {
  Results results;
  for (const BenchTensor& tensor : tensors.all) {
    if (tensor.access != ETC_IN) {
      results[tensor.name] = Read(place, tensor);
    }
  }
  return results;
}

/// Whether another launch leaves the inouts as the one before did: an append to a cache does, a
/// sum does not. Integers that a launch changes are not tried: the next might take them beyond
/// their range.
bool LeavesInouts(BenchPlace& place, const BenchTensors& tensors, TimedLauncher& launcher,
                  const Results& before) {
  auto is_inout = [](const BenchTensor& tensor) { return tensor.access == ETC_INOUT; };
  bool moves = std::any_of(tensors.all.begin(), tensors.all.end(), [&](const BenchTensor& tensor) {
    return is_inout(tensor) && !IsFloat(tensor.dtype) &&
           HashOf(place, tensor.original, tensor.bytes) != before.at(tensor.name).hash;
  });
  if (moves) {
    return false;
  }
  launcher.Launch();
  return std::all_of(tensors.all.begin(), tensors.all.end(), [&](const BenchTensor& tensor) {
    return !is_inout(tensor) ||
           HashOf(place, tensor.data, tensor.bytes) == before.at(tensor.name).hash;
  });
}

/// Counts what is not finite, and holds it to what the first program has there.
void LookForNotFinite(const BenchTensor& tensor, const Written& first, const Written& written,
                      BenchOutput& output) {
  for (int64_t i = 0; i < output.elements; ++i) {
    double expected = ElementAsDouble(tensor.dtype, first.elements.data(), i);
    double found = ElementAsDouble(tensor.dtype, written.elements.data(), i);
    output.not_finite += std::isfinite(found) ? 0 : 1;
    bool both_finite = std::isfinite(expected) && std::isfinite(found);
    bool both_nan = std::isnan(expected) && std::isnan(found);
    output.as_finite = output.as_finite && (both_finite || both_nan || expected == found);
  }
}

BenchOutput Compared(const BenchTensor& tensor, const Written& first, const Written& written) {
  BenchOutput output;
  output.name = tensor.name;
  output.elements = static_cast<int64_t>(written.elements.size()) / etc_dtype_bytes(tensor.dtype);
  if (IsFloat(tensor.dtype)) {
    LookForNotFinite(tensor, first, written, output);
  }
  output.equal = first.hash == written.hash && first.elements == written.elements;
  if (!output.equal && tensor.access == ETC_OUT) {
    output.relative_l2 = Compare(tensor.dtype, first.elements, written.elements, 0).relative_l2;
  }
  return output;
}

/// Instances of programs, which are bound and can be launched.
struct Ready {
  Ready(BenchPlace& place, const BenchTensors& tensors, const std::string& graph,
        const std::vector<BenchProgram>& programs) {
    for (const BenchProgram& program : programs) {
      instances.push_back(std::make_unique<Instance>(*program.program, graph.c_str()));
      tensors.BindTo(*instances.back());
      tensors.Restore(place);
      launchers.push_back(place.Prepare(*instances.back()));
    }
  }

  std::vector<std::unique_ptr<Instance>> instances;
  std::vector<std::unique_ptr<TimedLauncher>> launchers;
};

/// False where `stop` was set before the last launch.
bool TakeTurns(BenchPlace& place, const BenchTensors& tensors,
               const std::vector<std::unique_ptr<TimedLauncher>>& launchers, bool settle,
               int64_t launches, const std::atomic<bool>& stop, std::vector<BenchRow>& rows) {
  for (int64_t round = -kWarmUp; round < launches; ++round) {
    for (const auto& launcher : launchers) {
      if (stop) {
        place.Wait();
        return false;
      }
      if (!settle) {
        tensors.Restore(place);
      }
      round < 0 ? launcher->Launch() : launcher->LaunchTimed();
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].ms = SpreadOf(launchers[i]->Times());
  }
  return true;
}

constexpr std::atomic<bool> kNever = false;

}  // namespace

std::vector<BenchRow> MeasureByTurns(BenchPlace& place, const BenchTensors& tensors,
                                     const std::string& graph,
                                     const std::vector<BenchProgram>& programs, int64_t launches) {
  std::vector<BenchRow> rows;
  Ready ready(place, tensors, graph, programs);
  const auto& launchers = ready.launchers;
  for (const BenchProgram& program : programs) {
    rows.push_back({program.name, {}, {}});
  }
  Results first;
  bool settle = true;
  for (size_t i = 0; i < programs.size(); ++i) {
    tensors.Restore(place);
    tensors.Poison(place);
    launchers[i]->Launch();
    Results results = ReadAll(place, tensors);
    if (i == 0) {
      first = results;
    }
    for (const BenchTensor& tensor : tensors.all) {
      if (tensor.access != ETC_IN) {
        rows[i].outputs.push_back(Compared(tensor, first.at(tensor.name), results.at(tensor.name)));
      }
    }
    settle = settle && LeavesInouts(place, tensors, *launchers[i], results);
  }
  (void)TakeTurns(place, tensors, launchers, settle, launches, kNever, rows);
  return rows;
}

double TurnsSeconds(const std::vector<double>& ms, int64_t launches) {
  const double round = std::accumulate(ms.begin(), ms.end(), 0.0);
  return round * static_cast<double>(kWarmUp + launches) / 1000;
}

std::optional<std::vector<BenchRow>> Turns::Measure(const std::vector<BenchProgram>& programs,
                                                    int64_t launches,
                                                    const std::atomic<bool>& stop) {
  std::vector<BenchRow> rows;
  Ready ready(place_, tensors_, graph_, programs);
  for (size_t i = 0; i < programs.size(); ++i) {
    if (stop) {
      return std::nullopt;
    }
    if (!outputs_.contains(programs[i].program)) {
      Look(programs[i], *ready.launchers[i]);
    }
    rows.push_back({programs[i].name, {}, outputs_.at(programs[i].program)});
  }
  const bool done =
      TakeTurns(place_, tensors_, ready.launchers, settles_.value_or(true), launches, stop, rows);
  return done ? std::optional(std::move(rows)) : std::nullopt;
}

void Turns::Look(const BenchProgram& program, TimedLauncher& launcher) {
  tensors_.Restore(place_);
  tensors_.Poison(place_);
  launcher.Launch();
  std::vector<BenchOutput>& outputs = outputs_[program.program];
  for (const BenchTensor& tensor : tensors_.all) {
    if (tensor.access == ETC_OUT) {
      Written written = Read(place_, tensor);
      auto first = first_.try_emplace(tensor.name, written.elements).first;
      outputs.push_back(Compared(tensor, {first->second, ""}, written));
    }
  }
  if (!settles_) {
    settles_ = LeavesInouts(place_, tensors_, launcher, ReadAll(place_, tensors_));
  }
}

}  // namespace etc
