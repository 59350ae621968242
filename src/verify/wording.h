// Phrases that messages have in common.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// `1 dimension`, `2 dimensions`.
std::string Counted(int64_t number, std::string_view noun);

/// `an in parameter` with `in` in backticks, `a buffer`, `a local`.
std::string_view Describe(const Tensor& tensor);

/// "`%a` is declared here"
Note DeclaredHere(const Tensor& tensor);
Note DeclaredHere(const Event& event);
Note DeclaredHere(const Device& device);

}  // namespace etc
