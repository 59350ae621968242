// Skinny GEMM for decoding: y[b, n] = sum over k of x[b, k] * w[n, k], bf16 with float sums. The
// weights are read once, so they are streamed through the ring and never rest; the few activations
// are the N side of the tensor core instruction.
//
// Config: rows (8 or 16 weight rows in a task), max_batch (the largest x_0); may have chunk_k (k of
// one ring slot), epilogue ('store, 'residual, 'silu_mul), weights ('plain, 'qkv), bias (adds
// args.bias[n]), norm and eps (the RMS norm of x with the weight args.norm comes first).
//
// Each warp owns a slice of k in every chunk; the reducer warp sums the slices in a fixed order and
// stores the outputs, while the consumers go on with the next task. The weights are row-major or in
// tiles of 8 x 32 (tile/layout.cuh), of which a chunk of 8 rows is one copy. Inside 32 consecutive
// k a lane takes 8 neighbours, for both operands alike: a sum does not mind which k stands where,
// and so one 16-byte load gives the operands of two instructions.
#pragma once

#include "arch/math.cuh"
#include "arch/memory.cuh"
#include "arch/mma.cuh"
#include "arch/tagged.cuh"
#include "tile/options.cuh"
#include "tile/roles.cuh"
#include "tile/stream_gemm_parts.cuh"

namespace etc {

ETC_OPTION(StreamGemmChunk, chunk_k, int, 8192 / Config::rows);
ETC_OPTION(StreamGemmNorm, norm, bool, false);
ETC_OPTION(StreamGemmBias, bias, bool, false);
ETC_WORD_OPTION(StreamGemmEpilogue, epilogue, store);
ETC_WORD_OPTION(StreamGemmWeights, weights, plain);

template <class Config, class Args>
struct StreamGemm {
  using Epilogue = typename StreamGemmEpilogue<Config>::type;
  static constexpr bool kGated = Epilogue::kInputs == 2;
  using Weights = typename Choose<kGated, gate_up, typename StreamGemmWeights<Config>::type>::type;
  static constexpr bool kNorm = StreamGemmNorm<Config>::value;
  static constexpr bool kBias = StreamGemmBias<Config>::value;
  static_assert(!kGated || !kBias, "a gated epilogue adds no bias");

  static constexpr int kWarps = Consumer::kWarps;
  static constexpr int kRows = int(Config::rows);
  static constexpr int kDepth = int(Args::x_1);
  static constexpr int kStep = 32 * kWarps;  // k that all warps take with one load of each lane
  static_assert(kRows == 8 || kRows == 16, "`rows` is 8 or 16");
  static_assert(kDepth % kStep == 0, "k is a multiple of 32 for each consumer warp");

  static constexpr int kWantedChunk = int(StreamGemmChunk<Config>::value);
  static constexpr int kChunk = kWantedChunk < kDepth ? kWantedChunk : kDepth;
  static_assert(kChunk % kStep == 0, "`chunk_k` is a multiple of 32 for each consumer warp");
  static constexpr int kChunks = DivideUp(kDepth, kChunk);
  static constexpr int kBlocks = kChunk / kStep;  // loads of a lane in a chunk, for each 8 rows
  static constexpr int kTailBlocks = (kDepth - (kChunks - 1) * kChunk) / kStep;
  static constexpr int kAllBlocks = kDepth / kStep;

  // What a slot is copied in: row by row, or 8 rows of tiles at once.
  static constexpr bool kTiled = Weights::template kTiled<Args>;
  static_assert(!kTiled || !kGated || kRows == 16,
                "`rows` is 16 where `w_gate` and `w_up` are in tiles");
  static constexpr int kPieceRows = kTiled ? kTileRows : 1;
  // Rows at odd multiples of 64 bytes: the two that eight lanes read at once lie in different
  // banks.
  static constexpr int kPieceStride = kPieceRows * kChunk * 2 + (kTiled ? 0 : 64);
  static constexpr int kSlotBytes = kRows / kPieceRows * kPieceStride;
  // From a lane's operand to that of its next block, and to that of the other 8 rows.
  static constexpr int kBlockStride = kPieceRows * 64;
  static constexpr int kHalfStride = kTileRows / kPieceRows * kPieceStride;

