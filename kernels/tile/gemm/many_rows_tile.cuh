// A tile of a product of many rows: y[m, n] = sum over k of x[m, k] * w[n, k], bf16 with float
// sums. Tensor copies bring boxes of both operands, which are row-major, to the ring; the tensor
// cores read them there.
//
//   box of x           [kRows, 64], 128 or 256 rows: half of them for each of two warpgroups
//   box of w           [kColumns, 64], a multiple of 8 columns
//   ring slot          a box of each, 64 k deep
//   MMA                wgmma m64nNk16, N = kColumns; a thread has kRows * kColumns / 256 sums
//
// Each warp stores its own rows, by way of scratch: whole lines
// of 128 bytes. Meanwhile the ring fills with the next task's boxes, and the warpgroups, which wait
// for nothing of each other but slots, drift apart until one multiplies while the other stores. So
// what the tile must wait for before it is stored, each warp waits for by itself.
//
// Other summands of a tile (`parts`) follow its operands through the ring, in boxes of [kRows, 64].
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/tensor_copy.cuh"
#include "arch/sm90/wgmma_shared.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/ring_products.cuh"
#include "tile/gemm/staged_rows.cuh"

namespace etc {

template <class Args>
class ManyRowsTile {
 public:
  static constexpr int kRows = Args::x_box_0;
  static constexpr int kColumns = Args::w_box_0;
  static constexpr int kOutputs = int(Args::w_0);

 private:
  static constexpr int kStep = Args::x_box_1;  // k of a slot
  static constexpr int kDepth = int(Args::w_1);
  static constexpr int kBlocks = kRows / 128;  // of 64 rows, of each warpgroup
  static_assert(kRows == 128 || kRows == 256, "a box of `x` has 128 or 256 rows");
  static_assert(kStep == 64 && Args::w_box_1 == 64, "a box has 64 columns");
  static_assert(kColumns % 8 == 0 && kColumns >= 64 && kBlocks * kColumns <= 256,
                "a thread has up to 128 sums");
  static_assert(kOutputs % 8 == 0 && kDepth % 8 == 0, "rows begin at multiples of 16 bytes");
  static_assert(Consumer::kWarps == 8, "the consumers are two warpgroups");

  static constexpr int kRowBytes = kStep * 2;
  static constexpr int kXBytes = kRows * kRowBytes;
  static constexpr int kSteps = DivideUp(kDepth, kStep);
  using Staged = StagedRows<kColumns, kOutputs>;

 public:
  static constexpr int kSlotBytes = kXBytes + kColumns * kRowBytes;
  static constexpr int kScratchBytes = Staged::kScratchBytes;
  using Place = OutputPlace;

  /// From these rows of x, in one of its slices, and of w on.
  static ETC_DEVICE void Load(Loader& loader, const Args& args, int x_slice, int x_row, int w_row) {
#pragma unroll 1
    for (int step = 0; step < kSteps; ++step) {
      u32 slot = loader.Acquire();
      loader.Expect(kSlotBytes);
      u32 full = loader.ring.Full();
      TensorCopyElected(slot, args.x_map, step * kStep, x_row, x_slice, full);
      TensorCopyElected(slot + kXBytes, args.w_map, step * kStep, w_row, args.w_slice, full);
      loader.Advance();
    }
  }

  /// The tile of rows and columns from these on, of a matrix of so many rows.
  static ETC_DEVICE Place PlaceOf(bf16* matrix, int rows, int first_row, int first_column) {
    return {matrix + i64(first_row) * kOutputs + first_column, rows - first_row,
            kOutputs - first_column};
  }

  /// The boxes of args.parts, bf16 [parts, rows, kOutputs], that a tile from this row and column on
  /// adds, behind those of its operands.
  static ETC_DEVICE void LoadParts(Loader& loader, const Args& args, int row, int column) {
    static_assert(Args::parts_box_0 == kRows && Args::parts_box_1 == kStagedColumns,
                  "a box of `parts` has the rows of a tile and 64 columns");
#pragma unroll 1
    for (int part = 0; part < int(Args::parts_0); ++part) {
#pragma unroll 1
      for (int stage = 0; stage < kStages; stage += kPartStages) {
        int boxes = min(kPartStages, kStages - stage);
        u32 slot = loader.Acquire();
        loader.Expect(boxes * kXBytes);
#pragma unroll 1
        for (int box = 0; box < boxes; ++box) {
          TensorCopyElected(slot + box * kXBytes, args.parts_map,
                            column + (stage + box) * kStagedColumns, row, args.parts_slice + part,
                            loader.ring.Full());
        }
        loader.Advance();
      }
    }
  }

