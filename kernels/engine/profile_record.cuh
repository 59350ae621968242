// Where a profiled launch writes down when each role did what: for each SM a header, then the
// records of its roles, of which each has the same room. docs/runtime.md has the layout. Shared
// with the host target.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

/// Of an SM.
struct ProfileHeader {
  static constexpr int kRoles = 3;  // consumers, loader, epilogue warp

  u64 begun;         // nanoseconds of the clock that all SMs share, early in the launch
  u32 lost[kRoles];  // records for which there was no room
  u32 sm;            // the number that the hardware gives it
  u64 unused[5];
};
static_assert(sizeof(ProfileHeader) == 64, "the runtime reads it");

/// The end of a span, which began where the one in front of it ended. Behind the last one stand
/// zeros.
struct ProfileRecord {
  static constexpr u64 kNothing = 0xffff;  // in `what`: what ends here is no span

  u32 end;     // ticks
  u32 waited;  // of a task: ticks that the role has waited so far at the barriers between roles
  u64 what;    // which span of the kernel, counted from 1, in 16 bits, and its fields
};
static_assert(sizeof(ProfileRecord) == 16, "a record is one store");

/// The part of an SM.
ETC_DEVICE ProfileHeader* ProfileOf(void* profile, i64 records, i64 sm) {
  const i64 bytes =
      i64(sizeof(ProfileHeader)) + ProfileHeader::kRoles * records * i64(sizeof(ProfileRecord));
  return reinterpret_cast<ProfileHeader*>(static_cast<char*>(profile) + sm * bytes);
}

/// The records of a role of it.
ETC_DEVICE ProfileRecord* RecordsOf(ProfileHeader* header, i64 records, int role) {
  return reinterpret_cast<ProfileRecord*>(header + 1) + role * records;
}

/// A number in `bits` bits of `what`: all ones where they do not hold it.
template <int bits>
ETC_DEVICE u64 ProfileField(i64 value) {
  constexpr u64 most = (u64(1) << bits) - 1;
  const u64 number = u64(value);
  return number < most ? number : most;
}

}  // namespace etc
