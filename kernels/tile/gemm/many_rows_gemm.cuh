// GEMM of many rows: y[m, n] = sum over k of x[m, k] * w[n, k], bf16 with float sums. Tensor copies
// bring boxes of both operands, which are row-major, to the ring; the tensor cores read them there.
//
//   task (g, i, j)     rows i * kRows and on, columns j * kColumns and on; g only orders the tasks
//   box of x           [kRows, 64], 128 or 256 rows: half of them for each of two warpgroups
//   box of w           [kColumns, 64], a multiple of 8 columns
//   ring slot          a box of each, 64 k deep
//   MMA                wgmma m64nNk16, N = kColumns; a thread has kRows * kColumns / 256 sums
//
// The consumers give back a slot when the instructions behind it are issued, so that the tensor
// cores always have a group waiting. Each warp stores its own rows, by way of scratch: whole lines
// of 128 bytes. Meanwhile the ring fills with the next task's boxes, and the warpgroups, which wait
// for nothing of each other but slots, drift apart until one multiplies while the other stores.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/store_matrices.cuh"
#include "arch/sm90/tensor_copy.cuh"
#include "arch/sm90/wgmma_shared.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"

namespace etc {

template <class Config, class Args>
class ManyRowsGemm {
  static constexpr int kRows = Args::x_box_0;
  static constexpr int kColumns = Args::w_box_0;
  static constexpr int kStep = Args::x_box_1;  // k of a slot
  static constexpr int kDepth = int(Args::x_1);
  static constexpr int kOutputs = int(Args::y_1);
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
  // A warp stages 16 rows of up to 64 outputs, in two places by turns.
  static constexpr int kStagedColumns = 64;
  static constexpr int kStagedBytes = 16 * kStagedColumns * 2;

 public:
  static constexpr int kSlotBytes = kXBytes + kColumns * kRowBytes;
  static constexpr int kScratchBytes = Consumer::kWarps * 2 * kStagedBytes;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int, int i, int j) {
#pragma unroll 1
    for (int step = 0; step < kSteps; ++step) {
      u32 slot = loader.Acquire();
      loader.Expect(kSlotBytes);
      u32 full = loader.ring.Full();
      TensorCopyElected(slot, args.x_map, step * kStep, i * kRows, args.x_slice, full);
      TensorCopyElected(slot + kXBytes, args.w_map, step * kStep, j * kColumns, args.w_slice, full);
      loader.Advance();
    }
  }

  ETC_DEVICE ManyRowsGemm(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int, int i, int j) {
    float sums[kBlocks][kColumns / 2];
    Multiply(consumer, sums);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      Store(consumer, args, i * kRows + FirstRow(consumer, block), j * kColumns, sums[block]);
    }
  }

 private:
  /// The first row of a block of this warp's warpgroup.
  static ETC_DEVICE int FirstRow(const Consumer& consumer, int block) {
    return (consumer.warp / 4 * kBlocks + block) * 64;
  }

  static ETC_DEVICE void Multiply(Consumer& consumer, float (&sums)[kBlocks][kColumns / 2]) {
    Ring used = consumer.ring;  // the oldest slot that instructions may still read
    u32 rows = FirstRow(consumer, 0) * kRowBytes;
#pragma unroll 1
    for (int step = 0; step < kSteps; ++step) {
      u32 slot = consumer.WaitAddress();
      consumer.ring.Advance();
      WgmmaFence();
#pragma unroll
      for (int k = 0; k < kStep; k += 16) {
        u64 w = WgmmaDescriptor(slot + kXBytes + k * 2);
#pragma unroll
        for (int block = 0; block < kBlocks; ++block) {
          u64 x = WgmmaDescriptor(slot + rows + block * 64 * kRowBytes + k * 2);
          WgmmaShared<kColumns>::Multiply(sums[block], x, w, step > 0 || k > 0);
        }
      }
      WgmmaCommit();
      if (step > 0) {
        WgmmaWait<1>();
        GiveBack(consumer, used);
      }
    }
    WgmmaWait<0>();
    GiveBack(consumer, used);
  }

  /// The tensor cores no longer read the slot.
  static ETC_DEVICE void GiveBack(const Consumer& consumer, Ring& used) {
    BarrierArriveWarp(used.Empty(), consumer.lane);
    used.Advance();
  }

  /// Stores this warp's 16 of 64 rows, those that exist.
  static ETC_DEVICE void Store(const Consumer& consumer, const Args& args, int first_row,
                               int first_column, const float (&sums)[kColumns / 2]) {
    int lane = consumer.lane;
    first_row += consumer.warp % 4 * 16;
    u32 staged = SharedAddress(consumer.scratch) + consumer.warp * 2 * kStagedBytes;
#pragma unroll
    for (int part = 0; part < DivideUp(kColumns, kStagedColumns); ++part) {
      const int pieces = kColumns / 8 - part * 8 < 8 ? kColumns / 8 - part * 8 : 8;
      u32 place = staged + part % 2 * kStagedBytes;
      __syncwarp();  // what was there before has been read
#pragma unroll
      for (int piece = 0; piece < pieces; piece += 2) {
        const float* sum = sums + (part * 8 + piece) * 4;
        // Of a last piece without a next one, the next one's place gets the same.
        const float* next = piece + 1 < pieces ? sum + 4 : sum;
        // Matrices: the upper and the lower 8 rows of 8 columns, then of the next 8.
        StoreMatrices(InPlace(place, lane % 16, piece + lane / 16),
                      {PackBf16(sum[0], sum[1]), PackBf16(sum[2], sum[3]),
                       PackBf16(next[0], next[1]), PackBf16(next[2], next[3])});
      }
      __syncwarp();
#pragma unroll
      for (int round = 0; round < 4; ++round) {
        int row = round * 4 + lane / 8, piece = lane % 8;
        Vec4 outputs = LoadShared(InPlace(place, row, piece));
        int column = first_column + part * kStagedColumns + piece * 8;
        if (piece < pieces && first_row + row < args.y_0 && column < kOutputs) {
          StoreGlobal(args.y + i64(first_row + row) * kOutputs + column, outputs);
        }
      }
    }
  }

  /// Where 16 bytes of a row are staged: 8 rows of one piece, or a row's pieces, in all banks.
  static ETC_DEVICE u32 InPlace(u32 place, int row, int piece) {
    return place + row * kStagedColumns * 2 + (piece ^ row % 8) * 16;
  }
};

}  // namespace etc
