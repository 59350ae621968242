#include "analysis/proofs/buffers.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "analysis/fresh_buffers.h"
#include "analysis/sets/convert.h"
#include "analysis/sets/task_pairs.h"

namespace etc {
const Overlaps::Place& Overlaps::PlaceOf(TensorId id) {
  auto [known, fresh] = places_.try_emplace(id);
  if (fresh) {
    const Tensor& tensor = unknowns_.module().tensors[id];
    Converter converter(unknowns_);
    PwAff bytes = unknowns_.Constant(BytesPerElement(tensor));
    // In the order in which the memory plan multiplied, so that both have the same terms: it knows
    // of one rank, and the number of ranks in front is a factor of its results.
    std::vector<ExprId> extents = tensor.shape;
    if (unknowns_.program().of_ranks) {
      std::rotate(extents.begin(), extents.begin() + 1, extents.end());
    }
    for (ExprId extent : extents) {
      bytes = converter.Times(bytes, converter.Int(extent));
    }
    PwAff begin = converter.Int(tensor.offset);
    known->second = {begin, begin + bytes};
  }
  return known->second;
}

const std::optional<Set>& Overlaps::Of(TensorId a, TensorId b) {
  static const std::optional<Set> none;
  const Module& module = unknowns_.module();
  if (!module.tensors[a].offset || !module.tensors[b].offset) {
    return none;
  }
  auto [known, fresh] = overlaps_.try_emplace(std::minmax(a, b));
  if (fresh) {
    known->second = Find(a, b);
  }
  return known->second;
}

std::optional<Set> Overlaps::Find(TensorId a, TensorId b) {
  const Place& first = PlaceOf(a);
  const Place& second = PlaceOf(b);
  Set overlap = unknowns_.Close(Lt(first.begin, second.end) & Lt(second.begin, first.end));
  return IsEmpty(overlap) ? std::nullopt : std::optional(overlap);
}

bool Renewal::Renews(const ProgramCall& call, TensorId tensor) {
  auto [known, fresh] = renews_.try_emplace({call.index, tensor});
  if (!fresh) {
    return known->second;
  }
  unknowns_.context().SetBudget();
  std::vector<std::string> elements = ElementNamesOf(unknowns_, tensor);
  Map written;
  for (const AccessRegion& region : accesses_[call.index]) {
    if (region.tensor == tensor && region.write && region.exact) {
      Map part = ToMap(unknowns_, region.set, IterationNames(call, 1), elements);
      written = written ? written | part : part;
    }
  }
  if (!written) {
    return false;
  }
  auto repeats = static_cast<unsigned>(call.repeats.size());
  Map all(isl_map_insert_dims(Touched(tensor).copy(), isl_dim_in, 0, repeats));
  for (unsigned i = 0; i < repeats; ++i) {
    Interval at = call.repeats[i].iterations;
    if (!call.repeats[i].fixed) {
      return false;
    }
    all = Map(isl_map_lower_bound_si(all.copy(), isl_dim_in, i, static_cast<int>(at.lo)));
    all = Map(isl_map_upper_bound_si(all.copy(), isl_dim_in, i, static_cast<int>(at.hi)));
  }
  known->second = IsSubset(all, written);
  return known->second;
}

bool Renewal::StartsAfresh(const ProgramCall& call, TensorId tensor) {
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (call.args[i].tensor == tensor &&
        unknowns_.module().tensors[call.device->params[i]].access != Access::Out) {
      return false;
    }
  }
  return Renews(call, tensor);
}

/// The elements that any call touches, as the range of a relation.
const Map& Renewal::Touched(TensorId tensor) {
  Map& touched = touched_[tensor];
  if (touched) {
    return touched;
  }
  std::vector<std::string> names = ElementNamesOf(unknowns_, tensor);
  for (const auto& regions : accesses_) {
    for (const AccessRegion& region : regions) {
      if (region.tensor == tensor) {
        Map part = ToMap(unknowns_, region.set, {}, names);
        if (!touched) {
          touched = part;
        } else if (!IsSubset(part, touched)) {
          touched = Coalesce(touched | part);
        }
      }
    }
  }
  return touched;
}

struct FreshBuffers::State {
  State(const Module& module, const Kernel& kernel)
      : program(MakeCallProgram(module, kernel)), unknowns(module, program, context) {}

  /// Of all buffers, as one reading of the body finds them.
  const std::vector<AccessRegion>& Accesses(const ProgramCall& call) {
    auto [found, fresh] = accesses.try_emplace(call.index);
    if (fresh) {
      std::set<TensorId> buffers;
      for (const Argument& argument : call.args) {
        if (unknowns.module().tensors[argument.tensor].kind == TensorKind::Buffer) {
          buffers.insert(argument.tensor);
        }
      }
      found->second = RegionsOf(unknowns, call, buffers).all;
    }
    return found->second;
  }

  CallProgram program;
  IslContext context;
  Unknowns unknowns;
  std::map<size_t, std::vector<AccessRegion>> accesses;  // by call
  std::map<TensorId, bool> known;
};

FreshBuffers::FreshBuffers(const Module& module, const Kernel& kernel)
    : state_(std::make_unique<State>(module, kernel)) {}

FreshBuffers::~FreshBuffers() = default;

bool FreshBuffers::Has(TensorId buffer) {
  auto [known, fresh] = state_->known.try_emplace(buffer, false);
  if (!fresh) {
    return known->second;
  }
  const ProgramCall* first = nullptr;
  ProgramAccesses accesses;
  for (const ProgramCall& call : state_->program.calls) {
    bool uses = std::any_of(call.args.begin(), call.args.end(),
                            [&](const Argument& arg) { return arg.tensor == buffer; });
    std::vector<AccessRegion>& regions = accesses.first.emplace_back();
    if (uses) {
      const std::vector<AccessRegion>& all = state_->Accesses(call);
      std::copy_if(all.begin(), all.end(), std::back_inserter(regions),
                   [&](const AccessRegion& region) { return region.tensor == buffer; });
    }
    first = first == nullptr && !regions.empty() ? &call : first;
  }
  known->second =
      first != nullptr && Renewal(state_->unknowns, accesses).StartsAfresh(*first, buffer);
  return known->second;
}

}  // namespace etc
