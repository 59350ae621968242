#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/gather_run.h"

// One test asks for more memory than there is: the sanitizers' allocators then answer as malloc
// does.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace etc::test {
namespace {

using nlohmann::json;

TEST_CASE("dims are inferred, and the kernel whose range holds them runs") {
  Gather gather;
  for (const int64_t batch : {1, 8, 9, 64}) {
    GatherTensors tensors(batch, 16);
    gather.instance.SetDim("width", 16);
    tensors.Bind(gather.instance);
    gather.instance.Launch();
    CHECK(gather.instance.Dim("batch") == batch);
    CHECK(tensors.IsRight());
  }
}

TEST_CASE("memory grows with the sizes, and smaller launches follow larger ones") {
  Gather gather;
  for (const int64_t width : {4, 1024, 8, 512}) {
    for (const int64_t batch : {2, 64, 3, 33}) {
      GatherTensors tensors(batch, width);
      tensors.Bind(gather.instance);
      CHECK(gather.instance.WorkspaceBytes() == batch * width * 4);
      gather.instance.Launch();
      CHECK(tensors.IsRight());
    }
  }
}

TEST_CASE("launches repeat, with any number of threads") {
  Gather gather;
  GatherTensors tensors(40, 64);
  tensors.Bind(gather.instance);
  for (const int32_t sms : {1, 2, 7, 64, 0}) {
    gather.instance.SetSms(sms);
    for (int i = 0; i < 3; ++i) {
      std::fill(tensors.out.begin(), tensors.out.end(), -1.0F);
      gather.instance.Launch();
      CHECK(tensors.IsRight());
    }
  }
  const Failure failure = FailureOf([&] { gather.instance.SetSms(-1); });
  CHECK(failure.status == ETC_ERROR_ARGUMENT);
  CHECK(failure.text == "the number of SMs is -1, but must be in 0..4096");
}

TEST_CASE("instances of one program run in several threads at once") {
  Gather gather;
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Instance instance(gather.program);
      instance.SetSms(2);
      for (int64_t i = 0; i < 5; ++i) {
        GatherTensors tensors(1 + t * 9 + i, 32);
        tensors.Bind(instance);
        instance.Launch();
        right += tensors.IsRight() ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(right == 20);
}

TEST_CASE("an instance outlives its program's handle") {
  const TempDir dir;
  auto program = std::make_unique<Program>(WriteArtifact(dir, GatherManifest(), GatherBinary()));
  Instance instance(*program);
  program.reset();
  GatherTensors tensors(4, 8);
  tensors.Bind(instance);
  instance.Launch();
  CHECK(tensors.IsRight());
}

TEST_CASE("a launch needs a tensor for each parameter") {
  Gather gather;
  GatherTensors tensors(4, 8);
  gather.instance.Bind("ids", tensors.ids.data(), ETC_I32, {4});
  gather.instance.Bind("table", tensors.table.data(), ETC_F32, {10, 8});
  const Failure failure = FailureOf([&] { gather.instance.Launch(); });
  CHECK(failure.status == ETC_ERROR_UNBOUND);
  CHECK(failure.text == "parameter `out` has no tensor");
}

TEST_CASE("tensors that contradict one another") {
  Gather gather;
  GatherTensors tensors(4, 8);
  tensors.Bind(gather.instance);
  gather.instance.Bind("out", tensors.out.data(), ETC_F32, {16});
  const Failure product = FailureOf([&] { gather.instance.Launch(); });
  CHECK(product.status == ETC_ERROR_BIND);
  CHECK(product.text == "parameter `out`: extent 0 is 16, but `batch*width` is 32");

  tensors.Bind(gather.instance);
  gather.instance.SetDim("batch", 3);
  CHECK(FailureOf([&] { gather.instance.Launch(); }).text ==
        "parameter `ids`: extent 0 is 4, but `batch` is 3");
  gather.instance.ClearDim("batch");
  gather.instance.Launch();
  CHECK(tensors.IsRight());
}

TEST_CASE("two tensors with the same dim say which one gave it its value") {
  json manifest = GatherManifest();
  manifest["graphs"][0]["params"][2]["shape"] = {"batch", "width"};
  Gather gather(manifest);
  GatherTensors tensors(4, 8);
  gather.instance.Bind("ids", tensors.ids.data(), ETC_I32, {4});
  gather.instance.Bind("table", tensors.table.data(), ETC_F32, {10, 8});
  gather.instance.Bind("out", tensors.out.data(), ETC_F32, {2, 8});
  CHECK(FailureOf([&] { gather.instance.Launch(); }).text ==
        "parameter `out`: extent 0 is 2, but `batch` is 4 by extent 0 of parameter `ids`");
}

TEST_CASE("a tensor that is written overlaps no other") {
  Gather gather;
  GatherTensors tensors(4, 8);
  tensors.Bind(gather.instance);
  gather.instance.Bind("out", tensors.table.data() + 40, ETC_F32, {32});
  const Failure failure = FailureOf([&] { gather.instance.Launch(); });
  CHECK(failure.status == ETC_ERROR_BIND);
  CHECK(failure.text == "parameters `table` and `out` overlap in memory, and `out` is written");
}

TEST_CASE("sizes that no kernel serves") {
  json manifest = GatherManifest();
  manifest["graphs"][0]["kernels"][1]["where"][0]["min"] = 17;
  Gather gather(manifest);
  GatherTensors tensors(12, 8);
  tensors.Bind(gather.instance);
  const Failure failure = FailureOf([&] { gather.instance.Launch(); });
  CHECK(failure.status == ETC_ERROR_DIM);
  CHECK(failure.text ==
        "graph `gather` has no kernel for batch = 12, width = 8, only for: batch in 1..8; batch in "
        "17..64");
}

/// What generated code leaves behind when a debug check fails in a launch.
constexpr char kFailingText[] = R"(
#include <cstdint>
extern "C" void gather_small(const uint64_t* block, int sm, int) {
  uint32_t* header = reinterpret_cast<uint32_t*>(block[6]);
  if (sm == 0 && *reinterpret_cast<const int32_t*>(block[0]) > 9) {
    header[2] = 1;
    header[3] = static_cast<uint32_t>(block[4] / 8);
    int64_t* values = reinterpret_cast<int64_t*>(header + 4);
    for (int i = 0; i < 12; ++i) {
      values[i] = i * 10 - 10;
    }
  }
}
extern "C" void gather_large(const uint64_t*, int, int) {}
)";

TEST_CASE("a failed debug check comes out of the launch, with its values") {
  json manifest = GatherManifest();
  manifest["debug_checks"] = {"no value", "[{}, {}] is {}, outside of {}..{}"};
  TempDir dir;
  Program program(WriteArtifact(dir, manifest, Compile(kFailingText)));
  CHECK(program.Describe().debug_checks == 1);
  Instance instance(program);
  instance.SetSms(2);
  for (const auto& [width, text] :
       {std::pair{8, "[-10, 0] is 10, outside of 20..30"},
        std::pair{16, "debug check 2 failed, of which the manifest says nothing"}}) {
    GatherTensors tensors(2, width);
    instance.SetDim("width", width);
    tensors.Bind(instance);
    tensors.ids[0] = 10;
    const Failure failure = FailureOf([&] { instance.Launch(); });
    CHECK(failure.status == ETC_ERROR_VALUE);
    CHECK(failure.text == text);
    instance.Check();
    tensors.ids[0] = 0;
    instance.Launch();
  }
}

TEST_CASE("a wait that the watchdog has ended comes out of the launch, with its values") {
  json manifest = GatherManifest();
  manifest["watchdog"] = {"task [{}] waits, {} of {}"};
  std::string text = kFailingText;
  const std::string number = "static_cast<uint32_t>(block[4] / 8)";
  text.replace(text.find(number), number.size(), "0x7fffffffu + " + number);
  TempDir dir;
  Program program(WriteArtifact(dir, manifest, Compile(text)));
  CHECK(program.Describe().watchdog == 1);
  CHECK(program.Describe().debug_checks == 0);
  Instance instance(program);
  for (const auto& [width, message] :
       {std::pair{8, "task [-10] waits, 0 of 10"},
        std::pair{16, "wait 1 failed, of which the manifest says nothing"}}) {
    GatherTensors tensors(2, width);
    instance.SetDim("width", width);
    tensors.Bind(instance);
    tensors.ids[0] = 10;
    const Failure failure = FailureOf([&] { instance.Launch(); });
    CHECK(failure.status == ETC_ERROR_TIMEOUT);
    CHECK(failure.text == message);
  }
}

TEST_CASE("a program without debug checks has none to fail") {
  Gather gather;
  CHECK(gather.program.Describe().debug_checks == 0);
  gather.instance.Check();
  GatherTensors tensors(4, 8);
  tensors.Bind(gather.instance);
  gather.instance.Launch();
  gather.instance.Check();
}

TEST_CASE("a workspace of one's own") {
  Gather gather;
  GatherTensors tensors(4, 8);
  tensors.Bind(gather.instance);
  alignas(256) static char workspace[512];
  gather.instance.BindWorkspace(workspace, 127);
  const Failure small = FailureOf([&] { gather.instance.Launch(); });
  CHECK(small.status == ETC_ERROR_BIND);
  CHECK(small.text == "the workspace has 127 bytes, but the launch needs 128");
  gather.instance.BindWorkspace(workspace, 128);
  gather.instance.Launch();
  CHECK(tensors.IsRight());
  CHECK(*reinterpret_cast<float*>(workspace) == tensors.table[static_cast<size_t>(3 * 8)]);
  gather.instance.BindWorkspace(nullptr, 0);
  gather.instance.Launch();

  CHECK(FailureOf([&] {
          gather.instance.BindWorkspace(workspace + 16, 128);
        }).text.find("but must be aligned to 256 bytes") != std::string::npos);
  CHECK(FailureOf([&] { gather.instance.BindWorkspace(workspace, -1); }).text ==
        "the workspace has -1 bytes");
}

TEST_CASE("sizes of memory that make no sense blame the manifest") {
  json manifest = GatherManifest();
  manifest["graphs"][0]["kernels"][0]["workspace_bytes"] = {"-", 0, "batch"};
  manifest["graphs"][0]["kernels"][1]["event_counters"] = {"%", "batch", 0};
  Gather gather(manifest);
  gather.instance.SetDim("width", 8);
  gather.instance.SetDim("batch", 2);
  const Failure negative = FailureOf([&] { gather.instance.WorkspaceBytes(); });
  CHECK(negative.status == ETC_ERROR_MANIFEST);
  CHECK(negative.text ==
        "kernel `gather_small`: `workspace_bytes` is -2, but must be in 0..9223372036854775807");
  gather.instance.SetDim("batch", 20);
  CHECK(FailureOf([&] { gather.instance.Reserve(); }).text ==
        "kernel `gather_large`: `event_counters` divides by zero, overflows, or shifts by less "
        "than 0 or more than 63");
}

TEST_CASE("memory that cannot be had is an error, and a smaller launch works afterwards") {
  json manifest = GatherManifest();
  manifest["graphs"][0]["kernels"][1]["workspace_bytes"] = int64_t{1} << 62;
  Gather gather(manifest);
  GatherTensors large(20, 8);
  large.Bind(gather.instance);
  const Failure failure = FailureOf([&] { gather.instance.Launch(); });
  CHECK(failure.status == ETC_ERROR_OUT_OF_MEMORY);
  CHECK(failure.text == "cannot allocate 4611686018427387904 bytes");
  GatherTensors small(4, 8);
  small.Bind(gather.instance);
  gather.instance.Launch();
  CHECK(small.IsRight());
}

TEST_CASE("reserving allocates ahead") {
  Gather gather;
  gather.instance.SetDim("batch", 64);
  gather.instance.SetDim("width", 1024);
  gather.instance.Reserve();
  gather.instance.ClearDim("batch");
  gather.instance.ClearDim("width");
  GatherTensors tensors(4, 8);
  tensors.Bind(gather.instance);
  gather.instance.Launch();
  CHECK(tensors.IsRight());
}

}  // namespace
}  // namespace etc::test
