// The calls that leave something open, so that each option can be looked at by itself.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "expand/decisions.h"
#include "expand/deduce.h"
#include "ir/module.h"

namespace etc {

/// A call of a device function or a graph in terms of constants and dimensions: a repeat around it
/// is in its first round.
struct OpenSite {
  DeviceId device;
  GraphId graph;  // in the place of `device`
  std::string name;
  std::vector<std::pair<std::string, ExprId>> generics;  // that the call gives
  Substitution values;                                   // of all; some may follow from a choice
  std::vector<TensorId> params;
  std::vector<Argument> args;
  std::vector<ExprId> scalars;
  std::vector<Decision> decisions;  // one for each range and each thing that is open
  SourceRange call;

  /// What tells it from calls that leave the same open.
  std::string key;
};

/// The site of a call, which has left `decisions` open.
[[nodiscard]] OpenSite SiteOf(Module& module, const Callee& callee, const CallNode& call,
                              const Deduced& deduced, std::vector<Decision> decisions,
                              SourceRange range);

}  // namespace etc
