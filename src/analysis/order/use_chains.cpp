#include "analysis/order/use_chains.h"

#include <algorithm>

#include "analysis/shapes.h"
#include "ir/loader_reads.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// What reads or writes a tensor: the tasks, their range, or what they wait for or notify.
using Reader = Conflicts::Use;
using Uses = std::map<TensorId, std::vector<CallUse>>;

bool IsPreloadedAhead(const Module& module, const Device& device, TensorId param,
                      TensorId argument) {
  return !IsReadBehindWait(module, device, param, argument) &&
         std::any_of(device.impls.begin(), device.impls.end(), [&](const Impl& impl) {
           return std::find(impl.preloaded.begin(), impl.preloaded.end(), param) !=
                  impl.preloaded.end();
         });
}

std::vector<EventId> EventsOf(const std::vector<TaskEdge>& edges) {
  std::vector<EventId> events;
  for (const TaskEdge& edge : edges) {
    events.push_back(edge.ref->event);
  }
  return events;
}

/// Collects the uses of calls.
class Collector {
 public:
  Collector(const Module& module, Uses& uses) : module_(module), uses_(uses) {}

  void Add(const ProgramCall& call) {
    std::vector<EventId> waits = EventsOf(call.waits);
    std::vector<EventId> notifies = EventsOf(call.notifies);
    AddRange(call, notifies);
    const Device& device = *call.device;
    for (size_t i = 0; i < call.args.size(); ++i) {
      Access access = module_.tensors[device.params[i]].access;
      bool ahead = access == Access::In &&
                   IsPreloadedAhead(module_, device, device.params[i], call.args[i].tensor);
      uses_[call.args[i].tensor].push_back(
          {call.index, call.args[i], access, Reader::Body, waits, notifies, ahead});
    }
    CallUse use{call.index, {}, Access::In, Reader::Edges, {}, notifies};
    for (const TaskEdge& wait : call.waits) {
      VisitExprs(module_, *wait.ref, [&](ExprId id) { AddRead(id, use); });
      VisitExprs(module_, module_.events[wait.ref->event].count,
                 [&](ExprId id) { AddRead(id, use); });
      use.waits.push_back(wait.ref->event);
    }
    for (const TaskEdge& notify : call.notifies) {
      use.notifies = {notify.ref->event};
      VisitExprs(module_, *notify.ref, [&](ExprId id) { AddRead(id, use); });
    }
  }

 private:
  /// What the range of the tasks is read from: for a call of a graph, from its parameters.
  void AddRange(const ProgramCall& call, const std::vector<EventId>& notifies) {
    std::vector<EventId> early;
    for (const TaskEdge& wait : call.waits) {
      if (wait.common) {
        early.push_back(wait.ref->event);
      }
    }
    for (const Axis& axis : call.axes) {
      for (ExprId bound : {axis.lo, axis.hi}) {
        VisitExprs(module_, bound, [&](ExprId id) {
          CallUse use{call.index, {}, Access::In, Reader::Range, early, notifies};
          AddRead(id, std::move(use), &call);
        });
      }
    }
  }

  /// Adds the use if the expression is an element of a tensor, which may be a parameter of the
  /// callee of `call`.
  void AddRead(ExprId id, CallUse use, const ProgramCall* call = nullptr) {
    const auto* load = std::get_if<Load>(&module_.exprs[id]);
    if (load == nullptr) {
      return;
    }
    const Argument* bound = call == nullptr ? nullptr : ArgumentOf(*call, load->tensor);
    use.arg = bound != nullptr ? *bound : Argument{load->tensor, {}, module_.RangeOf(id)};
    use.arg.indices.insert(use.arg.indices.end(), load->indices.begin(), load->indices.end());
    uses_[use.arg.tensor].push_back(std::move(use));
  }

  const Module& module_;
  Uses& uses_;
};

/// The chains of events from call to call, without some of the events.
class Chains {
 public:
  Chains(const Module& module, const CallProgram& program, const std::vector<bool>& live,
         const std::set<EventId>& without)
      : module_(module), calls_(program.calls), without_(without) {
    std::map<EventId, std::vector<size_t>> waiting;
    for (const ProgramCall& call : calls_) {
      waits_.push_back(live[call.index] ? Kept(EventsOf(call.waits)) : std::vector<EventId>());
      notifies_.push_back(live[call.index] ? Kept(EventsOf(call.notifies))
                                           : std::vector<EventId>());
      for (EventId event : waits_.back()) {
        waiting[event].push_back(call.index);
      }
    }
    for (size_t start = 0; start < calls_.size(); ++start) {
      after_.push_back(Reached(start, waiting));
    }
  }

  std::optional<Unjoined> Look(const CallUse& earlier, const CallUse& later,
                               const std::optional<Carrier>& carrier, NeedOrder need) const {
    bool writes = earlier.access != Access::In;
    bool reads = later.access != Access::Out;
    bool conflict = writes || later.access != Access::In;
    bool same_call = earlier.call == later.call && !carrier;
    // An SM without a task of the share says nothing of when it has read its range.
    bool unsaid = earlier.reader == Reader::Range && conflict;
    bool of_interest = need == NeedOrder::Conflicts ? conflict : (writes && reads) || unsaid;
    bool ahead = earlier.ahead || later.ahead;
    bool open = of_interest && !same_call && !ahead && (unsaid || !InOrder(earlier, later)) &&
                !Apart(earlier.arg, later.arg, carrier);
    return open ? std::optional(Unjoined{earlier, later, carrier, unsaid}) : std::nullopt;
  }

