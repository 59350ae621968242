// GEMM for decoding larger batches: y[b, n] = sum over k of x[b, k] * w[n, k], bf16 with float
// sums. The weights stream through the ring once and go to the tensor cores from registers, 64 rows
// of them at a time; the activations are the N side, staged in shared memory.
//
// Config: rows (64 or 128 weight rows in a task), max_batch (the largest x_0, up to 128); may have
// epilogue, weights, norm and eps, as StreamGemm has. With a norm, it is the weights that are
// multiplied by args.norm and rounded; the scale goes into the sum. With parts (of 64 rows, without
// norm or epilogue) task (m, p) has of the K / 256 slots those from p * slots / parts to those of
// p + 1, and y is f32 [parts, b, n].
//
// Of 128 rows each of the two warpgroups has half. Of 64 rows each has all, and every other 128 k;
// then they exchange their sums, and each ends half of the columns. Activations are fetched from L2
// in pieces of 16 bytes, some stages ahead, and on into the next task's, whose are the same; the
// destructor waits for what was too much.
#pragma once

#include "arch/copy.cuh"
#include "arch/math.cuh"
#include "arch/memory.cuh"
#include "arch/mma.cuh"
#include "arch/wgmma.cuh"
#include "tile/options.cuh"
#include "tile/roles.cuh"
#include "tile/stream_gemm_parts.cuh"

namespace etc {

ETC_OPTION(WideGemmNorm, norm, bool, false);
ETC_WORD_OPTION(WideGemmEpilogue, epilogue, store);
ETC_WORD_OPTION(WideGemmWeights, weights, plain);
ETC_OPTION(WideGemmParts, parts, int, 0);

/// The extent of `y` that is the number of outputs.
template <class Args, bool in_parts>
struct WideOutputs {
  static constexpr int value = int(Args::y_1);
};
template <class Args>
struct WideOutputs<Args, true> {
  static constexpr int value = int(Args::y_2);
};

template <class Config, class Args>
struct WideGemm {
  using Epilogue = typename WideGemmEpilogue<Config>::type;
  static constexpr int kInputs = Epilogue::kInputs;
  static constexpr bool kGated = kInputs == 2;
  using Weights = typename Choose<kGated, gate_up, typename WideGemmWeights<Config>::type>::type;
  static_assert(Weights::template kTiled<Args>, "the weights are in tiles of 8 x 32");
  static constexpr bool kNorm = WideGemmNorm<Config>::value;

  static constexpr int kRows = int(Config::rows);
  static_assert(kRows == 64 || kRows == 128, "`rows` is 64 or 128");
  static_assert(Consumer::kWarps == 8, "the consumers are two warpgroups");
  static constexpr int kGroupThreads = 128;
  static constexpr bool kSplits = kRows == 64;  // whether the warpgroups split k
  static constexpr bool kInParts = WideGemmParts<Config>::value > 0;
  static constexpr int kParts = kInParts ? int(WideGemmParts<Config>::value) : 1;
  static_assert(!kInParts || (kSplits && !kNorm && IsSame<Epilogue, store>::value),
                "parts are plain sums of 64 rows");

  // 16 rows are a pair of tiles' rows: what one warp has of 64. A gated epilogue finds both inputs
  // of an output in one thread, because the upper 8 are of `w_gate` and the lower of `w_up`.
  static constexpr int kPairs = kRows / 16;
  static constexpr int kPairOutputs = 16 / kInputs;
  static constexpr int kOutputs = WideOutputs<Args, kInParts>::value;
  static_assert(kOutputs % kPairOutputs == 0, "the outputs are a multiple of 16, gated of 8");
  static constexpr int kAllPairs = kOutputs / kPairOutputs;

