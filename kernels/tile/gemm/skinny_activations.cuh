// The activations of a streamed GEMM: what each lane needs of them as operands, plain or flagged, a
// chunk of k at a time, and the norm's weights at the same places.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/flagged.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"

namespace etc {

/// x of `depth` columns and up to 8 * tiles rows, of which `loads` of a lane are in
/// registers: those of a chunk, or of all.
template <class Args, int depth, int chunk_k, int tiles, int loads>
struct SkinnyActivations {
  static constexpr int kDepth = depth, kChunk = chunk_k, kTiles = tiles, kFragments = loads;
  static constexpr int kStep = 32 * Consumer::kWarps;  // k that all warps take with one load each
  static constexpr int kChunks = DivideUp(kDepth, kChunk);
  static constexpr int kBlocks = DivideUp(kChunk, kStep);        // loads of a lane, for each 8 rows
  static constexpr int kTail = kDepth - (kChunks - 1) * kChunk;  // k of the last chunk
  static constexpr int kTailBlocks = DivideUp(kTail, kStep);
  // Of the last chunk, some warps have fewer blocks than others, or none.
  static constexpr bool kRagged = kTail % kStep != 0;
  static constexpr bool kFlagged = IsFlagged<decltype(Args::x)>::value;

  int group, quad;

  ETC_DEVICE explicit SkinnyActivations(const Consumer& consumer)
      : group(consumer.lane / 4), quad(consumer.lane % 4) {}

