// Integer expressions prepared for evaluation at many points of a loop nest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/samples.h"
#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// The variables of a loop nest and their current values.
class Slots {
 public:
  size_t Of(SymbolId symbol) {
    auto [found, is_new] = slots_.emplace(symbol, values_.size());
    if (is_new) {
      values_.push_back(0);
    }
    return found->second;
  }
  const std::map<SymbolId, size_t>& all() const { return slots_; }
  int64_t& operator[](size_t slot) { return values_[slot]; }
  int64_t operator[](size_t slot) const { return values_[slot]; }

 private:
  std::map<SymbolId, size_t> slots_;
  std::vector<int64_t> values_;
};

/// An integer expression at given sizes. Affine ones and their quotients by a number, nearly all,
/// cost a few additions.
class CompiledExpr {
 public:
  CompiledExpr() = default;  // 0
  CompiledExpr(const Module& module, ExprId id, const Sizes& sizes, const Slots& slots);

  /// Nothing where the expression has no value.
  std::optional<int64_t> Evaluate(const Slots& slots) const;

 private:
  using Terms = std::vector<std::pair<size_t, int64_t>>;  // slot, coefficient
  struct Affine {
    int64_t constant = 0;
    Terms terms;
  };
  static std::optional<Affine> AffineOf(const Module& module, ExprId id, const Sizes& sizes,
                                        const Slots& slots);
  static std::optional<Affine> Sum(const Affine& a, const Affine& b, int64_t sign);

  Affine affine_;
  int64_t divisor_ = 1;             // of affine_
  const Module* module_ = nullptr;  // set when the expression is none of these
  ExprId id_;
  const Sizes* sizes_ = nullptr;
};

/// The values of all variables, for evaluation of any expression.
Env EnvOf(const Sizes& sizes, const Slots& slots);

}  // namespace etc
