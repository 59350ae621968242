#include "schedule/cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ir/requirements.h"
#include "schedule/call_costs.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

/// The time of the slowest edge into a call.
double TimeOf(const CallCost& call, const PerSignal& signal) {
  double time = 0;
  for (const EdgeCost& edge : call.edges) {
    time = std::max(time, edge.mechanism == Mechanism::None         ? 0
                          : edge.mechanism == Mechanism::FlagInData ? signal.flag_in_data
                                                                    : signal.counter);
  }
  return time;
}

/// Simulates the calls in order: the loaders stream ahead as far as the ring holds, and each call
/// starts after the edges into it and ends when its longest work is done and its stream has come.
class Simulator {
 public:
  Simulator(KernelCost& cost, const Target& target) : cost_(cost), target_(target) {
    for (CallCost& call : cost.calls) {
      call.floor_us = (call.streamed_bytes + call.read_bytes) / target.stream_bytes;
      call.latency_us = TimeOf(call, target.chain);
    }
  }

  void Run() {
    Pass(target_.launch);
    cost_.times[Limit::Signals] += target_.launch;
    SimulateIteration(0, cost_.calls.size(), 0);
    for (CallCost& call : cost_.calls) {
      auto iterations = static_cast<double>(std::max<int64_t>(call.iterations, 1));
      for (size_t i = 0; i < kLimits; ++i) {
        cost_.times.us[i] += call.times.us[i];
        call.times.us[i] /= iterations;
      }
      cost_.bytes += iterations * (call.streamed_bytes + call.read_bytes);
      cost_.flops += iterations * call.flops;
    }
    cost_.floor_us = cost_.bytes / target_.stream_bytes;
  }

 private:
  /// Calls that have `depth` loops around them in common.
  void SimulateIteration(size_t begin, size_t end, size_t depth) {
    std::vector<CallCost>& calls = cost_.calls;
    while (begin < end) {
      if (calls[begin].loops.size() == depth) {
        Simulate(calls[begin++]);
        continue;
      }
      const Loop& loop = calls[begin].loops[depth];
      size_t last = begin + 1;
      while (last < end && calls[last].loops.size() > depth &&
             calls[last].loops[depth].repeat == loop.repeat) {
        ++last;
      }
      for (int64_t round = 0; round < loop.rounds; ++round) {
        SimulateIteration(begin, last, depth + 1);
      }
      begin = last;
    }
  }

  void Simulate(CallCost& call) {
    auto sms = static_cast<double>(target_.sms);
    double signals = call.latency_us + call.first_bytes * sms / target_.cache_bytes;
    Pass(signals);
    call.times[Limit::Signals] += signals;
    const CallCost* before = Beside(call);
    const CallCost* next = &call == &cost_.calls.back() ? nullptr : &call + 1;
    needed_ += before ? 0 : call.streamed_bytes;
    needed_ += next && Beside(*next) ? next->streamed_bytes : 0;
    // The loaders stream meanwhile; what is missing then is waited for.
    Times work = WorkOf(call);
    if (before) {
      Times meanwhile = WorkOf(*before);
      for (size_t i = 0; i < kLimits; ++i) {
        work.us[i] = std::max(work.us[i] - meanwhile.us[i], 0.0);
      }
    }
    Limit limit = work.Longest();
    Pass(work[limit]);
    call.times[limit] += work[limit];
    double missing = std::max(needed_ - streamed_, 0.0);
    streamed_ += missing;
    call.times[Limit::Memory] += missing / target_.stream_bytes;
  }

  /// The call before, where both are at work at once: their tasks are on different SMs, and stream
  /// one tensor, so that they are parts of one work.
  const CallCost* Beside(const CallCost& call) const {
    if (&call == cost_.calls.data()) {
      return nullptr;
    }
    const CallCost& before = *(&call - 1);
    bool fit = before.tasks + call.tasks <= target_.sms;
    bool share_a_stream =
        std::any_of(call.streams.begin(), call.streams.end(),
                    [&](TensorId tensor) { return before.streams.contains(tensor); });
    return before.repeat == call.repeat && fit && share_a_stream ? &before : nullptr;
  }

