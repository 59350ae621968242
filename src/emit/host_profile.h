// What the threads of a host launch do, written down by each: behind host_prelude.h and
// engine/profile_record.cuh.
#pragma once

namespace etc {

/// 16 nanoseconds: 32 bits of them wrap around after a minute.
inline u32 Ticks() { return u32(Nanoseconds() >> 4); }

struct Recorder {
  ProfileHeader* header;
  ProfileRecord* next;
  ProfileRecord* end;

  Recorder(const Consumer& self, int role, void* profile, i64 records, i64 sm)
      : header(ProfileOf(profile, records, sm)),
        next(RecordsOf(header, records, role)),
        end(next + records) {
    header->sm = u32(sm);
    header->begun = Nanoseconds();
    Skip(self);
  }
  void Close(const Consumer&, void*, i64, i64) const {}

  /// The next span begins now, and not where the one in front of it has ended.
  void Skip(const Consumer& self) { EndSignal(self, ProfileRecord::kNothing); }
  /// A span ends now, and the next one begins.
  void EndTask(const Consumer& self, u64 what) { EndSignal(self, what); }
  void EndSignal(const Consumer&, u64 what) {
    if (next < end) {
      *next++ = {Ticks(), 0, what};
    } else {
      ++header->lost[0];
    }
  }
};

}  // namespace etc
