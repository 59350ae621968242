#include "simulator/call_costs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "ir/evaluate.h"
#include "ir/flagged.h"
#include "ir/loader_reads.h"
#include "ir/peers.h"
#include "ir/walk.h"
#include "simulator/reduction_depth.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

/// Far more than any launch has; sums and products of a few still fit.
constexpr double kMostTasks = 1LL << 60;

class KernelCounter {
 public:
  KernelCounter(const Module& module, const Kernel& kernel, const Env& dims, const Target& target,
                const std::map<std::string, int64_t>& elements, Edges edges)
      : module_(module), target_(target), elements_(elements), edges_(edges) {
    sizes_.dims = dims;
    sizes_.ranges = RangesOf(module, kernel);
    ranks_ = static_cast<double>(RanksAt(module, dims));
    std::vector<ShareSite> sites = SharesOf(module, kernel);
    for (const ShareSite& site : sites) {
      CollectUnflaggable(std::get<Share>(module.nodes[site.share]));
      CollectWrites(std::get<Share>(module.nodes[site.share]));
    }
    for (const ShareSite& site : sites) {
      CallCost call;
      call.share = site.share;
      call.repeat = site.Innermost();
      for (NodeId id : site.repeats) {
        const auto& repeat = std::get<Repeat>(module.nodes[id]);
        auto rounds = static_cast<int64_t>(Int(repeat.hi) - Int(repeat.lo));
        call.loops.push_back({id, std::max<int64_t>(rounds, 0)});
        call.iterations *= call.loops.back().rounds;
      }
      Count(std::get<Share>(module.nodes[site.share]), call);
      calls_.push_back(std::move(call));
    }
  }

  std::vector<CallCost> Take() { return std::move(calls_); }

 private:
  double Int(ExprId id) const {
    return static_cast<double>(EvaluateInt(module_, id, sizes_.dims, sizes_.ranges).value_or(1));
  }

  void CollectWrites(const Share& share) {
    const Device& callee = module_.devices[share.callee];
    for (size_t i = 0; i < share.args.size(); ++i) {
      // A tensor that is updated in place, like a KV cache, mostly holds data of earlier launches.
      const Tensor& param = module_.tensors[callee.params[i]];
      if (param.access == Access::Out) {
        written_.insert(share.args[i].tensor);
        if (param.symmetric) {
          sent_.insert(share.args[i].tensor);
        }
      }
    }
  }

  void CollectUnflaggable(const Share& share) {
    const Device& callee = module_.devices[share.callee];
    for (size_t i = 0; i < share.args.size(); ++i) {
      if (!TakesFlagged(module_, callee, callee.params[i], sizes_.ranges)) {
        unflaggable_.insert(share.args[i].tensor);
      }
    }
  }

  /// Whether flag-in-data will take the buffer, as far as that is known before events are.
  bool WillBeFlagged(TensorId id) const {
    const Tensor& tensor = module_.tensors[id];
    return tensor.kind == TensorKind::Buffer && !unflaggable_.contains(id) &&
           (tensor.shape.size() == 1 ||
            Int(tensor.shape.front()) <= MostFlaggedRows(static_cast<int64_t>(ranks_), false));
  }

