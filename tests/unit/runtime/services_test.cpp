// What the library takes from a program and tells it: memory, a log, versions, and what is known of
// a loaded artifact.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/gather_run.h"

namespace etc::test {
namespace {

using nlohmann::json;

TEST_CASE("an allocator of the caller's gets its memory back") {
  struct Count {
    int64_t bytes = 0;
    int blocks = 0;
    int32_t device = 7;
  } held;
  etc_allocator allocator{sizeof(etc_allocator), &held,
                          [](void* user, int64_t bytes, int32_t device, void*) {
                            auto& count = *static_cast<Count*>(user);
                            count.bytes += bytes;
                            count.blocks += 1;
                            count.device = device;
                            return std::aligned_alloc(
                                256, static_cast<size_t>((bytes + 255) / 256 * 256));
                          },
                          [](void* user, void* data, int64_t bytes, int32_t) {
                            auto& count = *static_cast<Count*>(user);
                            count.bytes -= bytes;
                            count.blocks -= 1;
                            std::free(data);
                          }};
  REQUIRE(etc_set_allocator(&allocator) == ETC_OK);
  {
    Gather gather;
    etc_set_allocator(nullptr);
    for (const int64_t batch : {4, 12}) {
      GatherTensors tensors(batch, 8);
      tensors.Bind(gather.instance);
      gather.instance.Launch();
      CHECK(tensors.IsRight());
      CHECK(held.blocks == 2);
      CHECK(held.device == -1);
      CHECK(held.bytes == batch * 8 * 4 + 128 + 2 * batch * 128);
    }
  }
  CHECK(held.blocks == 0);
  CHECK(held.bytes == 0);
}

TEST_CASE("a log hears of loads, memory and failures") {
  std::vector<std::string> lines;
  etc_set_log(
      [](void* user, etc_log_level level, const char* text) {
        static_cast<std::vector<std::string>*>(user)->push_back(
            (level == ETC_LOG_ERROR ? "error: " : "info: ") + std::string(text));
      },
      &lines);
  {
    Gather gather;
    GatherTensors tensors(4, 8);
    tensors.Bind(gather.instance);
    gather.instance.Launch();
    etc_instance_set_dim(gather.instance.get(), "seq", 1);
  }
  etc_set_log(nullptr, nullptr);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].find("info: loaded `") == 0);
  CHECK(lines[1] == "info: allocates a workspace of 128 bytes");
  CHECK(lines[2] == "info: allocates event memory of 1152 bytes");
  CHECK(lines[3] == "error: graph `gather` has no dim `seq`");
  etc_instance_launch(nullptr, nullptr);
  CHECK(lines.size() == 4);
}

TEST_CASE("calls of a log function leave the text of the call that it hears of") {
  Gather gather;
  etc_set_log(
      [](void* user, etc_log_level, const char* text) {
        if (std::string(text).find("`seq`") != std::string::npos) {
          etc_instance_set_dim(static_cast<etc_instance*>(user), "other", 1);
        }
      },
      gather.instance.get());
  const Failure failure = FailureOf([&] { gather.instance.SetDim("seq", 1); });
  etc_set_log(nullptr, nullptr);
  CHECK(failure.text == "graph `gather` has no dim `seq`");
}

TEST_CASE("the version, names of statuses, and what a program says of itself") {
  CHECK(etc_version() == ETC_VERSION_NUMBER);
  CHECK(std::string(etc_status_name(ETC_ERROR_BIND)) == "ETC_ERROR_BIND");
  CHECK(std::string(etc_status_name(ETC_ERROR_BUSY)) == "ETC_ERROR_BUSY");
  CHECK(etc_status_name(static_cast<etc_status>(99)) == nullptr);

  json manifest = GatherManifest();
  manifest["proofs"] = {{"bounds", {{"proved", 7}, {"not_proved", 1}}},
                        {"assumptions", {"%ids in 0 .. 9"}},
                        {"not_proved", {"%out"}}};
  manifest["kernel_proofs"] = {{"races", {{"proved", 2}, {"not_proved", 0}}},
                               {"assumptions", json::array()},
                               {"not_proved", json::array()}};
  Gather gather(manifest);
  const etc_program_info info = gather.program.Describe();
  CHECK(std::string(info.hash).size() == 32);
  CHECK(std::string(info.compiler_version) == "0.1.0");
  REQUIRE(info.flag_count == 1);
  CHECK(std::string(info.flags[0]) == "-O1");
  REQUIRE(info.proofs == 2);
  CHECK(std::string(gather.program.Proof(0).subject) == "source");
  CHECK(std::string(gather.program.Proof(0).property) == "bounds");
  CHECK(gather.program.Proof(0).not_proved == 1);
  CHECK(std::string(gather.program.Proof(1).subject) == "kernels");
  REQUIRE(info.assumptions == 1);
  CHECK(gather.program.Assumption(0) == "%ids in 0 .. 9");
  REQUIRE(info.not_proved == 1);
  CHECK(gather.program.NotProved(0) == "%out");

  // A caller of a later version has longer structs: what is not known here becomes zeros.
  struct Later {
    etc_dim_info info;
    int64_t added;
  } later{};
  later.added = 9;
  later.info.struct_size = sizeof(later);
  REQUIRE(etc_program_dim(gather.program.get(), nullptr, 0, &later.info) == ETC_OK);
  CHECK(later.info.struct_size == sizeof(later));
  CHECK(later.info.max == 64);
  CHECK(later.added == 0);

  // A caller of an earlier version has shorter structs: nothing is written behind them.
  etc_dim_info earlier{};
  earlier.struct_size = offsetof(etc_dim_info, max);
  earlier.max = 9;
  REQUIRE(etc_program_dim(gather.program.get(), nullptr, 0, &earlier) == ETC_OK);
  CHECK(earlier.struct_size == offsetof(etc_dim_info, max));
  CHECK(earlier.min == 1);
  CHECK(earlier.max == 9);
}

}  // namespace
}  // namespace etc::test
