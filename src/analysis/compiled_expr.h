// Expressions prepared for evaluation at many points of a loop nest.
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

/// An integer expression or a condition at given sizes: what depends on these alone is a number.
class CompiledExpr {
 public:
  CompiledExpr() = default;  // 0
  CompiledExpr(const Module& module, ExprId id, const Sizes& sizes, const Slots& slots);

  /// The value, of a condition 1 or 0; nothing where the expression has none.
  std::optional<int64_t> Evaluate(const Slots& slots) const {
    return nodes_.empty() ? 0 : ValueOf(nodes_.back(), slots);
  }

 private:
  using Terms = std::vector<std::pair<size_t, int64_t>>;  // slot, coefficient
  struct Affine {
    int64_t constant = 0;
    Terms terms;
  };
  /// Operands are numbers of nodes, which stand before it.
  struct Node {
    enum class Kind {
      Sum,        // `affine`
      Binary,     // `op` of two, or of conditions
      Not,        // of one condition
      BitNot,     // of one
      Intrinsic,  // `function` of one or two
      Select,     // condition, then, else
      Other,      // `id`, evaluated as it stands
    };
    Kind kind = Kind::Sum;
    Affine affine = {};
    BinaryOp op = {};
    Intrinsic function = {};
    std::vector<size_t> operands = {};
    ExprId id = {};
  };
  class Builder;

  std::optional<int64_t> ValueOf(const Node& node, const Slots& slots) const;
  std::optional<int64_t> ValueOf(const Affine& affine, const Slots& slots) const;
  std::optional<int64_t> Operand(const Node& node, size_t i, const Slots& slots) const {
    return ValueOf(nodes_[node.operands[i]], slots);
  }

  std::vector<Node> nodes_;  // the last one is the value
  const Module* module_ = nullptr;
  const Sizes* sizes_ = nullptr;
};

}  // namespace etc
