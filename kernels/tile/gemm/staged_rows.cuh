// Stores of a warp's sums, as wgmma leaves them, in whole lines: 16 rows of a matrix go through
// shared memory, up to 64 columns at a time. The swizzle puts 8 rows of one piece of 16 bytes, or a
// row's pieces, into all banks.
#pragma once

#include "arch/common/convert.cuh"
#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/store_matrices.cuh"
#include "engine/roles.cuh"

namespace etc {

/// A part of a matrix: the first of its outputs, and how many rows and columns exist from there on.
struct OutputPlace {
  bf16* outputs;
  int rows, columns;
};

/// Of tiles of so many columns of a matrix of so many outputs in a row. A warp stages in `buffers`
/// places by turns.
template <int kColumns, int kOutputs, int buffers = 2>
class StagedRows {
 public:
  static constexpr int kStagedColumns = 64;
  static constexpr int kStages = DivideUp(kColumns, kStagedColumns);
  static constexpr int kScratchBytes = Consumer::kWarps * buffers * 16 * kStagedColumns * 2;
  static_assert(kColumns % 8 == 0 && kOutputs % 8 == 0, "lines are in pieces of 16 bytes");

  /// How many times 8 columns are staged at once.
  static constexpr ETC_DEVICE int PiecesOf(int stage) {
    return kColumns / 8 - stage * 8 < 8 ? kColumns / 8 - stage * 8 : 8;
  }
  /// Where 16 bytes of a row are staged.
  static ETC_DEVICE u32 InPlace(u32 shared, int row, int piece) {
    return shared + row * kStagedColumns * 2 + (piece ^ row % 8) * 16;
  }

  /// Stores the 16 rows from `first_row` on, those that exist. `scratch` is that of all warps.
  static ETC_DEVICE void Store(const Consumer& consumer, u32 scratch, const OutputPlace& place,
                               int first_row, const float (&sums)[kColumns / 2]) {
    int lane = consumer.lane;
    u32 staged = scratch + consumer.warp * buffers * kStagedBytes;
    LanePlace mine(place, first_row, lane);
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) {
      u32 shared = staged + stage % buffers * kStagedBytes;
      __syncwarp();  // what was there before has been read
#pragma unroll
      for (int piece = 0; piece < PiecesOf(stage); piece += 2) {
        const float* sum = sums + (stage * 8 + piece) * 4;
        // Of a last piece without a next one, the next one's place gets the same.
        const float* next = piece + 1 < PiecesOf(stage) ? sum + 4 : sum;
        // Matrices: the upper and the lower 8 rows of 8 columns, then of the next 8.
        StoreMatrices(InPlace(shared, lane % 16, piece + lane / 16),
                      {PackBf16(sum[0], sum[1]), PackBf16(sum[2], sum[3]),
                       PackBf16(next[0], next[1]), PackBf16(next[2], next[3])});
      }
      __syncwarp();
#pragma unroll
      for (int round = 0; round < kRounds; ++round) {
        Vec4 outputs = LoadShared(InPlace(shared, round * 4 + lane / 8, lane % 8));
        if (mine.Has(round, stage)) {
          StoreGlobal(mine.outputs + LanePlace::At(round, stage), outputs);
        }
      }
    }
  }

 private:
  static constexpr int kStagedBytes = 16 * kStagedColumns * 2;
  static constexpr int kRounds = 4;  // of a stage: lines of four rows each

  /// A lane's 8 outputs of the first round and stage; all others are so far away as constants say.
  struct LanePlace {
    bf16* outputs;
    int first;          // their place in the tile
    int rows, columns;  // that exist from there on, of the tile

    ETC_DEVICE LanePlace(const OutputPlace& place, int first_row, int lane)
        : first((first_row + lane / 8) * kOutputs + lane % 8 * 8),
          rows(place.rows - first_row - lane / 8),
          columns((place.columns < kColumns ? place.columns : kColumns) - lane % 8 * 8) {
      outputs = place.outputs + first;
    }
    static constexpr ETC_DEVICE int At(int round, int stage) {
      return round * 4 * kOutputs + stage * kStagedColumns;
    }
    ETC_DEVICE bool Has(int round, int stage) const {
      return round * 4 < rows && stage * kStagedColumns < columns;
    }
  };
};

}  // namespace etc
