#include "tune/probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "analysis/proofs/proofs.h"
#include "analysis/ranks.h"
#include "compile/pipeline.h"
#include "expand/expand.h"
#include "expand/named_constants.h"
#include "ir/device_copy.h"
#include "ir/fold.h"
#include "ir/lower_slices.h"
#include "ir/walk.h"
#include "support/unique_name.h"
#include "tune/apart.h"
#include "verify/verify.h"

namespace etc {
namespace {

/// Of a choice with more values, so many are tried.
constexpr size_t kMostValues = 5;

bool IsEntry(const Module& module, const Item& item) {
  const auto* id = std::get_if<GraphId>(&item);
  return id != nullptr && BecomesKernels(module.graphs[*id]);
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

/// Those that a call may take and does not.
void AddOtherAlternatives(const OpenSite& site, std::set<std::string>& others) {
  for (const Decision& decision : site.decisions) {
    for (const Option& option : decision.question.options) {
      if (decision.question.parameter == kAlternative && option.name != decision.answer.option) {
        others.insert(option.name);
      }
    }
  }
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

/// Makes a parameter what peers may write: a buffer, until all ranks are one program.
void MakeShared(Tensor& param) {
  param.kind = TensorKind::Buffer;
  param.symmetric = true;
  param.access = Access::In;
  param.value_lo = param.value_hi = {};
  param.distinct = param.monotone = false;
  param.counts = {};
  param.indices.clear();
}

/// Makes parameters of such buffers, in a program of all ranks.
void MakeParams(Module& module, Graph& graph, const std::vector<SharedParam>& shared) {
  for (const auto& [tensor, access] : shared) {
    module.tensors[tensor].kind = TensorKind::Param;
    module.tensors[tensor].access = access;
    graph.params.push_back(tensor);
    std::erase_if(graph.body, [&, tensor = tensor](NodeId node) {
      const auto* decl = std::get_if<BufferDecl>(&module.nodes[node]);
      return decl != nullptr && decl->tensor == tensor;
    });
  }
}

bool IsInOrder(Module& module, bool prove, Diagnostics& diagnostics) {
  if (prove) {
    if (!DeriveEventsFirst(module, false, diagnostics)) {
      return false;
    }
    if (IsOfAllRanks(module)) {
      NameAsWritten(module);
    }
    (void)Prove(module, false, diagnostics);
  }
  return !diagnostics.HasErrors() && VerifyDependences(module, diagnostics);
}

}  // namespace

void Probes::Make(bool prove, Diagnostics& diagnostics) {
  std::vector<OpenSite> sites;
  if (!Expand(sites, diagnostics)) {
    return;
  }
  KeepConstants();
  FindApart();
  while (!sites.empty()) {
    std::vector<OpenSite> inner;
    for (const OpenSite& site : sites) {
      if (seen_.insert(KeyOf(site)).second) {
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

/// Of the program.
void Probes::FindApart() {
  for (const Item& item : module_.items) {
    if (const auto* id = std::get_if<GraphId>(&item); id != nullptr && ranks() > 1) {
      const Graph& graph = module_.graphs[*id];
      AddSharded(module_, graph, apart_);
      AddApart(module_, graph, RangesOf(module_, graph.where), ranks(), apart_);
    }
  }
}

/// A function computes the same of all tensors, whatever it leaves open. Alternatives may do so
/// because some tensors are alike on all ranks.
bool Probes::IsApart(const OpenSite& site, size_t param) const {
  return ranks() > 1 &&
         (!site.graph || (param < site.args.size() && apart_.contains(site.args[param].tensor)));
}

std::string Probes::KeyOf(const OpenSite& site) const {
  std::string key = site.key;
  for (size_t i = 0; i < site.params.size(); ++i) {
    key += IsApart(site, i) ? ";apart" : ";";
  }
  return key;
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
    if (ranks() > 1) {
      const std::string& size = module_.symbols[module_.mesh->size].name;
      probe.sizes =
          fmt::format("{} = {}{}{}", size, ranks(), probe.sizes.empty() ? "" : ", ", probe.sizes);
    }
    probe.callee = decision.callee;
    probe.call = site.call;
    probe.option = reference;
    probe.is_reference = true;
    if (question.options.size() < 2 ||
        !AddProbe(site, decision, probe, prove, inner, diagnostics)) {
      continue;
    }
    probe.is_reference = false;
    std::vector<Option> options = Spread(question.options, alternative);
    std::erase_if(options, [&](const Option& option) { return option.name == reference; });
    for (size_t i = 0; i < options.size(); ++i) {
      probe.option = options[i].name;
      auto others = AddProbe(site, decision, probe, prove, inner, diagnostics);
      if (others && !alternative && (i == 0 || i + 1 == options.size())) {
        for (const std::string& other : *others) {
          Probe of_other = probe;
          of_other.alternative = other;
          (void)AddProbe(site, decision, of_other, prove, inner, diagnostics);
        }
      }
    }
  }
}

/// The alternatives of the function that its call may also take, or nothing where there is no such
/// probe.
std::optional<std::set<std::string>> Probes::AddProbe(const OpenSite& site,
                                                      const Decision& decision, Probe probe,
                                                      bool prove, std::vector<OpenSite>& inner,
                                                      Diagnostics& diagnostics) {
  probe.graph = fmt::format("probe_{}", probes_.size());
  MakeGraph(site, decision, probe);
  module_.items = open_.items;
  std::erase_if(module_.items, [&](const Item& item) { return IsEntry(module_, item); });
  module_.items.insert(module_.items.end(), constants_.begin(), constants_.end());
  module_.items.emplace_back(probe.id);
  Diagnostics found;
  std::vector<OpenSite> inside;
  bool expanded = Expand(inside, found);
  if (expanded && !HasTasks(probe.id, probe.range)) {
    return std::nullopt;  // in this range the function does nothing
  }
  if (expanded && ranks() > 1) {
    AddApart(module_, module_.graphs[probe.id], probe.range, ranks(), apart_);
  }
  if (!expanded || !IsRight(probe, prove, found)) {
    for (Diagnostic diagnostic : found.all()) {
      diagnostic.notes.push_back(
          {probe.call, fmt::format("with `{}` = `{}` for this call of `@{}`", probe.parameter,
                                   probe.option, probe.function)});
      diagnostics.Add(std::move(diagnostic));
    }
    return std::nullopt;
  }
  std::set<std::string> others;
  for (const OpenSite& one : inside) {
    if (one.name == site.name) {  // the call that is being looked at
      AddOtherAlternatives(one, others);
    } else {
      inner.push_back(one);
    }
  }
  KeepConstants();
  std::copy_if(module_.items.begin(), module_.items.end(), std::back_inserter(functions_),
               [](const Item& item) {
                 return std::holds_alternative<GraphId>(item) ||
                        std::holds_alternative<DeviceId>(item);
               });
  probes_.push_back(std::move(probe));
  return others;
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
void Probes::MakeGraph(const OpenSite& site, const Decision& decision, Probe& probe) {
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
  if (!probe.alternative.empty()) {
    call.pins.push_back({std::string(kAlternative), {}, probe.alternative, site.call});
  }
  for (size_t i = 0; i < site.params.size(); ++i) {
    TensorId param = copier.CopyParam(site.params[i]);
    std::vector<ExprId> shape = module_.tensors[param].shape;
    for (ExprId& extent : shape) {
      // A dimension stays one, also where its range has one size.
      extent =
          std::holds_alternative<SymbolRef>(module_.exprs[extent]) ? extent : folder.Fold(extent);
    }
    module_.tensors[param].shape = std::move(shape);
    bool is_symmetric = module_.tensors[param].symmetric;
    if (i < site.args.size()) {
      const Tensor given = module_.tensors[site.args[i].tensor];
      TakePromises(module_.tensors[param], given);
      is_symmetric = is_symmetric || given.symmetric;
    }
    if (IsApart(site, i)) {
      apart_.insert(param);
      probe.apart.insert(module_.tensors[param].name);
    }
    const Access access = module_.tensors[param].access;
    if (is_symmetric && access != Access::In) {
      MakeShared(module_.tensors[param]);
      probe.shared.push_back({param, access});
      graph.body.push_back(module_.AddNode(BufferDecl{param}, site.call));
    } else {
      graph.params.push_back(param);
    }
    call.args.push_back({param, {}, site.call});
  }
  call.scalars = site.scalars;
  graph.body.push_back(module_.AddNode(std::move(call), site.call));
  probe.id = module_.graphs.Add(std::move(graph));
}

bool Probes::HasTasks(GraphId graph, const DimRanges& range) const {
  bool has = false;
  VisitNodes(module_, module_.graphs[graph].body, [&](NodeId id) {
    const auto* call = std::get_if<CallNode>(&module_.nodes[id]);
    has |= call != nullptr && MayHaveTasks(module_, module_.devices[call->callee].tasks, range);
  });
  return has;
}

bool Probes::IsRight(const Probe& probe, bool prove, Diagnostics& diagnostics) {
  if (!VerifyAllButDependences(module_, diagnostics)) {
    return false;
  }
  LowerSlices(module_);
  if (ranks() == 1) {
    return IsInOrder(module_, prove, diagnostics);
  }
  Module of_all = OfAllRanks(module_, {probe});
  // Which peer a task writes at is known here only.
  return VerifyAllButDependences(of_all, diagnostics) && IsInOrder(of_all, prove, diagnostics);
}

Module Probes::OfAllRanks(const Module& module, const std::vector<Probe>& probes) const {
  Module of_all = JoinRanks(AtRanks(module, ranks()), ranks());
  for (const Probe& probe : probes) {
    MakeParams(of_all, of_all.graphs[probe.id], probe.shared);
  }
  return of_all;
}

Module Probes::TakeModule() {
  Module module = module_;
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
  return ranks() == 1 ? module : OfAllRanks(module, probes_);
}

}  // namespace etc