  static constexpr int kTiles = DivideUp(int(Config::max_batch), 8);
  static constexpr int kHalves = kRows / 8;
  // What a warp hands to the reducer: sums of every row for each b, then the squares of x. The
  // stride lets the lanes' stores fall into different banks.
  static constexpr int kPartStride = kRows + 4;
  static constexpr int kSums = kTiles * 8 * kPartStride;
  static constexpr int kPart = kSums + (kNorm ? kTiles * 8 : 0);  // floats
  static constexpr int kScratchBytes = 0;

  // Registers that the activations of a whole share may take.
  static constexpr bool kTagged = IsTagged<decltype(Args::x)>::value;
  static constexpr int kHoldable = kNorm ? 96 : 128;
  static constexpr int kDirectRows = 2;  // tagged rows that are fetched without a look at one word
  static constexpr bool kHeld = kAllBlocks * kTiles * 4 <= kHoldable;
  static constexpr int kFragments = kHeld ? kAllBlocks : kBlocks;
  static constexpr int kChains = kTiles == 1 ? 4 : 2;  // independent sums, for latency
  // Where registers allow it, the norm's weights are on their way before the activations are waited
  // for.
  static constexpr bool kNormFirst = kNorm && kHeld && kAllBlocks * (kTiles + 1) * 4 <= 128;