  void Count(const Share& share, CallCost& call) {
    const Device& callee = module_.devices[share.callee];
    sizes_.elements.clear();
    for (size_t i = 0; i < share.args.size(); ++i) {
      const Tensor& tensor = module_.tensors[share.args[i].tensor];
      // What the launch computes has the range that its readers ask for.
      const Tensor& ranged = tensor.value_hi ? tensor : module_.tensors[callee.params[i]];
      if (auto given = elements_.find(tensor.name); given != elements_.end()) {
        sizes_.elements[callee.params[i]] = given->second;
      } else if (ranged.value_hi && IsUniform(module_, ranged)) {
        sizes_.elements[callee.params[i]] = static_cast<int64_t>(Int(ranged.value_hi)) - 1;
      }
    }
    BodyCost body = CostOfBody(module_, callee, sizes_);
    call.tasks = static_cast<int64_t>(std::min(body.tasks, kMostTasks));
    call.working_tasks = call.tasks;
    call.tasks_per_sm = (call.tasks + target_.sms - 1) / target_.sms;
    call.balance = call.tasks == 0 ? 1
                                   : static_cast<double>(call.tasks) /
                                         static_cast<double>(call.tasks_per_sm * target_.sms);
    call.reductions = ReductionDepth(module_, callee);
    call.flops = body.flops * body.tasks;
    const Impl* impl = FindImpl(callee, Spelling(target_.arch));
    call.generated = impl == nullptr;
    call.in_tiles = impl != nullptr && !impl->boxes.empty();
    double most = 0;
    double sms = static_cast<double>(std::min(call.tasks, target_.sms));
    for (size_t i = 0; i < share.args.size(); ++i) {
      const Tensor& param = module_.tensors[callee.params[i]];
      const Tensor& tensor = module_.tensors[share.args[i].tensor];
      auto read = body.reads.find(callee.params[i]);
      if (param.access == Access::Out) {
        double bytes =
            static_cast<double>(SizeInBytes(tensor.type)) * body.writes[callee.params[i]].all_tasks;
        call.stores[share.args[i].tensor] += bytes;
        call.sent_bytes += param.symmetric ? bytes * (1 - 1 / ranks_) : 0;
      }
      if (read == body.reads.end() || param.access == Access::Out) {
        continue;
      }
      auto element = static_cast<double>(SizeInBytes(tensor.type));
      bool streams = impl != nullptr &&
                     std::find(impl->preloaded.begin(), impl->preloaded.end(), callee.params[i]) !=
                         impl->preloaded.end() &&
                     !IsReadBehindWait(module_, callee, callee.params[i], share.args[i].tensor);
      if (streams) {
        double all = read->second.all_tasks;
        // Tiles are copied by each task that has them; a last one may be ragged, which is no second
        // copy. What other implementations read again, they hold.
        double copies = std::floor(read->second.one_task * body.tasks / std::max(all, 1.0));
        call.streamed_bytes += element * all;
        call.reads[share.args[i].tensor] += element * all;
        call.copied_bytes += element * all * (call.in_tiles ? std::max(copies, 1.0) : 1);
        call.streams.insert(share.args[i].tensor);
      } else if (!written_.contains(share.args[i].tensor)) {
        call.read_bytes += element * read->second.all_tasks;
        call.reads[share.args[i].tensor] += element * read->second.all_tasks;
      } else {
        double one = element * read->second.one_task;
        bool is_own = call.tasks == 1 || read->second.all_tasks > read->second.one_task;
        bool is_held = !is_own && one <= target_.held_bytes;  // from one task to the next
        double fetched = one * (is_held ? sms : static_cast<double>(call.tasks));
        call.fetched_bytes += fetched;
        call.fetches[share.args[i].tensor] += fetched;
        // Flagged words are looked at before anything is done with them: all of them, but where
        // data choose the weights, each choice has its own.
        bool flagged = module_.tensors[share.args[i].tensor].flagged;
        bool all_first = flagged && !LoadsBehindWait(module_, callee, share.args);
        call.first_bytes += all_first ? one : std::min(one, target_.held_bytes);
        // What all tasks read, they multiply by what each has copied.
        bool expected = edges_ == Edges::Expected && WillBeFlagged(share.args[i].tensor);
        call.in_registers |= !is_own && (flagged || expected);
        AddEdge(share, share.args[i].tensor, call);
        if (one > most) {
          most = one;
          call.is_own = is_own;
        }
      }
    }
  }

  void AddEdge(const Share& share, TensorId tensor, CallCost& call) const {
    EdgeCost edge{tensor, Mechanism::None, sent_.contains(tensor)};
    if (edges_ == Edges::Expected) {
      edge.mechanism = WillBeFlagged(tensor) ? Mechanism::FlagInData : Mechanism::Counter;
    } else if (module_.tensors[tensor].flagged) {
      edge.mechanism = Mechanism::FlagInData;
    } else if (module_.tensors[tensor].phased) {
      edge.mechanism = Mechanism::Words;
    } else if (!share.waits.empty()) {
      edge.mechanism = Mechanism::Counter;
    } else if (!share.range_waits.empty() || !share.enter_waits.empty()) {
      edge.mechanism = Mechanism::Hoisted;
    }
    call.edges.push_back(edge);
  }

