#include "expand/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "expand/arguments.h"
#include "expand/choosing.h"
#include "expand/deduce.h"
#include "expand/inline.h"
#include "expand/layouts.h"
#include "expand/named_constants.h"
#include "expand/open_constants.h"
#include "expand/presence.h"
#include "expand/ranks.h"
#include "ir/device_copy.h"
#include "ir/printer.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "support/unique_name.h"

namespace etc {
namespace {

constexpr int64_t kMaxCalls = 4096;  // of a graph: the time of the proofs grows with their cube

template <class T>
std::set<T> Without(const std::vector<T>& all, const std::vector<T>& others) {
  std::set<T> rest(all.begin(), all.end());
  std::for_each(others.begin(), others.end(), [&](T one) { rest.erase(one); });
  return rest;
}

bool IsLet(const Module& module, const Item& item) {
  const auto* symbol = std::get_if<SymbolId>(&item);
  return symbol != nullptr && module.symbols[*symbol].kind == SymbolKind::Let;
}

class Expander {
 public:
  Expander(Module& module, const ExpandOptions& options, Diagnostics& diagnostics)
      : module_(module),
        diagnostics_(diagnostics),
        constants_(module),
        sites_(options.sites),
        choosing_(module, options.advise, options.decisions ? *options.decisions : decisions_,
                  diagnostics) {
    size_t imported_until = 0;
    for (size_t i = 0; i < module.items.size(); ++i) {
      const Item& item = module.items[i];
      if (const auto* import = std::get_if<ImportId>(&item)) {
        imported_until = std::max(imported_until, i + 1 + module.imports[*import].items);
      }
      imported_.push_back(i < imported_until);
      if (const auto* device = std::get_if<DeviceId>(&item); device && imported_.back()) {
        imported_devices_.insert(*device);
      }
      changes_ |= std::holds_alternative<ImportId>(item) ||
                  std::holds_alternative<FunctionId>(item) || IsLet(module, item) ||
                  IsOpen(module, item) || IsGeneric(item) || CallsWhatIsOpen(item) ||
                  HasConditionalParams(module, Params(item));
    }
  }

  bool Run() {
    size_t before = diagnostics_.error_count();
    if (!changes_) {
      DecideKernels();
      return diagnostics_.error_count() == before;
    }
    module_.applications.clear();
    PutLets();
    DecideParams();
    DecideConstants(module_, Graphs(), choosing_, imported_);
    ReserveNames();
    std::map<size_t, std::vector<Item>> made;  // for the graph at this item, in front of it
    for (size_t i = 0; i < module_.items.size(); ++i) {
      if (const auto* graph = std::get_if<GraphId>(&module_.items[i]); graph && Stays(i)) {
        choosing_.Enter(module_.graphs[*graph]);
        std::vector<NodeId> body = Block(module_.graphs[*graph].body, true);
        body.insert(body.begin(), buffers_.begin(), buffers_.end());
        buffers_.clear();
        calls_ = 0;
        module_.graphs[*graph].body = std::move(body);
        choosing_.DecideKernels(module_.graphs[*graph]);
        TakeLayouts(module_, module_.graphs[*graph].body, imported_devices_);
        made[i] = std::exchange(made_, {});
      }
    }
    std::vector<Item> items;
    for (size_t i = 0; i < module_.items.size(); ++i) {
      if (auto found = made.find(i); found != made.end()) {
        items.insert(items.end(), found->second.begin(), found->second.end());
      }
      if (Stays(i)) {
        items.push_back(module_.items[i]);
      }
    }
    module_.items = std::move(items);
    TellConstantsApart(module_);
    // Their places are those of the text as it was written.
    module_.comments.clear();
    module_.blank_lines.clear();
    return diagnostics_.error_count() == before;
  }

 private:
  /// Those of all graphs of a flat module.
  void DecideKernels() {
    for (const Item& item : module_.items) {
      if (const auto* graph = std::get_if<GraphId>(&item)) {
        choosing_.Enter(module_.graphs[*graph]);
        choosing_.DecideKernels(module_.graphs[*graph]);
      }
    }
  }

  /// A function of which each call may get a copy of its own.
  bool IsGeneric(const Device& device) const {
    return !device.generics.empty() || HasConditionalScalars(module_, device.scalars);
  }

