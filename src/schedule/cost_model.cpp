#include "schedule/cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ir/requirements.h"
#include "ir/walk.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

/// Far more than any launch has; sums and products of a few still fit.
constexpr double kMostTasks = 1LL << 60;

class KernelCounter {
 public:
  KernelCounter(const Module& module, const Kernel& kernel, const Env& dims, const Target& target,
                const std::map<std::string, int64_t>& elements)
      : module_(module), target_(target), elements_(elements) {
    sizes_.dims = dims;
    sizes_.ranges = RangesOf(module, kernel);
    std::vector<ShareSite> sites = SharesOf(module, kernel);
    for (const ShareSite& site : sites) {
      CollectWrites(std::get<Share>(module.nodes[site.share]));
    }
    for (const ShareSite& site : sites) {
      StageCost stage;
      stage.share = site.share;
      stage.repeat = site.Innermost();
      for (NodeId id : site.repeats) {
        const auto& repeat = std::get<Repeat>(module.nodes[id]);
        auto rounds = static_cast<int64_t>(Int(repeat.hi) - Int(repeat.lo));
        stage.loops.push_back({id, std::max<int64_t>(rounds, 0)});
        stage.iterations *= stage.loops.back().rounds;
      }
      Count(std::get<Share>(module.nodes[site.share]), stage);
      stages_.push_back(std::move(stage));
    }
  }

  std::vector<StageCost> Take() { return std::move(stages_); }

 private:
  double Int(ExprId id) const {
    return static_cast<double>(EvaluateInt(module_, id, sizes_.dims, sizes_.ranges).value_or(1));
  }

  void CollectWrites(const Share& share) {
    const Device& callee = module_.devices[share.callee];
    for (size_t i = 0; i < share.args.size(); ++i) {
      // What is updated in place, like a KV cache, is mostly of earlier launches.
      if (module_.tensors[callee.params[i]].access == Access::Out) {
        written_.insert(share.args[i].tensor);
      }
    }
  }

  void Count(const Share& share, StageCost& stage) {
    const Device& callee = module_.devices[share.callee];
    sizes_.elements.clear();
    for (size_t i = 0; i < share.args.size(); ++i) {
      const Tensor& tensor = module_.tensors[share.args[i].tensor];
      if (auto given = elements_.find(tensor.name); given != elements_.end()) {
        sizes_.elements[callee.params[i]] = given->second;
      } else if (tensor.value_hi && IsUniform(module_, tensor)) {
        sizes_.elements[callee.params[i]] = static_cast<int64_t>(Int(tensor.value_hi)) - 1;
      }
    }
    BodyCost body = CostOfBody(module_, callee, sizes_);
    stage.tasks = static_cast<int64_t>(std::min(body.tasks, kMostTasks));
    stage.tasks_per_sm = (stage.tasks + target_.sms - 1) / target_.sms;
    stage.balance = stage.tasks == 0 ? 1
                                     : static_cast<double>(stage.tasks) /
                                           static_cast<double>(stage.tasks_per_sm * target_.sms);
    stage.flops = body.flops * body.tasks;
    const Impl* impl = FindImpl(callee, Spelling(target_.arch));
    stage.generated = impl == nullptr;
    double sms = static_cast<double>(std::min(stage.tasks, target_.sms));
    for (size_t i = 0; i < share.args.size(); ++i) {
      const Tensor& param = module_.tensors[callee.params[i]];
      const Tensor& tensor = module_.tensors[share.args[i].tensor];
      auto read = body.reads.find(callee.params[i]);
      if (read == body.reads.end() || param.access == Access::Out) {
        continue;
      }
      auto element = static_cast<double>(SizeInBytes(tensor.type));
      bool streams = impl != nullptr && std::find(impl->preloaded.begin(), impl->preloaded.end(),
                                                  callee.params[i]) != impl->preloaded.end();
      if (streams) {
        stage.streamed_bytes += element * read->second.all_tasks;
        stage.streams.insert(share.args[i].tensor);
      } else if (!written_.contains(share.args[i].tensor)) {
        stage.read_bytes += element * read->second.all_tasks;
      } else {
        double one = element * read->second.one_task;
        bool is_own = stage.tasks == 1 || read->second.all_tasks > read->second.one_task;
        bool is_held = !is_own && one <= target_.held_bytes;  // from one task to the next
        stage.fetched_bytes += one * (is_held ? sms : static_cast<double>(stage.tasks));
        stage.first_bytes += std::min(one, target_.held_bytes);
        Mechanism mechanism = AddEdge(share, share.args[i].tensor, stage);
        stage.depends |=
            is_own && (mechanism == Mechanism::Counter || mechanism == Mechanism::Hoisted);
      }
    }
  }

