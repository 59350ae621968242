// Attention of new tokens, several of each sequence, over a paged KV cache and over each other: one
// part of the softmax, as AttentionCombine joins the parts, and the append of keys and values.
//
// Config: rows (of a tile), query_heads, slot_bytes. Args: turned [B, (H + 2 KV) D], queries, keys
// and values as TurnRows leaves them; row_start and pos as rows_of_sequences.cuh has them; k_cache,
// v_cache and page_table as kv_pages.cuh has them; partial [B, H, P, D + 2]: the sum of exp(score -
// m) v, then m, then the sum of exp(score - m). Scalars that may be there: window and scale, as
// split_kv_attention.cuh has them.
// Task (t, s, h, p): tile t of the rows of sequence s, KV head h with its group of query heads, and
// part p of the positions before pos[s]. The last part has the new rows, and appends those of the
// tile. A sequence with fewer tiles has tasks without rows.
//
// The loader brings the cached keys and values through the ring, ahead of every wait: the launch
// writes positions from pos[s] on, and these are taken from `turned`. The queries of a tile, rows
// by heads, are taken by 16s: a warp for each (query_tile.cuh), or of heads of more than 128
// elements two, which have half of a value each. Where that leaves warps, 2, 4 or 8 have the same
// queries and take 16 positions each, by turns; at the end they join what they have found.
#pragma once

#include "arch/sm90/runs.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"
#include "tile/attention/kv_pages.cuh"
#include "tile/attention/query_tile.cuh"
#include "tile/attention/rows_of_sequences.cuh"

namespace etc {

template <class Config, class Args>
class AttentionOfRows {
 public:
  using Pages = KvPages<Args>;
  using Window = AttentionWindow<Args>;
  using Rows = RowsOfSequences<Args>;
  static constexpr int kDim = Pages::kDim;
  static constexpr int kHeads = int(Config::query_heads);
  static constexpr int kGroup = kHeads / Pages::kKvHeads;
  static constexpr int kTileRows = int(Config::rows);
  static constexpr int kPartDim = kDim > 128 ? 128 : kDim;
  static constexpr int kValueParts = DivideUp(kDim, kPartDim);
  using Tile = QueryTile<kDim, kPartDim>;
  static constexpr int kWarps = Consumer::kWarps;
  static_assert(DivideUp(kTileRows * kGroup, Tile::kQueries) * kValueParts <= kWarps,
                "each warp has 16 queries of a tile");

  static constexpr int kRowBytes = kDim * 2;
  static constexpr int kSlotBytes = int(Config::slot_bytes);
  static constexpr int kSlotRows = Pages::RowsOf(kSlotBytes, Pages::kPageSize);
  static_assert(Pages::kPageSize % kSlotRows == 0, "a page is a multiple of what a slot holds");
  static constexpr int kSlotBlocks = kSlotRows / Tile::kPositions;
  static constexpr int kStateBytes = Tile::kStateWords * 32 * 4;
  // The queries of each warp, and then what half of them hand to the other half.
  static constexpr int kScratchBytes = kWarps * Tile::kQueryBytes > kWarps / 2 * kStateBytes
                                           ? kWarps* Tile::kQueryBytes
                                           : kWarps / 2 * kStateBytes;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int t, int s, int h, int p) {
    constexpr int at_once = 32;  // pages that the lanes look up
    Part part(args, t, s, p);
    int first = -at_once, pages = 0;
#pragma unroll 1
    for (int from = part.begin; from < part.end; from = part.SlotEnd(from)) {
      int index = from / Pages::kPageSize;
      if (index - first >= at_once) {
        first = index;
        int mine = min(first + loader.lane, (part.end - 1) / Pages::kPageSize);
        pages = Pages::Page(args, s, mine * Pages::kPageSize);
      }
      int page = __shfl_sync(0xffffffffu, pages, index - first);
      i64 row = Pages::Row(page, h, from);
      int bytes = (part.SlotEnd(from) - from) * kRowBytes;
      u32 slot = loader.Acquire();
      loader.Expect(2 * bytes);
      loader.Copy(slot, args.k_cache + row, bytes);
      loader.Copy(slot + kSlotBytes / 2, args.v_cache + row, bytes);
      loader.Advance();
    }
  }

