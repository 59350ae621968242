#include "analysis/call_order.h"

#include <algorithm>
#include <map>

#include "analysis/shapes.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// What reads or writes a tensor: the tasks, their range, or what they wait for or notify.
using Reader = Conflicts::Use;

/// What a call or a share waits for and notifies, in order, and its axes in its own terms.
struct Steps {
  std::vector<const EventRef*> early;  // waits that do not depend on the task
  std::vector<const EventRef*> waits;  // all
  std::vector<const EventRef*> notifies;
  std::vector<Axis> axes;
};

class CallOrder {
 public:
  /// `write_order`: whether writes must come after the reads and writes before them, too.
  CallOrder(const Module& module, const std::set<EventId>& without, bool write_order)
      : module_(module), without_(without), write_order_(write_order) {}

  using OnUnjoined = std::function<void(const Unjoined&)>;

  /// Calls without tasks at the sizes in `ranges` order nothing there, and need no order.
  void Check(const std::vector<NodeId>& body, const DimRanges& ranges,
             const OnUnjoined& on_unjoined) {
    sites_.clear();
    uses_.clear();
    after_.clear();
    Collect(body, ranges);
    Reach();
    for (const auto& [tensor, uses] : uses_) {
      if (module_.tensors[tensor].flagged) {
        continue;  // no element is written twice, and a reader waits for each
      }
      for (size_t later = 0; later < uses.size(); ++later) {
        for (size_t earlier = 0; earlier <= later; ++earlier) {
          if (earlier < later) {
            CheckPair(uses[earlier], uses[later], {}, on_unjoined);
          }
          // From one iteration to the next of a repeat around both it is the other way round.
          for (const Carrier& carrier : Carriers(uses[earlier].call, uses[later].call)) {
            CheckPair(uses[later], uses[earlier], carrier, on_unjoined);
          }
        }
      }
    }
  }

 private:
  void Collect(const std::vector<NodeId>& nodes, const DimRanges& ranges) {
    for (NodeId id : nodes) {
      const Node& node = module_.nodes[id];
      if (const auto* call = std::get_if<CallNode>(&node)) {
        if (MayHaveTasks(module_, module_.devices[call->callee].tasks, ranges)) {
          Add(id, call->callee, StepsOf(*call), call->args, true);
        }
      } else if (const auto* share = std::get_if<Share>(&node)) {
        if (MayHaveTasks(module_, share->axes, ranges)) {
          Add(id, share->callee, StepsOf(*share), share->args, false);
        }
      } else if (const auto* region = std::get_if<Region>(&node)) {
        Collect(region->body, ranges);
      } else if (const auto* repeat = std::get_if<Repeat>(&node)) {
        repeats_.push_back(repeat->var);
        Collect(repeat->body, ranges);
        repeats_.pop_back();
      }
    }
  }

  Steps StepsOf(const CallNode& call) const {
    Steps steps;
    steps.axes = module_.devices[call.callee].tasks;
    for (const Edge& edge : call.waits) {
      for (const EventRef& ref : edge.refs) {
        bool behind_others = steps.early.size() < steps.waits.size();
        steps.waits.push_back(&ref);
        if (IsCommonWait(module_, ref, edge.coords, behind_others)) {
          steps.early.push_back(&ref);
        }
      }
    }
    for (const Edge& edge : call.notifies) {
      Append(edge.refs, steps.notifies);
    }
    return steps;
  }

  static Steps StepsOf(const Share& share) {
    Steps steps;
    steps.axes = share.axes;
    Append(share.range_waits, steps.early);
    for (const auto* refs : {&share.range_waits, &share.enter_waits, &share.waits}) {
      Append(*refs, steps.waits);
    }
    Append(share.notifies, steps.notifies);
    Append(share.leave_notifies, steps.notifies);
    return steps;
  }

  static void Append(const std::vector<EventRef>& refs, std::vector<const EventRef*>& to) {
    for (const EventRef& ref : refs) {
      to.push_back(&ref);
    }
  }

