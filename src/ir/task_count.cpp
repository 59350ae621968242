#include "ir/task_count.h"

#include <algorithm>
#include <utility>

#include "ir/checked.h"
#include "ir/walk.h"

namespace etc {
namespace {

class CountAt {
 public:
  CountAt(const Module& module, const std::vector<Axis>& axes, Env sizes, const DimRanges& ranges,
          int64_t most)
      : module_(module), axes_(axes), env_(std::move(sizes)), ranges_(ranges), most_(most) {}

  /// The points of the axes from number `at` on, at the values of those before.
  std::optional<int64_t> From(size_t at) {
    if (at == axes_.size()) {
      return 1;
    }
    const auto& [var, lo, hi] = axes_[at];
    auto first = lo ? EvaluateInt(module_, lo, env_, ranges_) : 0;
    auto behind = EvaluateInt(module_, hi, env_, ranges_);
    if (!first || !behind) {
      return std::nullopt;
    }
    if (!Mentions(module_, axes_, {var})) {
      auto inside = From(at + 1);
      return inside ? CheckedMul(std::max<int64_t>(*behind - *first, 0), *inside) : std::nullopt;
    }
    int64_t tasks = 0;
    for (int64_t value = *first; value < *behind && tasks <= most_; ++value) {
      env_[var] = value;
      auto inside = From(at + 1);
      if (!inside) {
        return std::nullopt;
      }
      tasks += *inside;
    }
    env_.erase(var);
    return tasks;
  }

 private:
  const Module& module_;
  const std::vector<Axis>& axes_;
  Env env_;
  const DimRanges& ranges_;
  int64_t most_;
};

}  // namespace

bool IsBox(const Module& module, const std::vector<Axis>& axes) {
  std::vector<SymbolId> vars;
  for (const Axis& axis : axes) {
    vars.push_back(axis.var);
  }
  return !Mentions(module, axes, vars) && !ReadsTensor(module, axes);
}

size_t OuterAxes(const Module& module, const std::vector<Axis>& axes) {
  size_t outer = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (Mentions(module, axes, {axes[i].var})) {
      outer = i + 1;
    }
  }
  return outer;
}

ExprId TaskCount(Module& module, const std::vector<Axis>& axes, const TensorSubstitution& tensors) {
  if (!IsBox(module, axes)) {
    return SumOfTasks(module, axes, {}, tensors);
  }
  ExprId count = MakeInt(module, 1);
  for (const Axis& axis : axes) {
    count = MakeMul(module, count, axis.lo ? MakeSub(module, axis.hi, axis.lo) : axis.hi);
  }
  return count;
}

ExprId SumOfTasks(Module& module, const std::vector<Axis>& axes, Substitution symbols,
                  const TensorSubstitution& tensors) {
  std::vector<Axis> copies;
  for (const Axis& axis : axes) {
    ExprId lo = Clone(module, axis.lo, symbols, tensors);
    ExprId hi = Clone(module, axis.hi, symbols, tensors);
    SymbolId var = module.symbols.Add(Symbol(module.symbols[axis.var]));
    symbols[axis.var] = MakeRef(module, var);
    copies.push_back({var, lo, hi});
  }
  return module.AddExpr(Reduce{Reduction::Sum, std::move(copies), MakeInt(module, 1)});
}

std::optional<int64_t> TaskCountAt(const Module& module, const std::vector<Axis>& axes, Env sizes,
                                   const DimRanges& ranges, int64_t most) {
  return CountAt(module, axes, std::move(sizes), ranges, most).From(0);
}

std::optional<int64_t> MostTasks(const std::vector<Axis>& axes,
                                 const std::function<std::optional<Interval>(ExprId)>& bounds) {
  std::optional<int64_t> tasks = 1;
  for (const Axis& axis : axes) {
    auto hi = bounds(axis.hi);
    auto lo = axis.lo ? bounds(axis.lo) : Interval{0, 0};
    auto extent = hi && lo ? CheckedSub(hi->hi, lo->lo) : std::nullopt;
    tasks = tasks && extent ? CheckedMul(*tasks, std::max<int64_t>(*extent, 1)) : std::nullopt;
  }
  return tasks;
}

}  // namespace etc
