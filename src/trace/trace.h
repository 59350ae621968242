// What ran where and when: spans on tracks. The profiler makes one of what a launch recorded, the
// simulator one of what it foresees; both are written and summed up by the same code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace etc::trace {

/// What an SM or a role of it does in a span.
enum class Kind : uint8_t {
  Task,    // the consumers run a task
  Load,    // the loader copies what a task preloads
  Reduce,  // the epilogue warp joins the partials of a task
  Wait,    // a role waits for an event, or for the launches in front
  Signal,  // a role notifies an event, with the barrier in front of it
};
inline constexpr size_t kKinds = 5;

/// "task", "load", …: the category of a span in the format of Perfetto.
const char* NameOf(Kind kind);

/// What is said of a span beside its name.
struct Argument {
  std::string name;
  std::variant<int64_t, double, std::string> value;
};

/// All times are nanoseconds since the trace began.
struct Span {
  size_t track = 0;
  Kind kind = Kind::Task;
  std::string call;  // whose it is, for the summary: "@final_sum"
  std::string name;  // "@final_sum[3]"
  double begin = 0;
  double end = 0;
  double data = 0;     // of it, waiting inside of a task for what is copied or computed beside it
  double signals = 0;  // of it, waiting inside of a simulated task for what other SMs compute
  std::vector<Argument> arguments = {};

  double Length() const { return end - begin; }
};

/// A role of an SM, or whatever else does one thing at a time.
struct Track {
  size_t process = 0;
  std::string name;      // "SM 3 consumers"
  bool is_work = false;  // whether the summary counts its time: that of the consumers
};

struct Trace {
  std::vector<std::string> processes;  // "kernel @row_sum"
  std::vector<Track> tracks;           // in the order in which they are shown
  std::vector<Span> spans;             // those of one track in the order of time
  uint64_t lost = 0;                   // spans for which there was no room
};

/// The format of Perfetto and chrome://tracing, with all spans as complete events.
std::string ToJson(const Trace& trace);

/// A table: for each call, and for all, how much of the consumers' time went to work, to waiting
/// for data and for signals, and to nothing.
std::string Summarise(const Trace& trace);

}  // namespace etc::trace