  // A slot is two units of 64 k for each warpgroup.
  static constexpr int kDepth = int(Args::x_1);
  static constexpr int kUnit = 64;
  static constexpr int kSlotDepth = kSplits ? 4 * kUnit : 2 * kUnit;
  static constexpr int kSlots = kDepth / kSlotDepth;
  static_assert(kDepth % kSlotDepth == 0, "k is a multiple of 256, for 128 rows of 128");
  static_assert(kParts <= kSlots, "a part has a slot");
  static constexpr int kTileRowBytes = kTileRows * kSlotDepth * 2;
  static constexpr int kSlotBytes = kRows * kSlotDepth * 2;

  static constexpr int Columns(int least) {
    return int(Config::max_batch) > least ? Columns(2 * least) : least;
  }
  static constexpr int kColumns = Columns(kSplits ? 16 : 32);
  static_assert(kColumns <= 128, "`max_batch` is at most 128");

  // A stage is one unit of all columns, or two where they are few: fewer barriers.
  static constexpr int kUnits = kColumns <= 32 ? 2 : 1;
  static constexpr int kUnitBytes = kColumns * kUnit * 2;
  static constexpr int kStageBytes = kUnits * kUnitBytes;
  static constexpr int kSlotStages = 2 / kUnits;
  static constexpr int kStagings = kSplits ? 2 : 1;  // by each warpgroup, or by both together
  static constexpr int kWantedStages = 81920 / (kStagings * kStageBytes);
  static constexpr int kStages = kWantedStages < 3 ? 3 : (kWantedStages > 5 ? 5 : kWantedStages);
  // Who stages: thread t fetches k 8 (t % 8) and the next 7 of column t / 8 of each round.
  static constexpr int kFetchers = kSplits ? kGroupThreads : Consumer::kThreads;
  static constexpr int kRoundColumns = kFetchers / 8;
  static constexpr int kRounds = kColumns / kRoundColumns;

  static constexpr int kAtomBytes = 1024;
  static constexpr int kNormOffset = kStagings * kStages * kStageBytes;
  static constexpr int kSquaresOffset = kNormOffset + (kNorm ? kDepth * 2 : 0);
  static constexpr int kScalesOffset = kSquaresOffset + (kNorm ? kStagings * kColumns * 4 : 0);
  static constexpr int kScratchBytes = kAtomBytes + kScalesOffset + (kNorm ? kColumns * 4 : 0);
  static constexpr int kFirstBarrier = 4;  // a hardware barrier for each warpgroup

  // Columns whose sums a thread ends with.
  static constexpr int kEndColumns = kSplits ? kColumns / 2 : kColumns;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int m, int p = 0) {
#pragma unroll 1
    for (int part = FirstSlot(p); part < FirstSlot(p + 1); ++part) {
      u32 slot = loader.Acquire();
      loader.Expect(min(kPairs, kAllPairs - m * kPairs) * 2 * kTileRowBytes);
#pragma unroll
      for (int tile_row = 0; tile_row < 2 * kPairs; ++tile_row) {
        int pair = m * kPairs + tile_row / 2;
        if (kAllPairs % kPairs == 0 || pair < kAllPairs) {
          const bf16* source = Weights::template Row<16>(args, pair, tile_row % 2 * kTileRows);
          loader.Copy(slot + tile_row * kTileRowBytes, source + part * kSlotDepth * kTileRows,
                      kTileRowBytes);
        }
      }
      loader.Advance();
    }
  }

  static ETC_DEVICE void Prefetch(const Consumer& consumer, const Args& args, int, int = 0) {
    if constexpr (kNorm) {
      PrefetchNorm(consumer, args.norm, kDepth);
    }
  }

  ETC_DEVICE WideGemm(Consumer& consumer, const Args& args) {
    group_ = Opaque(consumer.warp) / 4;
    scratch_ = (SharedAddress(consumer.scratch) + kAtomBytes - 1) / kAtomBytes * kAtomBytes;
    first_stage_ = scratch_ + (kSplits ? group_ * kStages * kStageBytes : 0);
    int fetcher = Opaque(consumer.thread) % kFetchers;
    first_column_ = fetcher / 8;
    source_ = args.x + i64(first_column_) * kDepth + Part() + fetcher % 8 * 8;
    piece_ = first_column_ * 128 + ((fetcher % 8) ^ (first_column_ % 8)) * 16;
    if constexpr (!kInParts) {
      FetchFirst(args);
    }
    if constexpr (kNorm) {
      // The words of 32 k in the order of a lane's operands.
      const u32* norm = reinterpret_cast<const u32*>(args.norm);
#pragma unroll 4
      for (int word = consumer.thread; word < kDepth / 2; word += Consumer::kThreads) {
        int place = word / 16 * 16 + word % 4 * 4 + word / 4 % 4;
        StoreShared(scratch_ + kNormOffset + place * 4, norm[word]);
      }
      consumer.Sync();
    }
  }

