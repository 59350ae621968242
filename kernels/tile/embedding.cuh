// x[b, :] = table[ids[b], :]. Task (b): one row, which has a multiple of 16 bytes.
#pragma once

#include "arch/memory.cuh"
#include "arch/tagged.cuh"
#include "tile/layout.cuh"
#include "tile/roles.cuh"

namespace etc {

ETC_TILED(TiledTable, table);

template <class Config, class Args>
struct Embedding {
  static constexpr int kElementBytes = int(sizeof(*Args::table));
  static constexpr int kRowBytes = int(Args::table_1) * kElementBytes;
  static constexpr bool kTiled = TiledTable<Args>::value;
  static_assert(kRowBytes % 16 == 0, "a row of `table` has a multiple of 16 bytes");
  static_assert(sizeof(*Args::table) == sizeof(typename ElementOf<decltype(Args::x)>::type),
                "`x` has the type of `table`");
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE Embedding(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b) {
    const char* source = Row(args, i64(args.ids[b]));
    auto destination = args.x + i64(b) * args.x_1;
#pragma unroll 1
    for (int i = consumer.thread * 16; i < kRowBytes; i += Consumer::kThreads * 16) {
      Store(destination, i, LoadGlobal(source + InRow(i)));
    }
  }

 private:
  /// At byte i of a row.
  template <class T>
  static ETC_DEVICE void Store(T* row, int i, Vec4 value) {
    StoreGlobal(reinterpret_cast<char*>(row) + i, value);
  }
  template <class T>
  static ETC_DEVICE void Store(Tagged<T> row, int i, Vec4 value) {
    StoreTagged(row.Word(i / 4), value);
  }

  static constexpr int kTileRowBytes = kTileColumns * kElementBytes;

  static ETC_DEVICE const char* Row(const Args& args, i64 row) {
    const char* table = reinterpret_cast<const char*>(args.table);
    return kTiled
               ? table + row / kTileRows * (kTileRows * kRowBytes) + row % kTileRows * kTileRowBytes
               : table + row * kRowBytes;
  }
  /// From the start of a row to its byte i.
  static ETC_DEVICE int InRow(int i) {
    return kTiled ? i / kTileRowBytes * (kTileRows * kTileRowBytes) + i % kTileRowBytes : i;
  }
};

}  // namespace etc