  /// The repeats around both calls, the innermost first.
  std::vector<Carrier> Carriers(size_t a, size_t b) const {
    const std::vector<EnclosingRepeat>& first = calls_[a].repeats;
    const std::vector<EnclosingRepeat>& second = calls_[b].repeats;
    size_t common = CommonRepeats(calls_[a], calls_[b]);
    std::vector<SymbolId> inside;
    for (const auto* repeats : {&first, &second}) {
      for (size_t i = common; i < repeats->size(); ++i) {
        inside.push_back((*repeats)[i].var);
      }
    }
    std::vector<Carrier> carriers;
    for (size_t i = common; i-- > 0;) {
      carriers.push_back({first[i].var, inside});
      inside.push_back(first[i].var);
    }
    return carriers;
  }

 private:
  std::vector<EventId> Kept(std::vector<EventId> events) const {
    std::erase_if(events, [&](EventId event) { return without_.contains(event); });
    return events;
  }

  /// The calls that come after one, through any number of events.
  std::set<size_t> Reached(size_t start,
                           const std::map<EventId, std::vector<size_t>>& waiting) const {
    std::set<size_t> reached;
    std::vector<size_t> open{start};
    while (!open.empty()) {
      size_t at = open.back();
      open.pop_back();
      for (EventId event : notifies_[at]) {
        auto found = waiting.find(event);
        for (size_t next : found == waiting.end() ? std::vector<size_t>() : found->second) {
          if (reached.insert(next).second) {
            open.push_back(next);
          }
        }
      }
    }
    return reached;
  }

  /// Whether what the earlier use's call notifies leads to what the later use waits for.
  bool InOrder(const CallUse& earlier, const CallUse& later) const {
    if (earlier.reader == Reader::Body && later.reader == Reader::Body) {
      return after_[earlier.call].contains(later.call);
    }
    std::vector<EventId> said = Kept(earlier.notifies);
    std::set<EventId> signals(said.begin(), said.end());
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (Overlap(waits_[i], said)) {
        signals.insert(notifies_[i].begin(), notifies_[i].end());
        for (size_t next : after_[i]) {
          signals.insert(notifies_[next].begin(), notifies_[next].end());
        }
      }
    }
    return std::any_of(later.waits.begin(), later.waits.end(),
                       [&](EventId event) { return signals.contains(event); });
  }

  static bool Overlap(const std::vector<EventId>& a, const std::vector<EventId>& b) {
    return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
  }

  /// Whether two slices have a leading index at which they always differ; with a carrier, the first
  /// of one iteration and the second of a later one.
  bool Apart(const Argument& a, const Argument& b, const std::optional<Carrier>& carrier) const {
    for (size_t i = 0; i < std::min(a.indices.size(), b.indices.size()); ++i) {
      if (!a.indices[i] || !b.indices[i]) {
        continue;  // a free axis
      }
      auto x = EvaluateInt(module_, a.indices[i], {});
      auto y = EvaluateInt(module_, b.indices[i], {});
      bool numbers_differ = x && y && *x != *y;
      bool moves_on = carrier && Mentions(module_, a.indices[i], {carrier->repeat}) &&
                      !Mentions(module_, a.indices[i], carrier->inside) &&
                      SameSize(module_, a.indices[i], b.indices[i]);
      if (numbers_differ || moves_on) {
        return true;
      }
    }
    return false;
  }

  const Module& module_;
  const std::vector<ProgramCall>& calls_;
  const std::set<EventId>& without_;
  std::vector<std::vector<EventId>> waits_;     // of each call
  std::vector<std::vector<EventId>> notifies_;  // of each call
  std::vector<std::set<size_t>> after_;
};

}  // namespace

UseChains::UseChains(const Module& module, const CallProgram& program)
    : module_(module), program_(program) {
  Collector collector(module, uses_);
  for (const ProgramCall& call : program.calls) {
    live_.push_back(MayHaveTasks(module, program, call));
    if (live_.back()) {
      collector.Add(call);
    }
  }
}

void UseChains::FindUnjoined(NeedOrder need, const std::set<EventId>& without,
                             const std::function<void(const Unjoined&)>& on_unjoined) const {
  Chains chains(module_, program_, live_, without);
  auto look = [&](const CallUse& earlier, const CallUse& later,
                  const std::optional<Carrier>& carrier) {
    if (auto unjoined = chains.Look(earlier, later, carrier, need)) {
      on_unjoined(*unjoined);
    }
  };
  for (const auto& [tensor, uses] : uses_) {
    if (module_.tensors[tensor].flagged) {
      continue;  // no element is written twice, and a reader waits for each
    }
    for (size_t later = 0; later < uses.size(); ++later) {
      for (size_t earlier = 0; earlier <= later; ++earlier) {
        if (earlier < later) {
          look(uses[earlier], uses[later], {});
        }
        // From one iteration to the next of a repeat around both it is the other way round.
        for (const Carrier& carrier : chains.Carriers(uses[earlier].call, uses[later].call)) {
          look(uses[later], uses[earlier], carrier);
        }
      }
    }
  }
}

}  // namespace etc
