#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/evaluate.h"
#include "ir/rewrite.h"
#include "verify/checks.h"
#include "verify/shapes.h"

namespace etc {
namespace {

/// A call's use of one tensor.
struct Use {
  size_t call;
  const Argument* arg;
  Access access;
};

/// A call or a share.
struct Site {
  NodeId node;
  DeviceId callee;
  std::vector<EventId> waits;
  std::vector<EventId> notifies;
  SourceRange range;
  std::vector<SymbolId> repeats;  // around it, outermost first
};

class Dependences {
 public:
  /// `write_order`: whether writes must come after the reads and writes before them, too.
  Dependences(const Module& module, const std::set<EventId>& without, bool write_order,
              Diagnostics& diagnostics)
      : module_(module), without_(without), write_order_(write_order), diagnostics_(diagnostics) {}

  /// Calls without tasks at the sizes in `ranges` order nothing there, and need no order.
  void Check(const std::vector<NodeId>& body, const DimRanges& ranges) {
    sites_.clear();
    uses_.clear();
    after_.clear();
    Collect(body, ranges);
    Reach();
    for (const auto& [tensor, uses] : uses_) {
      if (module_.tensors[tensor].tagged) {
        continue;  // no element is written twice, and a reader waits for each
      }
      for (size_t later = 0; later < uses.size(); ++later) {
        for (size_t earlier = 0; earlier <= later; ++earlier) {
          if (earlier < later) {
            CheckPair(uses[earlier], uses[later], {});
          }
          // From one iteration to the next of a repeat around both it is the other way round.
          if (SymbolId var = InnermostRepeat(uses[earlier].call, uses[later].call)) {
            CheckPair(uses[later], uses[earlier], var);
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
          Add({id,
               call->callee,
               Events(call->waits),
               Events(call->notifies),
               module_.RangeOf(id),
               {}},
              call->args);
        }
      } else if (const auto* share = std::get_if<Share>(&node)) {
        if (MayHaveTasks(module_, share->axes, ranges)) {
          Add({id,
               share->callee,
               Events(share->enter_waits, share->waits),
               Events(share->notifies, share->leave_notifies),
               module_.RangeOf(id),
               {}},
              share->args);
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

  std::vector<EventId> Events(const std::vector<Edge>& edges) const {
    std::vector<EventId> events;
    for (const Edge& edge : edges) {
      Append(edge.refs, events);
    }
    return events;
  }
  std::vector<EventId> Events(const std::vector<EventRef>& a,
                              const std::vector<EventRef>& b) const {
    std::vector<EventId> events;
    Append(a, events);
    Append(b, events);
    return events;
  }
  void Append(const std::vector<EventRef>& refs, std::vector<EventId>& events) const {
    for (const EventRef& ref : refs) {
      if (!without_.contains(ref.event)) {
        events.push_back(ref.event);
      }
    }
  }

  void Add(Site site, const std::vector<Argument>& args) {
    const Device& callee = module_.devices[site.callee];
    for (size_t i = 0; i < args.size(); ++i) {
      uses_[args[i].tensor].push_back(
          {sites_.size(), &args[i], module_.tensors[callee.params[i]].access});
    }
    site.repeats = repeats_;
    sites_.push_back(std::move(site));
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

  /// The variable of the innermost repeat around both calls.
  SymbolId InnermostRepeat(size_t a, size_t b) const {
    const std::vector<SymbolId>& outer = sites_[a].repeats;
    for (size_t i = outer.size(); i-- > 0;) {
      if (i < sites_[b].repeats.size() && sites_[b].repeats[i] == outer[i]) {
        return outer[i];
      }
    }
    return {};
  }

  /// `repeat` is absent when both uses are of the same iteration.
  void CheckPair(const Use& earlier, const Use& later, SymbolId repeat) {
    bool writes = earlier.access != Access::In;
    bool reads = later.access != Access::Out;
    bool conflict = writes || later.access != Access::In;
    bool same_call = earlier.call == later.call && !repeat;
    bool of_interest = write_order_ ? conflict : writes && reads;
    if (!of_interest || same_call || after_[earlier.call].contains(later.call) ||
        Apart(*earlier.arg, *later.arg, repeat) ||
        !reported_.insert({sites_[earlier.call].node, sites_[later.call].node}).second) {
      return;
    }
    const Site& first = sites_[earlier.call];
    const Site& second = sites_[later.call];
    const std::string& tensor = module_.tensors[later.arg->tensor].name;
    const std::string& first_name = module_.devices[first.callee].name;
    const std::string& second_name = module_.devices[second.callee].name;
    SourceRange range = later.arg->range.IsValid() ? later.arg->range : second.range;
    std::string message =
        fmt::format("`@{}` {} `%{}`, which `@{}` {}{}, but no event puts it after that",
                    second_name, writes && reads ? "reads" : "writes", tensor, first_name,
                    writes ? "writes" : "reads", repeat ? " in the iteration before" : "");
    Diagnostic& report = diagnostics_.Error(DiagnosticKind::EventOrder, range, std::move(message));
    report.notes.push_back(
        {earlier.arg->range.IsValid() ? earlier.arg->range : first.range,
         fmt::format("`@{}` {} it here", first_name, writes ? "writes" : "reads")});
  }

  /// Whether two slices have a leading index at which they always differ; with `repeat`, the first
  /// of one iteration and the second of a later one.
  bool Apart(const Argument& a, const Argument& b, SymbolId repeat) const {
    for (size_t i = 0; i < std::min(a.indices.size(), b.indices.size()); ++i) {
      auto x = EvaluateInt(module_, a.indices[i], {});
      auto y = EvaluateInt(module_, b.indices[i], {});
      bool numbers_differ = x && y && *x != *y;
      bool moves_on = repeat && Mentions(module_, a.indices[i], {repeat}) &&
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
  Diagnostics& diagnostics_;
  std::vector<SymbolId> repeats_;  // around what is being collected
  std::vector<Site> sites_;
  std::map<TensorId, std::vector<Use>> uses_;
  std::vector<std::set<size_t>> after_;
  std::set<std::pair<NodeId, NodeId>> reported_;
};

}  // namespace

void CheckDependences(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  const std::set<EventId> none;
  Dependences dependences(module, none, false, diagnostics);
  for (const DimRanges& ranges : RangesOf(module, graph)) {
    dependences.Check(graph.body, ranges);
  }
}

void CheckDependences(const Module& module, const Kernel& kernel, const std::set<EventId>& without,
                      Diagnostics& diagnostics) {
  Dependences(module, without, true, diagnostics).Check(kernel.body, RangesOf(module, kernel));
}

}  // namespace etc
