#include "analysis/sets/body_loops.h"

#include <algorithm>
#include <set>

#include "ir/checked.h"

namespace etc {

void BodyLoops::Enter(StmtId stmt, size_t mark) {
  around_.push_back({stmt, {}, {}, mark, order_.size(), accesses_.size()});
}

void BodyLoops::Leave() {
  on_loop_(*this);
  around_.pop_back();
  if (around_.empty()) {
    accesses_.clear();
  }
}

void BodyLoops::AddVariable(SymbolId variable, const std::string& name) {
  around_.back().variables.push_back(variable);
  around_.back().names.push_back(name);
}

void BodyLoops::Add(BodyAccess access) {
  if (!around_.empty()) {
    access.depth = around_.size();
    access.variables = around_.back().variables.size();
    accesses_.push_back(std::move(access));
  }
}

size_t BodyLoops::VariablesAround(const BodyAccess& access) const {
  return access.depth == around_.size() ? access.variables : around_.back().variables.size();
}

std::vector<const BodyAccess*> BodyLoops::Shared() const {
  std::vector<const BodyAccess*> shared;
  for (size_t i = around_.back().first_access; i < accesses_.size(); ++i) {
    if (!IsOwn(accesses_[i].tensor)) {
      shared.push_back(&accesses_[i]);
    }
  }
  return shared;
}

/// Whether each iteration of the innermost loop has the tensor for itself.
bool BodyLoops::IsOwn(TensorId tensor) const {
  auto depth = depths_.find(tensor);
  return depth != depths_.end() && depth->second >= around_.size();
}

bool BodyLoops::StayInIteration(const BodyAccess& a, const BodyAccess& b) const {
  if (a.tensor != b.tensor) {
    return false;
  }
  std::vector<Linear> equal;
  for (size_t i = 0; i < a.indices.size(); ++i) {
    auto first = LinearOf(a.indices[i]);
    if (first && first == LinearOf(b.indices[i])) {
      equal.push_back(*first);
    }
  }
  // An index that is equal in both, and has one variable that may differ, says that it does not.
  const BodyLoop& loop = around_.back();
  std::set<SymbolId> same;
  auto may_differ = [&](SymbolId symbol) {
    auto order = order_.find(symbol);
    return order != order_.end() && order->second >= loop.first_symbol && !same.contains(symbol);
  };
  for (size_t round = 0; round < loop.variables.size(); ++round) {
    for (const Linear& index : equal) {
      SymbolId only;
      size_t differ = 0;
      for (const auto& [symbol, coefficient] : index) {
        bool may = symbol && may_differ(symbol);
        differ += may ? 1 : 0;
        only = may ? symbol : only;
      }
      if (differ == 1 &&
          std::find(loop.variables.begin(), loop.variables.end(), only) != loop.variables.end()) {
        same.insert(only);
      }
    }
  }
  return same.size() == loop.variables.size();
}

std::optional<BodyLoops::Linear> BodyLoops::LinearOf(ExprId id) const {
  if (auto value = EvaluateInt(module_, id, {}, ranges_)) {
    return *value == 0 ? Linear() : Linear{{SymbolId(), *value}};
  }
  const Expr& expr = module_.exprs[id];
  if (const auto* ref = std::get_if<SymbolRef>(&expr)) {
    auto let = lets_.find(ref->symbol);
    return let != lets_.end() ? LinearOf(let->second) : Linear{{ref->symbol, 1}};
  }
  const auto* binary = std::get_if<Binary>(&expr);
  if (binary == nullptr) {
    return std::nullopt;
  }
  auto left = LinearOf(binary->left);
  auto right = LinearOf(binary->right);
  if (!left || !right) {
    return std::nullopt;
  }
  int64_t scale = 1;
  if (binary->op == BinaryOp::Mul) {
    auto constant = [](const Linear& form) {
      return form.empty() || (form.size() == 1 && !form.begin()->first);
    };
    if (constant(*left)) {
      std::swap(left, right);
    }
    if (!constant(*right)) {
      return std::nullopt;
    }
    scale = right->empty() ? 0 : right->begin()->second;
    std::swap(left, right);
    left->clear();
  } else if (binary->op == BinaryOp::Sub) {
    scale = -1;
  } else if (binary->op != BinaryOp::Add) {
    return std::nullopt;
  }
  for (const auto& [symbol, coefficient] : *right) {
    auto more = CheckedMul(coefficient, scale);
    auto sum = more ? CheckedAdd((*left)[symbol], *more) : std::nullopt;
    if (!sum) {
      return std::nullopt;
    }
    (*left)[symbol] = *sum;
  }
  std::erase_if(*left, [](const auto& term) { return term.second == 0; });
  return left;
}

}  // namespace etc