  bool IsGeneric(const Item& item) const {
    const auto* device = std::get_if<DeviceId>(&item);
    const auto* graph = std::get_if<GraphId>(&item);
    return (device != nullptr && IsGeneric(module_.devices[*device])) ||
           (graph != nullptr && !BecomesKernels(module_.graphs[*graph]));
  }

  /// Of a device function or a graph; else none.
  std::vector<TensorId> Params(const Item& item) const {
    if (const auto* device = std::get_if<DeviceId>(&item)) {
      return module_.devices[*device].params;
    }
    const auto* graph = std::get_if<GraphId>(&item);
    return graph != nullptr ? module_.graphs[*graph].params : std::vector<TensorId>{};
  }

  /// Whether some call stands for a graph, or says something of its callee.
  bool CallsWhatIsOpen(const Item& item) const {
    bool calls = false;
    if (const auto* graph = std::get_if<GraphId>(&item)) {
      VisitNodes(module_, module_.graphs[*graph].body, [&](NodeId id) {
        const auto* call = std::get_if<CallNode>(&module_.nodes[id]);
        calls |= call != nullptr && (call->graph || !call->generics.empty() || !call->pins.empty());
      });
    }
    return calls;
  }

  /// Whether the item is one of the flat module.
  bool Stays(size_t i) const {
    const Item& item = module_.items[i];
    if (std::holds_alternative<ImportId>(item) || std::holds_alternative<FunctionId>(item) ||
        IsLet(module_, item) || IsGeneric(item)) {
      return false;
    }
    const auto* device = std::get_if<DeviceId>(&item);
    return !imported_[i] || (device != nullptr && used_.contains(*device)) ||
           (device == nullptr && !std::holds_alternative<GraphId>(item));
  }

  /// The names of `let`s become what they stand for, in place: an expression is made before it is
  /// used.
  void PutLets() {
    for (ExprId id : module_.exprs.Ids()) {
      const auto* ref = std::get_if<SymbolRef>(&module_.exprs[id]);
      if (ref != nullptr && module_.symbols[ref->symbol].kind == SymbolKind::Let &&
          module_.symbols[ref->symbol].value) {
        TakeDecidedSides(module_, module_.symbols[ref->symbol].value);
        Expr value = module_.exprs[module_.symbols[ref->symbol].value];
        module_.exprs[id] = std::move(value);
      }
    }
  }

  /// The numbers of the graphs that become kernels, among the items.
  std::vector<size_t> Graphs() const {
    std::vector<size_t> graphs;
    for (size_t i = 0; i < module_.items.size(); ++i) {
      if (std::holds_alternative<GraphId>(module_.items[i]) && Stays(i)) {
        graphs.push_back(i);
      }
    }
    return graphs;
  }

  /// Decides which parameters there are of what is not generic.
  void DecideParams() {
    for (const Item& item : module_.items) {
      if (IsGeneric(item)) {
        continue;
      }
      if (const auto* device = std::get_if<DeviceId>(&item)) {
        KeepPresentParams(module_, module_.devices[*device], diagnostics_);
      } else if (const auto* graph = std::get_if<GraphId>(&item)) {
        KeepPresentParams(module_, module_.graphs[*graph], diagnostics_);
      }
    }
  }

  /// What the file itself defines keeps its name.
  void ReserveNames() {
    for (size_t i = 0; i < module_.items.size(); ++i) {
      const auto* device = std::get_if<DeviceId>(&module_.items[i]);
      const auto* graph = std::get_if<GraphId>(&module_.items[i]);
      if (device != nullptr && Stays(i)) {
        names_.insert(module_.devices[*device].name);
      } else if (graph != nullptr && Stays(i)) {
        names_.insert(module_.graphs[*graph].name);
      }
    }
  }

