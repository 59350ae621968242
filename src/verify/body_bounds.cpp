#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "analysis/element_accesses.h"
#include "analysis/samples.h"
#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "verify/checks.h"
#include "verify/wording.h"

namespace etc {
namespace {

/// With more variables than this the corners of the iteration space are too many to try.
constexpr size_t kMaxCornerVariables = 8;

/// Looks for an index that leaves its extent at one choice of sizes.
class BoundsCheck {
 public:
  BoundsCheck(const Module& module, const Sizes& sizes, Diagnostics& diagnostics)
      : module_(module), sizes_(sizes), diagnostics_(diagnostics) {}

  /// Whether the access was reported.
  bool Check(const ElementAccess& access) {
    const Tensor& tensor = module_.tensors[access.tensor];
    const std::optional<Intervals>& intervals = IntervalsIn(access);
    for (size_t i = 0; intervals && i < access.indices.size(); ++i) {
      auto extent = EvaluateInt(module_, tensor.shape[i], sizes_.dims, sizes_.ranges);
      if (extent && !IsInside(access.indices[i], *intervals, *extent) &&
          Witness(access, i, *extent)) {
        return true;
      }
    }
    return false;
  }

 private:
  using Intervals = std::map<SymbolId, Interval>;

  /// What the variables may be; nothing where a loop around the access is empty.
  const std::optional<Intervals>& IntervalsIn(const ElementAccess& access) {
    std::vector<SymbolId> symbols;
    for (const BodyVariable& variable : access.variables) {
      symbols.push_back(variable.symbol);
    }
    if (symbols != last_symbols_ || !has_last_) {
      last_ = IntervalsOf(access.variables);
      last_symbols_ = std::move(symbols);
      has_last_ = true;
    }
    return last_;
  }

  std::optional<Intervals> IntervalsOf(const std::vector<BodyVariable>& variables) const {
    Intervals intervals;
    for (const auto& [dim, value] : sizes_.dims) {
      intervals[dim] = {value, value};
    }
    for (const BodyVariable& variable : variables) {
      if (variable.IsFree()) {
        continue;
      }
      auto lo = variable.lo ? Bounds(module_, variable.lo, intervals, sizes_.ranges)
                            : std::optional(Interval{0, 0});
      auto hi = variable.is_let ? lo : Bounds(module_, variable.hi, intervals, sizes_.ranges);
      if (!lo || !hi) {
        continue;
      }
      int64_t last = variable.is_let ? hi->hi : hi->hi - 1;
      if (last < lo->lo) {
        return std::nullopt;
      }
      intervals[variable.symbol] = {lo->lo, last};
    }
    return intervals;
  }

  bool IsInside(ExprId index, const Intervals& intervals, int64_t extent) const {
    auto bounds = Bounds(module_, index, intervals, sizes_.ranges);
    return bounds && bounds->lo >= 0 && bounds->hi < extent;
  }

  /// Tries the corners of the iteration space.
  bool Witness(const ElementAccess& access, size_t axis, int64_t extent) {
    ExprId index = access.indices[axis];
    std::vector<bool> moves = Moving(access, index);
    size_t moving = std::count(moves.begin(), moves.end(), true);
    if (ReadsTensor(module_, index) || moving > kMaxCornerVariables) {
      return false;
    }
    for (uint32_t corner = 0; corner < (1u << moving); ++corner) {
      auto env = Corner(access, moves, corner);
      auto value = env ? EvaluateInt(module_, index, *env, sizes_.ranges) : std::nullopt;
      if (value && (*value < 0 || *value >= extent)) {
        Report(access, axis, *value, extent, *env);
        return true;
      }
    }
    return false;
  }

  /// The variables on which the index or a guard depends, also through other variables.
  std::vector<bool> Moving(const ElementAccess& access, ExprId index) const {
    std::vector<bool> moves(access.variables.size());
    for (size_t i = moves.size(); i-- > 0;) {
      std::vector<SymbolId> symbol{access.variables[i].symbol};
      bool used = Mentions(module_, index, symbol);
      for (const Guard& guard : access.guards) {
        used = used || Mentions(module_, guard.condition, symbol);
      }
      for (size_t j = i + 1; j < moves.size() && !used; ++j) {
        used = Mentions(module_, access.variables[j].lo, symbol) ||
               Mentions(module_, access.variables[j].hi, symbol);
      }
      moves[i] = used && !access.variables[i].is_let && !access.variables[i].IsFree();
    }
    return moves;
  }