  ETC_DEVICE AttentionOfRows(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int t, int s, int h, int p) {
    Part part(args, t, s, p);
    if (part.rows <= 0) {
      return;
    }
    const Warp warp(consumer.warp, part.rows);
    const int lane = consumer.lane;
    const bf16* row = args.turned + i64(part.row) * args.turned_1 + h * kGroup * kDim;
    u32 queries = SharedAddress(consumer.scratch) + consumer.warp * Tile::kQueryBytes;
    Tile tile(queries, lane, [&](int query, int i) {
      query += warp.first_query;
      return LoadGlobalIf(
          row + i64(query / kGroup) * args.turned_1 + query % kGroup * kDim + i * 32 + lane % 4 * 8,
          query < part.rows * kGroup && Tile::Places::HasKeys(i, lane));
    });
    // The positions of this lane's queries, and the first that each attends to.
    int position[2], first[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      position[half] = part.position + (warp.first_query + lane / 4 + half * 8) / kGroup;
      first[half] = Window::First(args, position[half]);
    }
    const float scale = ScoreScale<kDim>(args);
    int turn = warp.place;  // blocks of positions until the next of this warp
#pragma unroll 1
    for (int from = part.begin; from < part.end; from = part.SlotEnd(from)) {
      int count = part.SlotEnd(from) - from;
      u32 slot = consumer.WaitAddress();
      u32 read = 0;
#pragma unroll 1
      for (; turn < kSlotBlocks; turn += warp.sharers) {
        int block = turn * Tile::kPositions;
        if (!warp.works || block >= count) {
          continue;
        }
        u32 keys = slot + block * kRowBytes + lane % 4 * 16;
        u32 values = slot + kSlotBytes / 2 + block * kRowBytes + warp.value_part * kPartDim * 2 +
                     lane / 4 * 16;
        read ^= tile.Add(
            lane, scale,
            [&](int at, int i) {
              return LoadSharedIf(keys + at * kRowBytes + i * 64, Tile::Places::HasKeys(i, lane));
            },
            [&](int at, int i) {
              return LoadSharedIf(values + at * kRowBytes + i * 128,
                                  block + at < count && HasValues(warp.value_part, i, lane / 4));
            },
            [&](int half, int at) {
              return block + at < count && from + block + at >= first[half];
            });
      }
      turn -= kSlotBlocks;
      consumer.Release(read);
    }
    if (p == int(args.partial_2) - 1) {
      AddNewRows(args, part, warp, lane, h, scale, position, first, tile);
      Append(consumer, args, part, s, h);
    }
    Join(consumer, warp, tile);
    if (warp.works && warp.place == 0) {
      StorePart(args, part, warp, lane, h, p, tile);
    }
  }

 private:
  /// The rows of a task and its cached positions, as the loader and the consumers see them.
  struct Part {
    int context;     // the position of the sequence's first row
    int sequence;    // that row
    int row, rows;   // of the tile
    int position;    // of its first row
    int begin, end;  // of the cached positions

    ETC_DEVICE Part(const Args& args, int t, int s, int p) {
      context = args.pos[s];
      sequence = Rows::First(args, s);
      row = sequence + t * kTileRows;
      rows = min(Rows::First(args, s + 1) - row, kTileRows);
      position = context + t * kTileRows;
      int start = Window::First(args, position);
      int parts = int(args.partial_2);
      int chunk = (max(0, context - start) + parts - 1) / parts;
      begin = start + p * chunk;
      end = rows > 0 ? min(context, begin + chunk) : begin;
    }
    /// The end of the positions that share a slot with `from`, the first of them.
    ETC_DEVICE int SlotEnd(int from) const { return min(end, (from / kSlotRows + 1) * kSlotRows); }
  };

  /// What a warp has of a tile of so many rows.
  struct Warp {
    int sharers;      // warps with the same queries, a power of two
    int place;        // among these
    int unit, units;  // which queries and which part of the values
    int first_query;
    int value_part;
    bool works;

    ETC_DEVICE Warp(int warp, int rows) {
      units = DivideUp(rows * kGroup, Tile::kQueries) * kValueParts;
      sharers = 2 * units > kWarps ? 1 : 4 * units > kWarps ? 2 : 8 * units > kWarps ? 4 : 8;
      unit = warp % units;
      place = warp / units;
      first_query = unit / kValueParts * Tile::kQueries;
      value_part = unit % kValueParts;
      works = place < sharers;
    }
  };

  /// Whether a part has the column of its i-th 64 values.
  static ETC_DEVICE bool HasValues(int part, int i, int column) {
    return (kDim % kPartDim == 0 && kPartDim % 64 == 0) ||
           part * kPartDim + i * 64 + column * 8 < kDim;
  }

