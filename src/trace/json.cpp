#include <cmath>
#include <nlohmann/json.hpp>

#include "trace/fixed.h"
#include "trace/trace.h"

namespace etc::trace {
namespace {

std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string Microseconds(double nanoseconds) { return Fixed(nanoseconds / 1000, 3); }

/// From the begin to the end as they are printed, so that neighbours do not overlap.
std::string Duration(const Span& span) {
  return Microseconds(std::round(span.end) - std::round(span.begin));
}

std::string ValueOf(const Argument& argument) {
  if (const auto* number = std::get_if<int64_t>(&argument.value)) {
    return std::to_string(*number);
  }
  if (const auto* number = std::get_if<double>(&argument.value)) {
    return Fixed(*number, 3);
  }
  return Quoted(std::get<std::string>(argument.value));
}

class Writer {
 public:
  explicit Writer(const Trace& trace) : trace_(trace) {}

  std::string Run() {
    text_ =
        "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"lost\": " + std::to_string(trace_.lost) +
        "},\n\"traceEvents\": [";
    for (size_t process = 0; process < trace_.processes.size(); ++process) {
      Metadata("process_name", process, 0, "\"name\": " + Quoted(trace_.processes[process]));
    }
    for (size_t track = 0; track < trace_.tracks.size(); ++track) {
      const Track& each = trace_.tracks[track];
      Metadata("thread_name", each.process, track, "\"name\": " + Quoted(each.name));
      Metadata("thread_sort_index", each.process, track,
               "\"sort_index\": " + std::to_string(track));
    }
    for (const Span& span : trace_.spans) {
      Event(span);
    }
    return std::move(text_) + "\n]}\n";
  }

 private:
  void Open(const char* phase, size_t process, size_t track) {
    text_ += is_first_ ? "\n" : ",\n";
    is_first_ = false;
    text_ += std::string("{\"ph\": \"") + phase + "\", \"pid\": " + std::to_string(process) +
             ", \"tid\": " + std::to_string(track);
  }

  void Metadata(const char* name, size_t process, size_t track, const std::string& arguments) {
    Open("M", process, track);
    text_ += std::string(", \"name\": \"") + name + "\", \"args\": {" + arguments + "}}";
  }

  void Event(const Span& span) {
    Open("X", trace_.tracks[span.track].process, span.track);
    text_ += ", \"ts\": " + Microseconds(std::round(span.begin)) + ", \"dur\": " + Duration(span) +
             ", \"name\": " + Quoted(span.name) + ", \"cat\": \"" + NameOf(span.kind) +
             "\", \"args\": {\"call\": " + Quoted(span.call);
    for (const Argument& argument : span.arguments) {
      text_ += ", " + Quoted(argument.name) + ": " + ValueOf(argument);
    }
    if (span.data > 0) {
      text_ += ", \"waited for data (us)\": " + Microseconds(span.data);
    }
    if (span.signals > 0) {
      text_ += ", \"waited for signals (us)\": " + Microseconds(span.signals);
    }
    text_ += "}}";
  }

  const Trace& trace_;
  std::string text_;
  bool is_first_ = true;
};

}  // namespace

const char* NameOf(Kind kind) {
  constexpr const char* kNames[kKinds] = {"task", "load", "reduce", "wait", "signal"};
  return kNames[static_cast<size_t>(kind)];
}

std::string ToJson(const Trace& trace) { return Writer(trace).Run(); }

}  // namespace etc::trace
