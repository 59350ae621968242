// What the tasks of a device function read and compute, counted from its body.
#pragma once

#include <map>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// Elements of an operand that are read or written: bounds from above, where these overlap.
struct ElementCount {
  double one_task = 0;
  double all_tasks = 0;
};

struct BodyCost {
  double tasks = 0;
  double flops = 0;  // of a task; a load, a store and index arithmetic are none
  std::map<TensorId, ElementCount> reads, writes;  // by parameter of the device function
};

/// What is known of the launch: the values of the dimensions, and of integer parameters of the
/// device function, of which every element is taken for the largest that it may be.
struct LaunchSizes {
  Env dims;
  DimRanges ranges;
  std::map<TensorId, int64_t> elements = {};
};

/// Loops whose bounds are not known count as one round, and conditions as true.
BodyCost CostOfBody(const Module& module, const Device& device, const LaunchSizes& sizes);

}  // namespace etc
