#include "tune/probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "analysis/proofs/proofs.h"
#include "compile/pipeline.h"
#include "expand/expand.h"
#include "expand/named_constants.h"
#include "ir/device_copy.h"
#include "ir/fold.h"
#include "ir/lower_slices.h"
#include "ir/walk.h"
#include "schedule/lower.h"
#include "support/unique_name.h"
#include "verify/verify.h"

namespace etc {
namespace {

/// Of a choice with more values, so many are tried.
constexpr size_t kMostValues = 5;

bool IsEntry(const Module& module, const Item& item) {
  const auto* id = std::get_if<GraphId>(&item);
  return id != nullptr && module.graphs[*id].generics.empty() &&
         module.graphs[*id].alternatives.empty();
}

bool IsShared(const Module& module, const Item& item) {
  const auto* symbol = std::get_if<SymbolId>(&item);
  return std::holds_alternative<Require>(item) ||
         (symbol != nullptr && module.symbols[*symbol].kind != SymbolKind::Let);
}

/// Values that are spread over all, with the least and the largest.
std::vector<Option> Spread(const std::vector<Option>& all, bool every) {
  if (every || all.size() <= kMostValues) {
    return all;
  }
  std::vector<Option> some;
  for (size_t i = 0; i < kMostValues; ++i) {
    some.push_back(all[i * (all.size() - 1) / (kMostValues - 1)]);
  }
  return some;
}

/// Those of each alternative, and of each choice those in the first, a middle and the last range.
std::vector<Decision> SomeOf(const std::vector<Decision>& all) {
  std::map<std::string, std::vector<const Decision*>> by_parameter;
  for (const Decision& decision : all) {
    by_parameter[decision.question.parameter].push_back(&decision);
  }
  std::vector<Decision> some;
  for (const auto& [parameter, decisions] : by_parameter) {
    size_t last = decisions.size() - 1;
    for (size_t i = 0; i <= last; ++i) {
      if (parameter == kAlternative || i == 0 || i == last / 2 || i == last) {
        some.push_back(*decisions[i]);
      }
    }
  }
  return some;
}

/// What the caller promises of the tensor that stands in a parameter's place is promised of it.
void TakePromises(Tensor& param, const Tensor& given) {
  if (given.kind == TensorKind::Param && !param.value_hi && given.indices.empty()) {
    param.value_lo = given.value_lo;
    param.value_hi = given.value_hi;
    param.distinct = given.distinct;
    param.monotone = given.monotone;
  }
}

}  // namespace

void Probes::Make(bool prove, Diagnostics& diagnostics) {
  std::vector<OpenSite> sites;
  if (!Expand(sites, diagnostics)) {
    return;
  }
  KeepConstants();
  while (!sites.empty()) {
    std::vector<OpenSite> inner;
    for (const OpenSite& site : sites) {
      if (seen_.insert(site.key).second) {
        AddSite(site, prove, inner, diagnostics);
      }
    }
    sites = std::move(inner);
  }
}

bool Probes::Expand(std::vector<OpenSite>& sites, Diagnostics& diagnostics) {
  ExpandOptions options{{target_.sms, target_.shared_bytes}, {}, nullptr, &sites};
  return etc::Expand(module_, options, diagnostics);
}

void Probes::AddSite(const OpenSite& site, bool prove, std::vector<OpenSite>& inner,
                     Diagnostics& diagnostics) {
  for (const Decision& decision : SomeOf(site.decisions)) {
    const Question& question = decision.question;
    bool alternative = question.parameter == kAlternative;
    // The first alternative says what the others mean; of values the one that is taken anyway.
    std::string reference = alternative ? question.options.front().name : decision.answer.option;
    Probe probe;
    probe.function = site.name;
    probe.parameter = question.parameter;
    probe.group = groups_++;
    probe.range = RangesOf(module_, decision.where);
    probe.sizes = Describe(question);
    probe.callee = decision.callee;
    probe.call = site.call;
    probe.option = reference;
    probe.is_reference = true;
    if (question.options.size() < 2 ||
        !AddProbe(site, decision, probe, prove, inner, diagnostics)) {
      continue;
    }
    probe.is_reference = false;
    for (const Option& option : Spread(question.options, alternative)) {
      if (option.name != reference) {
        probe.option = option.name;
        (void)AddProbe(site, decision, probe, prove, inner, diagnostics);
      }
    }
  }
}

bool Probes::AddProbe(const OpenSite& site, const Decision& decision, Probe probe, bool prove,
                      std::vector<OpenSite>& inner, Diagnostics& diagnostics) {
  probe.graph = fmt::format("probe_{}", probes_.size());
  GraphId graph = GraphFor(site, decision, probe);
  module_.items = open_.items;
  std::erase_if(module_.items, [&](const Item& item) { return IsEntry(module_, item); });
  module_.items.insert(module_.items.end(), constants_.begin(), constants_.end());
  module_.items.emplace_back(graph);
  Diagnostics found;
  bool expanded = Expand(inner, found);
  if (expanded && !HasTasks(graph, probe.range)) {
    return false;  // in this range the function does nothing
  }
  if (!expanded || !IsRight(prove, found)) {
    for (Diagnostic diagnostic : found.all()) {
      diagnostic.notes.push_back(
          {probe.call, fmt::format("with `{}` = `{}` for this call of `@{}`", probe.parameter,
                                   probe.option, probe.function)});
      diagnostics.Add(std::move(diagnostic));
    }
    return false;
  }
  KeepConstants();
  std::copy_if(module_.items.begin(), module_.items.end(), std::back_inserter(functions_),
               [](const Item& item) {
                 return std::holds_alternative<GraphId>(item) ||
                        std::holds_alternative<DeviceId>(item);
               });
  probes_.push_back(std::move(probe));
  return true;
}

/// The values of a call may be named by the expansion of what is around it.
void Probes::KeepConstants() {
  for (const Item& item : module_.items) {
    const auto* symbol = std::get_if<SymbolId>(&item);
    auto is_it = [&](const Item& other) { return std::get<SymbolId>(other) == *symbol; };
    if (symbol != nullptr && symbol->value >= open_.symbols.size() &&
        std::none_of(constants_.begin(), constants_.end(), is_it)) {
      constants_.push_back(item);
    }
  }
}

/// A graph whose only call is that of the site, with its option pinned.
GraphId Probes::GraphFor(const OpenSite& site, const Decision& decision, const Probe& probe) {
  DeviceCopier copier(module_);
  copier.symbols = site.values;
  // The ends of a range are those of the probe's: an output is as large as the call makes it there.
  Folder folder(module_, probe.range);
  Graph graph;
  graph.name = probe.graph;
  graph.where = decision.where;
  graph.range = site.call;
  CallNode call;
  call.callee = site.device;
  call.graph = site.graph;
  for (const auto& [name, value] : site.generics) {
    call.generics.push_back({name, value, site.call});
  }
  bool alternative = probe.parameter == kAlternative;
  call.pins.push_back({probe.parameter,
                       alternative ? ExprId{} : MakeInt(module_, std::stoll(probe.option)),
                       alternative ? probe.option : "", site.call});
  for (size_t i = 0; i < site.params.size(); ++i) {
    TensorId param = copier.CopyParam(site.params[i]);
    std::vector<ExprId> shape = module_.tensors[param].shape;
    for (ExprId& extent : shape) {
      // A dimension stays one, also where its range has one size.
      extent =
          std::holds_alternative<SymbolRef>(module_.exprs[extent]) ? extent : folder.Fold(extent);
    }
    module_.tensors[param].shape = std::move(shape);
    if (i < site.args.size()) {
      const Tensor given = module_.tensors[site.args[i].tensor];
      TakePromises(module_.tensors[param], given);
    }
    graph.params.push_back(param);
    call.args.push_back({param, {}, site.call});
  }
  call.scalars = site.scalars;
  graph.body.push_back(module_.AddNode(std::move(call), site.call));
  return module_.graphs.Add(std::move(graph));
}

bool Probes::HasTasks(GraphId graph, const DimRanges& range) const {
  bool has = false;
  VisitNodes(module_, module_.graphs[graph].body, [&](NodeId id) {
    const auto* call = std::get_if<CallNode>(&module_.nodes[id]);
    has |= call != nullptr && MayHaveTasks(module_, module_.devices[call->callee].tasks, range);
  });
  return has;
}

bool Probes::IsRight(bool prove, Diagnostics& diagnostics) {
  if (!VerifyAllButDependences(module_, diagnostics)) {
    return false;
  }
  LowerSlices(module_);
  if (prove) {
    if (!DeriveEventsFirst(module_, false, diagnostics)) {
      return false;
    }
    (void)Prove(module_, false, diagnostics);
  }
  return !diagnostics.HasErrors() && VerifyDependences(module_, diagnostics);
}

Module Probes::TakeModule() {
  Module module = std::move(module_);
  module.items.clear();
  for (const Item& item : open_.items) {
    if (IsShared(module, item)) {
      module.items.push_back(item);
    }
  }
  std::set<std::string> names;
  module.items.insert(module.items.end(), constants_.begin(), constants_.end());
  for (const Item& item : functions_) {
    if (const auto* device = std::get_if<DeviceId>(&item)) {
      module.devices[*device].name = UniqueName(module.devices[*device].name, names);
    }
    module.items.push_back(item);
  }
  TellConstantsApart(module);
  return module;
}

}  // namespace etc
