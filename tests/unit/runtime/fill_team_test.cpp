// Threads that fill pieces together.
#include "runtime/weights/fill_team.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/weights_manifest.h"

namespace etc::test {
namespace {

using runtime::FillTeam;
using runtime::WeightPiece;
using std::chrono::milliseconds;

manifest::Expr Extent(int64_t value) {
  manifest::Expr number;
  number.value = value;
  return number;
}

/// `table` [3, 700001] of bytes, a tensor for each index, in pieces of several parts that begin and
/// end inside of tensors.
struct Table {
  static constexpr int64_t kTensors = 3, kBytes = 700001;

  explicit Table(int64_t most = 1 << 20) {
    SafetensorsWriter writer;
    for (int64_t i = 0; i < kTensors; ++i) {
      std::string bytes(kBytes, '\0');
      for (size_t at = 0; at < bytes.size(); ++at) {
        bytes[at] = static_cast<char>((at * 2654435761U) >> 13);
      }
      bytes[0] = static_cast<char>(i + 1);
      writer.Add("rows." + std::to_string(i), "U8", {kBytes}, bytes);
      expected += bytes;
    }
    dir.Write("model.safetensors", writer.File());
    REQUIRE(checkpoint.Open(path()).Ok());
    manifest::Param param;
    param.name = "table";
    param.sources = {{"rows.{l}", {}}};
    param.dtype = ETC_U8;
    param.shape = {Extent(kTensors), Extent(kBytes)};
    graph.params = {param};
    plan = runtime::PlanWeights(graph, checkpoint, "");
    REQUIRE(plan.problems.empty());
    pieces = runtime::CutIntoPieces(plan, most);
    memory.resize(expected.size(), '?');
  }
  std::string path() const { return dir.File("model.safetensors"); }
  char* At(size_t piece) { return memory.data() + pieces[piece].At(); }
  bool IsThere(const WeightPiece& piece) const {
    const auto at = static_cast<size_t>(piece.At()), bytes = static_cast<size_t>(piece.Bytes());
    return memory.compare(at, bytes, expected, at, bytes) == 0;
  }

  TempDir dir;
  runtime::Checkpoint checkpoint;
  manifest::Graph graph;
  runtime::WeightPlan plan;
  std::vector<WeightPiece> pieces;
  std::string expected;
  std::string memory;
};

TEST_CASE("any number of threads fills each piece, and says so once and when it is whole") {
  for (const int64_t most : {1 << 18, 1 << 20, 1 << 22}) {
    for (size_t threads = 1; threads <= 16; ++threads) {
      CAPTURE(most);
      CAPTURE(threads);
      Table table(most);
      std::vector<std::atomic<int>> whole(table.pieces.size());
      FillTeam team(
          table.plan, table.pieces, threads, [&](size_t piece) { return table.At(piece); },
          [&](size_t piece) { whole[piece] += table.IsThere(table.pieces[piece]) ? 1 : 100; });
      REQUIRE(team.Start().Ok());
      while (!team.WaitForEnd(milliseconds(100))) {
      }
      CHECK(team.status().Ok());
      for (const std::atomic<int>& each : whole) {
        CHECK(each == 1);
      }
      CHECK((table.memory == table.expected));
    }
  }
}

TEST_CASE("threads pack whole bands of tiles") {
  SafetensorsWriter writer;
  for (const char* name : {"rows.0", "rows.1"}) {
    std::vector<float> values(size_t{1200} * 1000);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i % 65521) + static_cast<float>(name[5]);
    }
    writer.Add(name, "F32", {1200, 1000}, values);
  }
  const TempDir dir;
  dir.Write("model.safetensors", writer.File());
  runtime::Checkpoint checkpoint;
  REQUIRE(checkpoint.Open(dir.File("model.safetensors")).Ok());
  for (const etc_dtype dtype : {ETC_F32, ETC_BF16}) {
    manifest::Param param;
    param.name = "table";
    param.sources = {{"rows.{l}", {}}};
    param.dtype = dtype;
    param.shape = {Extent(2), Extent(1200), Extent(1000)};
    param.tile = manifest::Tile{8, 20, false};
    manifest::Graph graph;
    graph.params = {param};
    const runtime::WeightPlan plan = runtime::PlanWeights(graph, checkpoint, "");
    REQUIRE(plan.problems.empty());
    const std::vector<WeightPiece> pieces = runtime::CutIntoPieces(plan, 1 << 22);
    REQUIRE(pieces.size() > 2);
    std::string expected(static_cast<size_t>(plan.params[0].Bytes()), '?');
    std::string memory = expected;
    std::vector<char> scratch;
    for (const WeightPiece& piece : pieces) {
      REQUIRE(runtime::PartElements(plan, piece) < piece.elements);
      REQUIRE(runtime::FillPiece(plan, piece, &scratch, expected.data() + piece.At()).Ok());
    }
    FillTeam team(
        plan, pieces, 3, [&](size_t piece) { return memory.data() + pieces[piece].At(); },
        [](size_t) {});
    REQUIRE(team.Start().Ok());
    while (!team.WaitForEnd(milliseconds(100))) {
    }
    CHECK(team.status().Ok());
    CHECK((memory == expected));
  }
}

TEST_CASE("threads share one piece") {
  Table table(1 << 22);
  REQUIRE(table.pieces.size() == 1);
  std::mutex mutex;
  std::condition_variable came;
  int waiting = 0;
  bool have_met = true;
  FillTeam team(
      table.plan, table.pieces, 4,
      [&](size_t piece) {
        std::unique_lock lock(mutex);
        ++waiting;
        came.notify_all();
        have_met &= came.wait_for(lock, std::chrono::seconds(20), [&] { return waiting >= 4; });
        return table.At(piece);
      },
      [](size_t) {});
  REQUIRE(team.Start().Ok());
  while (!team.WaitForEnd(milliseconds(100))) {
  }
  CHECK(have_met);
  CHECK((table.memory == table.expected));
}

TEST_CASE("a thread that gets no place ends") {
  Table table;
  FillTeam team(
      table.plan, table.pieces, 3, [](size_t) { return nullptr; },
      [](size_t) { FAIL("nothing was filled"); });
  REQUIRE(team.Start().Ok());
  while (!team.WaitForEnd(milliseconds(100))) {
  }
  CHECK(team.status().Ok());
}

TEST_CASE("a part that cannot be read leaves its piece open and ends the team") {
  Table table(1 << 22);
  std::filesystem::resize_file(table.path(), 1 << 20);
  FillTeam team(
      table.plan, table.pieces, 2, [&](size_t piece) { return table.At(piece); },
      [](size_t) { FAIL("the piece is not whole"); });
  REQUIRE(team.Start().Ok());
  while (!team.WaitForEnd(milliseconds(100))) {
  }
  CHECK(team.status().code == ETC_ERROR_FILE);
}

}  // namespace
}  // namespace etc::test