  static constexpr int kOutputs = kRows / Epilogue::kInputs;
  static constexpr bool kBegins = Epilogue::template kReadsPlain<Args>;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int m) {
#pragma unroll 1
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      int bytes = kPieceRows * Blocks(chunk) * kStep * 2;
      u32 slot = loader.Acquire();
      loader.Expect(kRows / kPieceRows * bytes);
#pragma unroll
      for (int row = 0; row < kRows; row += kPieceRows) {
        const bf16* source = Weights::template Row<kRows>(args, m, row);
        loader.Copy(slot + row / kPieceRows * kPieceStride, source + chunk * kChunk * kPieceRows,
                    bytes);
      }
      loader.Advance();
    }
  }

  static ETC_DEVICE void Prefetch(const Consumer& consumer, const Args& args, int) {
    // Of tagged activations the constructor waits itself, behind its loads of the norm's weights.
    if constexpr (kNorm && !(kNormFirst && kTagged)) {
      PrefetchNorm(consumer, args.norm, kDepth);
    }
  }

  ETC_DEVICE StreamGemm(Consumer& consumer, const Args& args) {
    group_ = consumer.lane / 4;
    quad_ = consumer.lane % 4;
    if constexpr (kNormFirst) {
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        LoadNorm(consumer, args, chunk, norm_ + chunk * kBlocks);
      }
    }
    if constexpr (kBegins) {
      consumer.Begin();
    }
    if constexpr (kTagged) {
      consumer.AwaitOthers();
      if (args.x_0 > kDirectRows) {
        AwaitOne(consumer, args);
      }
    }
    if constexpr (kHeld && kTagged) {
      StartWords(args, fragments_);
      Fetch(consumer, args, 0, fragments_);
    } else if constexpr (kHeld) {
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        LoadChunk(consumer, args, chunk, fragments_ + chunk * kBlocks);
      }
    }
    if constexpr (!kHeld) {
      if constexpr (kNorm) {
        SumSquares(consumer, args);
      }
      LoadChunk(consumer, args, 0, fragments_);
    }
  }

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int) {
    Multiply(consumer, args);
    first_ = false;
  }

  /// The reducer's side of a share.
  class Reduction {
   public:
    using Exists = void;
    static constexpr bool kExists = true;
    static constexpr int kPartsBytes = kWarps * kPart * 4;

    ETC_DEVICE Reduction(Reducer& reducer, const Args&) {
      if constexpr (kBegins) {
        reducer.WaitBegin();
      }
    }

    /// A lane has neighbouring outputs of one b.
    ETC_DEVICE void Run(Reducer& reducer, const Args& args, int m) {
      constexpr int kRun = kOutputs / 4;
      int column = reducer.lane / 4;
      int row = reducer.lane % 4 * kRun;
      i64 n = i64(m) * kOutputs + row;
      using Operand = decltype(Epilogue::template Operand<kRun>(args, 0, 0));
      Operand operands[kTiles];
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        if (tile * 8 + column < args.x_0) {
          operands[tile] = Epilogue::template Operand<kRun>(args, tile * 8 + column, n);
        }
      }
      float bias[kRun];
      if constexpr (kBias) {
#pragma unroll
        for (int i = 0; i < kRun; ++i) {
          bias[i] = ToFloat(args.bias[n + i]);
        }
      }
      u32 parts = reducer.WaitParts();
      float sums[kTiles][Epilogue::kInputs][kRun];
      u32 read = 0;
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        u32 line = parts + ((tile * 8 + column) * kPartStride + row) * 4;
#pragma unroll
        for (int input = 0; input < Epilogue::kInputs; ++input) {
          read ^= Sum(line + input * kOutputs * 4, sums[tile][input]);
        }
        if constexpr (kNorm) {
          if (first_) {
            read ^= ReadScale(parts + (kSums + tile * 8 + column) * 4, scales_[tile]);
          }
        }
      }
      first_ = false;
      reducer.ReleaseParts(read);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < kRun; ++i) {
          if constexpr (kNorm) {
#pragma unroll
            for (int input = 0; input < Epilogue::kInputs; ++input) {
              sums[tile][input][i] *= scales_[tile];
            }
          }
          if constexpr (kBias) {
            sums[tile][0][i] += bias[i];
          }
        }
        if (tile * 8 + column < args.x_0) {
          Epilogue::Apply(args, tile * 8 + column, n, sums[tile], operands[tile]);
        }
      }
    }

   private:
    float scales_[kNorm ? kTiles : 1];
    bool first_ = true;

    /// The sums over the warps, in their order. The result is made of all that was read.
    template <int kRun>
    static ETC_DEVICE u32 Sum(u32 address, float (&sums)[kRun]) {
      float parts[kWarps][kRun];
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) {
        LoadShared(address + warp * kPart * 4, parts[warp]);
      }
      u32 read = 0;
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        sums[i] = 0;
#pragma unroll
        for (int warp = 0; warp < kWarps; ++warp) {
          sums[i] += parts[warp][i];
        }
        read ^= FloatToBits(sums[i]);
      }
      return read;
    }

    static ETC_DEVICE u32 ReadScale(u32 address, float& scale) {
      float squares[1];
      u32 read = Sum(address, squares);
      scale = ReciprocalSqrt(squares[0] * (1.0f / kDepth) + float(Config::eps));
      return read;
    }
  };

 private:
  Vec4 fragments_[kFragments][kTiles];
  Vec4 norm_[kNormFirst ? kAllBlocks : 1];
  float squares_[kNorm ? kTiles : 1];  // of column group_, in the lanes of one quad_ only
  int group_, quad_;
  bool first_ = true;

  static ETC_DEVICE int Blocks(int chunk) {
    return kTailBlocks == kBlocks || chunk + 1 < kChunks ? kBlocks : kTailBlocks;
  }
  /// The k at which this lane's first load in a chunk begins, counted from the chunk's start.
  ETC_DEVICE int FirstK(const Consumer& consumer, int chunk) const {
    return consumer.warp * Blocks(chunk) * 32 + quad_ * 8;
  }
  /// This lane's tagged activations of a block: four words.
  template <class A>
  ETC_DEVICE const u32* Words(const Consumer& consumer, const A& args, int chunk, int block,
                              int tile) const {
    u32 mine = u32(group_ * kDepth + FirstK(consumer, chunk)) / 2;
    u32 apart = u32(tile * 8 * kDepth + chunk * kChunk + block * 32) / 2;
    // A lane's first words lie in the first half of a line: all others are at fixed distances.
    if constexpr (kDepth % 64 == 0 && kBlocks % 2 == 0 && kTailBlocks % 2 == 0) {
      return args.x.Word(mine) + decltype(args.x)::Place(apart);
    } else {
      return args.x.Word(mine + apart);
    }
  }
  /// Fetches what is missing of the tagged activations from a chunk on, as far as fragments are for
  /// them, and says whether any of that chunk was. All are fetched before the first is looked at.
  ETC_DEVICE bool Fetch(const Consumer& consumer, const Args& args, int chunk,
                        Vec4 (*words)[kTiles]) const {
    bool missing = false;
#pragma unroll
    for (int i = 0; i < kFragments; ++i) {
      int at = chunk + i / kBlocks;
      int block = i % kBlocks;
      if (at >= kChunks || block >= Blocks(at)) {
        continue;
      }
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        bool was = FetchMissing(words[i][tile], Words(consumer, args, at, block, tile));
        missing |= was && i < kBlocks;
      }
    }
    return missing;
  }
  ETC_DEVICE void StartWords(const Args& args, Vec4 (*words)[kTiles]) const {
#pragma unroll
    for (int i = 0; i < kFragments; ++i) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        u32 start = tile * 8 + group_ < args.x_0 ? 0 : TagWord(0);
        words[i][tile] = {start, start, start, start};
      }
    }
  }
  /// Fetches until nothing of the chunk is missing, and turns its words into their data.
  ETC_DEVICE void FinishWords(const Consumer& consumer, const Args& args, int chunk,
                              Vec4 (*words)[kTiles]) const {
    while (Fetch(consumer, args, chunk, words)) {
    }
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        if (block < Blocks(chunk)) {
          words[block][tile] = TagData(words[block][tile]);
        }
      }
    }
  }

  /// Waits for one word of this warp's, before all are fetched: to fetch many again and again
  /// delays the stores that they wait for.
  ETC_DEVICE void AwaitOne(const Consumer& consumer, const Args& args) const {
    int k = (kChunks - 1) * kChunk + (consumer.warp + 1) * kTailBlocks * 32 - 2;
    const u32* address = args.x.Word(((int(args.x_0) - 1) * kDepth + k) / 2);
    u32 word = 0;
    while (FetchMissing(word, address)) {
    }
  }

  /// A chunk of tagged activations on its way.
  template <class A = Args>
  struct Arriving {
    Vec4 words[kBlocks][kTiles];
    int chunk;

    ETC_DEVICE Arriving(const StreamGemm& gemm, const Consumer& consumer, const A& args, int at)
        : chunk(at) {
      gemm.StartWords(args, words);
      gemm.Fetch(consumer, args, chunk, words);
    }
    ETC_DEVICE void Finish(const StreamGemm& gemm, const Consumer& consumer, const A& args,
                           Vec4 (*to)[kTiles]) {
      gemm.FinishWords(consumer, args, chunk, words);
      Copy(words, to);
    }
  };
  /// Plain activations: their registers are the fragments themselves.
  struct Loaded {
    Vec4 fragments[kBlocks][kTiles];

    ETC_DEVICE Loaded(const StreamGemm& gemm, const Consumer& consumer, const Args& args,
                      int chunk) {
      gemm.LoadChunk(consumer, args, chunk, fragments);
    }
    ETC_DEVICE void Finish(const StreamGemm&, const Consumer&, const Args&,
                           Vec4 (*to)[kTiles]) const {
      Copy(fragments, to);
    }
  };
  static ETC_DEVICE void Copy(const Vec4 (*from)[kTiles], Vec4 (*to)[kTiles]) {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        to[block][tile] = from[block][tile];
      }
    }
  }
  using NextChunk = typename Choose<kTagged, Arriving<>, Loaded>::type;

  ETC_DEVICE void LoadChunk(const Consumer& consumer, const Args& args, int chunk,
                            Vec4 (*fragments)[kTiles]) const {
    if constexpr (kTagged) {
      Arriving<> arriving(*this, consumer, args, chunk);
      arriving.Finish(*this, consumer, args, fragments);
    } else {
      LoadPlain(consumer, args, chunk, fragments);
    }
  }
  ETC_DEVICE void LoadPlain(const Consumer& consumer, const Args& args, int chunk,
                            Vec4 (*fragments)[kTiles]) const {
    const bf16* x = args.x + i64(group_) * kDepth + chunk * kChunk + FirstK(consumer, chunk);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        if (block < Blocks(chunk)) {
          fragments[block][tile] =
              LoadGlobalIf(x + tile * 8 * kDepth + block * 32, tile * 8 + group_ < args.x_0);
        }
      }
    }
  }

  /// The norm's weights at the places of a chunk's fragments.
  ETC_DEVICE void LoadNorm(const Consumer& consumer, const Args& args, int chunk,
                           Vec4* weights) const {
    const bf16* norm = args.norm + chunk * kChunk + FirstK(consumer, chunk);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      if (block < Blocks(chunk)) {
        weights[block] = LoadGlobal(norm + block * 32);
      }
    }
  }

  /// Multiplies the fragments of a chunk by the norm's weights. The scale, one number for each b,
  /// waits for the epilogue.
  static ETC_DEVICE void ApplyNorm(int chunk, const Vec4* weights, Vec4 (*fragments)[kTiles]) {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      if (block < Blocks(chunk)) {
        const Vec4& weight = weights[block];
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          Vec4& x = fragments[block][tile];
          x = {MultiplyBf16(x.x, weight.x), MultiplyBf16(x.y, weight.y),
               MultiplyBf16(x.z, weight.z), MultiplyBf16(x.w, weight.w)};
        }
      }
    }
  }

  using Squares = float[kTiles][kChains][4];
  /// Adds this warp's squares of a chunk. They are the diagonal of x times itself, which is cheaper
  /// than to unpack x.
  static ETC_DEVICE void AddSquares(int chunk, const Vec4 (*fragments)[kTiles], Squares& squares) {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        if (block < Blocks(chunk)) {
          const Vec4& x = fragments[block][tile];
          float(*chains)[4] = squares[tile] + block % (kChains / 2) * 2;
          MmaBf16(chains[0], x.x, 0, x.y, 0, x.x, x.y);
          MmaBf16(chains[1], x.z, 0, x.w, 0, x.z, x.w);
        }
      }
    }
  }
  ETC_DEVICE void FinishSquares(const Squares& squares) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      squares_[tile] = 0;
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) {
        squares_[tile] += group_ % 2 ? squares[tile][chain][1] : squares[tile][chain][0];
      }
    }
  }
  /// The squares of activations that are not held.
  ETC_DEVICE void SumSquares(const Consumer& consumer, const Args& args) {
    Squares squares = {};
#pragma unroll 1
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      LoadChunk(consumer, args, chunk, fragments_);
      AddSquares(chunk, fragments_, squares);
    }
    FinishSquares(squares);
  }

  /// Makes a chunk of held activations what the first task, and then all others, multiply.
  ETC_DEVICE void Prepare(const Consumer& consumer, const Args& args, int chunk, Squares& squares) {
    Vec4(*fragments)[kTiles] = fragments_ + chunk * kBlocks;
    if constexpr (kTagged) {
      FinishWords(consumer, args, chunk, fragments);
    }
    if constexpr (kNorm) {
      AddSquares(chunk, fragments, squares);
      if constexpr (kNormFirst) {
        ApplyNorm(chunk, norm_ + chunk * kBlocks, fragments);
      } else {
        Vec4 weights[kBlocks];
        LoadNorm(consumer, args, chunk, weights);
        ApplyNorm(chunk, weights, fragments);
      }
    }
  }

  /// The sum of a task's tile over this warp's slices of k, into its part for the reducer.
  ETC_DEVICE void Multiply(Consumer& consumer, const Args& args) {
    float sums[kTiles][kChains][4] = {};
    if constexpr (kHeld) {
      Squares squares = {};
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        Vec4 weights[kBlocks][2];
        u32 read = LoadWeights(consumer, chunk, weights);
        if (first_) {
          Prepare(consumer, args, chunk, squares);
        }
        MultiplyChunk(chunk, weights, fragments_ + chunk * kBlocks, sums);
        consumer.Release(read);
      }
      if constexpr (kNorm) {
        if (first_) {
          FinishSquares(squares);
        }
      }
    } else {
#pragma unroll 1
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        // The loads for the next chunk, or for the next task's first, fly while this one is waited
        // for.
        NextChunk next(*this, consumer, args, chunk + 1 < kChunks ? chunk + 1 : 0);
        if constexpr (kNorm) {
          Vec4 weights[kBlocks];
          LoadNorm(consumer, args, chunk, weights);
          ApplyNorm(chunk, weights, fragments_);
        }
        Vec4 weights[kBlocks][2];
        u32 read = LoadWeights(consumer, chunk, weights);
        MultiplyChunk(chunk, weights, fragments_, sums);
        consumer.Release(read);
        next.Finish(*this, consumer, args, fragments_);
      }
    }
    u32 part = consumer.AcquireParts() + consumer.warp * kPart * 4;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      u32 line = part + ((tile * 8 + quad_ * 2) * kPartStride + group_) * 4;
