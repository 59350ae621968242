#include "analysis/proofs/body_proofs.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/proofs/graph_proofs.h"
#include "analysis/sets/task_scope.h"
#include "ir/printer.h"
#include "ir/walk.h"

namespace etc {
namespace {

bool HasSameRanges(const Module& a, const DimRanges& a_ranges, const Module& b,
                   const DimRanges& b_ranges) {
  for (const Item& item : b.items) {
    const auto* id = std::get_if<SymbolId>(&item);
    if (id != nullptr && b.symbols[*id].kind == SymbolKind::Dim &&
        RangeOfDim(a, *id, a_ranges) != RangeOfDim(b, *id, b_ranges)) {
      return false;
    }
  }
  return true;
}

/// The slices that the parameters of a call stand for, one after the other.
std::vector<std::vector<PwAff>> SlicesOf(Unknowns& unknowns, const ProgramCall& call) {
  TaskScope scope(unknowns, call, 1);
  std::vector<std::vector<PwAff>> slices;
  for (TensorId param : call.device->params) {
    slices.push_back(scope.converter.Find(param)->slice);
  }
  return slices;
}

bool AreEqual(const std::vector<PwAff>& a, const std::vector<PwAff>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const PwAff& x, const PwAff& y) {
    return isl_pw_aff_plain_is_equal(x.get(), y.get()) == isl_bool_true;
  });
}

/// Whether nothing but sizes and iterations decides about any of the slices.
bool AreAffine(const Unknowns& unknowns, const std::vector<std::vector<PwAff>>& slices) {
  return std::all_of(slices.begin(), slices.end(), [&](const std::vector<PwAff>& slice) {
    return std::all_of(slice.begin(), slice.end(), [&](const PwAff& index) {
      std::vector<std::string> names = unknowns.Involved(index);
      return std::none_of(names.begin(), names.end(),
                          [&](const std::string& name) { return unknowns.Find(name) != nullptr; });
    });
  });
}

/// An input whose values do not depend on those of others.
bool IsPlainInput(const Module& module, TensorId id) {
  const Tensor& tensor = module.tensors[id];
  return tensor.kind == TensorKind::Param && tensor.access == Access::In && !tensor.counts &&
         IsUniform(module, tensor);
}

/// All that is known of the elements of an input.
std::string TextOfInput(const Module& module, TensorId id) {
  const Tensor& tensor = module.tensors[id];
  bool ranged = tensor.value_lo && tensor.value_hi;
  return fmt::format("%{} {} {} {} {}", tensor.name, tensor.distinct, tensor.monotone,
                     ranged ? Print(module, tensor.value_lo) : "",
                     ranged ? Print(module, tensor.value_hi) : "");
}

bool HasTwice(const ProgramCall& call) {
  std::set<TensorId> seen;
  return !std::all_of(call.args.begin(), call.args.end(), [&](const Argument& argument) {
    return seen.insert(argument.tensor).second;
  });
}

/// The elements of a slice of one tensor as those of a slice of another one.
Set Moved(const Unknowns& unknowns, Set set, size_t rank, const std::vector<PwAff>& from,
          const std::vector<PwAff>& to) {
  set = ProjectOut(set, ElementNames(from.size()));
  std::vector<std::string> old_names;
  std::vector<std::string> new_names;
  for (size_t i = 0; i < rank; ++i) {
    old_names.push_back(ElementName(from.size() + i));
    new_names.push_back(ElementName(to.size() + i));
  }
  std::vector<int> positions;
  for (const std::string& name : old_names) {
    positions.push_back(isl_set_find_dim_by_name(set.get(), isl_dim_param, name.c_str()));
  }
  for (size_t i = 0; i < rank; ++i) {
    if (positions[i] >= 0) {
      set = Set(isl_set_set_dim_id(set.copy(), isl_dim_param, static_cast<unsigned>(positions[i]),
                                   isl_id_alloc(unknowns.ctx(), new_names[i].c_str(), nullptr)));
    }
  }
  std::vector<Set> parts{std::move(set)};
  for (size_t i = 0; i < to.size(); ++i) {
    parts.push_back(Eq(unknowns.Param(ElementName(i)), to[i]));
  }
  return Join(parts);
}

}  // namespace

