#include "tensor/execution.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/fake_session.h"
#include "tensor/program_view.h"

namespace etc::test {
namespace {

constexpr unsigned char kPoison = 0x80;

TEST_CASE("each launch on a GPU starts with a workspace of poison, where it is asked for") {
  FakeCuda& fake = OpenFakeCuda();
  const TempDir dir;
  const Program program(WriteArtifact(dir, DeviceManifest(), "gather_small gather_large"));
  TensorData ids{"ids", ETC_IN, ETC_I32, {4}, Bytes(16)};
  TensorData table{"table", ETC_IN, ETC_F32, {10, 8}, Bytes(320)};
  TensorData out{"out", ETC_OUT, ETC_F32, {32}, Bytes(128)};
  {
    Execution execution(program, "gather", 0);
    for (const TensorData* tensor : {&ids, &table, &out}) {
      execution.Bind(*tensor);
    }
    execution.Launch();
    const auto poisons = [&] {
      return std::count_if(fake.memsets.begin(), fake.memsets.end(),
                           [](const FakeMemset& memset) { return memset.value == kPoison; });
    };
    CHECK(poisons() == 0);
    execution.PoisonWorkspace(kPoison);
    execution.Launch();
    execution.Launch();
    CHECK(poisons() == 2);
    const FakeMemset& last = fake.memsets.back();
    CHECK(last.value == kPoison);
    CHECK(last.bytes == 4 * 8 * 4);
    CHECK(last.stream == nullptr);
    CHECK(last.data == reinterpret_cast<void*>(fake.launches.back().block[5]));
    CHECK(fake.launches.size() == 3);
    // Zeros come once, before the poison.
    const FakeMemset& zeros = fake.memsets[fake.memsets.size() - 3];
    CHECK(zeros.value == 0);
    CHECK(zeros.data == last.data);
  }
  CHECK(fake.allocations.empty());
}

TEST_CASE("more SMs than the device has are an error of the user, and not of the compiler") {
  (void)OpenFakeCuda();
  const TempDir dir;
  const Program program(WriteArtifact(dir, DeviceManifest(), "gather_small gather_large"));
  Diagnostics diagnostics;
  ReportFailures([&] { const Execution execution(program, "gather", 133); }, diagnostics);
  CHECK(RenderText(diagnostics, nullptr) ==
        "etc: error: the number of SMs is 133, but must be in 0..132 [device]\n");
}

}  // namespace
}  // namespace etc::test
