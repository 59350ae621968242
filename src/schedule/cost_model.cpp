#include "schedule/cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/walk.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

class KernelCounter {
 public:
  KernelCounter(const Module& module, const Kernel& kernel, const Env& dims,
                const std::string& arch, const Machine& machine,
                const std::map<std::string, int64_t>& elements)
      : module_(module), arch_(arch), machine_(machine), elements_(elements) {
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
        stage.iterations *= std::max<int64_t>(rounds, 0);
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
    stage.tasks = static_cast<int64_t>(body.tasks);
    stage.tasks_per_sm = (stage.tasks + machine_.sms - 1) / machine_.sms;
    stage.balance = stage.tasks == 0 ? 1
                                     : static_cast<double>(stage.tasks) /
                                           static_cast<double>(stage.tasks_per_sm * machine_.sms);
    stage.flops = body.flops * body.tasks;
    const Impl* impl = FindImpl(callee, arch_);
    double sms = static_cast<double>(std::min(stage.tasks, machine_.sms));
    for (size_t i = 0; i < share.args.size(); ++i) {
      const Tensor& param = module_.tensors[callee.params[i]];
      const Tensor& tensor = module_.tensors[share.args[i].tensor];
      auto read = body.reads.find(callee.params[i]);
      if (read == body.reads.end() || param.access == Access::Out) {
        continue;
      }
      double element = static_cast<double>(BytesPerElement(tensor));
      bool streams = impl != nullptr && std::find(impl->streams.begin(), impl->streams.end(),
                                                  callee.params[i]) != impl->streams.end();
      if (streams) {
        stage.streamed_bytes += element * read->second.all_tasks;
      } else if (!written_.contains(share.args[i].tensor)) {
        stage.read_bytes += element * read->second.all_tasks;
      } else {
        stage.fetched_bytes += element * read->second.one_task * sms;
        AddEdge(share, share.args[i].tensor, stage);
      }
    }
  }

  void AddEdge(const Share& share, TensorId tensor, StageCost& stage) const {
    EdgeCost edge{tensor};
    if (module_.tensors[tensor].tagged) {
      edge.mechanism = Mechanism::Tag;
    } else if (!share.waits.empty()) {
      edge.mechanism = Mechanism::Counter;
    } else if (!share.range_waits.empty() || !share.enter_waits.empty()) {
      edge.mechanism = Mechanism::Hoisted;
    }
    stage.edges.push_back(edge);
  }

  const Module& module_;
  const std::string& arch_;
  const Machine& machine_;
  const std::map<std::string, int64_t>& elements_;
  LaunchSizes sizes_;
  std::set<TensorId> written_;
  std::vector<StageCost> stages_;
};

/// Plays the stages in order: the loaders stream ahead as far as the ring holds, and each stage
/// starts after the edges into it and ends when all it needs has come.
class Player {
 public:
  Player(KernelCost& cost, const Machine& machine) : cost_(cost), machine_(machine) {
    for (StageCost& stage : cost.stages) {
      stage.floor_us = (stage.streamed_bytes + stage.read_bytes) / machine.stream_bytes;
      for (const EdgeCost& edge : stage.edges) {
        double latency = edge.mechanism == Mechanism::None  ? 0
                         : edge.mechanism == Mechanism::Tag ? machine.tag
                                                            : machine.counter;
        stage.latency_us = std::max(stage.latency_us, latency);
      }
    }
  }

  void Run() {
    Pass(machine_.launch);
    for (size_t i = 0; i < cost_.stages.size();) {
      size_t end = i + 1;
      while (end < cost_.stages.size() && cost_.stages[i].repeat &&
             cost_.stages[end].repeat == cost_.stages[i].repeat) {
        ++end;
      }
      for (int64_t round = 0; round < cost_.stages[i].iterations; ++round) {
        for (size_t at = i; at < end; ++at) {
          Play(cost_.stages[at]);
        }
      }
      i = end;
    }
    for (StageCost& stage : cost_.stages) {
      auto iterations = static_cast<double>(std::max<int64_t>(stage.iterations, 1));
      stage.us /= iterations;
      cost_.bytes += iterations * (stage.streamed_bytes + stage.read_bytes);
      cost_.flops += iterations * stage.flops;
    }
    cost_.floor_us = cost_.bytes / machine_.stream_bytes;
    cost_.us = now_;
  }