#pragma unroll
      for (int half = 0; half < kHalves; ++half) {
        float even = 0, odd = 0;
#pragma unroll
        for (int chain = 0; chain < kChains; ++chain) {
          even += sums[tile][chain][half * 2];
          odd += sums[tile][chain][half * 2 + 1];
        }
        StoreShared(line + half * 32, even);
        StoreShared(line + half * 32 + kPartStride * 4, odd);
      }
      if constexpr (kNorm) {
        if (first_ && quad_ == group_ / 2) {
          StoreShared(part + (kSums + tile * 8 + group_) * 4, squares_[tile]);
        }
      }
    }
    consumer.CommitParts();
  }

  /// The weights of a chunk, out of the ring; the result is made of all of them.
  ETC_DEVICE u32 LoadWeights(Consumer& consumer, int chunk, Vec4 (&weights)[kBlocks][2]) const {
    u32 address = consumer.WaitAddress() + consumer.warp * Blocks(chunk) * kBlockStride +
                  (kTiled ? consumer.lane * 16 : group_ * kPieceStride + quad_ * 16);
    u32 read = 0;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        weights[block][half] = {0, 0, 0, 0};
        if (half < kHalves && block < Blocks(chunk)) {
          weights[block][half] = LoadShared(address + half * kHalfStride + block * kBlockStride);
          read ^= weights[block][half].x;
        }
      }
    }
    return read;
  }

  static ETC_DEVICE void MultiplyChunk(int chunk, const Vec4 (&weights)[kBlocks][2],
                                       const Vec4 (*fragments)[kTiles],
                                       float (&sums)[kTiles][kChains][4]) {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      if (block < Blocks(chunk)) {
        const Vec4& low = weights[block][0];
        const Vec4& high = weights[block][1];
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          const Vec4& x = fragments[block][tile];
          constexpr int pairs = kChains / 2;
          float(*chains)[4] = sums[tile] + block % pairs * 2;
          MmaBf16(chains[0], low.x, high.x, low.y, high.y, x.x, x.y);
          MmaBf16(chains[1], low.z, high.z, low.w, high.w, x.z, x.w);
        }
      }
    }
  }
};

}  // namespace etc