  std::vector<EventId> Events(const std::vector<const EventRef*>& refs) const {
    std::vector<EventId> events;
    for (const EventRef* ref : refs) {
      if (!without_.contains(ref->event)) {
        events.push_back(ref->event);
      }
    }
    return events;
  }

  /// `of_params`: the axes are those of the device function, over its parameters.
  void Add(NodeId node, DeviceId callee, const Steps& steps, const std::vector<Argument>& args,
           bool of_params) {
    const Device& device = module_.devices[callee];
    CallSite site{
        node, callee, Events(steps.waits), Events(steps.notifies), module_.RangeOf(node), repeats_};
    for (const Axis& axis : steps.axes) {
      for (ExprId bound : {axis.lo, axis.hi}) {
        CallUse use{sites_.size(),       {},           Access::In, Reader::Range,
                    Events(steps.early), site.notifies};
        AddReads(bound, use, of_params ? &device : nullptr, args);
      }
    }
    for (size_t i = 0; i < args.size(); ++i) {
      Access access = module_.tensors[device.params[i]].access;
      bool ahead = access == Access::In && IsPreloaded(device, device.params[i]);
      uses_[args[i].tensor].push_back(
          {sites_.size(), args[i], access, Reader::Body, site.waits, site.notifies, ahead});
    }
    CallUse use{sites_.size(), {}, Access::In, Reader::Edges, {}, site.notifies};
    for (const EventRef* wait : steps.waits) {
      VisitExprs(module_, *wait, [&](ExprId id) { AddRead(id, use, nullptr, args); });
      AddReads(module_.events[wait->event].count, use, nullptr, args);
      if (!without_.contains(wait->event)) {
        use.waits.push_back(wait->event);
      }
    }
    for (const EventRef* notify : steps.notifies) {
      use.notifies = {notify->event};
      VisitExprs(module_, *notify, [&](ExprId id) { AddRead(id, use, nullptr, args); });
    }
    sites_.push_back(std::move(site));
  }

  static bool IsPreloaded(const Device& device, TensorId param) {
    return std::any_of(device.impls.begin(), device.impls.end(), [&](const Impl& impl) {
      return std::find(impl.preloaded.begin(), impl.preloaded.end(), param) != impl.preloaded.end();
    });
  }

  void AddReads(ExprId id, const CallUse& use, const Device* device,
                const std::vector<Argument>& args) {
    VisitExprs(module_, id, [&](ExprId inner) { AddRead(inner, use, device, args); });
  }

  /// Adds the use if the expression is an element of a tensor: of a parameter of `device`, if
  /// given.
  void AddRead(ExprId id, CallUse use, const Device* device, const std::vector<Argument>& args) {
    const auto* load = std::get_if<Load>(&module_.exprs[id]);
    if (load == nullptr) {
      return;
    }
    use.arg = {load->tensor, {}};
    if (device != nullptr) {
      auto param = std::find(device->params.begin(), device->params.end(), load->tensor);
      auto at = static_cast<size_t>(param - device->params.begin());
      if (at >= args.size()) {
        return;
      }
      use.arg = args[at];
    }
    use.arg.indices.insert(use.arg.indices.end(), load->indices.begin(), load->indices.end());
    if (device == nullptr) {
      use.arg.range = module_.RangeOf(id);
    }
    uses_[use.arg.tensor].push_back(std::move(use));
  }

  /// Which calls come after which, through any number of events.
  void Reach() {
    std::map<EventId, std::vector<size_t>> waiting;
    for (size_t i = 0; i < sites_.size(); ++i) {
      for (EventId event : sites_[i].waits) {
        waiting[event].push_back(i);
      }
    }
    for (size_t start = 0; start < sites_.size(); ++start) {
      std::set<size_t> reached;
      std::vector<size_t> open{start};
      while (!open.empty()) {
        size_t at = open.back();
        open.pop_back();
        for (EventId event : sites_[at].notifies) {
          for (size_t next : waiting[event]) {
            if (reached.insert(next).second) {
              open.push_back(next);
            }
          }
        }
      }
      after_.push_back(std::move(reached));
    }
  }

