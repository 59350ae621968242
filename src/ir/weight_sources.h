// Names of the tensors of a checkpoint that parameters are.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/module.h"

namespace etc {

/// The different names in braces, each of which stands for the index of a leading axis; nothing
/// where a brace has no partner or holds no name.
std::optional<std::vector<std::string_view>> PlacesOf(std::string_view source);

/// Of an axis of a parameter, what all ranks have together; nothing where it is no constant.
std::optional<int64_t> WholeExtentOf(const Module& module, const Tensor& param, size_t axis);

}  // namespace etc