  const Module& module_;
  const Target& target_;
  const std::map<std::string, int64_t>& elements_;
  const Edges edges_;
  LaunchSizes sizes_;
  std::set<TensorId> written_;
  double ranks_ = 1;
  std::set<TensorId> sent_;         // those that peers write
  std::set<TensorId> unflaggable_;  // that some call cannot take flagged
  std::vector<CallCost> calls_;
};

}  // namespace

double BytesReadOnce(const Module& module, const std::vector<CallCost>& calls, const Env& dims) {
  std::map<TensorId, double> reads;
  for (const CallCost& call : calls) {
    for (const auto& [tensor, bytes] : call.reads) {
      reads[tensor] += static_cast<double>(call.iterations) * bytes;
    }
  }
  double all = 0;
  for (const auto& [id, bytes] : reads) {
    const Tensor& tensor = module.tensors[id];
    std::optional<double> held = static_cast<double>(SizeInBytes(tensor.type));
    for (ExprId extent : tensor.shape) {
      auto value = EvaluateInt(module, extent, dims);
      held = held && value ? std::optional(*held * static_cast<double>(*value)) : std::nullopt;
    }
    all += std::min(bytes, held.value_or(bytes));
  }
  return all;
}

void FindSpills(const Target& target, std::vector<CallCost>& calls) {
  std::map<TensorId, double> spilled;
  for (CallCost& call : calls) {
    call.spilled_bytes = 0;
    for (const auto& [tensor, bytes] : call.fetches) {
      auto found = spilled.find(tensor);
      call.spilled_bytes += found == spilled.end() ? 0 : std::min(bytes, found->second);
    }
    double passing = call.in_tiles ? call.streamed_bytes : 0;
    for (const auto& [tensor, bytes] : call.stores) {
      passing += bytes;
    }
    for (const auto& [tensor, bytes] : call.stores) {
      if (passing > target.cache_capacity) {
        spilled[tensor] = bytes;
        call.spilled_bytes += bytes;
      } else {
        spilled.erase(tensor);
      }
    }
  }
}

void SumByNetwork(int64_t ranks, std::vector<CallCost>& calls) {
  for (CallCost& call : calls) {
    double before = call.fetched_bytes;
    for (const EdgeCost& edge : call.edges) {
      if (edge.of_peers) {
        double& bytes = call.fetches[edge.tensor];
        call.fetched_bytes -= bytes - bytes / static_cast<double>(ranks);
        bytes /= static_cast<double>(ranks);
      }
    }
    call.first_bytes *= before > 0 ? call.fetched_bytes / before : 1;
  }
}

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
    case Mechanism::Words:
      return "words of turns";
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
    case Limit::Power:
      return "power";
  }
  InternalError(__FILE__, __LINE__, "a limit without a spelling");
}

double Times::Sum() const { return std::accumulate(us.begin(), us.end(), 0.0); }

Limit Times::Longest() const {
  return static_cast<Limit>(std::max_element(us.begin(), us.end()) - us.begin());
}

double SlowestEdge(const CallCost& call, const PerSignal& signal, const PerSignal& of_peer) {
  double time = 0;
  for (const EdgeCost& edge : call.edges) {
    if (edge.mechanism != Mechanism::None) {
      const auto kind =
          edge.mechanism == Mechanism::FlagInData ? &PerSignal::flag_in_data : &PerSignal::counter;
      time = std::max(time, signal.*kind * (edge.of_peers ? of_peer.*kind : 1));
    }
  }
  return time;
}

std::vector<CallCost> CountCalls(const Module& module, const Kernel& kernel, const Env& dims,
                                 const Target& target,
                                 const std::map<std::string, int64_t>& elements, Edges edges) {
  return KernelCounter(module, kernel, dims, target, elements, edges).Take();
}

}  // namespace etc