  /// `whole`: the nodes of a graph, and not those of a repeat or a region.
  std::vector<NodeId> Block(const std::vector<NodeId>& nodes, bool whole) {
    std::vector<NodeId> flat;
    for (NodeId id : nodes) {
      Node node = module_.nodes[id];  // a copy: the table grows
      bool inlined =
          std::visit(Overloaded{
                         [&](OneOf<Repeat, Region> auto& around) {
                           around.body = Block(around.body, false);
                           return false;
                         },
                         [&](CallNode& call) {
                           Count(module_.RangeOf(id));
                           if (!call.graph) {
                             Resolve(call, module_.RangeOf(id));
                             return false;
                           }
                           for (NodeId inner : Inline(call, module_.RangeOf(id))) {
                             if (!std::holds_alternative<BufferDecl>(module_.nodes[inner])) {
                               flat.push_back(inner);
                             } else if (whole && inlined_ > 0) {
                               flat.insert(PlaceOfBuffer(module_, flat), inner);
                             } else {
                               // One buffer serves all rounds of a repeat around the call.
                               buffers_.push_back(inner);
                             }
                           }
                           return true;
                         },
                         [](OneOf<BufferDecl, EventDecl, Share, Dispatch> auto&) { return false; },
                     },
                     node);
      if (inlined) {
        continue;
      }
      module_.nodes[id] = std::move(node);
      flat.push_back(id);
    }
    return flat;
  }

  std::vector<NodeId> Inline(const CallNode& call, SourceRange range) {
    if (calls_ > kMaxCalls) {
      return {};  // said already
    }
    const Graph graph = module_.graphs[call.graph];
    Callee callee{graph.name, graph.generics, graph.params, graph.range};
    if (!call.waits.empty() || !call.notifies.empty() || !call.scalars.empty()) {
      diagnostics_.Error(DiagnosticKind::Argument, range,
                         fmt::format("a call of the graph `@{}` has tensors only: neither scalars "
                                     "nor events",
                                     graph.name));
      return {};
    }
    if (!graph.specialisations.empty()) {
      diagnostics_
          .Error(DiagnosticKind::Specialise, range,
                 fmt::format("`@{}` is specialised; a graph that is called is a part of another, "
                             "which may be",
                             graph.name))
          .notes.push_back({graph.range, "it is defined here"});
      return {};
    }
    size_t decided = choosing_.Decided();
    choosing_.CheckPins(callee, !graph.alternatives.empty(), call);
    std::optional<Deduced> deduced = Deduce(module_, callee, call, range, choosing_, diagnostics_);
    if (!deduced || !ArgumentsFit(module_, callee, call, *deduced, diagnostics_)) {
      return {};
    }
    std::vector<size_t> taken =
        graph.alternatives.empty()
            ? std::vector<size_t>{}
            : choosing_.Alternatives(callee, graph.alternatives, call, deduced->values, range);
    AddSite(callee, call, *deduced, decided, range);
    constants_.Name(callee, deduced->values, made_);
    Remember(callee, {graph.range.begin, graph.braces.end}, deduced->values, range);
    return graph.alternatives.empty()
               ? Inlined(InlineNodes(module_, graph, graph.body, call, std::move(*deduced)))
               : InlineAlternatives(graph, call, *deduced, taken);
  }

  /// Counts a call in what the graph at hand calls. Of too many, no further graph is put in.
  void Count(SourceRange range) {
    if (inlined_ > 0 && ++calls_ == kMaxCalls + 1) {
      diagnostics_.Error(DiagnosticKind::NestingTooDeep, range,
                         fmt::format("more than {} calls come of a graph with those that it calls; "
                                     "`repeat` says that calls come again",
                                     kMaxCalls));
    }
  }

  std::vector<NodeId> Inlined(const std::vector<NodeId>& nodes) {
    ++inlined_;
    std::vector<NodeId> flat = Block(nodes, true);
    --inlined_;
    return flat;
  }

  /// All alternatives that are taken in some range, in the order of the ranges. Their calls have
  /// tasks in these ranges only.
  std::vector<NodeId> InlineAlternatives(const Graph& graph, const CallNode& call,
                                         const Deduced& deduced, const std::vector<size_t>& taken) {
    std::vector<NodeId> nodes;
    for (size_t number : choosing_.EachOf(taken)) {
      Choosing::Narrowed narrowed(choosing_, taken, number);
      std::vector<NodeId> mine =
          Inlined(InlineNodes(module_, graph, graph.alternatives[number].body, call, deduced));
      nodes.insert(nodes.end(), mine.begin(), mine.end());
    }
    std::stable_partition(nodes.begin(), nodes.end(), [&](NodeId id) {
      return std::holds_alternative<BufferDecl>(module_.nodes[id]);
    });
    return nodes;
  }

  void AddSite(const Callee& callee, const CallNode& call, const Deduced& deduced, size_t decided,
               SourceRange range) {
    if (sites_ != nullptr && choosing_.Decided() > decided) {
      sites_->push_back(SiteOf(module_, callee, call, deduced, choosing_.Since(decided), range));
    }
  }

