// Arrays of tensors: parameters whose elements have an address each.
#pragma once

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// The most tensors of an array: as many addresses as a launch can have arguments.
constexpr int64_t kMostOfArray = 4096;

/// Says so if the number of an array's tensors is no constant from 1 on.
void CheckArray(const Module& module, const Tensor& param, Diagnostics& diagnostics);

/// What is handed on of an array is one of its tensors, or a slice of one. False after an error.
bool CheckArraySlice(const Module& module, const Argument& arg, SourceRange range,
                     Diagnostics& diagnostics);

}  // namespace etc
