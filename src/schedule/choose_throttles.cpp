#include "schedule/choose_throttles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/loader_reads.h"
#include "simulator/call_costs.h"
#include "simulator/sizes.h"

namespace etc {
namespace {

/// Whether the loader waits for flagged words that say what it copies in the share.
bool IsComputed(const Module& module, const Share& share) {
  return LoadsBehindWait(module, module.devices[share.callee], share.args) &&
         share.range_waits.empty();
}

/// What calls wait for: us of all signals, by what the target says of one.
struct Signals {
  double chain = 0, hidden = 0, streaming = 0;
  bool flagged = false;   // whether a part of them is flagged words
  bool of_peers = false;  // whether ranks signal to each other

  void Add(const CallCost& call, const Target& target) {
    for (const EdgeCost& edge : call.edges) {
      flagged |= edge.mechanism == Mechanism::FlagInData;
      of_peers |= edge.mechanism != Mechanism::None && edge.of_peers;
    }
    auto iterations = static_cast<double>(call.iterations);
    chain += iterations * SlowestEdge(call, target.chain, target.of_peer);
    hidden += iterations * SlowestEdge(call, target.hidden, target.of_peer);
    streaming += iterations * SlowestEdge(call, target.streaming, target.of_peer);
  }
};

/// Shares that have one throttle: the calls of a repeat delay each other, and none outside of it.
struct Run {
  ThrottleChoice choice;
  Signals signals;  // beside what is streamed
  Signals so_far;   // and those behind it
  double paced_bytes =
      0;  // of the streamed ones, those of shares that have no throttle of their own
  double computed_bytes = 0;  // in one iteration, behind what says which they are
  double fetched_bytes = 0;   // of activations
  double fetched_once = 0;    // of them in one iteration

  void Add(const Module& module, const CallCost& call, const Target& target) {
    so_far.Add(call, target);
    // Behind the last stream there is nothing that a signal could meet, but in a repeat the next
    // iteration's.
    if (call.streamed_bytes > 0 || !call.loops.empty()) {
      signals = so_far;
    }
    auto iterations = static_cast<double>(call.iterations);
    choice.streamed_bytes += iterations * call.streamed_bytes;
    const Share& share = std::get<Share>(module.nodes[call.share]);
    paced_bytes += HasOwnThrottle(module, share) ? 0 : iterations * call.streamed_bytes;
    computed_bytes += IsComputed(module, share) ? call.streamed_bytes : 0;
    fetched_bytes += iterations * call.fetched_bytes;
    fetched_once += call.fetched_bytes;
    if (call.streamed_bytes > 0) {
      choice.shares.push_back(call.share);
    }
  }

  void Choose(const Target& target) {
    const auto& [chain, hidden, streaming, flagged, of_peers] = signals;
    double stream = paced_bytes / target.stream_bytes;
    bool is_long = chain > 0 && computed_bytes >= target.computed_stream * target.stream_bytes;
    choice.own.in_flight = is_long ? target.long_in_flight : target.computed_in_flight;
    double slot = target.slot_bytes * static_cast<double>(target.sms) / target.stream_bytes;
    auto cycles = [&](double share) {
      return std::lround(slot * target.cycles * share / 100) * 100;
    };
    const bool fetches_much = flagged && fetched_once >= target.prefetch_from;
    if (computed_bytes > 0 && fetches_much && !of_peers) {
      choice.own.prefetch = cycles(target.prefetch_share);
    }
    Throttle& throttle = choice.throttle;
    throttle.in_flight = target.loader_in_flight;
    choice.reason =
        fmt::format("{:.0f} us of streaming beside {:.0f} us of signals", stream, chain);
    if (chain > 0 && !flagged) {
      ChooseForEvents(stream, target);
    } else if (stream < hidden) {
      throttle.in_flight = target.hidden_in_flight;
      choice.reason += ", so the ring is full, and what is on its way delays the words";
    } else if (stream < streaming) {
      throttle.interval = cycles(target.interval_share);
      choice.reason += ", so bursts would delay the signals";
    } else {
      throttle.in_flight = flagged ? target.streaming_in_flight : target.loader_in_flight;
      choice.reason += ", so the stream sets the time, and an interval would add to it";
      if (fetches_much) {
        throttle.prefetch = cycles(target.prefetch_share);
        choice.reason +=
            "; memory is idle while the consumers fetch activations, but for prefetches";
      }
    }
  }

  /// What is on its way delays the fence in front of each signal, and an interval gains nothing.
  void ChooseForEvents(double stream, const Target& target) {
    if (stream < signals.streaming) {
      choice.throttle.in_flight = target.hidden_in_flight;
      choice.reason += ", so what is on its way delays the fences in front of the signals";
    } else {
      choice.reason += ", so the stream sets the time";
    }
    if (fetched_bytes < target.fetched_share * choice.streamed_bytes) {
      choice.throttle.ahead = target.ahead;
    } else {
      choice.reason += "; the consumers fetch so much beside it that it must not pause";
    }
  }
};

}  // namespace

bool HasOwnThrottle(const Module& module, const Share& share) {
  const std::vector<Impl>& impls = module.devices[share.callee].impls;
  bool copies_boxes =
      std::any_of(impls.begin(), impls.end(), [](const Impl& impl) { return !impl.boxes.empty(); });
  return copies_boxes || IsComputed(module, share);
}

std::vector<Throttle> ThrottlesOf(const Module& module, const ThrottleChoice& choice) {
  std::vector<Throttle> throttles;
  Throttle own = choice.own;
  for (NodeId id : choice.shares) {
    const auto& share = std::get<Share>(module.nodes[id]);
    if (!HasOwnThrottle(module, share)) {
      throttles.push_back(choice.throttle);
      continue;
    }
    if (!share.first) {
      own.prefetch.reset();  // a case's loader does not know the next iteration's tasks
    }
    throttles.push_back(own);
    own.prefetch.reset();  // those behind the first do not wait as long
  }
  return throttles;
}

std::vector<ThrottleChoice> ChooseThrottles(const Module& module, const Kernel& kernel,
                                            const Target& target) {
  std::vector<CallCost> calls =
      CountCalls(module, kernel, LeastSizes(module, kernel), target, {}, Edges::Scheduled);
  std::vector<Run> runs;
  for (const CallCost& call : calls) {
    auto run = std::find_if(runs.begin(), runs.end(),
                            [&](const Run& other) { return other.choice.repeat == call.repeat; });
    if (run == runs.end()) {
      run = runs.insert(runs.end(), Run{});
      run->choice.repeat = call.repeat;
    }
    run->Add(module, call, target);
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

}  // namespace etc