  /// The values of all variables at a corner where the access happens, else nothing.
  std::optional<Env> Corner(const ElementAccess& access, const std::vector<bool>& moves,
                            uint32_t corner) const {
    Env env = sizes_.dims;
    for (size_t i = 0; i < access.variables.size(); ++i) {
      const BodyVariable& variable = access.variables[i];
      if (variable.IsFree()) {
        continue;
      }
      auto lo = variable.lo ? EvaluateInt(module_, variable.lo, env, sizes_.ranges)
                            : std::optional<int64_t>(0);
      if (variable.is_let) {
        if (lo) {
          env[variable.symbol] = *lo;
        }
        continue;
      }
      auto hi = EvaluateInt(module_, variable.hi, env, sizes_.ranges);
      if (!lo || !hi || *lo >= *hi) {
        return std::nullopt;
      }
      bool high = moves[i] && (corner & 1) != 0;
      corner = moves[i] ? corner >> 1 : corner;
      env[variable.symbol] = high ? *hi - 1 : *lo;
    }
    for (const Guard& guard : access.guards) {
      if (EvaluateBool(module_, guard.condition, env, sizes_.ranges) != guard.wanted) {
        return std::nullopt;
      }
    }
    return env;
  }

  void Report(const ElementAccess& access, size_t axis, int64_t value, int64_t extent,
              const Env& env) {
    const Tensor& tensor = module_.tensors[access.tensor];
    ExprId index = access.indices[axis];
    std::string variables;
    for (const BodyVariable& variable : access.variables) {
      auto found = env.find(variable.symbol);
      if (found != env.end() && Mentions(module_, index, {variable.symbol})) {
        variables += fmt::format("{}{} = {}", variables.empty() ? "" : ", ",
                                 module_.symbols[variable.symbol].name, found->second);
      }
    }
    bool constant = EvaluateInt(module_, index, {}) && EvaluateInt(module_, tensor.shape[axis], {});
    diagnostics_
        .Error(DiagnosticKind::Bounds, module_.RangeOf(index),
               fmt::format("index {} of `%{}` is {}, outside of 0 .. {}{}", axis, tensor.name,
                           value, extent, constant ? "" : Describe(module_, sizes_, variables)))
        .notes.push_back(DeclaredHere(tensor));
  }

  const Module& module_;
  const Sizes& sizes_;
  Diagnostics& diagnostics_;
  // What was found last, as the accesses of one loop have the same variables.
  bool has_last_ = false;
  std::vector<SymbolId> last_symbols_;
  std::optional<Intervals> last_;
};

void AddValueRanges(const Module& module, const std::vector<TensorId>& params,
                    std::vector<ElementAccess>& accesses) {
  for (TensorId param : params) {
    std::ranges::move(CollectAccesses(module, module.tensors[param]), std::back_inserter(accesses));
  }
}

/// Each access is reported once.
void CheckAll(const Module& module, std::vector<ElementAccess> open, const std::vector<Sizes>& at,
              Diagnostics& diagnostics) {
  for (const Sizes& sizes : at) {
    BoundsCheck check(module, sizes, diagnostics);
    std::erase_if(open, [&](const ElementAccess& access) { return check.Check(access); });
  }
}

}  // namespace

void CheckBodyBounds(const Module& module, const Device& device, Diagnostics& diagnostics) {
  std::vector<ElementAccess> open = CollectAccesses(module, device);
  AddValueRanges(module, device.params, open);
  CheckAll(module, std::move(open), SampleSizes(module), diagnostics);
}

void CheckRangeBounds(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  std::vector<ElementAccess> open;
  AddValueRanges(module, graph.params, open);
  if (!open.empty()) {
    CheckAll(module, std::move(open), SampleSizes(module, graph), diagnostics);
  }
}

}  // namespace etc
