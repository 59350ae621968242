#include "tensor/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "runtime/hash.h"

namespace etc {
namespace {

constexpr double kElementFactor = 10;  // a single element may be this much worse than the whole

void AddMismatch(Comparison& comparison, int64_t index) {
  if (comparison.mismatches++ == 0) {
    comparison.first_mismatch = index;
  }
}

Comparison CompareInts(etc_dtype dtype, const Bytes& reference, const Bytes& actual,
                       int64_t elements) {
  Comparison result;
  result.elements = elements;
  double difference = 0;
  double norm = 0;
  for (int64_t i = 0; i < elements; ++i) {
    int64_t expected = ElementAsInt(dtype, reference.data(), i);
    int64_t got = ElementAsInt(dtype, actual.data(), i);
    double error = std::fabs(static_cast<double>(got) - static_cast<double>(expected));
    result.max_abs_error = std::max(result.max_abs_error, error);
    difference += error * error;
    norm += static_cast<double>(expected) * static_cast<double>(expected);
    if (got != expected) {
      AddMismatch(result, i);
    }
  }
  result.relative_l2 = difference == 0 ? 0 : std::sqrt(difference / norm);
  result.passes = result.mismatches == 0;
  return result;
}

Comparison CompareFloats(etc_dtype dtype, const Bytes& reference, const Bytes& actual,
                         int64_t elements, double tolerance) {
  Comparison result;
  result.elements = elements;
  double norm = 0;
  bool are_numbers = true;
  for (int64_t i = 0; i < elements; ++i) {
    double expected = ElementAsDouble(dtype, reference.data(), i);
    norm += std::isfinite(expected) ? expected * expected : 0;
    are_numbers = are_numbers && !std::isnan(expected);
  }
  if (are_numbers && reference == actual) {  // most tensors, and quicker than by elements
    return result;
  }
  double rms = elements == 0 ? 0 : std::sqrt(norm / static_cast<double>(elements));
  double difference = 0;
  for (int64_t i = 0; i < elements; ++i) {
    double expected = ElementAsDouble(dtype, reference.data(), i);
    double got = ElementAsDouble(dtype, actual.data(), i);
    double error = got == expected ? 0 : std::fabs(got - expected);
    if (!std::isfinite(error)) {
      result.both_nan += std::isnan(expected) && std::isnan(got) ? 1 : 0;
      result.max_abs_error = std::numeric_limits<double>::infinity();
      AddMismatch(result, i);
      continue;
    }
    result.max_abs_error = std::max(result.max_abs_error, error);
    difference += error * error;
    if (error > kElementFactor * tolerance * std::max(std::fabs(expected), rms)) {
      AddMismatch(result, i);
    }
  }
  result.relative_l2 = difference == 0 ? 0 : std::sqrt(difference / norm);
  result.passes = result.mismatches == 0 && result.relative_l2 <= tolerance;
  return result;
}

}  // namespace

Comparison Compare(etc_dtype dtype, const Bytes& reference, const Bytes& actual, double tolerance) {
  ETC_CHECK(reference.size() == actual.size());
  auto elements = static_cast<int64_t>(actual.size()) / etc_dtype_bytes(dtype);
  return IsFloat(dtype) ? CompareFloats(dtype, reference, actual, elements, tolerance)
                        : CompareInts(dtype, reference, actual, elements);
}

std::string Describe(const std::string& name, const Comparison& comparison) {
  std::string nan =
      comparison.both_nan == 0 ? "" : fmt::format("; {} NaN on both sides", comparison.both_nan);
  std::string first = comparison.mismatches == 0 ? ""
                                                 : fmt::format(" (the first at element {}{})",
                                                               comparison.first_mismatch, nan);
  return fmt::format("%{}: max abs error {:.4g}, relative L2 {:.4g}, {} of {} mismatch{}: {}\n",
                     name, comparison.max_abs_error, comparison.relative_l2, comparison.mismatches,
                     comparison.elements, first, comparison.passes ? "ok" : "FAILED");
}

std::string Summarise(const TensorData& tensor, const Bytes& bytes) {
  double sum = 0;
  double min = std::numeric_limits<double>::infinity();
  double max = -min;
  std::map<std::string_view, int64_t> others;  // by what they are called
  int64_t numbers = 0;
  for (int64_t i = 0; i < tensor.Elements(); ++i) {
    double value = ElementAsDouble(tensor.dtype, bytes.data(), i);
    if (!std::isfinite(value)) {
      ++others[std::isnan(value) ? "NaN" : value < 0 ? "-inf" : "inf"];
      continue;
    }
    ++numbers;
    sum += value;
    min = std::min(min, value);
    max = std::max(max, value);
  }
  std::string range = numbers == 0 ? "no numbers"
                                   : fmt::format("mean {:.6g}, min {:.6g}, max {:.6g}",
                                                 sum / static_cast<double>(numbers), min, max);
  for (const auto& [name, count] : others) {
    range += fmt::format(", {} {}", count, name);
  }
  return fmt::format("%{}: {}, {}, checksum {}\n", tensor.name,
                     TypeText(tensor.dtype, tensor.shape), range,
                     runtime::HashText({bytes.data(), bytes.size()}).substr(0, 16));
}

}  // namespace etc
