// Kernels that are a list of launches.
#include <doctest/doctest.h>

#include <vector>

#include "etc/device.h"
#include "runtime/artifact.h"
#include "runtime/fake_session.h"
#include "runtime/gather_run.h"
#include "runtime/launch_list.h"

namespace etc::test {
namespace {

using nlohmann::json;

const json kNested = {Launch("load", "batch"),
                      Repeat(2, 4,
                             {Launch("step", {"*", "batch", "width"}),
                              Repeat(0, 2, json::array({Launch("inner", 7)})), Launch("empty", 0)}),
                      Launch("store", 200)};

TEST_CASE("launches follow their order, each with a CTA for each task, at most one for each SM") {
  FakeCuda& fake = OpenFakeCuda();
  fake.block_words = 10;  // two iterations behind the block of one launch
  ListRun run(kNested);
  const Program program(run.path);
  Instance instance(program);
  run.Bind(instance);
  void* stream = reinterpret_cast<void*>(uintptr_t{7});
  instance.Launch(stream);

  const std::vector<std::string> entries = {"load", "step",  "inner", "inner",
                                            "step", "inner", "inner", "store"};
  const std::vector<unsigned> grids = {3, 24, 7, 7, 24, 7, 7, 132};
  REQUIRE(fake.launches.size() == entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    const FakeLaunch& launch = fake.launches[i];
    CHECK(launch.entry == entries[i]);
    CHECK(launch.grid == grids[i]);
    CHECK(launch.threads == 256);
    CHECK(launch.stream == stream);
    CHECK_FALSE(launch.is_cooperative);
    CHECK(launch.is_overlapping == (i > 0));  // the first waits for what the caller enqueued
  }
  CHECK(fake.launches[1].block[8] == 2);
  CHECK(fake.launches[2].block[8] == 2);
  CHECK(fake.launches[2].block[9] == 0);
  CHECK(fake.launches[3].block[9] == 1);
  CHECK(fake.launches[6].block[8] == 3);
  CHECK(fake.launches[6].block[9] == 1);

  instance.SetReplay(false);
  instance.SetSms(5);
  instance.Launch(stream);
  CHECK(fake.launches[entries.size() + 1].grid == 5);
  fake.block_words = 8;
}

TEST_CASE("a list may have no launch") {
  FakeCuda& fake = OpenFakeCuda();
  for (const json& launches : {json::array(), json::array({Repeat(0, 2, json::array())})}) {
    ListRun run(launches);
    const Program program(run.path);
    Instance instance(program);
    run.Bind(instance);
    instance.Launch();
    instance.Launch();
    CHECK(fake.launches.empty());
  }
}

TEST_CASE("sizes decide how often launches are repeated") {
  FakeCuda& fake = OpenFakeCuda();
  fake.block_words = 9;
  const auto run_with = [&](const json& end) {
    const json launches = {Launch("load", 1),
                           {{"repeat", {1, end}}, {"launches", json::array({Launch("step", 1)})}},
                           Launch("store", 1)};
    ListRun run(launches);
    const Program program(run.path);
    Instance instance(program);
    run.Bind(instance);
    const size_t before = fake.launches.size();
    instance.Launch();
    return fake.launches.size() - before;
  };
  CHECK(run_with("batch") == 4);            // batch is 3
  CHECK(run_with({"-", "batch", 2}) == 2);  // none
  CHECK(run_with({"-", "batch", 3}) == 2);  // nor less than none
  CHECK(FailureOf([&] {
          run_with({"*", "batch", 1 << 20});
        }).text.find("more than 1048576") != std::string::npos);
  fake.block_words = 8;
}

TEST_CASE("a launch without tasks leaves the next one to wait for the stream") {
  FakeCuda& fake = OpenFakeCuda();
  ListRun run({Launch("empty", 0), Launch("load", 1), Launch("store", 1)});
  const Program program(run.path);
  Instance instance(program);
  run.Bind(instance);
  instance.Launch();
  REQUIRE(fake.launches.size() == 2);
  CHECK_FALSE(fake.launches[0].is_overlapping);
  CHECK(fake.launches[1].is_overlapping);
}

TEST_CASE("a program says how many entries a kernel has") {
  const TempDir dir;
  const Program list(WriteArtifact(dir, ListManifest(kNested), GatherBinary()));
  etc_kernel_info info{};
  info.struct_size = sizeof(info);
  ThrowUnlessOk(etc_program_kernel(list.get(), nullptr, 0, &info));
  CHECK(info.entries == 5);
  CHECK(std::string(info.entry) == "load");
  CHECK(std::string(info.schedule) == "kernels");
  const TempDir other;
  const Program persistent(WriteArtifact(other, GatherManifest(), GatherBinary()));
  ThrowUnlessOk(etc_program_kernel(persistent.get(), nullptr, 1, &info));
  CHECK(info.entries == 1);
}

TEST_CASE("launches run on the host one after the other") {
  constexpr char kText[] = R"(
#include <cstdint>
extern "C" void fill(const uint64_t* block, int sm, int sms) {
  float* rows = reinterpret_cast<float*>(block[5]);
  for (int64_t i = sm; i < int64_t(block[3] * block[4]); i += sms) rows[i] = 1.0F;
}
extern "C" void add(const uint64_t* block, int sm, int sms) {
  float* rows = reinterpret_cast<float*>(block[5]);
  for (int64_t i = sm; i < int64_t(block[3] * block[4]); i += sms) {
    rows[i] = 10.0F * rows[i] + float(block[8]);
  }
}
extern "C" void store(const uint64_t* block, int sm, int sms) {
  const float* rows = reinterpret_cast<const float*>(block[5]);
  float* out = reinterpret_cast<float*>(block[2]);
  const int64_t size = int64_t(block[3] * block[4]);
  for (int64_t i = sm; i < size; i += sms) out[i] = rows[size - 1 - i];
}
)";
  const json launches = {Launch("fill", 64), Repeat(1, 4, json::array({Launch("add", 64)})),
                         Launch("store", 64)};
  const TempDir dir;
  const Program program(WriteArtifact(dir, ListManifest(launches), Compile(kText)));
  Instance instance(program);
  GatherTensors tensors(4, 8);
  tensors.Bind(instance);
  for (const int32_t sms : {1, 3, 16}) {
    instance.SetSms(sms);
    std::fill(tensors.out.begin(), tensors.out.end(), -1.0F);
    instance.Launch();
    CHECK(tensors.out == std::vector<float>(32, 1123.0F));
  }
}

TEST_CASE("a broken list of launches") {
  const auto failure = [](const json& launches) {
    const TempDir dir;
    return FailureOf([&] {
             const Program program(WriteArtifact(dir, ListManifest(launches), GatherBinary()));
           })
        .text;
  };
  const auto ends_with = [](const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
  };
  CHECK(ends_with(failure(json::array({{{"entry", "a"}}})),
                  "`graphs[0].kernels[0].launches[0].tasks` is missing"));
  CHECK(ends_with(failure(json::array({Launch("", 1)})),
                  "`graphs[0].kernels[0].launches[0].entry` is empty"));
  CHECK(ends_with(failure(json::array({Repeat(3, 2, json::array({Launch("a", 1)}))})),
                  "`graphs[0].kernels[0].launches[0].repeat` must be the first iteration and the "
                  "one behind the last"));
  json deep = json::array({Launch("a", 1)});
  for (int i = 0; i < 100; ++i) {
    deep = json::array({Repeat(0, 1, deep)});
  }
  CHECK(ends_with(failure(deep), "is nested too deep"));

  const std::string first = "`graphs[0].kernels[0].launches";
  const auto steps = [](int64_t times, json inner) {
    return json::array({json{{"repeat", {0, times}}, {"launches", std::move(inner)}}});
  };
  const json once = json::array({Launch("gather_small", 0)});
  const std::string too_many = "[0]` brings the kernel to more than 1048576 launches";
  CHECK(ends_with(failure(steps(int64_t{1} << 30, once)), first + too_many));
  CHECK(ends_with(failure(steps(INT64_MAX, steps(INT64_MAX, once))), first + too_many));
  CHECK(ends_with(failure(steps(1 << 10, steps(1 << 10, once))),
                  first + "[0].launches[0]` brings the kernel to more than 1048576 launches"));
  CHECK(ends_with(failure(steps(-1, once)),
                  "` must be the first iteration and the one behind the last"));
}

}  // namespace
}  // namespace etc::test
