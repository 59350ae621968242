#include "runtime/profile.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/manifest_expr.h"

namespace etc::runtime {
namespace {

constexpr int64_t kMostBytes = int64_t{256} << 20;
constexpr size_t kRoles = 3;
constexpr std::array<const char*, kRoles> kRoleNames = {"consumers", "loader", "epilogue warp"};
constexpr uint16_t kNothing = 0xffff;
constexpr int kSpanBits = 16;

/// As kernels/engine/profile_record.cuh has them.
struct Header {
  uint64_t begun;  // nanoseconds
  std::array<uint32_t, kRoles> lost;
  uint32_t sm;
  std::array<uint64_t, 5> unused;
};
static_assert(sizeof(Header) == 64, "generated code writes it");
struct Record {
  uint32_t end, waited;
  uint64_t what;
};
static_assert(sizeof(Record) == 16, "generated code writes it");

int64_t BytesOfSm(int64_t records) {
  return int64_t{sizeof(Header)} + int64_t{kRoles} * records * int64_t{sizeof(Record)};
}

/// The clock of an SM in nanoseconds.
struct Clock {
  uint64_t ticks;        // at the moment
  uint64_t nanoseconds;  // since the first launch began
  double per_tick;

  double At(int64_t since) const {
    return static_cast<double>(nanoseconds) + static_cast<double>(since) * per_tick;
  }
};

class Reader {
 public:
  Reader(const manifest::Profile& profile, const ProfileShape& shape,
         const std::vector<char>& memory)
      : profile_(profile), shape_(shape), memory_(memory) {}

  trace::Trace Run() {
    trace_.processes = {"kernel " + profile_.kernel};
    tracks_.assign(static_cast<size_t>(shape_.sms) * kRoles, kNoTrack);
    for (int64_t sm = 0; sm < shape_.sms; ++sm) {
      TrackOf(sm, 0);  // also of an SM that has nothing to do, which is idle all the time
    }
    const uint64_t first = FirstBegin();
    for (int64_t launch = 0; launch < shape_.launches; ++launch) {
      for (int64_t sm = 0; sm < shape_.sms; ++sm) {
        Header header;
        if (!HeaderAt(launch, sm, &header) || header.begun == 0) {
          continue;
        }
        const auto per_tick = static_cast<uint64_t>(shape_.nanoseconds_per_tick);
        const Clock clock{header.begun / per_tick, header.begun - first,
                          static_cast<double>(per_tick)};
        for (size_t role = 0; role < kRoles; ++role) {
          trace_.lost += header.lost[role];
          ReadRole(launch, sm, role, clock);
        }
      }
    }
    Order();
    return std::move(trace_);
  }

 private:
  static constexpr size_t kNoTrack = ~size_t{0};

  size_t PlaceOf(int64_t launch, int64_t sm) const {
    return static_cast<size_t>(launch * shape_.Bytes() + sm * BytesOfSm(shape_.records));
  }

  bool HeaderAt(int64_t launch, int64_t sm, Header* header) const {
    const size_t at = PlaceOf(launch, sm);
    if (at + static_cast<size_t>(BytesOfSm(shape_.records)) > memory_.size()) {
      return false;
    }
    std::memcpy(header, memory_.data() + at, sizeof *header);
    return true;
  }

  uint64_t FirstBegin() const {
    uint64_t first = UINT64_MAX;
    for (int64_t launch = 0; launch < shape_.launches; ++launch) {
      for (int64_t sm = 0; sm < shape_.sms; ++sm) {
        Header header;
        if (HeaderAt(launch, sm, &header) && header.begun != 0) {
          first = std::min(first, header.begun);
        }
      }
    }
    return first;
  }

  void ReadRole(int64_t launch, int64_t sm, size_t role, const Clock& clock) {
    const char* at = memory_.data() + PlaceOf(launch, sm) + sizeof(Header) +
                     role * static_cast<size_t>(shape_.records) * sizeof(Record);
    // A role may begin before the moment of which the clock is known.
    int64_t begin = 0;
    bool is_first = true;
    uint32_t waited = 0;  // until the last task's end
    for (int64_t i = 0; i < shape_.records; ++i) {
      Record record;
      std::memcpy(&record, at + static_cast<size_t>(i) * sizeof record, sizeof record);
      if (record.what == 0) {
        return;
      }
      // Of 32 bits of the clock, each record gives those since the one before.
      const auto here = static_cast<uint32_t>(clock.ticks + static_cast<uint64_t>(begin));
      const int64_t end =
          is_first ? static_cast<int32_t>(record.end - here) : begin + (record.end - here);
      const auto number = static_cast<uint16_t>(record.what);
      if (number != kNothing) {
        if (number == 0 || number > profile_.spans.size() || is_first) {
          ++trace_.lost;
        } else {
          const manifest::Span& span = profile_.spans[number - 1];
          AddSpan(span, record.what, {clock.At(begin), clock.At(end)}, sm, role);
          if (span.kind == manifest::Span::Kind::Task) {
            trace::Span& task = trace_.spans.back();
            task.data = std::min((record.waited - waited) * clock.per_tick, task.Length());
            waited = record.waited;
          }
        }
      }
      is_first = false;
      begin = end;
    }
  }

