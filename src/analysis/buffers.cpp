#include "analysis/buffers.h"

#include "analysis/convert.h"
#include "analysis/events.h"
#include "analysis/fresh_buffers.h"

namespace etc {
namespace {

constexpr unsigned long kSteps = 20'000'000;

/// The bytes of a buffer: where they begin and end.
std::pair<PwAff, PwAff> PlaceOf(Unknowns& unknowns, const Tensor& tensor) {
  Converter converter(unknowns);
  PwAff bytes = unknowns.Constant(BytesPerElement(tensor));
  for (ExprId extent : tensor.shape) {
    bytes = converter.Times(bytes, converter.Int(extent));
  }
  PwAff begin = converter.Int(tensor.offset);
  return {begin, begin + bytes};
}

}  // namespace

std::optional<Set> OverlapOf(Unknowns& unknowns, TensorId a, TensorId b) {
  const Tensor& first = unknowns.module().tensors[a];
  const Tensor& second = unknowns.module().tensors[b];
  if (!first.offset || !second.offset) {
    return std::nullopt;
  }
  auto [a_begin, a_end] = PlaceOf(unknowns, first);
  auto [b_begin, b_end] = PlaceOf(unknowns, second);
  Set overlap = unknowns.Close(Lt(a_begin, b_end) & Lt(b_begin, a_end));
  return IsEmpty(overlap) ? std::nullopt : std::optional(overlap);
}

bool Renewal::Renews(const ProgramCall& call, TensorId tensor) {
  auto [known, fresh] = renews_.try_emplace({call.index, tensor});
  if (!fresh) {
    return known->second;
  }
  unknowns_.context().SetBudget(kSteps);
  size_t rank = unknowns_.module().tensors[tensor].shape.size();
  Map written;
  for (const AccessRegion& region : accesses_[call.index]) {
    if (region.tensor == tensor && region.write && region.exact) {
      Map part = ToMap(unknowns_, region.set, IterationNames(call, 1), ElementNames(rank));
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
  std::vector<std::string> names = ElementNames(unknowns_.module().tensors[tensor].shape.size());
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

std::set<TensorId> BuffersStartedAfresh(const Module& module, const Kernel& kernel) {
  CallProgram program = MakeCallProgram(module, kernel);
  IslContext context;
  Unknowns unknowns(module, program, context);
  ProgramAccesses accesses = AccessesOf(unknowns);
  Renewal renewal(unknowns, accesses);
  std::set<TensorId> seen, fresh;
  for (const ProgramCall& call : program.calls) {
    for (const AccessRegion& region : accesses.first[call.index]) {
      if (seen.insert(region.tensor).second && renewal.StartsAfresh(call, region.tensor)) {
        fresh.insert(region.tensor);
      }
    }
  }
  return fresh;
}

}  // namespace etc
