// x[b, :] = table[ids[b], :]. Task (b): one row, which has a multiple of 16 bytes. Where there is
// `partials`, f32 [P, b, K]: partials[:, b, :] = 0, for a norm that finds the first layer like
// others. With `scale` in Config, x is that times the row, both bf16.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/flagged.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/phased.cuh"
#include "engine/layout.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"

namespace etc {

ETC_TILED(TiledTable, table);
ETC_SWIZZLED(SwizzledTable, table);

ETC_OPTION(EmbeddingScale, scale, float, 1);

/// Whether Args has `partials`.
template <class Args, class = void>
struct HasPartials {
  static constexpr bool value = false;
};
template <class Args>
struct HasPartials<Args, Void<decltype(Args::partials)>> {
  static constexpr bool value = true;
};

template <class Config, class Args>
struct Embedding {
  static constexpr int kElementBytes = int(sizeof(*Args::table));
  static constexpr int kRowBytes = int(Args::table_1) * kElementBytes;
  static constexpr bool kTiled = TiledTable<Args>::value;
  static constexpr bool kSwizzled = SwizzledTable<Args>::value;
  static_assert(kRowBytes % 16 == 0, "a row of `table` has a multiple of 16 bytes");
  static_assert(sizeof(*Args::table) == sizeof(typename ElementOf<decltype(Args::x)>::type),
                "`x` has the type of `table`");
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE Embedding(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b) {
    i64 row = args.ids[b];
    auto destination = args.x + i64(b) * args.x_1;
#pragma unroll 1
    for (int i = consumer.thread * 16; i < kRowBytes; i += Consumer::kThreads * 16) {
      Store(destination, i, Scaled(LoadGlobal(Source(args, row, i))));
    }
    if constexpr (HasPartials<Args>::value) {
      Clear(consumer, args, b);
    }
  }

 private:
  static ETC_DEVICE Vec4 Scaled(Vec4 elements) {
    constexpr float scale = EmbeddingScale<Config>::value;
    if constexpr (scale != 1) {
      static_assert(kElementBytes == 2, "what is scaled is bf16");
      u32 pair = PackBf16(scale, scale);
      elements = {MultiplyBf16(elements.x, pair), MultiplyBf16(elements.y, pair),
                  MultiplyBf16(elements.z, pair), MultiplyBf16(elements.w, pair)};
    }
    return elements;
  }

  template <class A>
  static ETC_DEVICE void Clear(const Consumer& consumer, const A& args, int b) {
    static_assert(A::partials_2 % 4 == 0, "a row of `partials` has a multiple of 16 bytes");
#pragma unroll 1
    for (int p = 0; p < int(A::partials_0); ++p) {
      auto row = args.partials + (p * args.partials_1 + b) * A::partials_2;
#pragma unroll 1
      for (int k = consumer.thread * 4; k < int(A::partials_2); k += Consumer::kThreads * 4) {
        Store(row, k * 4, Vec4{});
      }
    }
  }

  /// At byte i of a row.
  template <class T>
  static ETC_DEVICE void Store(T* row, int i, Vec4 value) {
    StoreGlobal(reinterpret_cast<char*>(row) + i, value);
  }
  template <class T>
  static ETC_DEVICE void Store(Flagged<T> row, int i, Vec4 value) {
    StoreFlagged(row.Word(i / 4), value);
  }
  template <class T>
  static ETC_DEVICE void Store(const Phased<T>& row, int i, Vec4 value) {
    StoreRelaxed(row.Word(i / 4), row.Of(value));
  }

  static constexpr int kTileRowBytes = kTileColumns * kElementBytes;

  /// The 16 bytes at byte i of a row of the table.
  static ETC_DEVICE const char* Source(const Args& args, i64 row, int i) {
    const char* table = reinterpret_cast<const char*>(args.table);
    if constexpr (kTiled) {
      const char* tile = table + row / kTileRows * (kTileRows * kRowBytes) +
                         i / kTileRowBytes * (kTileRows * kTileRowBytes);
      int place = int(row % kTileRows) * kTileRowBytes + i % kTileRowBytes;
      return tile + InTile<kSwizzled, kTileRowBytes>(place);
    } else {
      return table + row * kRowBytes + i;
    }
  }
};

}  // namespace etc