  Mechanism AddEdge(const Share& share, TensorId tensor, StageCost& stage) const {
    EdgeCost edge{tensor};
    if (module_.tensors[tensor].flagged) {
      edge.mechanism = Mechanism::FlagInData;
    } else if (!share.waits.empty()) {
      edge.mechanism = Mechanism::Counter;
    } else if (!share.range_waits.empty() || !share.enter_waits.empty()) {
      edge.mechanism = Mechanism::Hoisted;
    }
    stage.edges.push_back(edge);
    return edge.mechanism;
  }

  const Module& module_;
  const Target& target_;
  const std::map<std::string, int64_t>& elements_;
  LaunchSizes sizes_;
  std::set<TensorId> written_;
  std::vector<StageCost> stages_;
};

/// Of the slowest edge into a stage.
double TimeOf(const StageCost& stage, const PerSignal& signal) {
  double time = 0;
  for (const EdgeCost& edge : stage.edges) {
    time = std::max(time, edge.mechanism == Mechanism::None  ? 0
                          : edge.mechanism == Mechanism::FlagInData ? signal.flag_in_data
                                                             : signal.counter);
  }
  return time;
}

/// Plays the stages in order: the loaders stream ahead as far as the ring holds, and each stage
/// starts after the edges into it and ends when its longest work is done and its stream has come.
class Player {
 public:
  Player(KernelCost& cost, const Target& target) : cost_(cost), target_(target) {
    for (StageCost& stage : cost.stages) {
      stage.floor_us = (stage.streamed_bytes + stage.read_bytes) / target.stream_bytes;
      stage.latency_us = TimeOf(stage, target.chain);
    }
  }

  void Run() {
    Pass(target_.launch);
    cost_.times[Limit::Signals] += target_.launch;
    PlayRound(0, cost_.stages.size(), 0);
    for (StageCost& stage : cost_.stages) {
      auto iterations = static_cast<double>(std::max<int64_t>(stage.iterations, 1));
      for (size_t i = 0; i < kLimits; ++i) {
        cost_.times.us[i] += stage.times.us[i];
        stage.times.us[i] /= iterations;
      }
      cost_.bytes += iterations * (stage.streamed_bytes + stage.read_bytes);
      cost_.flops += iterations * stage.flops;
    }
    cost_.floor_us = cost_.bytes / target_.stream_bytes;
  }

 private:
  /// Stages that have `depth` loops around them in common.
  void PlayRound(size_t begin, size_t end, size_t depth) {
    std::vector<StageCost>& stages = cost_.stages;
    while (begin < end) {
      if (stages[begin].loops.size() == depth) {
        Play(stages[begin++]);
        continue;
      }
      const Loop& loop = stages[begin].loops[depth];
      size_t last = begin + 1;
      while (last < end && stages[last].loops.size() > depth &&
             stages[last].loops[depth].repeat == loop.repeat) {
        ++last;
      }
      for (int64_t round = 0; round < loop.rounds; ++round) {
        PlayRound(begin, last, depth + 1);
      }
      begin = last;
    }
  }

  void Play(StageCost& stage) {
    auto sms = static_cast<double>(target_.sms);
    double signals = stage.latency_us + stage.first_bytes * sms / target_.cache_bytes;
    Pass(signals);
    stage.times[Limit::Signals] += signals;
    const StageCost* before = Beside(stage);
    const StageCost* next = &stage == &cost_.stages.back() ? nullptr : &stage + 1;
    needed_ += before ? 0 : stage.streamed_bytes;
    needed_ += next && Beside(*next) ? next->streamed_bytes : 0;
    // The loaders stream meanwhile; what is missing then is waited for.
    Times work = WorkOf(stage);
    if (before) {
      Times meanwhile = WorkOf(*before);
      for (size_t i = 0; i < kLimits; ++i) {
        work.us[i] = std::max(work.us[i] - meanwhile.us[i], 0.0);
      }
    }
    Limit limit = work.Longest();
    Pass(work[limit]);
    stage.times[limit] += work[limit];
    double missing = std::max(needed_ - streamed_, 0.0);
    streamed_ += missing;
    stage.times[Limit::Memory] += missing / target_.stream_bytes;
  }

