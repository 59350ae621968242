#include "runtime/profile.h"

#include <doctest/doctest.h>

#include <cstring>

#include "etc/runtime.hpp"
#include "runtime/gather_run.h"

using namespace etc::runtime;
namespace manifest = etc::manifest;
namespace trace = etc::trace;

namespace {

constexpr size_t kHeaderBytes = 64;
constexpr size_t kRecordBytes = 16;

manifest::Profile TwoSpans() {
  manifest::Profile profile;
  profile.kernel = "@k";
  profile.records.value = 4;
  profile.spans = {
      {manifest::Span::Kind::Task, "@f", "@f[{}, {}]", {{"i", 4}, {"j", 8}}, "k.etir:3"},
      {manifest::Span::Kind::Wait, "@f", "wait %e[{}]", {{"index 0", 4}}, ""}};
  return profile;
}

/// The memory of launches, filled in by hand. Ticks are nanoseconds.
struct Memory {
  ProfileShape shape;
  std::vector<char> bytes;

  explicit Memory(int64_t sms = 1, int64_t launches = 1) : shape{4, sms, launches, 1} {
    bytes.resize(static_cast<size_t>(shape.Bytes() * launches));
    for (int64_t launch = 0; launch < launches; ++launch) {
      for (int64_t sm = 0; sm < sms; ++sm) {
        Put(At(launch, sm), uint64_t{1000});
      }
    }
  }
  size_t At(int64_t launch, int64_t sm) const {
    return static_cast<size_t>(launch * shape.Bytes()) +
           static_cast<size_t>(sm) * (kHeaderBytes + 3 * 4 * kRecordBytes);
  }
  template <class T>
  void Put(size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  void Record(int64_t sm, size_t role, size_t place, uint32_t end, uint64_t what,
              uint32_t waited = 0, int64_t launch = 0) {
    const size_t at = At(launch, sm) + kHeaderBytes + (role * 4 + place) * kRecordBytes;
    Put(at, end);
    Put(at + 4, waited);
    Put(at + 8, what);
  }
  trace::Trace Read() const { return ReadProfile(TwoSpans(), shape, bytes); }
};

constexpr uint64_t Task(uint64_t i, uint64_t j) { return 1 | i << 16 | j << 20; }
constexpr uint64_t Wait(uint64_t i) { return 2 | i << 16; }
constexpr uint64_t kNothing = 0xffff;

}  // namespace

TEST_CASE("records become spans with their fields in the text") {
  Memory memory(2);
  memory.Record(1, 0, 0, 1010, kNothing);
  memory.Record(1, 0, 1, 1020, Wait(3));
  memory.Record(1, 0, 2, 1050, Task(3, 200));
  memory.Record(1, 1, 0, 1005, kNothing);
  memory.Record(1, 1, 1, 1030, Task(3, 200));
  memory.Record(1, 2, 0, 1040, kNothing);
  memory.Record(1, 2, 1, 1060, Task(3, 200));
  const trace::Trace read = memory.Read();
  REQUIRE(read.spans.size() == 4);
  CHECK(read.lost == 0);
  REQUIRE(read.tracks.size() == 4);
  CHECK(read.tracks[0].name == "SM 0 consumers");
  CHECK(read.tracks[1].name == "SM 1 consumers");
  CHECK(read.tracks[2].name == "SM 1 loader");
  CHECK(read.tracks[3].name == "SM 1 epilogue warp");
  CHECK(read.spans[0].name == "wait %e[3]");
  CHECK(read.spans[1].name == "@f[3, 200]");
  CHECK(read.spans[1].begin == 20);
  CHECK(read.spans[1].end == 50);
  CHECK(read.spans[2].name == "load @f[3, 200]");
  CHECK(read.spans[3].name == "reduce @f[3, 200]");
}

TEST_CASE("a number that did not fit is a question mark, and no argument") {
  Memory memory;
  memory.Record(0, 0, 0, 1000, kNothing);
  memory.Record(0, 0, 1, 1001, Task(15, 7));
  const trace::Trace read = memory.Read();
  CHECK(read.spans.at(0).name == "@f[?, 7]");
  CHECK(read.spans.at(0).arguments.at(0).name == "j");
}

TEST_CASE("what a task waited inside is what the role waited since its last task") {
  Memory memory;
  memory.Record(0, 0, 0, 1000, kNothing);
  memory.Record(0, 0, 1, 1100, Task(0, 0), 30);
  memory.Record(0, 0, 2, 1110, Wait(0));
  memory.Record(0, 0, 3, 1120, Task(1, 0), 90);
  const trace::Trace read = memory.Read();
  REQUIRE(read.spans.size() == 3);
  CHECK(read.spans[0].data == 30);
  CHECK(read.spans[1].data == 0);
  CHECK(read.spans[2].data == 10);  // no more than the task took
  CHECK(read.lost == 0);
}

TEST_CASE("a wait for a signal is a span of its own, and the summary counts it for its call") {
  Memory memory;
  memory.Record(0, 0, 0, 1000, kNothing);
  memory.Record(0, 0, 1, 1030, Wait(0));
  memory.Record(0, 0, 2, 1100, Task(0, 0), 20);
  const trace::Trace read = memory.Read();
  REQUIRE(read.spans.size() == 2);
  CHECK(read.spans[0].kind == trace::Kind::Wait);
  CHECK(read.spans[0].Length() == 30);
  CHECK(read.spans[1].data == 20);
  CHECK(read.spans[1].signals == 0);
  CHECK(trace::Summarise(read) ==
        "0.100 us on 1 SM\n"
        "call       tasks  SM time us        busy        data     signals\n"
        "@f             1       0.100       50.0%       20.0%       30.0%\n"
        "all            1       0.100       50.0%       20.0%       30.0%\n"
        "idle                   0.000        0.0%\n");
}

TEST_CASE("an SM without spans is idle") {
  Memory memory(4);
  memory.Record(1, 0, 0, 1000, kNothing);
  memory.Record(1, 0, 1, 1100, Task(0, 0));
  const trace::Trace read = memory.Read();
  REQUIRE(read.tracks.size() == 4);
  CHECK(read.spans[0].track == 1);
  CHECK(trace::Summarise(read) ==
        "0.100 us on 4 SMs\n"
        "call       tasks  SM time us        busy        data     signals\n"
        "@f             1       0.100      100.0%        0.0%        0.0%\n"
        "all            1       0.100      100.0%        0.0%        0.0%\n"
        "idle                   0.300       75.0%\n");
}

TEST_CASE("a span begins behind what is no span") {
  Memory memory;
  memory.Record(0, 0, 0, 1000, kNothing);
  memory.Record(0, 0, 1, 1010, Task(0, 0));
  memory.Record(0, 0, 2, 1040, kNothing);
  memory.Record(0, 0, 3, 1050, Task(1, 0));
  const trace::Trace read = memory.Read();
  REQUIRE(read.spans.size() == 2);
  CHECK(read.spans[1].begin == 40);
  CHECK(read.spans[1].end == 50);
}

TEST_CASE("32 bits of a clock go on where they wrap around") {
  Memory memory;
  memory.Put(0, uint64_t{0x1'ffff'fff0});
  memory.Record(0, 0, 0, 0xffff'fff8, kNothing);
  memory.Record(0, 0, 1, 0x8, Task(0, 0));
  memory.Record(0, 0, 2, 0x18, Task(1, 0));
  const trace::Trace read = memory.Read();
  REQUIRE(read.spans.size() == 2);
  CHECK(read.spans[0].begin == 8);
  CHECK(read.spans[0].Length() == 16);
  CHECK(read.spans[1].end == 40);
}

TEST_CASE("records without a meaning are counted, and the others stay") {
  Memory memory;
  memory.Record(0, 0, 0, 1000, Task(0, 0));  // nothing says where it begins
  memory.Record(0, 0, 1, 1010, Task(1, 1));
  memory.Record(0, 0, 2, 1015, 77);  // no such span
  memory.Record(0, 0, 3, 1020, Task(2, 2));
  memory.Put(8, uint32_t{5});  // without room
  const trace::Trace read = memory.Read();
  REQUIRE(read.spans.size() == 2);
  CHECK(read.spans[0].name == "@f[1, 1]");
  CHECK(read.spans[1].begin == 15);
  CHECK(read.lost == 7);
}

TEST_CASE("whatever the memory holds, spans follow each other on their track") {
  uint64_t state = 1;
  auto random = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  for (int round = 0; round < 300; ++round) {
    Memory memory(2, 2);
    memory.shape.nanoseconds_per_tick = 1 + round % 2 * 15;
    for (char& byte : memory.bytes) {
      byte = static_cast<char>(random() % 3 == 0 ? random() : 0);
    }
    const trace::Trace read = memory.Read();
    for (const trace::Span& span : read.spans) {
      CHECK(span.track < read.tracks.size());
      CHECK(span.end >= span.begin);
      CHECK(span.data <= span.Length());
    }
  }
}

TEST_CASE("memory that is too short for its shape has the spans that are there") {
  Memory memory(2);
  memory.Record(0, 0, 0, 1000, kNothing);
  memory.Record(0, 0, 1, 1010, Task(1, 1));
  memory.bytes.resize(memory.bytes.size() - 1);
  CHECK(memory.Read().spans.size() == 1);
  memory.bytes.clear();
  CHECK(memory.Read().spans.empty());
}

TEST_CASE("launches of a list have parts of their own") {
  Memory memory(1, 2);
  memory.Record(0, 0, 0, 1000, kNothing);
  memory.Record(0, 0, 1, 1010, Task(0, 0));
  memory.Record(0, 0, 0, 1020, kNothing, 0, 1);
  memory.Record(0, 0, 1, 1030, Task(1, 0), 0, 1);
  const trace::Trace read = memory.Read();
  REQUIRE(read.spans.size() == 2);
  CHECK(read.tracks.size() == 1);
  CHECK(read.spans[1].begin == 20);
}

TEST_CASE("the room is what the manifest says, within what a profile may take") {
  manifest::Profile profile = TwoSpans();
  ProfileShape shape{0, 100, 1, 0};
  CHECK(SizeProfile(profile, {}, &shape).Ok());
  CHECK(shape.records == 4);
  profile.records.value = INT64_MAX;
  CHECK(SizeProfile(profile, {}, &shape).Ok());
  CHECK(shape.Bytes() <= int64_t{256} << 20);
  profile.records.value = -1;
  CHECK(SizeProfile(profile, {}, &shape).Ok());
  CHECK(shape.records == 0);
  profile.records.value = 0;
  profile.records.kind = manifest::Expr::Kind::Dim;  // the first behind the dims is the SMs
  CHECK(SizeProfile(profile, {}, &shape).Ok());
  CHECK(shape.records == 100);
}

TEST_CASE("a reserve that makes the memory larger ends the profile of the last launch") {
  nlohmann::json manifest = etc::test::GatherManifest();
  for (nlohmann::json& kernel : manifest["graphs"][0]["kernels"]) {
    kernel["profile"] = {{"kernel", "@gather"},
                         {"records", "batch"},
                         {"spans",
                          {{{"kind", "task"},
                            {"call", "@row"},
                            {"text", "@row"},
                            {"fields", nlohmann::json::array()},
                            {"source", ""}}}}};
  }
  etc::test::Gather gather(manifest);
  etc::test::GatherTensors tensors(4, 8);
  tensors.Bind(gather.instance);
  const auto profile = [&] {
    return etc::test::FailureOf([&] { (void)gather.instance.Profile(); }).status;
  };
  gather.instance.Reserve();
  CHECK(profile() == ETC_ERROR_NOT_FOUND);
  gather.instance.Launch();
  CHECK(profile() == ETC_OK);
  gather.instance.Reserve();
  CHECK(profile() == ETC_OK);
  gather.instance.SetDim("batch", 64);
  gather.instance.Reserve();
  CHECK(profile() == ETC_ERROR_NOT_FOUND);
  gather.instance.ClearDim("batch");
  gather.instance.Launch();
  CHECK(profile() == ETC_OK);
}

TEST_CASE("a program without a profile has none to give") {
  etc::test::TempDir dir;
  etc::Program program(
      etc::test::WriteArtifact(dir, etc::test::GatherManifest(), etc::test::GatherBinary()));
  etc::Instance instance(program);
  CHECK(program.Describe().profile == 0);
  const auto failure = etc::test::FailureOf([&] { (void)instance.Profile(); });
  CHECK(failure.status == ETC_ERROR_NOT_FOUND);
  CHECK(failure.text.find("compiled without profiles") != std::string::npos);
}
