// Collects ways to damage a module: what all parts of a program have in common, their expressions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mutator.h"

namespace etc::mutation {

/// Where something of a copy of the module is.
template <class T>
using In = std::function<T(Module&)>;

/// Puts `make(copy of the expression)` in the expression's place.
void Replace(Module& module, ExprId id, const std::function<Expr(ExprId)>& make);
void AddTo(Module& module, ExprId id, int64_t amount);

class MutationCollector {
 public:
  explicit MutationCollector(const Module& module) : module_(module) {}

  void Add(std::string what, std::function<void(Module&)> apply);
  void AddShift(const std::string& what, ExprId id);
  /// Damage inside of an expression: other operators, other numbers, one side of a min or max.
  void AddInside(const std::string& what, ExprId id);
  void AddElement(const std::string& what, const std::vector<ExprId>& indices);
  void AddAxis(const std::string& what, const Axis& axis);

  /// Whether what is added from now on is damage to what gives out tasks.
  void SetOfDispatch(bool of_dispatch) { of_dispatch_ = of_dispatch; }

  const Module& module() const { return module_; }
  std::vector<Mutation> Take() { return std::move(mutations_); }

 private:
  const Module& module_;
  std::vector<Mutation> mutations_;
  bool of_dispatch_ = false;
};

/// Damage to the body of a device function.
void AddBodyMutations(MutationCollector& collector, DeviceId device);

}  // namespace etc::mutation
