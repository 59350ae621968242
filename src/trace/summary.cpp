#include <algorithm>
#include <map>
#include <string_view>

#include "trace/fixed.h"
#include "trace/trace.h"

namespace etc::trace {
namespace {

/// What the time of the consumers went to.
struct Times {
  int64_t tasks = 0;
  double busy = 0;
  double data = 0;
  double signals = 0;

  double Sum() const { return busy + data + signals; }
};

/// Of all tracks that count, over the time of the trace.
class Summary {
 public:
  explicit Summary(const Trace& trace) {
    for (const Track& track : trace.tracks) {
      tracks_ += track.is_work ? 1 : 0;
    }
    double begin = 0, end = 0;
    bool any = false;
    for (const Span& span : trace.spans) {
      begin = any ? std::min(begin, span.begin) : span.begin;
      end = any ? std::max(end, span.end) : span.end;
      any = true;
      if (trace.tracks[span.track].is_work) {
        Add(span);
      }
    }
    length_ = end - begin;
  }

  std::string Text(uint64_t lost) const {
    std::string text = Fixed(length_ / 1000, 3) + " us on " + std::to_string(tracks_) +
                       (tracks_ == 1 ? " SM" : " SMs");
    if (lost > 0) {
      text += "; " + std::to_string(lost) + " spans are lost, for which there was no room";
    }
    size_t width = std::string_view("idle").size();
    for (const std::string& call : order_) {
      width = std::max(width, call.size());
    }
    text += "\n" + Line(width, {"call", "tasks", "SM time us", "busy", "data", "signals"});
    Times all;
    for (const std::string& call : order_) {
      const Times& times = calls_.at(call);
      text += Row(width, call, times);
      all.tasks += times.tasks;
      all.busy += times.busy;
      all.data += times.data;
      all.signals += times.signals;
    }
    const double time = length_ * static_cast<double>(tracks_);
    const double idle = std::max(0.0, time - all.Sum());
    return text + Row(width, "all", all) +
           Line(width, {"idle", "", Fixed(idle / 1000, 3), Percent(idle, time)});
  }

 private:
  void Add(const Span& span) {
    if (!calls_.contains(span.call)) {
      order_.push_back(span.call);
    }
    Times& times = calls_[span.call];
    switch (span.kind) {
      case Kind::Wait:
        times.signals += span.Length();
        break;
      case Kind::Task:
        ++times.tasks;
        times.data += span.data;
        times.signals += span.signals;
        times.busy += std::max(0.0, span.Length() - span.data - span.signals);
        break;
      case Kind::Load:
      case Kind::Reduce:
      case Kind::Signal:
        times.busy += span.Length();
        break;
    }
  }

  static std::string Percent(double part, double whole) {
    return Fixed(whole > 0 ? 100 * part / whole : 0, 1) + "%";
  }

  static std::string Row(size_t width, const std::string& call, const Times& times) {
    const double time = times.Sum();
    return Line(
        width, {call, std::to_string(times.tasks), Fixed(time / 1000, 3), Percent(times.busy, time),
                Percent(times.data, time), Percent(times.signals, time)});
  }

  /// The first cell to the left, the others to the right.
  static std::string Line(size_t width, const std::vector<std::string>& cells) {
    constexpr size_t kWidth = 12;
    std::string line = cells[0] + std::string(width - cells[0].size(), ' ');
    for (size_t i = 1; i < cells.size(); ++i) {
      line += std::string(kWidth - std::min(cells[i].size(), kWidth - 1), ' ') + cells[i];
    }
    return line + "\n";
  }

  std::map<std::string, Times> calls_;
  std::vector<std::string> order_;  // of the calls, by their first span
  size_t tracks_ = 0;
  double length_ = 0;
};

}  // namespace

std::string Summarise(const Trace& trace) { return Summary(trace).Text(trace.lost); }

}  // namespace etc::trace