  static ETC_DEVICE int Blocks(int chunk) {
    return kTailBlocks == kBlocks || chunk + 1 < kChunks ? kBlocks : kTailBlocks;
  }
  /// k of a chunk.
  static ETC_DEVICE int Columns(int chunk) {
    return kTail == kChunk || chunk + 1 < kChunks ? kChunk : kTail;
  }
  /// Whether this warp has a block of a chunk. What it has not is zero, of both operands.
  static ETC_DEVICE bool Has(const Consumer& consumer, int chunk, int block) {
    bool all = !kRagged || chunk + 1 < kChunks;
    return block < Blocks(chunk) && (all || (consumer.warp * kTailBlocks + block) * 32 < kTail);
  }
  /// The k at which this lane's first load in a chunk begins, counted from the chunk's start.
  ETC_DEVICE int FirstK(const Consumer& consumer, int chunk) const {
    return consumer.warp * Blocks(chunk) * 32 + quad * 8;
  }
  /// This lane's flagged activations of a block: four words.
  template <class A>
  ETC_DEVICE const u32* Words(const Consumer& consumer, const A& args, int chunk, int block,
                              int tile) const {
    u32 mine = u32(group * kDepth + FirstK(consumer, chunk)) / 2;
    u32 apart = u32(tile * 8 * kDepth + chunk * kChunk + block * 32) / 2;
    // A lane's first words lie in the first half of a line: all others are at fixed distances.
    if constexpr (kDepth % 64 == 0 && kBlocks % 2 == 0 && kTailBlocks % 2 == 0) {
      return args.x.Word(mine) + decltype(args.x)::Place(apart);
    } else {
      return args.x.Word(mine + apart);
    }
  }
  /// Fetches what is missing of a lane's first `count` flagged loads from a chunk on.
  template <int count>
  ETC_DEVICE void Fetch(const Consumer& consumer, const Args& args, int chunk,
                        Vec4 (*words)[kTiles]) const {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      int at = chunk + i / kBlocks;
      int block = i % kBlocks;
      if (at >= kChunks || block >= Blocks(at)) {
        continue;
      }
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        FetchMissing(words[i][tile], Words(consumer, args, at, block, tile));
      }
    }
  }
  /// Whether any word of a chunk is missing: a look that waits for no load of the chunks behind.
  static ETC_DEVICE bool IsChunkMissing(int chunk, const Vec4 (*words)[kTiles]) {
    bool missing = false;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        missing |= block < Blocks(chunk) && IsMissing(words[block][tile]);
      }
    }
    return missing;
  }
  /// Of all words from a chunk on none is there, but those that nobody writes.
  ETC_DEVICE void StartWords(const Consumer& consumer, const Args& args, int chunk,
                             Vec4 (*words)[kTiles]) const {
#pragma unroll
    for (int i = 0; i < kFragments; ++i) {
      bool has = !kRagged || Has(consumer, chunk + i / kBlocks, i % kBlocks);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        u32 start = has && tile * 8 + group < args.x_0 ? 0 : ToFlagged(0);
        words[i][tile] = {start, start, start, start};
      }
    }
  }
  /// Fetches until nothing of the chunk is missing, and turns its words into their data.
  ETC_DEVICE void FinishWords(const Consumer& consumer, const Args& args, int chunk,
                              Vec4 (*words)[kTiles]) const {
    if (IsChunkMissing(chunk, words)) {
      // No others meanwhile: to fetch many again and again delays the stores that they wait for.
      do {
        Fetch<kBlocks>(consumer, args, chunk, words);
      } while (IsChunkMissing(chunk, words));
      if constexpr (kFragments > kBlocks) {
        Fetch<kFragments>(consumer, args, chunk, words);
      }
    }
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        if (block < Blocks(chunk)) {
          words[block][tile] = FromFlagged(words[block][tile]);
        }
      }
    }
  }

  /// Waits for one word of this warp's, before all are fetched: to fetch many again and again
  /// delays the stores that they wait for.
  ETC_DEVICE void AwaitOne(const Consumer& consumer, const Args& args) const {
    int k = (kChunks - 1) * kChunk + (consumer.warp + 1) * kTailBlocks * 32 - 2;
    if constexpr (kRagged) {
      k = min(k, kDepth - 2);
    }
    const u32* address = args.x.Word(((int(args.x_0) - 1) * kDepth + k) / 2);
    u32 word = 0;
    while (FetchMissing(word, address)) {
    }
  }

  /// A chunk of flagged activations on its way.
  template <class A = Args>
  struct Arriving {
    Vec4 words[kBlocks][kTiles];
    int chunk;

    ETC_DEVICE void Start(const SkinnyActivations& from, const Consumer& consumer, const A& args,
                          int at) {
      chunk = at;
      from.StartWords(consumer, args, chunk, words);
      from.template Fetch<kBlocks>(consumer, args, chunk, words);
    }
    ETC_DEVICE void Finish(const SkinnyActivations& from, const Consumer& consumer, const A& args,
                           Vec4 (*to)[kTiles]) {
      from.FinishWords(consumer, args, chunk, words);
      Copy(words, to);
    }
  };
  /// Plain activations: their registers are the fragments themselves.
  struct Loaded {
    Vec4 fragments[kBlocks][kTiles];

    ETC_DEVICE void Start(const SkinnyActivations& from, const Consumer& consumer, const Args& args,
                          int chunk) {
      from.LoadChunk(consumer, args, chunk, fragments);
    }
    ETC_DEVICE void Finish(const SkinnyActivations&, const Consumer&, const Args&,
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
  using NextChunk = typename Choose<kFlagged, Arriving<>, Loaded>::type;

  ETC_DEVICE void LoadChunk(const Consumer& consumer, const Args& args, int chunk,
                            Vec4 (*fragments)[kTiles]) const {
    if constexpr (kFlagged) {
      Arriving<> arriving;
      arriving.Start(*this, consumer, args, chunk);
      arriving.Finish(*this, consumer, args, fragments);
    } else {
      LoadPlain(consumer, args, chunk, fragments);
    }
  }
  ETC_DEVICE void LoadPlain(const Consumer& consumer, const Args& args, int chunk,
                            Vec4 (*fragments)[kTiles]) const {
    const bf16* x = args.x + i64(group) * kDepth + chunk * kChunk + FirstK(consumer, chunk);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        if (block < Blocks(chunk)) {
          bool has = !kRagged || Has(consumer, chunk, block);
          fragments[block][tile] =
              LoadGlobalIf(x + tile * 8 * kDepth + block * 32, has && tile * 8 + group < args.x_0);
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
        const bf16* from = norm + block * 32;
        weights[block] =
            kRagged ? LoadGlobalIf(from, Has(consumer, chunk, block)) : LoadGlobal(from);
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
};

}  // namespace etc
