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
  u32 task = 0;  // when it began

  Recorder(const Consumer&, int role, void* profile, i64 records, i64 sm)
      : header(ProfileOf(profile, records, sm)),
        next(RecordsOf(header, records, role)),
        end(next + records) {
    header->sm = u32(sm);
    header->begun = Nanoseconds();
  }
  void Close(const Consumer&, void*, i64, i64) const {}

  u32 Now() const { return Ticks(); }

  /// A span that ends now; gives its end.
  u32 Write(const Consumer&, u32 begun, u64 what) {
    const u32 now = Ticks();
    if (next < end) {
      *next++ = {begun, now, what};
    } else {
      ++header->lost[0];
    }
    return now;
  }
  void BeginTask(const Consumer&) { task = Ticks(); }
  /// The next one begins.
  void EndTask(const Consumer& self, u64 what) { task = Write(self, task, what); }
};

}  // namespace etc
