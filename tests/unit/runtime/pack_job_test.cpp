// What the packing kernel does, run on the host, against packing by threads: the same bytes for all
// layouts, dtypes and odd sizes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/dtype.h"
#include "runtime/weights/device_packer.h"
#include "runtime/weights_manifest.h"

namespace etc::test {
namespace {

using runtime::Checkpoint;
using runtime::WeightPiece;
using runtime::WeightPlan;

manifest::Expr Extent(int64_t value) {
  manifest::Expr number;
  number.value = value;
  return number;
}

struct Dtypes {
  const char* from;
  etc_dtype to;
  size_t from_bytes;
};
constexpr Dtypes kSame[] = {
    {"U8", ETC_U8, 1}, {"BF16", ETC_BF16, 2}, {"F32", ETC_F32, 4}, {"F64", ETC_F64, 8}};
constexpr Dtypes kConverted[] = {{"F32", ETC_BF16, 4}, {"F16", ETC_BF16, 2}, {"F32", ETC_F16, 4},
                                 {"BF16", ETC_F16, 2}, {"BF16", ETC_F32, 2}, {"F16", ETC_F32, 2}};

/// One parameter `table` [rows, columns], of random bits: NaNs, subnormals and all.
struct Table {
  Table(const Dtypes& dtypes, int64_t rows, int64_t columns, std::optional<manifest::Tile> tile) {
    std::mt19937 random(static_cast<unsigned>(rows * 31 + columns));
    std::string bytes(static_cast<size_t>(rows * columns) * dtypes.from_bytes, '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(random());
    }
    dir.Write("model.safetensors",
              SafetensorsWriter().Add("table", dtypes.from, {rows, columns}, bytes).File());
    const runtime::Status status = checkpoint.Open(dir.File("model.safetensors"));
    REQUIRE_MESSAGE(status.Ok(), status.message);
    manifest::Param param;
    param.name = "table";
    param.sources = {{"table", {}}};
    param.dtype = dtypes.to;
    param.shape = {Extent(rows), Extent(columns)};
    param.tile = tile;
    graph.params = {param};
  }
  WeightPlan Plan() const {
    WeightPlan plan = runtime::PlanWeights(graph, checkpoint, "");
    REQUIRE(plan.problems.empty());
    return plan;
  }
  TempDir dir;
  Checkpoint checkpoint;
  manifest::Graph graph;
};

std::vector<char> PackedByThreads(const WeightPlan& plan, int64_t most) {
  std::vector<char> memory(static_cast<size_t>(plan.params[0].Bytes()), '?');
  std::vector<char> scratch;
  for (const WeightPiece& piece : runtime::CutIntoPieces(plan, most)) {
    CHECK(runtime::FillPiece(plan, piece, &scratch, memory.data() + piece.At()).Ok());
  }
  return memory;
}

/// Aligned as a device's memory is.
struct DeviceRoom {
  explicit DeviceRoom(int64_t bytes)
      : data(static_cast<char*>(
            std::aligned_alloc(256, (static_cast<size_t>(bytes) + 256) / 256 * 256))) {
    std::memset(data, '?', static_cast<size_t>(bytes));
  }
  ~DeviceRoom() { std::free(data); }
  DeviceRoom(const DeviceRoom&) = delete;
  DeviceRoom& operator=(const DeviceRoom&) = delete;
  char* data;
};

std::vector<char> PackedByKernel(const WeightPlan& plan, int64_t most) {
  const auto bytes = static_cast<size_t>(plan.params[0].Bytes());
  const DeviceRoom memory(static_cast<int64_t>(bytes));
  std::vector<char> scratch;
  for (WeightPiece& piece : runtime::CutIntoPieces(plan, most)) {
    REQUIRE(runtime::IsForDevice(plan, piece));
    piece.is_raw = true;
    const DeviceRoom place(piece.ReadBytes());
    CHECK(runtime::FillPiece(plan, piece, &scratch, place.data).Ok());
    runtime::PackJob job = runtime::MakePackJob(plan, piece);
    job.from = place.data;
    job.to = memory.data + piece.At();
    for (uint32_t unit = 0; unit < job.units; ++unit) {
      runtime::PackUnit(job, unit);
    }
  }
  return {memory.data, memory.data + bytes};
}

void CheckAlike(const Dtypes& dtypes, int64_t rows, int64_t columns,
                std::optional<manifest::Tile> tile) {
  const Table table(dtypes, rows, columns, tile);
  const WeightPlan plan = table.Plan();
  const std::vector<char> expected = PackedByThreads(plan, 1 << 20);
  for (const int64_t most : {1, 600, 1 << 20}) {
    CAPTURE(most);
    CHECK(PackedByKernel(plan, most) == expected);
  }
}

TEST_CASE("a kernel makes the tiles that threads make, bit by bit") {
  const manifest::Tile tiles[] = {{8, 32, false}, {8, 32, true}, {16, 16, true}, {24, 64, true},
                                  {1, 1, false},  {2, 4, false}, {3, 5, false},  {17, 3, false}};
  for (const manifest::Tile& tile : tiles) {
    for (const auto& [bands, across] : {std::pair{1, 1}, {1, 17}, {3, 1}, {17, 3}}) {
      CAPTURE(tile.rows);
      CAPTURE(tile.columns);
      CAPTURE(bands);
      CAPTURE(across);
      const auto check = [&](const Dtypes& dtypes) {
        const int64_t line = tile.columns * runtime::FindDType(dtypes.to)->bytes;
        if (!tile.swizzle || line == 32 || line == 64 || line == 128) {
          CAPTURE(dtypes.from);
          CheckAlike(dtypes, bands * tile.rows, across * tile.columns, tile);
        }
      };
      std::for_each(std::begin(kSame), std::end(kSame), check);
      std::for_each(std::begin(kConverted), std::end(kConverted), check);
    }
  }
}

TEST_CASE("a kernel converts rows of any length") {
  for (const Dtypes& dtypes : kConverted) {
    for (const int64_t columns : {1, 3, 17, 1000}) {
      CAPTURE(dtypes.from);
      CAPTURE(columns);
      CheckAlike(dtypes, 3, columns, std::nullopt);
    }
  }
}

TEST_CASE("what is only copied, and what is too large, is not for the device") {
  const auto is_for_device = [](const Table& table) {
    const WeightPlan plan = table.Plan();
    return runtime::IsForDevice(plan, runtime::CutIntoPieces(plan, 1 << 20).front());
  };
  CHECK_FALSE(is_for_device(Table({"F32", ETC_F32, 4}, 3, 5, std::nullopt)));
  CHECK(is_for_device(Table({"F32", ETC_BF16, 4}, 3, 5, std::nullopt)));
  const int64_t widest = (int64_t{64} << 20) / 8;  // of a band of 8 rows of one byte
  CHECK(is_for_device(Table({"U8", ETC_U8, 1}, 8, widest, manifest::Tile{8, 32, false})));
  CHECK_FALSE(
      is_for_device(Table({"U8", ETC_U8, 1}, 8, widest + 32, manifest::Tile{8, 32, false})));
}

}  // namespace
}  // namespace etc::test