std::shared_ptr<DerivedBodies> MakeDerivedBodies() { return std::make_shared<DerivedBodies>(); }

std::shared_ptr<GraphProofs> MakeGraphProofs(std::shared_ptr<const Module> module,
                                             std::shared_ptr<DerivedBodies> derived) {
  return std::make_shared<GraphProofs>(std::move(module), std::move(derived));
}

void DerivedBodies::Put(std::vector<CallProgram> programs,
                        std::vector<std::shared_ptr<ReadBodies>> read) {
  std::lock_guard lock(mutex_);
  entries_.push_back({std::move(programs), std::move(read)});
}

std::shared_ptr<ReadBodies> DerivedBodies::Take(const CallProgram& program) {
  std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) {
    for (std::shared_ptr<ReadBodies>& read : entry.read) {
      if (read != nullptr && read->program.name == program.name &&
          read->program.ranges == program.ranges) {
        return std::exchange(read, nullptr);
      }
    }
  }
  return nullptr;
}

void GraphProofs::Announce(const std::vector<const CallProgram*>& programs) {
  std::lock_guard lock(mutex_);
  entries_.emplace();
  for (const CallProgram* program : programs) {
    entries_->push_back({program->name, program->ranges});
  }
  changed_.notify_all();
}

void GraphProofs::Put(size_t number, std::shared_ptr<ProvedProgram> proved) {
  std::lock_guard lock(mutex_);
  Entry& entry = (*entries_)[number];
  entry.proved = std::move(proved);
  entry.ended = true;
  changed_.notify_all();
}

GraphProofs::Found GraphProofs::Wait(const Module& kernels, const std::string& graph,
                                     const DimRanges& ranges) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return entries_.has_value(); });
  auto entry = std::find_if(entries_->begin(), entries_->end(), [&](const Entry& each) {
    return each.graph == graph && HasSameRanges(*module_, each.ranges, kernels, ranges);
  });
  if (entry == entries_->end()) {
    return {};
  }
  changed_.wait(lock, [&] { return entry->ended; });
  return {entry->proved == nullptr, entry->proved};
}

KnownBodies::KnownBodies(ReadBodies& graph, Unknowns& unknowns)
    : graph_(graph),
      unknowns_(unknowns),
      written_before_(WrittenBy(graph.unknowns.module(), graph.program)),
      written_(WrittenBy(unknowns.module(), unknowns.program())) {}

std::optional<BodyProof> KnownBodies::Find(const ProgramCall& call) {
  for (const auto& [number, proof] : graph_.bodies) {
    const ProgramCall& known = graph_.program.calls[number];
    Names names;
    if (known.callee != call.callee || !HasSameArguments(known, call) ||
        !HasSameTasks(known, call, names)) {
      continue;
    }
    auto all = Adopt(known, call, proof.regions.all, names);
    auto unwritten = Adopt(known, call, proof.regions.unwritten, names);
    if (all && unwritten) {
      return BodyProof{
          {*std::move(all), *std::move(unwritten)}, proof.bounds, proof.iterations, proof.coverage};
    }
  }
  return std::nullopt;
}

/// Tasks of one set are at the same sizes.
bool KnownBodies::HasSameTasks(const ProgramCall& known, const ProgramCall& call, Names& names) {
  Set tasks = TaskScope(graph_.unknowns, known, 1).domain;
  return !OnData(graph_.unknowns, tasks) &&
         IsPlainlyEqual(unknowns_.Adopt(graph_.unknowns, tasks, names),
                        TaskScope(unknowns_, call, 1).domain);
}

