// Sizes at which the checks evaluate a program.
#pragma once

#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// A value for each dimension, and the ranges that hold for those values.
struct Sizes {
  Env dims;
  DimRanges ranges;
};

/// A handful of sizes within the declared ranges, small ones first, at which all requirements hold:
/// the ends of each range, and values that no tile size divides. Empty when a dimension's range is
/// wrong, or no sizes are found. Where each graph is narrowed to one of its ranges, they are within
/// these: what does not hold elsewhere is not called there.
std::vector<Sizes> SampleSizes(const Module& module);

/// The same within each combination of ranges that the graph is specialised for.
std::vector<Sizes> SampleSizes(const Module& module, const Graph& graph);

/// The same within the ranges that a kernel is for.
std::vector<Sizes> SampleSizes(const Module& module, const std::vector<Where>& where);

/// ", where n = 1, m = 17, i = 0": the sizes, then `variables` ("i = 0"). Nothing when there are
/// neither.
std::string Describe(const Module& module, const Sizes& sizes, const std::string& variables = "");

}  // namespace etc
