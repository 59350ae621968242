#include "bench/tensors.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "compile/front.h"
#include "compile/pipeline.h"
#include "compile/program_builder.h"

namespace etc::test {
namespace {

constexpr const char* kSource = R"(etir 1;
dim n in 8..268435456;
device @copy(%ids: i32[8], %x: f32[n], %y: out f32[n], %z: inout i32[8]) tasks (t: 1) {
  %y[0] = %x[%ids[0]];
  %z[0] = %z[0] + 1;
}
graph @g(%ids: i32[8] in 0..8 distinct, %x: f32[n], %y: out f32[n], %z: inout i32[8] in 3..6) {
  call @copy(%ids, %x, %y, %z);
}
)";

/// The program, built for the host.
struct Built {
  Built() {
    REQUIRE(scratch.Write("m.etir", kSource));
    SourceOptions source;
    source.file = scratch.path() + "/m.etir";
    auto module = LoadModule(source, session);
    PhaseTimer timer;
    REQUIRE(module != nullptr);
    REQUIRE(RunPasses(*module, StaticPipeline(), {}, timer, session));
    TargetOptions target;
    target.arch = Arch::Host;
    program = builder.Build(*module, target, "m");
    REQUIRE(program.has_value());
    graph = ViewGraphs(*program).front();
  }

  ScratchDirectory scratch;
  Session session{DiagnosticsFormat::Text};
  ProgramBuilder builder{session, {}};
  std::optional<Program> program;
  GraphView graph;
};

/// A host of which the memory is known.
class SmallPlace : public BenchPlace {
 public:
  std::string Name() const override { return "a small place"; }
  int64_t MemoryBytes() const override { return 1'500'000'000; }
  int32_t Sms() const override { return 1; }
  void* Allocate(int64_t bytes) override { return host_->Allocate(bytes); }
  void Fill(void* data, uint8_t value, int64_t bytes) override { host_->Fill(data, value, bytes); }
  void Copy(void* to, const void* from, int64_t bytes) override { host_->Copy(to, from, bytes); }
  void Upload(void* to, const void* host, int64_t bytes) override { Copy(to, host, bytes); }
  void Fetch(void* host, const void* from, int64_t bytes) override { Copy(host, from, bytes); }
  void Wait() override { host_->Wait(); }
  std::unique_ptr<TimedLauncher> Prepare(Instance& instance) override {
    return host_->Prepare(instance);
  }

 private:
  std::unique_ptr<BenchPlace> host_ = MakeHostPlace();
};

TEST_CASE("the tensors of a benchmark") {
  static Built built;
  Diagnostics diagnostics;
  auto place = MakeHostPlace();
  BenchSources sources;

  SUBCASE("a large parameter repeats its first 32 MiB") {
    sources.dims["n"] = 10 << 20;
    auto tensors = MakeBenchTensors(*place, *built.program, built.graph, sources, diagnostics);
    REQUIRE(tensors.has_value());
    const BenchTensor& x = tensors->all[1];
    CHECK(x.bytes == 40 << 20);
    const char* data = static_cast<const char*>(x.data);
    CHECK(std::memcmp(data, data + (32 << 20), 8 << 20) == 0);
    CHECK(std::memcmp(data, data + (8 << 20), 8 << 20) != 0);
    CHECK(tensors->dims.at("n") == 10 << 20);
  }

  SUBCASE("integers keep what is promised of them, and their mean is known") {
    sources.dims["n"] = 8;
    auto tensors = MakeBenchTensors(*place, *built.program, built.graph, sources, diagnostics);
    REQUIRE(tensors.has_value());
    const auto* ids = static_cast<const int32_t*>(tensors->all[0].data);
    CHECK(std::set<int32_t>(ids, ids + 8) == std::set<int32_t>{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(tensors->all[0].mean == 4);  // 3.5
    const auto* z = static_cast<const int32_t*>(tensors->all[3].data);
    CHECK(std::all_of(z, z + 8, [](int32_t value) { return value >= 3 && value < 6; }));
    CHECK(!tensors->all[1].mean);
  }

  SUBCASE("inouts are restored, outs are poisoned, and a value is given to all elements") {
    sources.dims["n"] = 8;
    sources.values["z"] = 4;
    auto tensors = MakeBenchTensors(*place, *built.program, built.graph, sources, diagnostics);
    REQUIRE(tensors.has_value());
    Instance instance(*built.program);
    tensors->BindTo(instance);
    tensors->Poison(*place);
    auto launcher = place->Prepare(instance);
    launcher->LaunchTimed();
    CHECK(launcher->Times().size() == 1);
    const auto* y = static_cast<const float*>(tensors->all[2].data);
    CHECK(y[0] == y[0]);
    CHECK(y[1] != y[1]);
    const auto* z = static_cast<const int32_t*>(tensors->all[3].data);
    CHECK(z[0] == 5);
    tensors->Restore(*place);
    CHECK(z[0] == 4);
    CHECK(z[7] == 4);
  }

  SUBCASE("what is larger than the memory is an error before any of it is made") {
    SmallPlace small;
    sources.dims["n"] = 1 << 28;
    CHECK(!MakeBenchTensors(small, *built.program, built.graph, sources, diagnostics));
    REQUIRE(diagnostics.error_count() == 1);
    CHECK(diagnostics.all()[0].kind == DiagnosticKind::Device);
    CHECK(diagnostics.all()[0].message == "the tensors need 2.1 GB; a small place has 1.5 GB");
  }
}

}  // namespace
}  // namespace etc::test