  /// The repeats around both calls, the innermost first.
  std::vector<Carrier> Carriers(size_t a, size_t b) const {
    const std::vector<SymbolId>& first = sites_[a].repeats;
    const std::vector<SymbolId>& second = sites_[b].repeats;
    auto [apart, other] = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
    std::vector<SymbolId> inside(apart, first.end());
    inside.insert(inside.end(), other, second.end());
    std::vector<Carrier> carriers;
    for (auto at = apart; at != first.begin();) {
      carriers.push_back({*--at, inside});
      inside.push_back(*at);
    }
    return carriers;
  }

  /// Whether what the earlier use's call notifies leads to what the later use waits for.
  bool InOrder(const CallUse& earlier, const CallUse& later) const {
    if (earlier.reader == Reader::Body && later.reader == Reader::Body) {
      return after_[earlier.call].contains(later.call);
    }
    std::set<EventId> signals(earlier.notifies.begin(), earlier.notifies.end());
    for (size_t i = 0; i < sites_.size(); ++i) {
      if (Overlap(sites_[i].waits, earlier.notifies)) {
        signals.insert(sites_[i].notifies.begin(), sites_[i].notifies.end());
        for (size_t next : after_[i]) {
          signals.insert(sites_[next].notifies.begin(), sites_[next].notifies.end());
        }
      }
    }
    return std::any_of(later.waits.begin(), later.waits.end(),
                       [&](EventId event) { return signals.contains(event); });
  }

  static bool Overlap(const std::vector<EventId>& a, const std::vector<EventId>& b) {
    return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
  }

  void CheckPair(const CallUse& earlier, const CallUse& later,
                 const std::optional<Carrier>& carrier, const OnUnjoined& on_unjoined) const {
    bool writes = earlier.access != Access::In;
    bool reads = later.access != Access::Out;
    bool conflict = writes || later.access != Access::In;
    bool same_call = earlier.call == later.call && !carrier;
    // An SM without a task of the share says nothing of when it has read its range.
    bool unsaid = earlier.reader == Reader::Range && conflict;
    bool of_interest = write_order_ ? conflict : (writes && reads) || unsaid;
    bool ahead = earlier.ahead || later.ahead;
    bool open = of_interest && !same_call && !ahead && (unsaid || !InOrder(earlier, later)) &&
                !Apart(earlier.arg, later.arg, carrier);
    if (open) {
      on_unjoined({earlier, later, sites_[earlier.call], sites_[later.call], carrier, unsaid});
    }
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
  const std::set<EventId>& without_;
  bool write_order_;
  std::vector<SymbolId> repeats_;  // around what is being collected
  std::vector<CallSite> sites_;
  std::map<TensorId, std::vector<CallUse>> uses_;
  std::vector<std::set<size_t>> after_;
};

}  // namespace

void FindUnjoined(const Module& module, const Graph& graph, const DimRanges& ranges,
                  const std::function<void(const Unjoined&)>& on_unjoined) {
  const std::set<EventId> none;
  CallOrder(module, none, false).Check(graph.body, ranges, on_unjoined);
}

std::set<UnjoinedUses> FindUnjoinedUses(const Module& module, const Kernel& kernel,
                                        const std::set<EventId>& without) {
  std::set<UnjoinedUses> found;
  CallOrder order(module, without, true);
  order.Check(kernel.body, RangesOf(module, kernel), [&](const Unjoined& unjoined) {
    const auto& [earlier, later, first, second, carrier, unsaid] = unjoined;
    found.insert({first.node, second.node, earlier.arg.tensor, earlier.reader == Reader::Body,
                  later.reader == Reader::Body, carrier ? carrier->repeat : SymbolId()});
  });
  return found;
}

}  // namespace etc