  void AddSpan(const manifest::Span& span, uint64_t what, std::pair<double, double> time,
               int64_t sm, size_t role) {
    constexpr std::array<trace::Kind, kRoles> kTasks = {trace::Kind::Task, trace::Kind::Load,
                                                        trace::Kind::Reduce};
    trace::Span& out = trace_.spans.emplace_back();
    out.track = TrackOf(sm, role);
    out.kind = span.kind == manifest::Span::Kind::Task   ? kTasks[role]
               : span.kind == manifest::Span::Kind::Wait ? trace::Kind::Wait
                                                         : trace::Kind::Signal;
    out.call = span.call;
    out.begin = time.first;
    out.end = time.second;
    uint64_t fields = what >> kSpanBits;
    size_t at = 0;
    out.name = (out.kind == trace::Kind::Load     ? "load "
                : out.kind == trace::Kind::Reduce ? "reduce "
                                                  : "") +
               span.text;
    for (const manifest::Span::Field& field : span.fields) {
      const uint64_t most = (uint64_t{1} << field.bits) - 1;
      const uint64_t value = fields & most;
      fields >>= field.bits;
      const bool fits = value != most;
      const std::string text = fits ? std::to_string(value) : "?";
      if (at = out.name.find("{}", at); at != std::string::npos) {
        out.name.replace(at, 2, text);
        at += text.size();
      }
      if (fits) {
        out.arguments.push_back({field.name, static_cast<int64_t>(value)});
      }
    }
    if (!span.source.empty()) {
      out.arguments.push_back({"source", span.source});
    }
  }

  size_t TrackOf(int64_t sm, size_t role) {
    size_t& track = tracks_[static_cast<size_t>(sm) * kRoles + role];
    if (track == kNoTrack) {
      track = trace_.tracks.size();
      trace_.tracks.push_back({0, Cat("SM ", sm, " ", kRoleNames[role]), role == 0});
    }
    return track;
  }

  /// Tracks by SM and role, spans of a track by time: launches overlap.
  void Order() {
    std::vector<size_t> place(trace_.tracks.size());
    std::vector<trace::Track> tracks;
    for (const size_t track : tracks_) {
      if (track != kNoTrack) {
        place[track] = tracks.size();
        tracks.push_back(std::move(trace_.tracks[track]));
      }
    }
    trace_.tracks = std::move(tracks);
    double first = 0;
    for (trace::Span& span : trace_.spans) {
      span.track = place[span.track];
      first = std::min(first, span.begin);
    }
    for (trace::Span& span : trace_.spans) {
      span.begin -= first;
      span.end -= first;
    }
    std::stable_sort(trace_.spans.begin(), trace_.spans.end(),
                     [](const trace::Span& a, const trace::Span& b) {
                       return std::pair(a.track, a.begin) < std::pair(b.track, b.begin);
                     });
  }

  const manifest::Profile& profile_;
  const ProfileShape& shape_;
  const std::vector<char>& memory_;
  trace::Trace trace_;
  std::vector<size_t> tracks_;  // of each SM's consumers, and of each other role with any spans
};

}  // namespace

int64_t ProfileShape::Bytes() const { return sms * BytesOfSm(records); }

Status SizeProfile(const manifest::Profile& profile, const std::vector<int64_t>& dims,
                   ProfileShape* shape) {
  std::vector<int64_t> sizes = dims;
  sizes.push_back(shape->sms);
  if (Status status = Evaluate(profile.records, sizes, &shape->records); !status.Ok()) {
    return Fail(status.code, "kernel `", profile.kernel, "`: `profile` ", status.message);
  }
  const int64_t most = (kMostBytes / (shape->sms * shape->launches) - int64_t{sizeof(Header)}) /
                       (int64_t{kRoles} * int64_t{sizeof(Record)});
  shape->records = std::clamp<int64_t>(shape->records, 0, std::max<int64_t>(most, 1));
  return {};
}

trace::Trace ReadProfile(const manifest::Profile& profile, const ProfileShape& shape,
                         const std::vector<char>& memory) {
  return Reader(profile, shape, memory).Run();
}

}  // namespace etc::runtime
