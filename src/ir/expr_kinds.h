// The kinds of many expressions of one module.
#pragma once

#include <unordered_map>

#include "ir/module.h"

namespace etc {

/// Finds the kind of each expression once, where `KindOf` finds those of all that it is made of
/// each time. The module must not change meanwhile.
class ExprKinds {
 public:
  explicit ExprKinds(const Module& module) : module_(module) {}

  ValueKind Of(ExprId expr);

 private:
  const Module& module_;
  std::unordered_map<uint32_t, ValueKind> known_;
};

}  // namespace etc
