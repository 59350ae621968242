// Tensor core instructions of a warpgroup whose operands both lie in shared memory. The rules of
// wgmma.cuh hold: a fence in front of a group, and a wait behind it.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/wgmma.cuh"

namespace etc {

// d[64, n] = a[64, 16] * b[16, n], and d added to that where `adds`. Both operands are as
// WgmmaDescriptor says, a by its rows and b by its columns; d is spread over the lanes as that of
// Wgmma. n is a multiple of 8 from 64 to 256.
template <int columns>
struct WgmmaShared;

// The sums of 8 columns are four registers. ETC_SUMS_n are those of n times 8 columns as operands
// of the instruction, and ETC_NAMES_n their names in its text.
#define ETC_SUMS(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define ETC_SUMS_1 ETC_SUMS(0)
#define ETC_SUMS_2 ETC_SUMS_1, ETC_SUMS(4)
#define ETC_SUMS_3 ETC_SUMS_2, ETC_SUMS(8)
#define ETC_SUMS_4 ETC_SUMS_3, ETC_SUMS(12)
#define ETC_SUMS_5 ETC_SUMS_4, ETC_SUMS(16)
#define ETC_SUMS_6 ETC_SUMS_5, ETC_SUMS(20)
#define ETC_SUMS_7 ETC_SUMS_6, ETC_SUMS(24)
#define ETC_SUMS_8 ETC_SUMS_7, ETC_SUMS(28)
#define ETC_SUMS_9 ETC_SUMS_8, ETC_SUMS(32)
#define ETC_SUMS_10 ETC_SUMS_9, ETC_SUMS(36)
#define ETC_SUMS_11 ETC_SUMS_10, ETC_SUMS(40)
#define ETC_SUMS_12 ETC_SUMS_11, ETC_SUMS(44)
#define ETC_SUMS_13 ETC_SUMS_12, ETC_SUMS(48)
#define ETC_SUMS_14 ETC_SUMS_13, ETC_SUMS(52)
#define ETC_SUMS_15 ETC_SUMS_14, ETC_SUMS(56)
#define ETC_SUMS_16 ETC_SUMS_15, ETC_SUMS(60)
#define ETC_SUMS_17 ETC_SUMS_16, ETC_SUMS(64)
#define ETC_SUMS_18 ETC_SUMS_17, ETC_SUMS(68)
#define ETC_SUMS_19 ETC_SUMS_18, ETC_SUMS(72)
#define ETC_SUMS_20 ETC_SUMS_19, ETC_SUMS(76)
#define ETC_SUMS_21 ETC_SUMS_20, ETC_SUMS(80)
#define ETC_SUMS_22 ETC_SUMS_21, ETC_SUMS(84)
#define ETC_SUMS_23 ETC_SUMS_22, ETC_SUMS(88)
#define ETC_SUMS_24 ETC_SUMS_23, ETC_SUMS(92)
#define ETC_SUMS_25 ETC_SUMS_24, ETC_SUMS(96)
#define ETC_SUMS_26 ETC_SUMS_25, ETC_SUMS(100)
#define ETC_SUMS_27 ETC_SUMS_26, ETC_SUMS(104)
#define ETC_SUMS_28 ETC_SUMS_27, ETC_SUMS(108)
#define ETC_SUMS_29 ETC_SUMS_28, ETC_SUMS(112)
#define ETC_SUMS_30 ETC_SUMS_29, ETC_SUMS(116)
#define ETC_SUMS_31 ETC_SUMS_30, ETC_SUMS(120)
#define ETC_SUMS_32 ETC_SUMS_31, ETC_SUMS(124)
#define ETC_NAMES_1 "%0, %1, %2, %3"
#define ETC_NAMES_2 ETC_NAMES_1 ", %4, %5, %6, %7"
#define ETC_NAMES_3 ETC_NAMES_2 ", %8, %9, %10, %11"
#define ETC_NAMES_4 ETC_NAMES_3 ", %12, %13, %14, %15"
#define ETC_NAMES_5 ETC_NAMES_4 ", %16, %17, %18, %19"
#define ETC_NAMES_6 ETC_NAMES_5 ", %20, %21, %22, %23"
#define ETC_NAMES_7 ETC_NAMES_6 ", %24, %25, %26, %27"
#define ETC_NAMES_8 ETC_NAMES_7 ", %28, %29, %30, %31"
#define ETC_NAMES_9 ETC_NAMES_8 ", %32, %33, %34, %35"
#define ETC_NAMES_10 ETC_NAMES_9 ", %36, %37, %38, %39"
#define ETC_NAMES_11 ETC_NAMES_10 ", %40, %41, %42, %43"
#define ETC_NAMES_12 ETC_NAMES_11 ", %44, %45, %46, %47"
#define ETC_NAMES_13 ETC_NAMES_12 ", %48, %49, %50, %51"
#define ETC_NAMES_14 ETC_NAMES_13 ", %52, %53, %54, %55"
#define ETC_NAMES_15 ETC_NAMES_14 ", %56, %57, %58, %59"
#define ETC_NAMES_16 ETC_NAMES_15 ", %60, %61, %62, %63"
#define ETC_NAMES_17 ETC_NAMES_16 ", %64, %65, %66, %67"
#define ETC_NAMES_18 ETC_NAMES_17 ", %68, %69, %70, %71"
#define ETC_NAMES_19 ETC_NAMES_18 ", %72, %73, %74, %75"
#define ETC_NAMES_20 ETC_NAMES_19 ", %76, %77, %78, %79"
#define ETC_NAMES_21 ETC_NAMES_20 ", %80, %81, %82, %83"
#define ETC_NAMES_22 ETC_NAMES_21 ", %84, %85, %86, %87"
#define ETC_NAMES_23 ETC_NAMES_22 ", %88, %89, %90, %91"
#define ETC_NAMES_24 ETC_NAMES_23 ", %92, %93, %94, %95"
#define ETC_NAMES_25 ETC_NAMES_24 ", %96, %97, %98, %99"
#define ETC_NAMES_26 ETC_NAMES_25 ", %100, %101, %102, %103"
#define ETC_NAMES_27 ETC_NAMES_26 ", %104, %105, %106, %107"
#define ETC_NAMES_28 ETC_NAMES_27 ", %108, %109, %110, %111"
#define ETC_NAMES_29 ETC_NAMES_28 ", %112, %113, %114, %115"
#define ETC_NAMES_30 ETC_NAMES_29 ", %116, %117, %118, %119"
#define ETC_NAMES_31 ETC_NAMES_30 ", %120, %121, %122, %123"
#define ETC_NAMES_32 ETC_NAMES_31 ", %124, %125, %126, %127"

// For so many times 8 columns, which are `columns`. The other operands come behind the sums: a,
// which has their number, b, and whether it adds.
#define ETC_WGMMA_SHARED(eights, columns, number, second, third)                                \
  template <>                                                                                   \
  struct WgmmaShared<columns> {                                                                 \
    static ETC_DEVICE void Multiply(float (&d)[number], u64 a, u64 b, bool adds) {              \
      asm volatile(                                                                             \
          "{\n"                                                                                 \
          ".reg .pred p;\n"                                                                     \
          "setp.ne.u32 p, %" #third                                                             \
          ", 0;\n"                                                                              \
          "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32.bf16.bf16 {" ETC_NAMES_##eights \
          "}, %" #number ", %" #second                                                          \
          ", p, 1, 1, 0, 0;\n"                                                                  \
          "}"                                                                                   \
          : ETC_SUMS_##eights                                                                   \
          : "l"(a), "l"(b), "r"(u32(adds)));                                                    \
    }                                                                                           \
  };

ETC_WGMMA_SHARED(8, 64, 32, 33, 34)
ETC_WGMMA_SHARED(9, 72, 36, 37, 38)
ETC_WGMMA_SHARED(10, 80, 40, 41, 42)
ETC_WGMMA_SHARED(11, 88, 44, 45, 46)
ETC_WGMMA_SHARED(12, 96, 48, 49, 50)
ETC_WGMMA_SHARED(13, 104, 52, 53, 54)
ETC_WGMMA_SHARED(14, 112, 56, 57, 58)
ETC_WGMMA_SHARED(15, 120, 60, 61, 62)
ETC_WGMMA_SHARED(16, 128, 64, 65, 66)
ETC_WGMMA_SHARED(17, 136, 68, 69, 70)
ETC_WGMMA_SHARED(18, 144, 72, 73, 74)
ETC_WGMMA_SHARED(19, 152, 76, 77, 78)
ETC_WGMMA_SHARED(20, 160, 80, 81, 82)
ETC_WGMMA_SHARED(21, 168, 84, 85, 86)
ETC_WGMMA_SHARED(22, 176, 88, 89, 90)
ETC_WGMMA_SHARED(23, 184, 92, 93, 94)
ETC_WGMMA_SHARED(24, 192, 96, 97, 98)
ETC_WGMMA_SHARED(25, 200, 100, 101, 102)
ETC_WGMMA_SHARED(26, 208, 104, 105, 106)
ETC_WGMMA_SHARED(27, 216, 108, 109, 110)
ETC_WGMMA_SHARED(28, 224, 112, 113, 114)
ETC_WGMMA_SHARED(29, 232, 116, 117, 118)
ETC_WGMMA_SHARED(30, 240, 120, 121, 122)
ETC_WGMMA_SHARED(31, 248, 124, 125, 126)
ETC_WGMMA_SHARED(32, 256, 128, 129, 130)

#undef ETC_WGMMA_SHARED
#undef ETC_SUMS

}  // namespace etc
