// What the roles of a CTA do, written down by one thread of each. A record takes one store that
// nobody waits for.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/stopwatch.cuh"
#include "engine/profile_record.cuh"
#include "engine/profile_waits.cuh"

namespace etc {

/// Of one role. Its first thread stores the records, and all of its threads count them, so the
/// place of the next one is the same in all lanes.
struct Recorder {
  int role;
  ProfileRecord* next;
  i32 room;  // in records; less than zero where some had none

  template <class Role>
  ETC_DEVICE Recorder(const Role& self, int which, void* profile, i64 records, i64 sm)
      : role(which),
        next(RecordsOf(ProfileOf(profile, records, sm), records, which)),
        room(i32(records)) {
    Skip(self);
  }

  /// The next span begins now, and not where the one in front of it has ended.
  template <class Role>
  ETC_DEVICE void Skip(const Role& self) {
    EndSignal(self, ProfileRecord::kNothing);
  }
  /// A wait or a notify ends now, and the next span begins.
  template <class Role>
  ETC_DEVICE void EndSignal(const Role& self, u64 what) {
    if (self.thread == 0 && room > 0) {
      Store(0, what);
    }
    Count();
  }
  /// A task ends now, and the next span begins.
  template <class Role>
  ETC_DEVICE void EndTask(const Role& self, u64 what) {
    if (self.thread == 0 && room > 0) {
      Store(LoadSharedWord(ProfileState::Waited(role)), what);
    }
    Count();
  }

  /// At the end of the role.
  template <class Role>
  ETC_DEVICE void Close(const Role& self, void* profile, i64 records, i64 sm) const {
    if (self.thread == 0) {
      ProfileOf(profile, records, sm)->lost[role] = room < 0 ? u32(-room) : 0;
      StoreShared(ProfileState::Ended(role), 1u);
    }
  }

 private:
  ETC_DEVICE void Store(u32 waited, u64 what) const {
    StoreStreaming(next, {Ticks(), waited, u32(what), u32(what >> 32)});
  }
  ETC_DEVICE void Count() {
    ++next;
    --room;
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