  /// What a call would take for each of its limits alone, once its operands are there and its
  /// stream has come. An SM with more tasks than the rest lets them wait.
  Times WorkOf(const CallCost& call) const {
    auto sms = static_cast<double>(std::min(call.tasks, target_.sms));
    double fetched = std::max(call.fetched_bytes - call.first_bytes * sms, 0.0);
    Times work;
    work[Limit::Memory] =
        (call.read_bytes / target_.plain_bytes + call.streamed_bytes / target_.consumed_bytes) /
        call.balance;
    work[Limit::Cache] =
        (call.streamed_bytes + call.read_bytes + fetched) / target_.cache_bytes / call.balance;
    work[Limit::Operations] = call.flops / target_.flops / call.balance;
    work[Limit::Tasks] = call.depends ? target_.task * static_cast<double>(call.tasks_per_sm) : 0;
    return work;
  }

  /// Time in which the loaders go on as far as the ring holds.
  void Pass(double us) {
    streamed_ = std::min(streamed_ + us * target_.stream_bytes, needed_ + target_.RingBytes());
  }

  KernelCost& cost_;
  const Target& target_;
  double needed_ = 0;    // bytes that the calls so far consume
  double streamed_ = 0;  // bytes that the loaders have copied
};

/// Shares that have one throttle: the calls of a repeat delay each other, and none outside of it.
struct Run {
  ThrottleChoice choice;
  double chain = 0, hidden = 0, streaming = 0;  // us, of all signals
  double fetched_bytes = 0;                     // of activations
  bool flagged = false;                         // whether a part of the chain is of flagged words

  void Add(const CallCost& call, const Target& target) {
    flagged |= std::any_of(call.edges.begin(), call.edges.end(), [](const EdgeCost& edge) {
      return edge.mechanism == Mechanism::FlagInData;
    });
    auto iterations = static_cast<double>(call.iterations);
    chain += iterations * call.latency_us;
    hidden += iterations * TimeOf(call, target.hidden);
    streaming += iterations * TimeOf(call, target.streaming);
    choice.streamed_bytes += iterations * call.streamed_bytes;
    fetched_bytes += iterations * call.fetched_bytes;
    if (call.streamed_bytes > 0) {
      choice.shares.push_back(call.share);
    }
  }

  void Choose(const Target& target) {
    double stream = choice.streamed_bytes / target.stream_bytes;
    choice.throttle.in_flight = target.loader_in_flight;
    std::string times =
        fmt::format("{:.0f} us of streaming beside {:.0f} us of signals", stream, chain);
    if (stream < hidden && flagged) {
      choice.throttle.in_flight = target.hidden_in_flight;
      choice.reason = times + ", so the ring is full, and what is on its way delays the words";
    } else if (stream < hidden) {
      choice.reason = times + ", so the ring is full, and an interval would only delay";
    } else if (stream < streaming) {
      double slot = target.slot_bytes * static_cast<double>(target.sms) / target.stream_bytes;
      choice.throttle.interval =
          std::lround(slot * target.cycles * target.interval_share / 100) * 100;
      choice.reason = times + ", so bursts would delay the signals";
    } else {
      choice.throttle.in_flight = flagged ? target.streaming_in_flight : target.loader_in_flight;
      choice.reason = times + ", so the stream sets the time, and an interval would add to it";
    }
    if (chain == 0 || flagged) {
      return;
    }
    if (fetched_bytes < target.fetched_share * choice.streamed_bytes) {
      choice.throttle.ahead = target.ahead;
    } else {
      choice.throttle.in_flight = target.streaming_in_flight;
      choice.reason += "; the consumers fetch so much beside it that it must not pause";
    }
  }
};

}  // namespace

