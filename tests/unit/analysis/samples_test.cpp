#include "analysis/samples.h"

#include <algorithm>

#include "ir/requirements.h"
#include "verify/verified.h"

namespace etc {
namespace {

std::unique_ptr<Module> Dims(const std::string& dims) {
  return VerifyText("etir 1;\n" + dims).module;
}

TEST_CASE("a module without dimensions has one sample") {
  auto module = Dims("const a = 1;\n");
  std::vector<Sizes> samples = SampleSizes(*module);
  REQUIRE(samples.size() == 1);
  CHECK(Describe(*module, samples[0]) == "");
  CHECK(Describe(*module, samples[0], "i = 3") == ", where i = 3");
}

TEST_CASE("samples hold the ends of the range and what no tile divides") {
  auto module = Dims("dim n in 1..4096;\n");
  std::vector<Sizes> samples = SampleSizes(*module);
  SymbolId n = std::get<SymbolId>(module->items[0]);
  for (int64_t value : {1, 2, 3, 17, 4096}) {
    CHECK(std::any_of(samples.begin(), samples.end(),
                      [&](const Sizes& sizes) { return sizes.dims.at(n) == value; }));
  }
  CHECK(Describe(*module, samples[0]) == ", where n = 1");
  CHECK(Describe(*module, samples[0], "i = 0") == ", where n = 1, i = 0");
}

TEST_CASE("samples stay inside the range and on its multiples, and vary independently") {
  auto module = Dims("dim n in 16..64 multiple 16;\ndim m in 2..5;\n");
  std::vector<Sizes> samples = SampleSizes(*module);
  SymbolId n = std::get<SymbolId>(module->items[0]);
  SymbolId m = std::get<SymbolId>(module->items[1]);
  bool apart = false;
  for (const Sizes& sizes : samples) {
    CHECK(sizes.dims.at(n) % 16 == 0);
    CHECK(sizes.dims.at(n) >= 16);
    CHECK(sizes.dims.at(n) <= 64);
    CHECK(sizes.dims.at(m) >= 2);
    CHECK(sizes.dims.at(m) <= 5);
    apart = apart || (sizes.dims.at(n) == 64 && sizes.dims.at(m) < 5);
  }
  CHECK(apart);
}

TEST_CASE("each range of a specialisation has its own samples and its own bounds") {
  Verified verified = VerifyText(
      "etir 1;\ndim n in 1..64;\n"
      "device @f(%x: out f32[n]) tasks (i: n) {\n  %x[i] = 0.0;\n}\n"
      "graph @g(%x: out f32[n]) specialise (n: 1..8, 9..64) {\n  call @f(%x);\n}\n");
  REQUIRE(verified.ok);
  const Module& module = *verified.module;
  SymbolId n = std::get<SymbolId>(module.items[0]);
  bool saw_nine = false;
  for (const Sizes& sizes : SampleSizes(module, module.graphs[GraphId{0}])) {
    int64_t value = sizes.dims.at(n);
    CHECK(sizes.ranges.at(n).hi == (value <= 8 ? 8 : 64));
    saw_nine = saw_nine || value == 9;
  }
  CHECK(saw_nine);
}

TEST_CASE("samples fulfil the requirements between dimensions, however few sizes do") {
  auto module = Dims(
      "dim n in 0..4096;\ndim m in 64..65536 multiple 64;\nrequire m == 64 * n;\n"
      "require n * n > 100000;\n");
  std::vector<Sizes> samples = SampleSizes(*module);
  SymbolId n = std::get<SymbolId>(module->items[0]);
  SymbolId m = std::get<SymbolId>(module->items[1]);
  REQUIRE_FALSE(samples.empty());
  int64_t least = 4096, largest = 0;
  for (const Sizes& sizes : samples) {
    CHECK(sizes.dims.at(m) == 64 * sizes.dims.at(n));
    least = std::min(least, sizes.dims.at(n));
    largest = std::max(largest, sizes.dims.at(n));
  }
  CHECK(least == 317);
  CHECK(largest == 1024);
}

TEST_CASE("requirements that fail everywhere in a range are seen to") {
  auto module = Dims("dim n in 1..64;\ndim m in 1..1000000;\nrequire m * n <= 5000;\n");
  SymbolId n = std::get<SymbolId>(module->items[0]);
  SymbolId m = std::get<SymbolId>(module->items[1]);
  CHECK(MayHaveSizes(*module, {{n, {10, 64}}}));
  CHECK(MayHaveSizes(*module, {{n, {10, 64}}, {m, {500, 1000}}}));
  CHECK_FALSE(MayHaveSizes(*module, {{n, {10, 64}}, {m, {501, 1000}}}));
  CHECK(RequirementsHold(*module, {{n, 10}, {m, 500}}));
  CHECK_FALSE(RequirementsHold(*module, {{n, 10}, {m, 501}}));
}

}  // namespace
}  // namespace etc
