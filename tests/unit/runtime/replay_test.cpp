// Lists of launches that the device keeps as a graph.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "runtime/fake_session.h"
#include "runtime/launch_list.h"

namespace etc::test {
namespace {

void* Stream(uintptr_t number) { return reinterpret_cast<void*>(number); }

const json kList = {Launch("load", "batch"),
                    Repeat(2, 4, json::array({Launch("step", {"*", "batch", "width"})})),
                    Launch("store", 200)};
constexpr size_t kLaunches = 4;

/// A driver whose blocks have so many iterations, the one of `kList`, until the end of a test.
class Fake {
 public:
  explicit Fake(size_t iterations = 1) { fake_.block_words = 8 + iterations; }
  ~Fake() { fake_.block_words = 8; }
  FakeCuda* operator->() { return &fake_; }
  FakeCuda& operator*() { return fake_; }

 private:
  FakeCuda& fake_ = OpenFakeCuda();
};

struct Replayed : ListRun {
  explicit Replayed(const json& launches = kList)
      : ListRun(launches), program(path), instance(program) {
    Bind(instance);
  }
  void Bind(Instance& to, int64_t batch = 3, int64_t offset = 0) const {
    char* bytes = static_cast<char*>(memory) + offset;
    to.Bind("ids", bytes, ETC_I32, {batch});
    to.Bind("table", bytes + 1024, ETC_F32, {10, 8});
    to.Bind("out", bytes + 8192, ETC_F32, {8 * batch});
  }
  Program program;
  Instance instance;
};

TEST_CASE("launches that come for the second time are kept as a graph, and are the same") {
  Fake fake;
  {
    Replayed run;
    run.instance.Launch(Stream(7));
    REQUIRE(fake->launches.size() == kLaunches);
    CHECK(fake->graphs == 0);
    run.instance.Launch(Stream(7));
    run.instance.Launch(Stream(7));
    CHECK(fake->launches.size() == kLaunches);
    REQUIRE(fake->replays.size() == 2);
    CHECK(fake->replays[0] == fake->launches);
    CHECK(fake->replays[1] == fake->launches);
    CHECK(fake->launches[1].is_overlapping);
    CHECK(fake->launches[2].block[8] == 3);  // the iteration
    run.instance.Launch(Stream(8));
    CHECK(fake->graph_launches[2].second == Stream(8));
    CHECK(fake->node_updates == 0);
    CHECK(fake->graphs == 2);  // the graph, and what it was instantiated to
  }
  CHECK(fake->graphs == 0);
  CHECK(fake->context_depth == 0);
}

/// What a launch one by one would enqueue as the instance is now.
std::vector<FakeLaunch> OneByOne(FakeCuda& fake, Instance& instance) {
  const size_t before = fake.launches.size();
  instance.SetReplay(false);
  instance.Launch();
  instance.SetReplay(true);
  return {fake.launches.begin() + static_cast<std::ptrdiff_t>(before), fake.launches.end()};
}

TEST_CASE("a graph follows tensors, sizes and SMs as long as the same entries are launched") {
  Fake fake;
  Replayed run;
  const auto replay = [&] {
    fake->replays.clear();
    fake->node_updates = 0;
    run.instance.Launch();
    REQUIRE(fake->replays.size() == 1);
    return fake->replays[0];
  };
  run.instance.Launch();
  run.Bind(run.instance, 3, 64);  // already when it is made
  std::vector<FakeLaunch> launches = replay();
  CHECK(launches[3].block[2] == reinterpret_cast<uint64_t>(run.memory) + 8192 + 64);

  SUBCASE("other tensors") {
    run.Bind(run.instance, 3, 256);
    launches = replay();
    CHECK(fake->node_updates == kLaunches);
    CHECK(launches == OneByOne(*fake, run.instance));
  }
  SUBCASE("the same tensors once more") {
    run.Bind(run.instance, 3, 64);
    CHECK(replay() == launches);
    CHECK(fake->node_updates == 0);
  }
  SUBCASE("a size, with another workspace") {
    run.Bind(run.instance, 9);
    const std::vector<FakeLaunch> larger = replay();
    CHECK(fake->node_updates == kLaunches);
    CHECK(larger[0].grid == 9);
    CHECK(larger[1].grid == 72);
    CHECK(fake->allocations.at(reinterpret_cast<void*>(larger[1].block[5])) == 9 * 8 * 4);
    CHECK(larger == OneByOne(*fake, run.instance));
  }
  SUBCASE("fewer SMs, where a launch has more tasks than that") {
    run.instance.SetSms(5);
    launches = replay();
    CHECK(fake->node_updates == kLaunches - 1);
    run.instance.SetSms(5);
    CHECK(replay() == launches);
    CHECK(fake->node_updates == 0);
    CHECK(launches == OneByOne(*fake, run.instance));
  }
}

TEST_CASE("a graph of other entries is made anew, when they come again") {
  Fake fake(0);
  Replayed run({Launch("load", 1), Launch("empty", {"-", "batch", 3}), Launch("store", 1)});
  run.instance.Launch();
  run.instance.Launch();
  REQUIRE(fake->replays.size() == 1);
  CHECK(fake->replays[0].size() == 2);
  run.Bind(run.instance, 4);
  run.instance.Launch();
  CHECK(fake->launches.size() == 2 + 3);
  CHECK(fake->graphs == 0);
  run.instance.Launch();
  REQUIRE(fake->replays.size() == 2);
  CHECK(fake->replays[1].size() == 3);
  CHECK(fake->launches.size() == 2 + 3);
}

TEST_CASE("each kernel of a graph function has its own graph") {
  Fake fake;
  const TempDir dir;
  json manifest = ListManifest(kList);
  manifest["target"] = "sm_90a";
  json& kernels = manifest["graphs"][0]["kernels"];
  kernels.push_back(kernels[0]);
  kernels[0]["where"] = {{{"dim", "batch"}, {"min", 1}, {"max", 8}}};
  kernels[1]["where"] = {{{"dim", "batch"}, {"min", 9}, {"max", 64}}};
  Replayed run;
  const Program program(WriteArtifact(dir, manifest, "load step store"));
  Instance instance(program);
  for (const int64_t batch : {4, 12, 4, 12, 5, 13}) {
    run.Bind(instance, batch);
    instance.Launch();
  }
  CHECK(fake->launches.size() == 2 * kLaunches);
  CHECK(fake->replays.size() == 4);
  CHECK(fake->graphs == 4);
}

TEST_CASE("instances have graphs of their own, on streams of their own") {
  Fake fake;
  Replayed run;
  Instance other(run.program);
  run.Bind(other, 5);
  for (int i = 0; i < 3; ++i) {
    run.instance.Launch(Stream(1));
    other.Launch(Stream(2));
  }
  REQUIRE(fake->graph_launches.size() == 4);
  CHECK(fake->graph_launches[0].first != fake->graph_launches[1].first);
  CHECK(fake->graph_launches[3].second == Stream(2));
  CHECK(fake->replays[2][0].grid == 3);
  CHECK(fake->replays[3][0].grid == 5);
}

TEST_CASE("a captured launch enqueues the launches themselves") {
  Fake fake;
  Replayed run;
  run.instance.Launch(Stream(7));
  fake->capturing.insert(Stream(5));
  run.instance.Launch(Stream(5));
  CHECK(fake->launches.size() == 2 * kLaunches);
  CHECK(fake->graphs == 0);
  // Elsewhere a graph can be made meanwhile.
  run.instance.Launch(Stream(7));
  CHECK(fake->replays.size() == 1);
  CHECK(fake->capture_mode == 0);
  run.instance.Launch(Stream(5));
  CHECK(fake->launches.size() == 3 * kLaunches);
  CHECK(fake->replays.size() == 1);
}

TEST_CASE("where the driver makes no graph, launches come one by one") {
  for (const char* function :
       {"cuGraphCreate", "cuGraphAddKernelNode_v2", "cuGraphAddDependencies_v2",
        "cuGraphInstantiateWithFlags", "cuGraphExecKernelNodeSetParams_v2", "cuGraphLaunch"}) {
    CAPTURE(function);
    Fake fake;
    std::vector<std::string> log;
    Replayed run;
    run.instance.Launch();
    etc_set_log(
        [](void* user, etc_log_level, const char* text) {
          static_cast<std::vector<std::string>*>(user)->push_back(text);
        },
        &log);
    fake->failures[function] = 801;
    run.instance.Launch();
    run.Bind(run.instance, 3, 64);
    run.instance.Launch();
    etc_set_log(nullptr, nullptr);
    const bool was_made = std::string(function) == "cuGraphExecKernelNodeSetParams_v2";
    REQUIRE(fake->replays.size() == (was_made ? 1 : 0));
    REQUIRE(fake->launches.size() == (was_made ? 2 : 3) * kLaunches);
    CHECK(fake->launches.back().block[2] == reinterpret_cast<uint64_t>(run.memory) + 8192 + 64);
    CHECK(fake->graphs == 0);
    REQUIRE_FALSE(log.empty());
    CHECK(log.back().find("launches one by one from now on: cuGraph") == 0);
    // Not tried again but when asked for.
    fake->failures.clear();
    run.instance.Launch();
    run.instance.Launch();
    CHECK(fake->graphs == 0);
    run.instance.SetReplay(true);
    run.instance.Launch();
    run.instance.Launch();
    CHECK(fake->graphs == 2);
  }
}

TEST_CASE("replay is switched, and one launch alone is not worth a graph") {
  Fake fake(0);
  Replayed run;
  run.instance.SetReplay(false);
  run.instance.Launch();
  run.instance.Launch();
  CHECK(fake->launches.size() == 2 * kLaunches);
  run.instance.SetReplay(true);
  run.instance.Launch();
  run.instance.Launch();
  CHECK(fake->graphs == 2);
  run.instance.SetReplay(false);
  CHECK(fake->graphs == 0);
  run.instance.Launch();
  CHECK(fake->launches.size() == 4 * kLaunches);
  const Failure failure =
      FailureOf([&] { ThrowUnlessOk(etc_instance_set_replay(run.instance.get(), 2)); });
  CHECK(failure.status == ETC_ERROR_ARGUMENT);
  CHECK(failure.text == "`replay` is 2, but must be 0 or 1");

  Replayed single(json::array({Launch("load", 1)}));
  for (int i = 0; i < 3; ++i) {
    single.instance.Launch();
  }
  CHECK(fake->graphs == 0);
}

}  // namespace
}  // namespace etc::test
