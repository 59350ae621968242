#include "tensor/float16.h"

#include <doctest/doctest.h>

namespace etc {
namespace {

TEST_CASE("every 16-bit float survives the way to 32 bits and back") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    float bf16 = FloatFromBf16(half);
    float f16 = FloatFromF16(half);
    bool same_bf16 = std::isnan(bf16) ? std::isnan(FloatFromBf16(Bf16FromFloat(bf16)))
                                      : Bf16FromFloat(bf16) == half;
    bool same_f16 =
        std::isnan(f16) ? std::isnan(FloatFromF16(F16FromFloat(f16))) : F16FromFloat(f16) == half;
    REQUIRE_MESSAGE(same_bf16, "bf16 ", bits);
    REQUIRE_MESSAGE(same_f16, "f16 ", bits);
  }
}

TEST_CASE("known values") {
  CHECK(FloatFromBf16(0x3f80) == 1.0F);
  CHECK(FloatFromF16(0x3c00) == 1.0F);
  CHECK(FloatFromF16(0x7bff) == 65504.0F);
  CHECK(FloatFromF16(0x0001) == 0x1p-24F);
  CHECK(std::signbit(FloatFromF16(0x8000)));
}

TEST_CASE("rounding is to nearest, ties to even") {
  CHECK(Bf16FromFloat(1.0F + 0x1p-8F) == 0x3f80);            // a tie: down to even
  CHECK(Bf16FromFloat(1.0F + 0x1p-7F + 0x1p-8F) == 0x3f82);  // a tie: up to even
  CHECK(Bf16FromFloat(1.0F + 0x1p-8F + 0x1p-20F) == 0x3f81);
  CHECK(F16FromFloat(1.0F + 0x1p-11F) == 0x3c00);
  CHECK(F16FromFloat(1.0F + 0x1p-11F + 0x1p-20F) == 0x3c01);
  CHECK(F16FromFloat(2.0F - 0x1p-12F) == 0x4000);  // a carry into the exponent
  CHECK(F16FromFloat(65519.0F) == 0x7bff);
  CHECK(F16FromFloat(65520.0F) == 0x7c00);
  CHECK(F16FromFloat(-1e9F) == 0xfc00);
  CHECK(F16FromFloat(0x1p-25F) == 0x0000);
  CHECK(F16FromFloat(0x1.8p-25F) == 0x0001);
}

}  // namespace
}  // namespace etc