/// Index tensors are read for the values of indices: they must be the same inputs, whole. Of any
/// other tensor it matters whether it starts empty, and whether regions of it are asked for.
bool KnownBodies::HasSameArguments(const ProgramCall& known, const ProgramCall& call) const {
  const Module& module = unknowns_.module();
  const std::vector<TensorId>& params = call.device->params;
  if (!call.device->scalars.empty() || HasTwice(known) || HasTwice(call)) {
    return false;
  }
  for (size_t a = 0; a < params.size(); ++a) {
    const Argument& mine = call.args[a];
    bool is_index = KindOf(module.tensors[params[a]].type) == ValueKind::Int;
    bool same = is_index ? IsSameIndex(known.args[a], mine)
                         : IsSameArgument(known.args[a].tensor, mine.tensor);
    if (!same) {
      return false;
    }
  }
  return true;
}

bool KnownBodies::IsSameIndex(const Argument& known, const Argument& argument) const {
  return known.indices.empty() && argument.indices.empty() &&
         IsPlainInput(graph_.unknowns.module(), known.tensor) &&
         IsPlainInput(unknowns_.module(), argument.tensor) &&
         TextOfInput(graph_.unknowns.module(), known.tensor) ==
             TextOfInput(unknowns_.module(), argument.tensor);
}

bool KnownBodies::IsSameArgument(TensorId known, TensorId tensor) const {
  const Tensor& before = graph_.unknowns.module().tensors[known];
  const Tensor& now = unknowns_.module().tensors[tensor];
  return StartsEmpty(before) == StartsEmpty(now) &&
         written_before_.contains(known) == written_.contains(tensor) &&
         graph_.unknowns.FlatAxesOf(known) == nullptr && unknowns_.FlatAxesOf(tensor) == nullptr;
}

bool MayBeKnown(Unknowns& unknowns, const ProgramCall& call) {
  const Module& module = unknowns.module();
  if (!call.device->scalars.empty() || HasTwice(call) ||
      OnData(unknowns, TaskScope(unknowns, call, 1).domain)) {
    return false;
  }
  for (size_t a = 0; a < call.args.size(); ++a) {
    const Argument& argument = call.args[a];
    bool is_index = KindOf(module.tensors[call.device->params[a]].type) == ValueKind::Int;
    bool may = is_index ? argument.indices.empty() && IsPlainInput(module, argument.tensor)
                        : unknowns.FlatAxesOf(argument.tensor) == nullptr;
    if (!may) {
      return false;
    }
  }
  return true;
}

std::optional<std::vector<AccessRegion>> KnownBodies::Adopt(
    const ProgramCall& known, const ProgramCall& call, const std::vector<AccessRegion>& regions,
    Names& names) {
  const Module& module = unknowns_.module();
  std::vector<std::vector<PwAff>> before = SlicesOf(graph_.unknowns, known);
  std::vector<std::vector<PwAff>> now = SlicesOf(unknowns_, call);
  auto is_of_call = [&](const AccessRegion& region) {
    return graph_.unknowns.IsOfScope(region.set, ScopeName(known, 1));
  };
  if (!AreAffine(graph_.unknowns, before) || !AreAffine(unknowns_, now) ||
      !std::all_of(regions.begin(), regions.end(), is_of_call)) {
    return std::nullopt;
  }
  std::vector<AccessRegion> adopted;
  for (const AccessRegion& region : regions) {
    size_t a = 0;
    while (known.args[a].tensor != region.tensor) {
      ++a;
    }
    TensorId param = call.device->params[a];
    AccessRegion mine = region;
    mine.tensor = call.args[a].tensor;
    mine.set = unknowns_.Adopt(graph_.unknowns, region.set, names);
    if (!AreEqual(before[a], now[a])) {
      mine.set = Moved(unknowns_, mine.set, module.tensors[param].shape.size(), before[a], now[a]);
    }
    if (!mine.set) {
      return std::nullopt;  // the budget is spent
    }
    adopted.push_back(std::move(mine));
  }
  return adopted;
}

}  // namespace etc
