// Where in x the rows of a place are, as the threads that fetch them know it.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"

namespace etc {

/// A task's rows: how many it has, and the row of x of each of this thread's.
template <int rounds>
struct ListedRows {
  static constexpr int kRounds = rounds;
  u32 row[kRounds];
  u32 number;
};

/// The row of x for a slot of a place, whose slots begin at `first`, if that exists: that of its
/// token, or its own.
struct RowsOfTokens {
  template <class Args>
  static ETC_DEVICE void LoadRow(u32& row, const Args& args, int first, int slot, bool exists) {
    LoadRelaxedIf(row, reinterpret_cast<const u32*>(args.token) + first + slot, exists);
  }
};
struct RowsOfSlots {
  template <class Args>
  static ETC_DEVICE void LoadRow(u32& row, const Args&, int first, int slot, bool) {
    row = u32(first + slot);
  }
};

/// The rows that `x` fetches of a place, if that exists. On their way: nothing waits for them here.
template <class View, class Args, class X>
ETC_DEVICE typename X::Rows LoadRowsOfPlace(const Args& args, const X& x, int place, bool exists) {
  typename X::Rows rows = {};
  LoadRelaxedIf(rows.number, reinterpret_cast<const u32*>(args.count) + place, exists);
#pragma unroll
  for (int round = 0; round < X::Rows::kRounds; ++round) {
    View::LoadRow(rows.row[round], args, place * View::kSlots, x.Slot(round), exists);
  }
  return rows;
}

}  // namespace etc