 private:
  void Play(StageCost& stage) {
    double start = now_;
    Pass(stage.latency_us);
    Pass(stage.fetched_bytes / machine_.cache_bytes);
    needed_ += stage.streamed_bytes;
    // An SM with more tasks than the rest lets them wait.
    Pass(
        (stage.read_bytes / machine_.plain_bytes + stage.streamed_bytes / machine_.consumed_bytes) /
        stage.balance);
    double missing = needed_ - streamed_;
    if (missing > 0) {
      now_ += missing / machine_.stream_bytes;
      streamed_ = needed_;
    }
    stage.us += now_ - start;
  }

  /// Time in which the loaders go on as far as the ring holds.
  void Pass(double us) {
    now_ += us;
    streamed_ = std::min(streamed_ + us * machine_.stream_bytes, needed_ + machine_.ring_bytes);
  }

  KernelCost& cost_;
  const Machine& machine_;
  double now_ = 0;
  double needed_ = 0;    // bytes that the stages so far consume
  double streamed_ = 0;  // bytes that the loaders have copied
};

/// Shares that have one pace: the stages of a repeat delay each other, and none outside of it.
struct Run {
  PaceChoice choice;
  double chain = 0;     // us of latency
  bool tagged = false;  // whether a part of the chain is of tagged words

  void Add(const StageCost& stage) {
    tagged |= std::any_of(stage.edges.begin(), stage.edges.end(),
                          [](const EdgeCost& edge) { return edge.mechanism == Mechanism::Tag; });
    auto iterations = static_cast<double>(stage.iterations);
    chain += iterations * stage.latency_us;
    choice.streamed_bytes += iterations * stage.streamed_bytes;
    if (stage.streamed_bytes > 0) {
      choice.shares.push_back(stage.share);
    }
  }

  void Choose(const Machine& machine) {
    double stream = choice.streamed_bytes / machine.stream_bytes;
    choice.pace.cap = machine.loader_cap;
    std::string times =
        fmt::format("{:.0f} us of streaming beside {:.0f} us of signals", stream, chain);
    if (stream < machine.hidden * chain && tagged) {
      choice.pace.cap = machine.hidden_cap;
      choice.reason = times + ", so the ring is full, and what is on its way delays the words";
    } else if (stream < machine.hidden * chain) {
      choice.reason = times + ", so the ring is full, and a gap would only delay";
    } else if (stream < machine.streaming * chain) {
      double slot = machine.slot_bytes * static_cast<double>(machine.sms) / machine.stream_bytes;
      choice.pace.gap = std::lround(slot * machine.cycles * machine.gap_share / 100) * 100;
      choice.reason = times + ", so bursts would delay the signals";
    } else {
      choice.pace.cap = tagged ? machine.streaming_cap : machine.loader_cap;
      choice.reason = times + ", so the stream sets the time, and a gap would add to it";
    }
    if (chain > 0 && !tagged) {
      choice.pace.ahead = machine.ahead;
    }
  }
};

}  // namespace

std::string_view Spelling(Mechanism mechanism) {
  switch (mechanism) {
    case Mechanism::None:
      return "none";
    case Mechanism::Tag:
      return "tag";
    case Mechanism::Counter:
      return "counter";
    case Mechanism::Hoisted:
      return "hoisted counter";
  }
  InternalError(__FILE__, __LINE__, "a mechanism without a spelling");
}

KernelCost CostOf(const Module& module, const Kernel& kernel, const Env& dims,
                  const std::string& arch, const Machine& machine,
                  const std::map<std::string, int64_t>& elements) {
  KernelCost cost;
  cost.stages = KernelCounter(module, kernel, dims, arch, machine, elements).Take();
  Player(cost, machine).Run();
  return cost;
}

Env LeastSizes(const Module& module, const Kernel& kernel) {
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
  return dims;
}

std::vector<PaceChoice> ChoosePaces(const Module& module, const Kernel& kernel,
                                    const Machine& machine) {
  KernelCost cost = CostOf(module, kernel, LeastSizes(module, kernel), "sm_90a", machine);
  std::vector<Run> runs;
  for (const StageCost& stage : cost.stages) {
    auto run = std::find_if(runs.begin(), runs.end(),
                            [&](const Run& other) { return other.choice.repeat == stage.repeat; });
    if (run == runs.end()) {
      run = runs.insert(runs.end(), Run{});
      run->choice.repeat = stage.repeat;
    }
    run->Add(stage);
  }
  std::vector<PaceChoice> choices;
  for (Run& run : runs) {
    if (run.choice.streamed_bytes > 0) {
      run.Choose(machine);
      choices.push_back(std::move(run.choice));
    }
  }
  return choices;
}

}  // namespace etc
