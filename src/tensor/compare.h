// How far the result of one run is from that of another.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor_data.h"

namespace etc {

struct Comparison {
  int64_t elements = 0;
  double max_abs_error = 0;
  double relative_l2 = 0;  // |actual - reference| / |reference|
  int64_t mismatches = 0;
  int64_t first_mismatch = -1;
  int64_t both_nan = 0;  // of the mismatches
  bool passes = true;
};

/// Integers and booleans must be equal. Floats pass when the relative L2 error is at most
/// `tolerance` and no element is a mismatch: further from the reference than ten times the
/// tolerance, relative to the larger of the element and the tensor's root mean square. A NaN in
/// either is always a mismatch; equal infinities are none.
[[nodiscard]] Comparison Compare(etc_dtype dtype, const Bytes& reference, const Bytes& actual,
                                 double tolerance);

/// One line for the parameter.
[[nodiscard]] std::string Describe(const std::string& name, const Comparison& comparison);

/// Shape, mean and extremes of what is finite, how much is not, and the checksum of a result, in
/// one line.
[[nodiscard]] std::string Summarise(const TensorData& tensor, const Bytes& bytes);

}  // namespace etc
