// From a module with kernels to the decisions that its text takes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "emit/raise/raised.h"

namespace etc {

struct RaisePass {
  std::string_view name;
  std::string_view summary;
  void (*run)(RaisedModule&);
};

/// The passes in their order, each order with its reason (raise.cpp).
const std::vector<RaisePass>& RaisePasses();

/// Called behind each pass, and with the name `raise` behind the last.
using RaiseObserver = std::function<void(std::string_view name, const RaisedModule& raised)>;

/// Makes every decision about the text of the module's kernels. The module must be one that CanEmit
/// takes, and outlive the result.
[[nodiscard]] RaisedModule Raise(const Module& module, Arch arch, const RaiseObserver& after = {});

/// The decisions as comment lines, a block for each kernel.
[[nodiscard]] std::string Describe(const RaisedModule& raised);

}  // namespace etc