  /// Has a call of a generic device function call the one that is made for it.
  void Resolve(CallNode& call, SourceRange range) {
    const Device device = module_.devices[call.callee];
    ExprId guard = choosing_.Guard();
    if (!IsGeneric(device) && call.generics.empty() && call.pins.empty() && !guard) {
      if (used_.insert(call.callee).second && imported_devices_.contains(call.callee)) {
        module_.devices[call.callee].name = UniqueName(device.name, names_);
      }
      return;
    }
    Callee callee{device.name, device.generics, device.params, device.range};
    size_t decided = choosing_.Decided();
    choosing_.CheckPins(callee, false, call);
    std::optional<Deduced> deduced = Deduce(module_, callee, call, range, choosing_, diagnostics_);
    if (!deduced) {
      return;
    }
    AddSite(callee, call, *deduced, decided, range);
    auto& [values, params] = *deduced;
    std::optional<std::vector<SymbolId>> scalars =
        TakePresentScalars(module_, call, device, values, range, diagnostics_);
    if (!scalars) {
      return;
    }
    std::string key =
        fmt::format("{};{}", call.callee.value, guard ? Print(module_, guard) : std::string());
    for (SymbolId generic : device.generics) {
      key += ";" + Print(module_, values.at(generic));
    }
    Remember(callee, {device.range.begin, device.braces.end}, values, range);
    auto found = instances_.find(key);
    if (found == instances_.end()) {
      constants_.Name(callee, values, made_);
      Device made = CopyDevice(module_, call.callee, params, *scalars, std::move(values),
                               UniqueName(device.name, names_));
      made.body = WithoutDecidedChoices(module_, made.body);
      if (guard && !made.tasks.empty()) {
        Axis& axis = made.tasks.front();
        ExprId none = axis.lo ? axis.lo : MakeInt(module_, 0);
        axis.hi = module_.AddExpr(etc::Call{Intrinsic::Select, {guard, axis.hi, none}});
      }
      CheckUnused(module_, made, Without(device.params, params), Without(device.scalars, *scalars),
                  diagnostics_);
      DeviceId copy = module_.devices.Add(std::move(made));
      made_.emplace_back(copy);
      if (imported_devices_.contains(call.callee)) {
        imported_devices_.insert(copy);
      }
      found = instances_.emplace(std::move(key), copy).first;
    }
    call.callee = found->second;
    call.generics.clear();
    call.pins.clear();
  }

  /// Remembers that a text was copied for a call.
  void Remember(const Callee& callee, SourceRange text, const Substitution& generics,
                SourceRange range) {
    std::string values;
    for (SymbolId generic : callee.generics) {
      values += fmt::format("{}{} = {}", values.empty() ? "<" : ", ", module_.symbols[generic].name,
                            Print(module_, generics.at(generic)));
    }
    module_.expansions.push_back(
        {text, range, fmt::format("@{}{}{}", callee.name, values, values.empty() ? "" : ">")});
  }

  Module& module_;
  Diagnostics& diagnostics_;
  std::vector<bool> imported_;  // for each item
  std::set<DeviceId> imported_devices_;
  bool changes_ = false;
  std::set<DeviceId> used_;
  std::set<std::string> names_;
  std::map<std::string, DeviceId> instances_;  // by callee and values
  NamedConstants constants_;
  std::vector<Decision> decisions_;  // where nobody asks for them
  std::vector<OpenSite>* sites_;
  Choosing choosing_;
  int64_t calls_ = 0;            // of the graphs that the graph at hand calls
  int inlined_ = 0;              // calls around, of which each stands for its graph
  std::vector<NodeId> buffers_;  // of the graphs that the graph at hand calls
  std::vector<Item> made_;       // for the graph at hand
};

}  // namespace

bool Expand(Module& module, const ExpandOptions& options, Diagnostics& diagnostics) {
  for (ExprId id : module.exprs.Ids()) {
    if (IsSymbol(module, id, module.target_sms)) {
      module.exprs[id] = IntLiteral{options.target.sms};
    } else if (IsSymbol(module, id, module.target_shared_bytes)) {
      module.exprs[id] = IntLiteral{options.target.shared_bytes};
    }
  }
  SettleRanks(module);
  return Expander(module, options, diagnostics).Run();
}

}  // namespace etc