  /// The stage before, where both are at work at once: their tasks are on different SMs, and stream
  /// one tensor, so that they are parts of one work.
  const StageCost* Beside(const StageCost& stage) const {
    if (&stage == cost_.stages.data()) {
      return nullptr;
    }
    const StageCost& before = *(&stage - 1);
    bool fit = before.tasks + stage.tasks <= target_.sms;
    bool share_a_stream =
        std::any_of(stage.streams.begin(), stage.streams.end(),
                    [&](TensorId tensor) { return before.streams.contains(tensor); });
    return before.repeat == stage.repeat && fit && share_a_stream ? &before : nullptr;
  }

  /// What a stage would take for each of its limits alone, once its operands are there and its
  /// stream has come. An SM with more tasks than the rest lets them wait.
  Times WorkOf(const StageCost& stage) const {
    auto sms = static_cast<double>(std::min(stage.tasks, target_.sms));
    double fetched = std::max(stage.fetched_bytes - stage.first_bytes * sms, 0.0);
    Times work;
    work[Limit::Memory] =
        (stage.read_bytes / target_.plain_bytes + stage.streamed_bytes / target_.consumed_bytes) /
        stage.balance;
    work[Limit::Cache] =
        (stage.streamed_bytes + stage.read_bytes + fetched) / target_.cache_bytes / stage.balance;
    work[Limit::Operations] = stage.flops / target_.flops / stage.balance;
    work[Limit::Tasks] = stage.depends ? target_.task * static_cast<double>(stage.tasks_per_sm) : 0;
    return work;
  }

  /// Time in which the loaders go on as far as the ring holds.
  void Pass(double us) {
    streamed_ = std::min(streamed_ + us * target_.stream_bytes, needed_ + target_.RingBytes());
  }

  KernelCost& cost_;
  const Target& target_;
  double needed_ = 0;    // bytes that the stages so far consume
  double streamed_ = 0;  // bytes that the loaders have copied
};

/// Shares that have one throttle: the stages of a repeat delay each other, and none outside of it.
struct Run {
  ThrottleChoice choice;
  double chain = 0, hidden = 0, streaming = 0;  // us, of all signals
  double fetched_bytes = 0;                     // of activations
  bool flagged = false;                          // whether a part of the chain is of flagged words

  void Add(const StageCost& stage, const Target& target) {
    flagged |= std::any_of(stage.edges.begin(), stage.edges.end(),
                          [](const EdgeCost& edge) { return edge.mechanism == Mechanism::FlagInData; });
    auto iterations = static_cast<double>(stage.iterations);
    chain += iterations * stage.latency_us;
    hidden += iterations * TimeOf(stage, target.hidden);
    streaming += iterations * TimeOf(stage, target.streaming);
    choice.streamed_bytes += iterations * stage.streamed_bytes;
    fetched_bytes += iterations * stage.fetched_bytes;
    if (stage.streamed_bytes > 0) {
      choice.shares.push_back(stage.share);
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
      choice.throttle.interval = std::lround(slot * target.cycles * target.interval_share / 100) * 100;
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
                  const std::map<std::string, int64_t>& elements) {
  KernelCost cost;
  cost.stages = KernelCounter(module, kernel, dims, target, elements).Take();
  Player(cost, target).Run();
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
  for (const StageCost& stage : cost.stages) {
    auto run = std::find_if(runs.begin(), runs.end(),
                            [&](const Run& other) { return other.choice.repeat == stage.repeat; });
    if (run == runs.end()) {
      run = runs.insert(runs.end(), Run{});
      run->choice.repeat = stage.repeat;
    }
    run->Add(stage, target);
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