  /// The keys and values of the sequence's new rows up to the tile's last.
  static ETC_DEVICE void AddNewRows(const Args& args, const Part& part, const Warp& warp, int lane,
                                    int h, float scale, const int (&position)[2],
                                    const int (&first)[2], Tile& tile) {
    if (!warp.works) {
      return;
    }
    const int count = part.row + part.rows - part.sequence;
    const bf16* rows = args.turned + i64(part.sequence) * args.turned_1 + (kHeads + h) * kDim;
    const int skipped = max(0, Window::First(args, part.position) - part.context);
#pragma unroll 1
    for (int block = (skipped / Tile::kPositions + warp.place) * Tile::kPositions; block < count;
         block += warp.sharers * Tile::kPositions) {
      auto load = [&](int at, int offset, bool exists) {
        return LoadGlobalIf(rows + i64(block + at) * args.turned_1 + offset,
                            exists && block + at < count);
      };
      tile.Add(
          lane, scale,
          [&](int at, int i) {
            return load(at, i * 32 + lane % 4 * 8, Tile::Places::HasKeys(i, lane));
          },
          [&](int at, int i) {
            int offset =
                Pages::kKvHeads * kDim + warp.value_part * kPartDim + i * 64 + lane / 4 * 8;
            return load(at, offset, HasValues(warp.value_part, i, lane / 4));
          },
          [&](int half, int at) {
            int other = part.context + block + at;
            return other <= position[half] && other >= first[half];
          });
    }
  }

  static ETC_DEVICE void Append(const Consumer& consumer, const Args& args, const Part& part, int s,
                                int h) {
    constexpr int words = kDim / 8;  // of 16 bytes in a row
#pragma unroll 1
    for (int i = consumer.thread; i < 2 * part.rows * words; i += Consumer::kThreads) {
      int row = i / words % part.rows, d = i % words * 8;
      bool value = i >= part.rows * words;
      int position = part.position + row;
      i64 to = Pages::Row(Pages::Page(args, s, position), h, position) + d;
      const bf16* from = args.turned + i64(part.row + row) * args.turned_1 +
                         (kHeads + (value ? Pages::kKvHeads : 0) + h) * kDim + d;
      StoreGlobal((value ? args.v_cache : args.k_cache) + to, LoadGlobal(from));
    }
  }

  /// The warps with the same queries, half of them joined to the other half at a time.
  static ETC_DEVICE void Join(Consumer& consumer, const Warp& warp, Tile& tile) {
    const u32 scratch = SharedAddress(consumer.scratch);
    if (warp.sharers > 1) {
      consumer.Sync();  // nobody reads queries any more
    }
#pragma unroll 1
    for (int half = warp.sharers / 2; half > 0; half /= 2) {
      u32 place = scratch + (warp.place % half * warp.units + warp.unit) * kStateBytes;
      if (warp.place >= half && warp.place < 2 * half) {
        tile.Store(place, consumer.lane);
      }
      consumer.Sync();
      if (warp.place < half) {
        tile.Join(place, consumer.lane);
      }
      consumer.Sync();
    }
  }

  static ETC_DEVICE void StorePart(const Args& args, const Part& part, const Warp& warp, int lane,
                                   int h, int p, const Tile& tile) {
    constexpr int record = kDim + 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float weight = tile.Weight(half);
      int query = warp.first_query + lane / 4 + half * 8;
      if (query >= part.rows * kGroup) {
        continue;
      }
      i64 head = i64(part.row + query / kGroup) * kHeads + h * kGroup + query % kGroup;
      float* to = args.partial + (head * args.partial_2 + p) * record;
#pragma unroll
      for (int i = 0; i < Tile::kValueLoads; ++i) {
#pragma unroll
        for (int next = 0; next < 2; ++next) {
          int column = lane % 4 * 2 + next;
          if (!HasValues(warp.value_part, i, column)) {
            continue;
          }
#pragma unroll
          for (int e = 0; e < 8; e += 2) {
            float run[2] = {tile.sum[i][e][half * 2 + next], tile.sum[i][e + 1][half * 2 + next]};
            StoreRun(to, warp.value_part * kPartDim + i * 64 + column * 8 + e, run);
          }
        }
      }
      if (lane % 4 == 0 && warp.value_part == 0) {
        float rest[2] = {tile.top[half] * kLn2, weight};
        StoreRun(to, kDim, rest);
      }
    }
  }
};

}  // namespace etc
