#include "trace/trace.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace etc::trace;

namespace {

/// Two SMs: one works for 40 of 100 ns, the other waits for 30 and then works for 70.
Trace TwoSms() {
  Trace trace;
  trace.processes = {"kernel @\"quoted\""};
  trace.tracks = {{0, "SM 0 consumers", true}, {0, "SM 0 loader", false}, {0, "SM 1", true}};
  trace.spans = {{0, Kind::Task, "@a", "@a[0]", 0, 40, 10, 5, {{"i", int64_t{0}}}},
                 {1, Kind::Load, "@a", "load @a[0]", 0, 20},
                 {2, Kind::Wait, "@b", "wait %done[0]", 0, 30},
                 {2, Kind::Task, "@b", "@b[0]", 30, 100, 0, 0, {{"at", "x.etir:3"}}}};
  return trace;
}

}  // namespace

TEST_CASE("a trace is JSON that names its processes and tracks, and has an event for each span") {
  const auto json = nlohmann::json::parse(ToJson(TwoSms()));
  std::vector<std::string> names, tracks;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] == "X") {
      names.push_back(event["name"]);
    } else if (event["name"] == "thread_name") {
      tracks.push_back(event["args"]["name"]);
    } else if (event["name"] == "process_name") {
      CHECK(event["args"]["name"] == "kernel @\"quoted\"");
    }
  }
  CHECK(names == std::vector<std::string>{"@a[0]", "load @a[0]", "wait %done[0]", "@b[0]"});
  CHECK(tracks == std::vector<std::string>{"SM 0 consumers", "SM 0 loader", "SM 1"});
}

TEST_CASE("an event has microseconds, its call, its arguments and the waits inside of it") {
  const auto json = nlohmann::json::parse(ToJson(TwoSms()));
  const auto& events = json["traceEvents"];
  const auto& task = *std::find_if(events.begin(), events.end(),
                                   [](const auto& event) { return event["name"] == "@a[0]"; });
  CHECK(task["ts"] == 0.0);
  CHECK(task["dur"] == 0.04);
  CHECK(task["cat"] == "task");
  CHECK(task["args"]["call"] == "@a");
  CHECK(task["args"]["i"] == 0);
  CHECK(task["args"]["waited for data (us)"] == 0.01);
  CHECK(task["args"]["waited for signals (us)"] == 0.005);
}

TEST_CASE("names that are no UTF-8 do not break the JSON") {
  Trace trace = TwoSms();
  trace.spans[0].name = "\xff\n";
  CHECK(nlohmann::json::accept(ToJson(trace)));
}

TEST_CASE("the summary divides the time of the consumers and leaves out that of other roles") {
  CHECK(Summarise(TwoSms()) ==
        "0.100 us on 2 SMs\n"
        "call       tasks  SM time us        busy        data     signals\n"
        "@a             1       0.040       62.5%       25.0%       12.5%\n"
        "@b             1       0.100       70.0%        0.0%       30.0%\n"
        "all            2       0.140       67.9%        7.1%       25.0%\n"
        "idle                   0.060       30.0%\n");
}

TEST_CASE("the summary of a trace without spans, and of one that lost some") {
  CHECK(Summarise({}).starts_with("0.000 us on 0 SMs\n"));
  Trace trace = TwoSms();
  trace.lost = 7;
  CHECK(Summarise(trace).starts_with(
      "0.100 us on 2 SMs; 7 spans are lost, for which there was no room\n"));
}