std::string_view Spelling(Mechanism mechanism) {
  switch (mechanism) {
    case Mechanism::None:
      return "none";
    case Mechanism::FlagInData:
      return "flag in data";
    case Mechanism::Counter:
      return "counter";
    case Mechanism::Hoisted:
      return "hoisted counter";
  }
  InternalError(__FILE__, __LINE__, "a mechanism without a spelling");
}

std::string_view Spelling(Limit limit) {
  switch (limit) {
    case Limit::Signals:
      return "signals";
    case Limit::Memory:
      return "memory";
    case Limit::Cache:
      return "L2";
    case Limit::Operations:
      return "operations";
    case Limit::Tasks:
      return "tasks";
  }
  InternalError(__FILE__, __LINE__, "a limit without a spelling");
}

double Times::Sum() const { return std::accumulate(us.begin(), us.end(), 0.0); }

Limit Times::Longest() const {
  return static_cast<Limit>(std::max_element(us.begin(), us.end()) - us.begin());
}

KernelCost CostOf(const Module& module, const Kernel& kernel, const Env& dims, const Target& target,
                  const std::map<std::string, int64_t>& elements, Edges edges) {
  KernelCost cost;
  cost.calls = CountCalls(module, kernel, dims, target, elements, edges);
  Simulator(cost, target).Run();
  return cost;
}

Env LeastSizes(const Module& module, const Kernel& kernel, const Env& given) {
  // At size 0 nothing runs, which says little: from the first multiple on, where there is one.
  DimRanges ranges = RangesOf(module, kernel);
  for (int64_t least : {1, 0}) {
    DimRanges within;
    for (SymbolId dim : DimsOf(module)) {
      within[dim] = {least, std::numeric_limits<int64_t>::max()};
    }
    for (const auto& [dim, value] : given) {
      within[dim] = {value, value};
    }
    if (auto found = FindSizes(module, ranges, Prefer::Small, within)) {
      return *found;
    }
  }
  Env dims;
  for (SymbolId symbol : module.symbols.Ids()) {
    if (module.symbols[symbol].kind == SymbolKind::Dim) {
      if (auto lo = EvaluateInt(module, module.symbols[symbol].lo, {})) {
        dims[symbol] = *lo;
      }
    }
  }
  for (const Where& where : kernel.where) {
    if (auto lo = EvaluateInt(module, where.lo, {})) {
      dims[where.dim] = *lo;
    }
  }
  for (const auto& [dim, value] : given) {
    dims[dim] = value;
  }
  return dims;
}

std::vector<ThrottleChoice> ChooseThrottles(const Module& module, const Kernel& kernel,
                                            const Target& target) {
  KernelCost cost = CostOf(module, kernel, LeastSizes(module, kernel), target);
  std::vector<Run> runs;
  for (const CallCost& call : cost.calls) {
    auto run = std::find_if(runs.begin(), runs.end(),
                            [&](const Run& other) { return other.choice.repeat == call.repeat; });
    if (run == runs.end()) {
      run = runs.insert(runs.end(), Run{});
      run->choice.repeat = call.repeat;
    }
    run->Add(call, target);
  }
  std::vector<ThrottleChoice> choices;
  for (Run& run : runs) {
    if (run.choice.streamed_bytes > 0) {
      run.Choose(target);
      choices.push_back(std::move(run.choice));
    }
  }
  return choices;
}

Env TypicalSizes(const Module& module, const Kernel& kernel, bool largest) {
  constexpr int64_t kTypicalSize = 16;
  Env sizes;
  DimRanges ranges = RangesOf(module, kernel);
  for (SymbolId dim : DimsOf(module)) {
    if (auto range = RangeOfDim(module, dim, ranges)) {
      int64_t typical = std::min(range->hi, std::max(range->lo, kTypicalSize));
      sizes[dim] = !ranges.contains(dim) ? typical : largest ? range->hi : range->lo;
    }
  }
  return RequirementsHold(module, sizes, ranges) ? sizes : LeastSizes(module, kernel);
}

}  // namespace etc
