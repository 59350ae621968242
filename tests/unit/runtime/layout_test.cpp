// Packing on the host: `table`, [10, width], in tiles of 2 x 4.
#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "runtime/gather_run.h"

namespace etc::test {
namespace {

using nlohmann::json;

json TiledManifest() {
  json manifest = GatherManifest();
  manifest["graphs"][0]["params"][1]["layout"]["tile"] = {2, 4};
  return manifest;
}

std::vector<float> Numbers(size_t count) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  return numbers;
}

TEST_CASE("elements go tile by tile, and back") {
  Gather gather(TiledManifest());
  const etc_param_info ids = gather.program.Param(nullptr, 0);
  const etc_param_info table = gather.program.Param(nullptr, 1);
  CHECK(ids.has_tile == 0);
  CHECK(table.has_tile == 1);
  CHECK(table.tile[0] == 2);
  CHECK(table.tile[1] == 4);

  const std::vector<float> plain = Numbers(80);
  std::vector<float> packed(80), back(80);
  gather.program.Pack("gather", "table", {10, 8}, plain.data(), packed.data());
  for (size_t row = 0; row < 10; ++row) {
    for (size_t column = 0; column < 8; ++column) {
      const size_t tile = row / 2 * 2 + column / 4;
      CHECK(packed[tile * 8 + row % 2 * 4 + column % 4] == plain[row * 8 + column]);
    }
  }
  gather.program.Unpack(nullptr, "table", {10, 8}, packed.data(), back.data());
  CHECK(back == plain);
}

TEST_CASE("a tensor without elements is packed from and to null") {
  json manifest = TiledManifest();
  for (json& dim : manifest["graphs"][0]["dims"]) {
    dim["min"] = 0;
  }
  Gather gather(manifest);
  gather.program.Pack(nullptr, "table", {10, 0}, nullptr, nullptr);
  gather.program.Unpack(nullptr, "table", {10, 0}, nullptr, nullptr);
  const Failure failure = FailureOf([&] {
    gather.program.Pack(nullptr, "table", {10, 8}, nullptr, nullptr);
  });
  CHECK(failure.status == ETC_ERROR_ARGUMENT);
  CHECK(failure.text == "`row_major` is null");
}

/// `table`, [16, width], in swizzled tiles of 8 rows.
json SwizzledManifest(int64_t columns) {
  json manifest = GatherManifest();
  json& table = manifest["graphs"][0]["params"][1];
  table["shape"][0] = 16;
  table["layout"] = {{"tile", {8, columns}}, {"swizzle", true}};
  return manifest;
}

TEST_CASE("the pieces of a swizzled tile's row change places") {
  // Of 32, 64 and 128 bytes in a row. After each 128 bytes the pieces stand in another order.
  for (const size_t columns : {8, 16, 32}) {
    Gather gather(SwizzledManifest(static_cast<int64_t>(columns)));
    CHECK(gather.program.Param(nullptr, 0).swizzle == 0);
    CHECK(gather.program.Param(nullptr, 1).swizzle == 1);
    const std::vector<float> plain = Numbers(16 * 64);
    std::vector<float> packed(plain.size()), back(plain.size());
    gather.program.Pack("gather", "table", {16, 64}, plain.data(), packed.data());
    const size_t pieces = columns / 4, rows_of_an_order = 32 / columns;
    for (size_t row = 0; row < 16; ++row) {
      for (size_t column = 0; column < 64; ++column) {
        const size_t tile = row / 8 * (64 / columns) + column / columns;
        const size_t place = (column / 4 % pieces) ^ (row % 8 / rows_of_an_order % pieces);
        CHECK(packed[tile * 8 * columns + row % 8 * columns + place * 4 + column % 4] ==
              plain[row * 64 + column]);
      }
    }
    gather.program.Unpack(nullptr, "table", {16, 64}, packed.data(), back.data());
    CHECK(back == plain);
  }
}

TEST_CASE("leading axes are rows") {
  json manifest = TiledManifest();
  manifest["graphs"][0]["params"][1]["shape"] = {3, 2, "width"};
  Gather gather(manifest);
  const std::vector<float> plain = Numbers(24);
  std::vector<float> packed(24);
  gather.program.Pack(nullptr, "table", {3, 2, 4}, plain.data(), packed.data());
  CHECK(packed == plain);  // a tile is as wide as the tensor
}

TEST_CASE("what does not fit is an error") {
  Gather gather(TiledManifest());
  const std::vector<float> plain = Numbers(80);
  std::vector<float> packed(80, -1.0F);
  const auto failure = [&](const char* param, const std::vector<int64_t>& shape) {
    return FailureOf(
        [&] { gather.program.Pack(nullptr, param, shape, plain.data(), packed.data()); });
  };
  CHECK(failure("tables", {10, 8}).status == ETC_ERROR_NOT_FOUND);
  CHECK(failure("tables", {10, 8}).text == "graph `gather` has no parameter `tables`");
  CHECK(failure("ids", {10}).status == ETC_ERROR_ARGUMENT);
  CHECK(failure("ids", {10}).text ==
        "parameter `ids`: it is row-major; only a parameter with a layout is packed");
  CHECK(failure("table", {80}).text == "parameter `table`: the rank is 1, but must be 2");
  CHECK(failure("table", {8, 8}).text == "parameter `table`: extent 0 is 8, but must be 10");
  CHECK(failure("table", {10, 6}).text ==
        "parameter `table`: extent 1, `width`, is 6, but must be a multiple of 4");
  CHECK(failure("table", {10, 2048}).status == ETC_ERROR_BIND);
  CHECK(packed == std::vector<float>(80, -1.0F));

  const etc_program* program = gather.program.get();
  const int64_t shape[] = {10, 8};
  CHECK(etc_pack(program, nullptr, "table", shape, 2, packed.data(), packed.data() + 79) ==
        ETC_ERROR_ARGUMENT);
  CHECK(std::string(etc_last_error()) ==
        "source and destination overlap; there is no packing in place");
  CHECK(etc_pack(program, nullptr, "table", nullptr, 2, plain.data(), packed.data()) ==
        ETC_ERROR_ARGUMENT);
  CHECK(etc_unpack(program, nullptr, "table", shape, 2, nullptr, packed.data()) ==
        ETC_ERROR_ARGUMENT);
}

TEST_CASE("an extent that only a tile refuses") {
  json manifest = TiledManifest();
  manifest["graphs"][0]["params"][1]["layout"]["tile"] = {2, 8};
  Gather gather(manifest);
  const std::vector<float> plain = Numbers(40);
  std::vector<float> packed(40);
  CHECK(FailureOf([&] {
          gather.program.Pack(nullptr, "table", {10, 4}, plain.data(), packed.data());
        }).text == "parameter `table`: extent 1 is 4, but its tiles have 8");
}

TEST_CASE("a packed tensor is bound by the shape of its tiles, a row-major one not at all") {
  Gather gather(TiledManifest());
  alignas(16) float memory[128] = {};
  const auto bind = [&](const std::vector<int64_t>& shape) {
    return FailureOf([&] { gather.instance.Bind("table", memory, ETC_F32, shape); }).text;
  };
  const std::string hint = ": a packed tensor (etc_pack) has the shape [..., n / 2, k / 4, 2, 4]";
  CHECK(bind({10, 8}) == "parameter `table`: the rank is 2, but must be 4" + hint);
  CHECK(bind({5, 2, 4, 2}) == "parameter `table`: extent 2 is 4, but its tiles have 2");
  CHECK(bind({5, 2, 2, 2}) == "parameter `table`: extent 3 is 2, but its tiles have 4");
  CHECK(bind({6, 2, 2, 4}) == "parameter `table`: extent 0 is 12, but must be 10");
  CHECK(bind({5, int64_t{1} << 62, 2, 4}) == "parameter `table`: its size in bytes overflows");

  gather.instance.Bind("table", memory, ETC_F32, {5, 2, 2, 4});
  CHECK(gather.instance.Dim("width") == 8);
  const int64_t shape[] = {5, 2, 2, 4}, transposed[] = {16, 4, 8, 1};
  CHECK(FailureOf([&] {
          gather.instance.Bind("table", {memory, ETC_F32, 4, shape, transposed});
        }).text ==
        "parameter `table`: stride 2 is 8, but a dense row-major tensor of its shape has 4");
}

TEST_CASE("the shape of a packed tensor") {
  const int64_t tile[] = {2, 4}, none[] = {0, 0};
  CHECK(PackedShape({3, 10, 8}, tile) == std::vector<int64_t>{3, 5, 2, 2, 4});
  CHECK(PackedShape({7}, none) == std::vector<int64_t>{7});
  CHECK(FailureOf([&] {
          PackedShape({10, 6}, tile);
        }).text == "extent 1 is 6, but its tiles have 4");
  CHECK(FailureOf([&] { PackedShape({8}, tile); }).status == ETC_ERROR_BIND);
}

}  // namespace
}  // namespace etc::test