  ETC_DEVICE ~WideGemm() { CopyWait<0>(); }

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int m, int p = 0) {
    float sums[kColumns / 2] = {};
    float squares[kRounds] = {};
    if constexpr (kInParts) {
      fetched_stage_ = stage_;
      fetched_ = FirstSlot(p) * kSlotStages;
      fetch_end_ = FirstSlot(p + 1) * kSlotStages;
      FetchFirst(args);
    }
    Multiply(consumer, args, p, sums, squares);
    int pair = m * kPairs + (kSplits ? 0 : group_ * 4) + consumer.warp % 4;
    bool exists = kAllPairs % kPairs == 0 || pair < kAllPairs;
    Residuals residuals;
    if (exists) {
      residuals.Load(consumer, args, pair, FirstEndColumn());
    }
    bool scales = kNorm && first_;
    first_ = false;
    if (scales) {
      StoreSquares(consumer, squares);
    }
    float ends[kEndColumns / 2];
    if constexpr (kSplits) {
      Exchange(consumer, sums, ends);
    } else {
#pragma unroll
      for (int i = 0; i < kEndColumns / 2; ++i) {
        ends[i] = sums[i];
      }
      if (scales) {
        consumer.Sync();
      }
    }
    if constexpr (kNorm) {
      if (scales) {
        StoreScales(consumer);
      }
    }
    if (kSplits || scales) {
      consumer.Sync();
    }
    if (exists) {
      Store(consumer, args, p, pair, ends, residuals);
    }
  }

 private:
  const bf16* source_;
  u32 scratch_, first_stage_, piece_;
  int group_, first_column_;
  int stage_ = 0, fetched_stage_ = 0, fetched_ = 0;
  int fetch_end_ = 0;  // of a part
  bool first_ = true;

  /// The same value, of which the compiler knows nothing: what it makes of it stays here. It would
  /// compute the addresses of all shares of a kernel ahead of its loops, and run out of registers.
  static ETC_DEVICE int Opaque(int value) {
    asm volatile("" : "+r"(value));
    return value;
  }

  /// Of a part.
  static ETC_DEVICE int FirstSlot(int p) { return p * kSlots / kParts; }

  /// Where in a slot this warpgroup's k begin.
  ETC_DEVICE int Part() const { return kSplits ? group_ * 2 * kUnit : 0; }
  ETC_DEVICE int FirstEndColumn() const { return kSplits ? group_ * kEndColumns : 0; }

  /// Calls body(round, unit, offset in a stage) for each of a thread's pieces.
  template <class Body>
  static ETC_DEVICE void ForPieces(Body body) {
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
#pragma unroll
      for (int round = 0; round < kRounds; ++round) {
        body(round, unit, unit * kUnitBytes + round * kRoundColumns * 128);
      }
    }
  }

  ETC_DEVICE void FetchFirst(const Args& args) {
#pragma unroll
    for (int stage = 0; stage + 1 < kStages; ++stage) {
      Fetch(args);
    }
  }

  /// Starts to bring the next stage's activations; behind the end of a part, none.
  ETC_DEVICE void Fetch(const Args& args) {
    if (!kInParts || fetched_ < fetch_end_) {
      u32 to = first_stage_ + fetched_stage_ * kStageBytes + piece_;
      const bf16* from =
          source_ + fetched_ / kSlotStages * kSlotDepth + fetched_ % kSlotStages * kUnit;
      ForPieces([&](int round, int unit, int offset) {
        bool exists = first_column_ + round * kRoundColumns < args.x_0;
        const bf16* piece = from + round * kRoundColumns * kDepth + unit * kUnit;
        CopyPiece(to + offset, exists ? piece : args.x, exists);
      });
    }
    CopyCommit();
    fetched_stage_ = fetched_stage_ + 1 == kStages ? 0 : fetched_stage_ + 1;
    fetched_ = !kInParts && fetched_ + 1 == kSlots * kSlotStages ? 0 : fetched_ + 1;
  }

  ETC_DEVICE void SyncFetchers(Consumer& consumer) const {
    if constexpr (kSplits) {
      NamedBarrierSync<kGroupThreads>(kFirstBarrier + group_);
    } else {
      consumer.Sync();
    }
  }

  /// Waits for the next stage, and gives its address. No tensor core reads the one before any more.
  ETC_DEVICE u32 NextStage(Consumer& consumer, float (&squares)[kRounds]) {
    u32 stage = first_stage_ + stage_ * kStageBytes;
    stage_ = stage_ + 1 == kStages ? 0 : stage_ + 1;
    CopyWait<kStages - 2>();
    if constexpr (kNorm) {
      if (first_) {
        AddSquares(stage + piece_, squares);
      }
    }
    WgmmaSharedFence();
    SyncFetchers(consumer);
    return stage;
  }

  /// The sums of a task, or of this warpgroup's part of k. While a unit is multiplied, the next
  /// one's weights are loaded.
  ETC_DEVICE void Multiply(Consumer& consumer, const Args& args, int p, float (&sums)[kColumns / 2],
                           float (&squares)[kRounds]) {
    u32 first[4][4], second[4][4];
    int lane = Opaque(consumer.lane);
    int tile_row = Opaque(consumer.warp) % (kRows / 16) * 2;
    u32 slot = consumer.WaitAddress();
    u32 read = LoadWeights(lane, tile_row, slot, 0, 0, first);
    int last = FirstSlot(p + 1);
#pragma unroll 1
    for (int part = FirstSlot(p); part < last; ++part) {
      u32 stage = NextStage(consumer, squares);
      Issue(stage, first, sums);
      Fetch(args);
      read ^= LoadWeights(lane, tile_row, slot, part, 1, second);
      consumer.Release(read);
      if constexpr (kUnits == 1) {
        WgmmaWait<0>();
        stage = NextStage(consumer, squares);
        Issue(stage, second, sums);
        Fetch(args);
      } else {
        Issue(stage + kUnitBytes, second, sums);
        WgmmaWait<1>();
      }
      if (part + 1 < last) {
        slot = consumer.WaitAddress();
        read = LoadWeights(lane, tile_row, slot, part + 1, 0, first);
      }
      WgmmaWait<0>();
    }
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) {
      asm volatile("" : "+f"(sums[i])::"memory");  // not read any earlier
    }
  }

  static ETC_DEVICE void Issue(u32 columns, u32 (&weights)[4][4], float (&sums)[kColumns / 2]) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      asm volatile("" : "+r"(weights[i / 4][i % 4])::"memory");  // not made any later
    }
    WgmmaFence();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      Wgmma<kColumns>::Multiply(sums, weights[step], WgmmaDescriptor(columns + step * 32));
    }
    WgmmaCommit();
  }

  /// This warp's operands of a unit; gives a word made of all that it read of the slot. A tile has
  /// its 8 rows 64 bytes apart, which would put every other one into the same banks: so at a time
  /// a row's lanes get another 16 bytes of it than the rows two before and behind, and the four
  /// that they get in the end are put in order.
  ETC_DEVICE u32 LoadWeights(int lane, int tile_row, u32 slot, int part, int unit,
                             u32 (&weights)[4][4]) const {
    u32 address = slot + tile_row * kTileRowBytes + (Part() + unit * kUnit) * kTileRows * 2 +
                  lane % 8 * 64 + (lane / 8 ^ lane % 8 / 2) * 16;
    bool odd = lane / 8 % 2 != 0, high = lane / 16 != 0;
    u32 read = 0;
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        Vec4 w = LoadMatrices(address + row * kTileRowBytes + tile * kTileRows * 64);
        read ^= w.x;
        u32 x = odd ? w.y : w.x, y = odd ? w.x : w.y, z = odd ? w.w : w.z, t = odd ? w.z : w.w;
        weights[2 * tile][row] = high ? z : x;
        weights[2 * tile][row + 2] = high ? t : y;
        weights[2 * tile + 1][row] = high ? x : z;
        weights[2 * tile + 1][row + 2] = high ? y : t;
      }
    }
    if constexpr (kNorm) {
      int k = part * kSlotDepth + Part() + unit * kUnit;
      u32 norm = scratch_ + kNormOffset + k * 2 + lane % 4 * 16;
#pragma unroll
      for (int tile = 0; tile < 2; ++tile) {
        Vec4 n = LoadShared(norm + tile * 64);
        u32(&low)[4] = weights[2 * tile];
        u32(&high_k)[4] = weights[2 * tile + 1];
#pragma unroll
        for (int row = 0; row < 2; ++row) {
          low[row] = MultiplyBf16(low[row], n.x);
          low[row + 2] = MultiplyBf16(low[row + 2], n.y);
          high_k[row] = MultiplyBf16(high_k[row], n.z);
          high_k[row + 2] = MultiplyBf16(high_k[row + 2], n.w);
        }
      }
    }
    return read;
  }

  /// The squares of this thread's own pieces, which need no barrier.
  ETC_DEVICE void AddSquares(u32 pieces, float (&squares)[kRounds]) const {
    ForPieces([&](int round, int, int offset) {
      Vec4 x = LoadShared(pieces + offset);
      const u32 pairs[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
      for (u32 pair : pairs) {
        squares[round] = fmaf(LowBf16(pair), LowBf16(pair), squares[round]);
        squares[round] = fmaf(HighBf16(pair), HighBf16(pair), squares[round]);
      }
    });
  }
  ETC_DEVICE void StoreSquares(const Consumer& consumer, const float (&squares)[kRounds]) const {
    u32 to = scratch_ + kSquaresOffset + (kSplits ? group_ * kColumns * 4 : 0);
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      float sum = GroupSum<8>(squares[round]);
      if (consumer.lane % 8 == 0) {
        StoreShared(to + (round * kRoundColumns + first_column_) * 4, FloatToBits(sum));
      }
    }
  }
  ETC_DEVICE void StoreScales(const Consumer& consumer) const {
    if (consumer.thread < kColumns) {
      float sum = 0;
#pragma unroll
      for (int staging = 0; staging < kStagings; ++staging) {
        u32 part = scratch_ + kSquaresOffset + (staging * kColumns + consumer.thread) * 4;
        sum += BitsToFloat(LoadSharedWord(part));
      }
      float scale = ReciprocalSqrt(sum * (1.0f / kDepth) + float(Config::eps));
      StoreShared(scratch_ + kScalesOffset + consumer.thread * 4, FloatToBits(scale));
    }
  }

  /// Adds the sums of both warpgroups: each ends half of the columns. By way of the last stage,
  /// which is free, until the caller's next barrier.
  ETC_DEVICE void Exchange(Consumer& consumer, const float (&sums)[kColumns / 2],
                           float (&ends)[kEndColumns / 2]) const {
    constexpr int half = kColumns / 4;  // a thread's sums of half of the columns
    static_assert(half * 4 * kGroupThreads <= kStageBytes, "a stage holds what is exchanged");
    int last = stage_ == 0 ? kStages - 1 : stage_ - 1;
    u32 mine = first_stage_ + last * kStageBytes + consumer.thread % kGroupThreads * 16;
    u32 other = mine + (group_ == 0 ? 1 : -1) * kStages * kStageBytes;
    bool upper = group_ != 0;
    SyncFetchers(consumer);
#pragma unroll
    for (int i = 0; i < half; i += 4) {
      u32 word[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        word[j] = FloatToBits(upper ? sums[i + j] : sums[half + i + j]);
        ends[i + j] = upper ? sums[half + i + j] : sums[i + j];
      }
      StoreShared(mine + i * 4 * kGroupThreads, Vec4{word[0], word[1], word[2], word[3]});
    }
    consumer.Sync();
#pragma unroll
    for (int i = 0; i < half; i += 4) {
      Vec4 word = LoadShared(other + i * 4 * kGroupThreads);
      ends[i] += BitsToFloat(word.x), ends[i + 1] += BitsToFloat(word.y);
      ends[i + 2] += BitsToFloat(word.z), ends[i + 3] += BitsToFloat(word.w);
    }
  }

  /// What the epilogue adds, of column `lane / 4` of every 8, two neighbours of its row at a time.
  struct Residuals {
    static constexpr bool kAny = IsSame<Epilogue, residual>::value;
    u32 words[kAny ? kEndColumns / 8 : 1][2];

    template <class A>
    ETC_DEVICE void Load(const Consumer& consumer, const A& args, int pair, int first) {
      if constexpr (kAny) {
        int lane = Opaque(consumer.lane);
#pragma unroll
        for (int j = 0; j < kEndColumns / 8; ++j) {
          int b = first + j * 8 + lane / 4;
          i64 n = i64(pair) * kPairOutputs + lane % 4 * 2;
          const bf16* from = args.residual + b * args.residual_1 + n;
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            words[j][half] = 0;
            if (b < args.x_0) {
              words[j][half] = *reinterpret_cast<const u32*>(from + half * 8);
            }
          }
        }
      }
    }
  };

  /// The epilogue of this warp's pair of rows. Results of 16 bits change places between lanes, so
  /// that a store takes two neighbours, and residuals do before they are added.
  ETC_DEVICE void Store(const Consumer& consumer, const Args& args, int p, int pair,
                        const float (&sums)[kEndColumns / 2], const Residuals& residuals) const {
    using Y = typename ElementOf<decltype(Args::y)>::type;
    int lane = Opaque(consumer.lane);
    int row = lane / 4, quad = lane % 4;
    i64 n = i64(pair) * kPairOutputs;
#pragma unroll
    for (int j = 0; j < kEndColumns / 8; ++j) {
      int first = FirstEndColumn() + j * 8;
      float value[4] = {sums[4 * j], sums[4 * j + 1], sums[4 * j + 2], sums[4 * j + 3]};
      if constexpr (kNorm) {
        u32 scales = scratch_ + kScalesOffset + (first + quad * 2) * 4;
        float even = BitsToFloat(LoadSharedWord(scales));
        float odd = BitsToFloat(LoadSharedWord(scales + 4));
        value[0] *= even, value[1] *= odd, value[2] *= even, value[3] *= odd;
      }
      if constexpr (Residuals::kAny) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          u32 added = Transpose8x8(residuals.words[j][half]);
          value[2 * half] += LowBf16(added);
          value[2 * half + 1] += HighBf16(added);
        }
      }
      if constexpr (kGated) {
        value[0] = Silu(value[0]) * value[2];
        value[1] = Silu(value[1]) * value[3];
      }
      if constexpr (sizeof(Y) == 2) {
        int b = first + row;
#pragma unroll
        for (int half = 0; half < 2 / kInputs; ++half) {
          u32 packed = Transpose8x8(PackBf16(value[2 * half], value[2 * half + 1]));
          if (b < args.x_0) {
            Y* to = args.y + i64(b) * kOutputs + n + half * 8 + quad * 2;
            *reinterpret_cast<u32*>(to) = packed;
          }
        }
      } else {
#pragma unroll
        for (int i = 0; i < 4 / kInputs; ++i) {
          i64 b = first + quad * 2 + i % 2;
          if (b < args.x_0) {
            args.y[(p * args.x_0 + b) * kOutputs + n + i / 2 * 8 + row] = value[i];
          }
        }
      }
    }
  }
};

}  // namespace etc
