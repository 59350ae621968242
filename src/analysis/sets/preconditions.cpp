// What is promised of an element that is read: by the parameter of the graph, by that of the device
// function, and by other calls that are given the same elements.
#include <algorithm>

#include "analysis/sets/convert.h"
#include "analysis/sets/task_scope.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace etc {

/// What the graph's parameter promises of all elements; of what it leaves open, what the device's
/// parameter asks for its slice.
Precondition Converter::PreconditionOf(const Tensor& param, TensorId id,
                                       const std::vector<PwAff>& indices, size_t slice) {
  const Tensor& tensor = module_.tensors[id];
  Precondition precondition;
  bool outermost = asked_.insert(id).second;
  bool input = tensor.kind == TensorKind::Param && tensor.access == Access::In;
  const Tensor& ranged = input && tensor.value_lo ? tensor : param;
  if (outermost && ranged.value_lo && ranged.value_hi) {
    precondition.free = &ranged == &tensor;
    AddRange(ranged, indices, precondition.free ? 0 : slice, precondition);
  }
  // Where the graph says anything of an input, that is all that holds of it.
  bool own = input && HasPrecondition(tensor);
  precondition.distinct = input && tensor.distinct;
  precondition.slice = unknowns_.program().of_ranks ? 1 : 0;  // each rank has values of its own
  precondition.monotone = own ? tensor.monotone : param.monotone;
  if (param.distinct && !own) {
    precondition.distinct = true;
    precondition.slice = slice;
  }
  if (outermost && !input && unknowns_.IsStable(id)) {
    AddOthers(param, id, indices, precondition);
  }
  if (outermost) {
    asked_.erase(id);
  }
  return precondition;
}

/// The range that is declared of an element, or of one of a slice at so many leading indices.
void Converter::AddRange(const Tensor& declared, const std::vector<PwAff>& indices, size_t slice,
                         Precondition& precondition) {
  for (size_t i = 0; i < declared.indices.size(); ++i) {
    if (declared.indices[i]) {
      Bind(declared.indices[i], indices[slice + i]);
    }
  }
  precondition.ranges.push_back({Int(declared.value_lo), Int(declared.value_hi)});
  precondition.related = precondition.related || !IsUniform(module_, declared);
}

/// Whether a range reads nothing but tensors that keep their values.
bool Converter::ReadsStable(const Tensor& declared) const {
  bool stable = true;
  for (ExprId bound : {declared.value_lo, declared.value_hi}) {
    VisitExprs(module_, bound, [&](ExprId id) {
      if (const auto* load = std::get_if<Load>(&module_.exprs[id])) {
        const Binding* binding = Find(load->tensor);
        stable = stable && binding != nullptr && unknowns_.IsStable(binding->tensor);
      }
    });
  }
  return stable;
}

/// Binds the iteration of the call in which an index of a slice has this value; false where that
/// takes more than a difference.
bool Converter::Solve(const ProgramCall& call, ExprId index, const PwAff& value) {
  const Expr& expr = module_.exprs[index];
  const auto* ref = std::get_if<SymbolRef>(&expr);
  auto is_own = [&](const EnclosingRepeat& repeat) { return repeat.var == ref->symbol; };
  if (ref != nullptr && std::any_of(call.repeats.begin(), call.repeats.end(), is_own) &&
      values_.try_emplace(ref->symbol, value).second) {
    return true;
  }
  const auto* binary = std::get_if<Binary>(&expr);
  auto offset = binary == nullptr ? std::nullopt : EvaluateInt(module_, binary->right, {});
  if (offset && binary->op == BinaryOp::Add) {
    return Solve(call, binary->left, value - unknowns_.Constant(*offset));
  }
  if (offset && binary->op == BinaryOp::Sub) {
    return Solve(call, binary->left, value + unknowns_.Constant(*offset));
  }
  Set differs = KnowsIterations(call, index) ? Ne(Int(index), value) : unknowns_.All();
  return IsEmpty(differs) || IsEmpty(unknowns_.CloseVariables(differs));
}

/// Whether all iterations of the call that the index depends on are bound.
bool Converter::KnowsIterations(const ProgramCall& call, ExprId index) const {
  return std::all_of(call.repeats.begin(), call.repeats.end(), [&](const EnclosingRepeat& repeat) {
    return values_.contains(repeat.var) || !Mentions(module_, index, {repeat.var});
  });
}

bool Converter::Enter(const ProgramCall& call, size_t arg, const std::vector<PwAff>& element) {
  const std::vector<ExprId>& slice = call.args[arg].indices;
  for (size_t i = 0; i < slice.size(); ++i) {
    if (!Solve(call, slice[i], element[i])) {
      return false;
    }
  }
  for (const EnclosingRepeat& repeat : call.repeats) {
    auto iteration = values_.find(repeat.var);
    PwAff lo = FirstIteration(unknowns_, repeat);
    PwAff hi = LastIteration(unknowns_, repeat);
    Set outside = iteration == values_.end()
                      ? Lt(hi, lo)
                      : Lt(iteration->second, lo) | Lt(hi, iteration->second);
    if (!IsEmpty(outside) && !IsEmpty(unknowns_.CloseVariables(outside))) {
      return false;
    }
  }
  for (size_t a = 0; a < call.args.size(); ++a) {
    const std::vector<ExprId>& other = call.args[a].indices;
    bool known = std::all_of(other.begin(), other.end(),
                             [&](ExprId index) { return KnowsIterations(call, index); });
    if (known) {
      std::vector<PwAff> indices;
      for (ExprId index : other) {
        indices.push_back(Int(index));
      }
      BindTensor(call.device->params[a], call.args[a].tensor, std::move(indices));
    }
  }
  return true;
}

/// What calls ask of a buffer that is written once holds wherever it is read.
void Converter::AddOthers(const Tensor& own, TensorId id, const std::vector<PwAff>& indices,
                          Precondition& precondition) {
  bool uniform = !precondition.ranges.empty() && !precondition.related;
  for (const ProgramCall& call : unknowns_.program().calls) {
    for (size_t a = 0; a < call.args.size(); ++a) {
      const Tensor& param = module_.tensors[call.device->params[a]];
      size_t slice = call.args[a].indices.size();
      if (call.args[a].tensor != id || slice > indices.size() || param.access != Access::In ||
          !HasPrecondition(param)) {
        continue;
      }
      Converter other(unknowns_);
      other.written_ = written_;
      other.asked_ = asked_;
      if (!other.Enter(call, a, indices)) {
        continue;
      }
      if (param.value_lo && param.value_hi && &param != &own) {
        bool once = IsUniform(module_, param);
        if (once ? !uniform : other.ReadsStable(param)) {
          other.AddRange(param, indices, slice, precondition);
        }
        uniform = uniform || once;
      }
      precondition.monotone = precondition.monotone || param.monotone;
      if (param.distinct) {
        precondition.slice = precondition.distinct ? std::min(precondition.slice, slice) : slice;
        precondition.distinct = true;
      }
    }
  }
}

}  // namespace etc
