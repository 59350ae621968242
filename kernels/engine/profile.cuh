// What the roles of a CTA do, written down by one thread of each. A record takes one store that
// nobody waits for; what a role keeps between two records is in shared memory, not in registers.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/stopwatch.cuh"
#include "engine/profile_record.cuh"
#include "engine/profile_waits.cuh"

namespace etc {

/// Of one role.
struct Recorder {
  int role;

  template <class Role>
  ETC_DEVICE Recorder(const Role& self, int which, void* profile, i64 records, i64 sm)
      : role(which) {
    if (self.thread == 0) {
      const u64 first = u64(RecordsOf(ProfileOf(profile, records, sm), records, which));
      StoreShared(State(), Vec4{u32(first), u32(first >> 32), u32(records), 0});
      StoreShared(State() + ProfileState::kData, Vec4{0, 0, 0, 0});
    }
  }

  ETC_DEVICE u32 Now() const { return Ticks(); }

  /// A span that ends now; gives its end.
  template <class Role>
  ETC_DEVICE u32 Write(const Role& self, u32 begun, u64 what) const {
    const u32 now = Ticks();
    if (self.thread == 0) {
      Vec4 next = LoadShared(State());
      Store(next, {begun, now, u32(what), u32(what >> 32)});
      StoreShared(State(), next);
    }
    return now;
  }

  /// A task begins now; when that was takes no register until it ends.
  template <class Role>
  ETC_DEVICE void BeginTask(const Role& self) const {
    if (self.thread == 0) {
      StoreShared(State() + ProfileState::kData, Vec4{0, 0, 0, 0});  // waits between two tasks
      StoreShared(State() + ProfileState::kBegun, Ticks());
    }
  }
  /// It ends now, and the next one begins. The record also says what the role waited inside of it.
  template <class Role>
  ETC_DEVICE void EndTask(const Role& self, u64 what) const {
    if (self.thread == 0) {
      const u32 now = Ticks();
      Vec4 next = LoadShared(State());
      Store(next, {next.w, now, u32(what), u32(what >> 32)});
      const Vec4 inside = LoadShared(State() + ProfileState::kData);
      if ((inside.x | inside.y) != 0) {
        Store(next, {inside.x, inside.y, u32(ProfileRecord::kInside), 0});
        StoreShared(State() + ProfileState::kData, Vec4{0, 0, 0, 0});
      }
      next.w = now;
      StoreShared(State(), next);
    }
  }

  /// At the end of the role.
  template <class Role>
  ETC_DEVICE void Close(const Role& self, void* profile, i64 records, i64 sm) const {
    if (self.thread == 0) {
      ProfileHeader* header = ProfileOf(profile, records, sm);
      const i32 room = i32(LoadShared(State()).z);
      header->lost[role] = room < 0 ? u32(-room) : 0;
    }
  }

 private:
  ETC_DEVICE u32 State() const { return ProfileState::Of(role); }
  static ETC_DEVICE void Store(Vec4& next, Vec4 record) {
    u64 address = u64(next.y) << 32 | next.x;
    if (i32(next.z) > 0) {
      StoreStreaming(reinterpret_cast<void*>(address), record);
    }
    address += sizeof(ProfileRecord);
    next.x = u32(address);
    next.y = u32(address >> 32);
    --next.z;
  }
};

/// Says when the launch began on the SM; by one thread that has nothing else to do.
ETC_DEVICE void BeginProfile(int thread, void* profile, i64 records, i64 sm) {
  if (thread == 0) {
    ProfileHeader* header = ProfileOf(profile, records, sm);
    header->begun = GlobalTime();
    header->sm = SmNumber();
  }
}

}  // namespace etc