  /// Multiplies, adds so many parts, one after the other, and stores the sums. Each warp calls
  /// `await` before it stores anything.
  template <int parts = 0, class... Await>
  static ETC_DEVICE void Run(Consumer& consumer, const Place& place, const Await&... await) {
    float sums[kBlocks][kColumns / 2];
    Multiply(consumer, sums);
#pragma unroll 1
    for (int part = 0; part < parts; ++part) {
      AddPart(consumer, sums);
    }
    ConsumerWarp warp(consumer);
    (await(warp), ...);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      Store(consumer, place, FirstRow(consumer, block), sums[block]);
    }
  }

 private:
  /// The first row of a block of this warp's warpgroup.
  static ETC_DEVICE int FirstRow(const Consumer& consumer, int block) {
    return (consumer.warp / 4 * kBlocks + block) * 64;
  }

  static ETC_DEVICE void Multiply(Consumer& consumer, float (&sums)[kBlocks][kColumns / 2]) {
    u32 rows = FirstRow(consumer, 0) * kRowBytes;
    MultiplySlots(consumer, kSteps, [&](u32 slot, int step) {
#pragma unroll
      for (int k = 0; k < kStep; k += 16) {
        u64 w = WgmmaDescriptor(slot + kXBytes + k * 2);
#pragma unroll
        for (int block = 0; block < kBlocks; ++block) {
          u64 x = WgmmaDescriptor(slot + rows + block * 64 * kRowBytes + k * 2);
          WgmmaShared<kColumns>::Multiply(sums[block], x, w, step > 0 || k > 0);
        }
      }
    });
  }

  /// Stores this warp's 16 of the 64 rows of a block, those that exist.
  static ETC_DEVICE void Store(const Consumer& consumer, const Place& place, int first_row,
                               const float (&sums)[kColumns / 2]) {
    Staged::Store(consumer, SharedAddress(consumer.scratch), place,
                  first_row + consumer.warp % 4 * 16, sums);
  }

  static constexpr int kStages = Staged::kStages;
  static constexpr int kStagedColumns = Staged::kStagedColumns;
  // Boxes of a part in a slot: as many as fit, in the fewest slots.
  static constexpr int kPartSlots = DivideUp(kStages, kSlotBytes / kXBytes);
  static constexpr int kPartStages = DivideUp(kStages, kPartSlots);
  static constexpr ETC_DEVICE int PiecesOf(int stage) { return Staged::PiecesOf(stage); }

  /// Adds a part's boxes, which are staged as outputs are. Meanwhile the other warpgroup
  /// multiplies.
  static ETC_DEVICE void AddPart(Consumer& consumer, float (&sums)[kBlocks][kColumns / 2]) {
#pragma unroll
    for (int stage = 0; stage < kStages; stage += kPartStages) {
      u32 slot = consumer.WaitAddress();
      u32 read = 0;
#pragma unroll
      for (int box = 0; box < kPartStages && stage + box < kStages; ++box) {
#pragma unroll
        for (int block = 0; block < kBlocks; ++block) {
          int row = FirstRow(consumer, block) + consumer.warp % 4 * 16;
          u32 rows = slot + box * kXBytes + row * kRowBytes;
          read ^= AddBox(consumer.lane, rows, stage + box, sums[block]);
        }
      }
      consumer.Release(read);
    }
  }
  /// Adds 16 rows of a box; gives something made of all that was read.
  static ETC_DEVICE u32 AddBox(int lane, u32 rows, int stage, float (&sums)[kColumns / 2]) {
    u32 read = 0;
#pragma unroll
    for (int piece = 0; piece < PiecesOf(stage); piece += 2) {
      Vec4 part = LoadMatrices(Staged::InPlace(rows, lane % 16, piece + lane / 16));
      read ^= part.x;
      float* sum = sums + (stage * 8 + piece) * 4;
      Add(part.x, sum), Add(part.y, sum + 2);
      if (piece + 1 < PiecesOf(stage)) {
        Add(part.z, sum + 4), Add(part.w, sum + 6);
      }
    }
    return read;
  }
  /// Two neighbours.
  static ETC_DEVICE void Add(u32 pair, float* sum) {
    sum[0] += LowBf16(pair);
    sum[1] += HighBf16(pair);
  }
};

}  // namespace etc
