#include "analysis/proofs/computed_values.h"

#include <limits>
#include <optional>

#include "ir/walk.h"

namespace etc {
namespace {

constexpr unsigned long kSteps = 1'000'000;

/// The integers that an element keeps as they are; nothing where that is not known of its type.
std::optional<Interval> KeptBy(DType type) {
  switch (type) {
    case DType::I64:
      return Interval{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
    case DType::I32:
      return Interval{std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    case DType::U8:
      return Interval{0, 255};
    default:
      return std::nullopt;
  }
}

}  // namespace

ComputedValues::ComputedValues(Unknowns& unknowns) : unknowns_(unknowns) {
  const Module& module = unknowns.module();
  for (const ProgramCall& call : unknowns.program().calls) {
    for (size_t a = 0; a < call.args.size(); ++a) {
      const Tensor& tensor = module.tensors[call.args[a].tensor];
      bool starts_empty = tensor.kind == TensorKind::Buffer || tensor.access == Access::Out;
      if (starts_empty && KindOf(tensor.type) == ValueKind::Int &&
          module.tensors[call.device->params[a]].access != Access::In) {
        last_writer_[call.args[a].tensor] = call.index;
      }
    }
  }
}

void ComputedValues::Add(TensorId tensor, const Set& values) {
  if (!last_writer_.contains(tensor)) {
    return;
  }
  unknowns_.context().SetBudget(kSteps);
  auto kept = KeptBy(unknowns_.module().tensors[tensor].type);
  Set all = OverSizes(unknowns_, unknowns_.CloseVariables(values), {kStoredValue});
  PwAff value = unknowns_.Param(kStoredValue);
  bool wraps = !kept || !IsSubset(all, Le(unknowns_.Constant(kept->lo), value) &
                                           Le(value, unknowns_.Constant(kept->hi)));
  Set stored = wraps ? unknowns_.All() : all;
  auto [known, fresh] = stored_.emplace(tensor, stored);
  if (!fresh && !IsSubset(stored, known->second)) {
    known->second = Coalesce(known->second | stored);
  }
}

void ComputedValues::End(const ProgramCall& call) {
  for (const auto& [tensor, writer] : last_writer_) {
    auto stored = stored_.find(tensor);
    if (writer == call.index && stored != stored_.end()) {
      unknowns_.SetStored(tensor, stored->second);
    }
  }
}

std::set<AskedOf> ComputedValues::KeptPreconditions() const {
  const Module& module = unknowns_.module();
  std::set<AskedOf> kept;
  for (const ProgramCall& call : unknowns_.program().calls) {
    for (size_t a = 0; a < call.args.size(); ++a) {
      TensorId id = call.device->params[a];
      const Tensor& param = module.tensors[id];
      auto stored = stored_.find(call.args[a].tensor);
      bool asks = param.access == Access::In && param.value_lo && param.value_hi &&
                  IsUniform(module, param);
      if (!asks || stored == stored_.end()) {
        continue;
      }
      unknowns_.context().SetBudget(kSteps);
      Converter converter(unknowns_);
      PwAff value = unknowns_.Param(kStoredValue);
      Set outside =
          Lt(value, converter.Int(param.value_lo)) | Le(converter.Int(param.value_hi), value);
      if (IsEmpty(unknowns_.Close(stored->second & outside & unknowns_.GlobalFacts()))) {
        kept.emplace(id, call.args[a].tensor);
      }
    }
  }
  return kept;
}

}  // namespace etc
