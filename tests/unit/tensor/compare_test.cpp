#include "tensor/compare.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

namespace etc {
namespace {

template <class T>
Bytes BytesOf(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Comparison CompareF32(const std::vector<float>& reference, const std::vector<float>& actual,
                      double tolerance) {
  return Compare(ETC_F32, BytesOf(reference), BytesOf(actual), tolerance);
}

TEST_CASE("equal is equal, with a tolerance of nothing") {
  Comparison result = CompareF32({1, 2, INFINITY, 0}, {1, 2, INFINITY, 0}, 0);
  CHECK(result.passes);
  CHECK(result.mismatches == 0);
  CHECK(result.max_abs_error == 0);
  CHECK(result.elements == 4);
}

TEST_CASE("errors are measured") {
  Comparison result = CompareF32({3, 4}, {3, 4.5}, 0.2);
  CHECK(result.passes);
  CHECK(result.max_abs_error == doctest::Approx(0.5));
  CHECK(result.relative_l2 == doctest::Approx(0.1));
  CHECK_FALSE(CompareF32({3, 4}, {3, 4.5}, 0.05).passes);
  CHECK_FALSE(CompareF32({3, 4}, {3, 4.0000005F}, 0).passes);
}

TEST_CASE("one bad element among many good ones fails") {
  std::vector<float> reference(1000000, 1.0F);
  std::vector<float> actual = reference;
  actual[77] = 2.0F;
  Comparison result = CompareF32(reference, actual, 0.01);
  CHECK(result.relative_l2 < 0.01);
  CHECK(result.mismatches == 1);
  CHECK(result.first_mismatch == 77);
  CHECK_FALSE(result.passes);
}

TEST_CASE("NaN and infinity never pass for numbers") {
  CHECK_FALSE(CompareF32({NAN}, {NAN}, 1e9).passes);
  CHECK_FALSE(CompareF32({1}, {NAN}, 1e9).passes);
  CHECK_FALSE(CompareF32({NAN}, {1}, 1e9).passes);
  CHECK_FALSE(CompareF32({INFINITY}, {-INFINITY}, 1e9).passes);
  CHECK_FALSE(CompareF32({1}, {INFINITY}, 1e9).passes);
}

TEST_CASE("a reference of zeros asks for zeros") {
  CHECK(CompareF32({0, 0}, {0, 0}, 0.01).passes);
  CHECK_FALSE(CompareF32({0, 0}, {0, 1e-9F}, 0.01).passes);
}

TEST_CASE("integers must be equal") {
  CHECK(Compare(ETC_I32, BytesOf<int32_t>({1, -2}), BytesOf<int32_t>({1, -2}), 0.5).passes);
  Comparison result = Compare(ETC_I32, BytesOf<int32_t>({1, -2}), BytesOf<int32_t>({1, -3}), 0.5);
  CHECK_FALSE(result.passes);
  CHECK(result.mismatches == 1);
  CHECK(result.max_abs_error == 1);
}

TEST_CASE("a line for each tensor") {
  CHECK(Describe("y", CompareF32({3, 4}, {3, 4.5}, 0.2)) ==
        "%y: max abs error 0.5, relative L2 0.1, 0 of 2 mismatch: ok\n");
  CHECK(Describe("y", CompareF32({3, 4}, {3, NAN}, 0.2)) ==
        "%y: max abs error inf, relative L2 0, 1 of 2 mismatch (the first at element 1): FAILED\n");
  CHECK(Describe("y", CompareF32({NAN, 4}, {NAN, 4}, 0.2)) ==
        "%y: max abs error inf, relative L2 0, 1 of 2 mismatch (the first at element 0; 1 NaN on "
        "both "
        "sides): FAILED\n");
}

TEST_CASE("a summary names shape, extremes and what is not finite") {
  TensorData tensor{"y", ETC_OUT, ETC_F32, {1, 3}, {}};
  std::string text = Summarise(tensor, BytesOf<float>({1, NAN, 3}));
  CHECK(text.starts_with("%y: f32[1x3], mean 2, min 1, max 3, 1 NaN, checksum "));
  CHECK(Summarise(tensor, BytesOf<float>({NAN, NAN, NAN}))
            .starts_with("%y: f32[1x3], no numbers, 3 NaN, checksum "));
  CHECK(Summarise(tensor, BytesOf<float>({-INFINITY, INFINITY, 3}))
            .starts_with("%y: f32[1x3], mean 3, min 3, max 3, 1 -inf, 1 inf, checksum "));
}

}  // namespace
}  // namespace etc
