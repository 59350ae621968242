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
      StoreState({u32(first), u32(first >> 32), u32(records), Ticks()});
    }
  }

  /// The next span begins now, and not where the one in front of it has ended.
  template <class Role>
  ETC_DEVICE void Skip(const Role& self) const {
    if (self.thread == 0) {
      StoreShared(ProfileState::Begun(role), Ticks());
    }
  }
  /// A wait or a notify ends now, and the next span begins. When that was takes no register.
  template <class Role>
  ETC_DEVICE void EndSignal(const Role& self, u64 what) const {
    if (self.thread == 0) {
      Vec4 next = LoadState();
      Store(next, Ticks(), what);
      StoreState(next);
    }
  }
  /// A task ends now. A second record says what the role waited inside of it.
  template <class Role>
  ETC_DEVICE void EndTask(const Role& self, u64 what) const {
    if (self.thread == 0) {
      Vec4 next = LoadState();
      Store(next, Ticks(), what);
      const u32 waited = LoadSharedWord(ProfileState::Waited(role));
      const u32 inside = waited - LoadSharedWord(ProfileState::WaitedBefore(role));
      if (inside != 0) {
        Put(next, {inside, 0, u32(ProfileRecord::kInside), 0});
        StoreShared(ProfileState::WaitedBefore(role), waited);
      }
      StoreState(next);
    }
  }

  /// At the end of the role.
  template <class Role>
  ETC_DEVICE void Close(const Role& self, void* profile, i64 records, i64 sm) const {
    if (self.thread == 0) {
      ProfileHeader* header = ProfileOf(profile, records, sm);
      const i32 room = i32(LoadState().z);
      header->lost[role] = room < 0 ? u32(-room) : 0;
      StoreShared(ProfileState::Ended(role), 1u);
    }
  }

 private:
  ETC_DEVICE Vec4 LoadState() const { return LoadShared(ProfileState::Of(role)); }
  ETC_DEVICE void StoreState(Vec4 state) const { StoreShared(ProfileState::Of(role), state); }
  static ETC_DEVICE void Store(Vec4& next, u32 now, u64 what) {
    Put(next, {next.w, now, u32(what), u32(what >> 32)});
    next.w = now;
  }
  static ETC_DEVICE void Put(Vec4& next, Vec4 record) {
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

/// For all threads of the CTA, before the barrier of Block.
ETC_DEVICE void OpenProfile() {
  if (threadIdx.x == 0) {
    for (int at = 0; at < ProfileState::kAll; at += 16) {
      StoreShared(ProfileState::Begin() + at, Vec4{0, 0, 0, 0});
    }
  }
}

/// By one thread that has nothing else to do: says when the launch began on the SM, and counts how
/// long the roles wait, until all of them have ended.
ETC_DEVICE void WatchRoles(int thread, void* profile, i64 records, i64 sm) {
  if (thread != 0) {
    return;
  }
  ProfileHeader* header = ProfileOf(profile, records, sm);
  header->begun = GlobalTime();
  header->sm = SmNumber();
  u32 last = Ticks();
  u32 waited[ProfileState::kRoles] = {}, told[ProfileState::kRoles] = {};
  for (bool ended = false; !ended; Nap()) {
    const Vec4 roles = LoadShared(ProfileState::Ended(0));
    ended = (roles.x & roles.y & roles.z) != 0;
    const u32 now = Ticks();
    const u32 passed = now - last;
    last = now;
#pragma unroll
    for (int role = 0; role < ProfileState::kRoles; ++role) {
      if (LoadSharedByte(ProfileState::Waits(ProfileState::WarpOf(role))) != 0) {
        waited[role] += passed;
      } else if (told[role] != waited[role]) {  // the wait has ended
        told[role] = waited[role];
        StoreShared(ProfileState::Waited(role), waited[role]);
      }
    }
  }
}

}  // namespace etc
