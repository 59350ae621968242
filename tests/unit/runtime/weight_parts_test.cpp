// The parts that ranks have of tensors of a checkpoint.
#include <doctest/doctest.h>

#include <vector>

#include "runtime/weights/device_packer.h"
#include "runtime/weights/pieces.h"
#include "runtime/weights_manifest.h"

namespace etc::test {
namespace {

using runtime::Checkpoint;
using runtime::ParamWeights;
using runtime::RankOf;
using runtime::WeightPlan;

constexpr int64_t kLayers = 2, kRows = 16, kColumns = 32, kRanks = 2;

manifest::Expr Number(int64_t value) {
  manifest::Expr number;
  number.value = value;
  return number;
}
manifest::Expr OfEach(int64_t value) {
  manifest::Expr ranks;
  ranks.kind = manifest::Expr::Kind::Dim;
  manifest::Expr quotient;
  quotient.kind = manifest::Expr::Kind::Apply;
  quotient.op = manifest::Op::Div;
  quotient.args = {Number(value), ranks};
  return quotient;
}

/// One parameter [2, 16, 32] of f32, of which each of two ranks has a part along an axis.
manifest::Graph Sharded(int64_t axis, bool tiled) {
  manifest::Graph graph;
  graph.dims = {{"tp", kRanks, kRanks, 1}};
  graph.mesh = {0, {kRanks}};
  manifest::Param param;
  param.name = "table";
  param.sources = {{"rows.{l}", {}}};
  param.shard = axis;
  for (const int64_t extent : {kLayers, kRows, kColumns}) {
    const bool shared = static_cast<int64_t>(param.shape.size()) == axis;
    param.shape.push_back(shared ? OfEach(extent) : Number(extent));
  }
  if (tiled) {
    param.tile = manifest::Tile{8, 8, false};
  }
  graph.params = {param};
  return graph;
}

/// The same of four ranks, with as many parts.
manifest::Graph SharedByFour(int64_t axis) {
  manifest::Graph graph = Sharded(axis, false);
  graph.dims = {{"tp", 4, 4, 1}};
  graph.mesh = {0, {4}};
  manifest::Param& param = graph.params[0];
  param.parts = Number(kRanks);
  param.shape[static_cast<size_t>(axis)].args[1] = Number(kRanks);
  return graph;
}

struct Folder {
  explicit Folder(const std::string& file) {
    dir.Write("model.safetensors", file);
    const runtime::Status status = checkpoint.Open(dir.File("model.safetensors"));
    REQUIRE_MESSAGE(status.Ok(), status.message);
  }
  TempDir dir;
  Checkpoint checkpoint;
};

std::vector<float> Filled(const WeightPlan& plan, int64_t most) {
  const ParamWeights& weights = plan.params.at(0);
  std::vector<float> memory(static_cast<size_t>(weights.elements), -1);
  std::vector<char> scratch;
  for (const runtime::WeightPiece& piece : runtime::CutIntoPieces(plan, most)) {
    char* to = reinterpret_cast<char*>(memory.data()) + piece.At();
    CHECK(runtime::FillPiece(plan, piece, &scratch, to).Ok());
  }
  return memory;
}

/// The same through what the packing kernel does.
std::vector<float> FilledByDevice(const WeightPlan& plan, int64_t most) {
  std::vector<float> memory(static_cast<size_t>(plan.params.at(0).elements), -1);
  std::vector<char> scratch;
  for (runtime::WeightPiece& piece : runtime::CutIntoPieces(plan, most)) {
    piece.is_raw = true;
    std::vector<float> place(static_cast<size_t>(piece.elements));
    CHECK(runtime::FillPiece(plan, piece, &scratch, reinterpret_cast<char*>(place.data())).Ok());
    runtime::PackJob job = runtime::MakePackJob(plan, piece);
    job.from = place.data();
    job.to = reinterpret_cast<char*>(memory.data()) + piece.At();
    for (uint32_t unit = 0; unit < job.units; ++unit) {
      runtime::PackUnit(job, unit);
    }
  }
  return memory;
}

/// What a rank has along an axis, or all of it, element by element: `value(layer, row, column)`.
template <class Value>
std::vector<float> PartOf(int64_t rank, std::optional<int64_t> axis, const Value& value) {
  const int64_t layers = axis == 0 ? kLayers / kRanks : kLayers;
  const int64_t rows = axis == 1 ? kRows / kRanks : kRows;
  const int64_t columns = axis == 2 ? kColumns / kRanks : kColumns;
  std::vector<float> part;
  for (int64_t layer = 0; layer < layers; ++layer) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        const int64_t of_layer = layer + (axis == 0 ? rank * layers : 0);
        const int64_t of_row = row + (axis == 1 ? rank * rows : 0);
        const int64_t of_column = column + (axis == 2 ? rank * columns : 0);
        part.push_back(static_cast<float>(value(of_layer, of_row, of_column)));
      }
    }
  }
  return part;
}

std::vector<float> Expected(int64_t rank, int64_t axis) {
  return PartOf(rank, axis, [](int64_t layer, int64_t row, int64_t column) {
    return layer * 1000 + row * kColumns + column;
  });
}

TEST_CASE("a rank has its part of each tensor along any axis, in pieces of any size") {
  Folder folder(TwoTensors());
  for (const int64_t axis : {0, 1, 2}) {
    for (const int64_t rank : {0, 1}) {
      for (const int64_t most : {4, 52, 4096}) {
        CAPTURE(axis);
        CAPTURE(rank);
        CAPTURE(most);
        const manifest::Graph graph = Sharded(axis, false);
        const WeightPlan plan = runtime::PlanWeights(graph, folder.checkpoint, "", {rank, kRanks});
        REQUIRE(plan.problems.empty());
        CHECK(Filled(plan, most) == Expected(rank, axis));
      }
    }
  }
}

TEST_CASE("a rank's part is packed as a tensor of its own") {
  Folder folder(TwoTensors());
  for (const int64_t axis : {1, 2}) {
    const manifest::Graph graph = Sharded(axis, true);
    const WeightPlan plan = runtime::PlanWeights(graph, folder.checkpoint, "", {1, kRanks});
    REQUIRE(plan.problems.empty());
    const std::vector<float> plain = Expected(1, axis);
    std::vector<float> packed(plain.size());
    CHECK(runtime::CopyOnHost(*plan.params[0].tiled, runtime::Packing::Pack, plain.data(),
                              packed.data())
              .Ok());
    CHECK(packed != plain);
    CHECK(Filled(plan, 64) == packed);
    CHECK(Filled(plan, 1 << 20) == packed);
    CHECK(FilledByDevice(plan, 64) == packed);
    CHECK(FilledByDevice(plan, 1 << 20) == packed);
  }
}

TEST_CASE("ranks that follow each other share a part") {
  Folder folder(TwoTensors());
  for (const int64_t axis : {0, 1, 2}) {
    for (const int64_t rank : {0, 1, 2, 3}) {
      CAPTURE(axis);
      CAPTURE(rank);
      const manifest::Graph graph = SharedByFour(axis);
      const WeightPlan plan = runtime::PlanWeights(graph, folder.checkpoint, "", {rank, 4});
      REQUIRE(plan.problems.empty());
      CHECK(Filled(plan, 4096) == Expected(rank / 2, axis));
    }
  }
}

/// [2, 16, 32], of which two ranks have parts along an axis, from ranges of larger tensors.
constexpr int64_t kFirstRow = 3, kFirstColumn = 5, kAllRows = 24, kAllColumns = 40;
manifest::Graph Ranged(std::optional<int64_t> axis, bool of_columns) {
  manifest::Graph graph = Sharded(axis.value_or(0), false);
  manifest::Param& param = graph.params[0];
  if (!axis) {
    param.shard.reset();
    param.shape[0] = Number(kLayers);
  }
  param.sources = {{"none.{l}", {}}, {"rows.{l}", {{{kFirstRow, kFirstRow + kRows, kAllRows}}}}};
  if (of_columns) {
    param.sources[1].ranges.push_back({{kFirstColumn, kFirstColumn + kColumns, kAllColumns}});
  }
  return graph;
}

std::string LargerTensors(int64_t columns, int64_t rows = kAllRows) {
  SafetensorsWriter writer;
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    std::vector<float> values;
    for (int64_t i = 0; i < rows * columns; ++i) {
      values.push_back(static_cast<float>(layer * 10000 + i));
    }
    writer.Add("rows." + std::to_string(layer), "F32", {rows, columns}, values);
  }
  return writer.File();
}

TEST_CASE("a parameter may be a range of each axis of its tensors, also of several ranks") {
  for (const bool of_columns : {false, true}) {
    const int64_t columns = of_columns ? kAllColumns : kColumns;
    Folder folder(LargerTensors(columns));
    for (const std::optional<int64_t> axis : {std::optional<int64_t>(), {0}, {1}, {2}}) {
      for (const int64_t rank : {0, 1}) {
        for (const int64_t most : {4, 52, 4096}) {
          CAPTURE(of_columns);
          CAPTURE(axis.value_or(-1));
          CAPTURE(rank);
          CAPTURE(most);
          const manifest::Graph graph = Ranged(axis, of_columns);
          const WeightPlan plan =
              runtime::PlanWeights(graph, folder.checkpoint, "", {rank, kRanks});
          REQUIRE(plan.problems.empty());
          const int64_t first = kFirstRow * columns + (of_columns ? kFirstColumn : 0);
          CHECK(Filled(plan, most) ==
                PartOf(rank, axis, [&](int64_t layer, int64_t row, int64_t column) {
                  return layer * 10000 + row * columns + column + first;
                }));
        }
      }
    }
  }
}

TEST_CASE("zeros come behind the rows of a padded tensor, also of several ranks") {
  for (const int64_t there : {1, 8, 11, 16}) {  // of 16; 8 are those of a rank
    Folder folder(LargerTensors(kColumns, there));
    for (const std::optional<int64_t> axis : {std::optional<int64_t>(), {1}, {2}}) {
      for (const int64_t rank : {0, 1}) {
        for (const int64_t most : {4, 52, 4096}) {
          CAPTURE(there);
          CAPTURE(axis.value_or(-1));
          CAPTURE(rank);
          CAPTURE(most);
          manifest::Graph graph = Ranged(axis, false);
          graph.params[0].sources[1].ranges = {{{0, there, there, true}}};
          const WeightPlan plan =
              runtime::PlanWeights(graph, folder.checkpoint, "", {rank, kRanks});
          REQUIRE(plan.problems.empty());
          CHECK(Filled(plan, most) ==
                PartOf(rank, axis, [&](int64_t layer, int64_t row, int64_t column) {
                  return row < there ? layer * 10000 + row * kColumns + column : 0;
                }));
        }
      }
    }
  }
}

TEST_CASE("an axis of which a range is taken has the extent that the range says") {
  Folder folder(LargerTensors(kColumns));
  const auto problem = [&](std::vector<std::optional<manifest::Source::Range>> ranges) {
    manifest::Graph graph = Ranged(std::nullopt, false);
    graph.params[0].sources[1].ranges = std::move(ranges);
    const WeightPlan plan = runtime::PlanWeights(graph, folder.checkpoint, "", {});
    return plan.problems.empty() ? "" : plan.problems.front().text;
  };
  CHECK(problem({{{8, 24, 24}}}).empty());
  CHECK(problem({{{0, 16, 23}}}) ==
        "tensor `rows.0` has the shape [24, 32], but must have [23, 32]");
  CHECK(problem({{{0, 16, 24}}, {{0, 32, 33}}}) ==
        "tensor `rows.0` has the shape [24, 32], but must have [24, 33]");
  CHECK(problem({{{0, 15, 24}}}) == "`rows.{l}` has a range of 15 elements for an axis of 16");
  CHECK(problem({{{0, 17, 17, true}}}) == "`rows.{l}` pads axis 0 of 17 elements to 16");
  CHECK(problem({{{8, 24, 24}}, {{0, 31, 31, true}}}) ==
        "`rows.{l}` pads axis 1 of 31 elements to 32, but only the first axis can be padded");
  CHECK(problem({{{0, 15, 15, true}}}) ==
        "tensor `rows.0` has the shape [24, 32], but must have [15, 32]");
  CHECK(problem({std::nullopt, std::nullopt, {{0, 16, 24}}}) ==
        "`rows.{l}` has 3 ranges, too many for 2 axes");
}

TEST_CASE("of several names one has to be there") {
  Folder folder(SafetensorsWriter().Add("other", "F32", {1}, std::vector<float>{0}).File());
  const WeightPlan plan =
      runtime::PlanWeights(Ranged(std::nullopt, false), folder.checkpoint, "", {});
  REQUIRE(plan.problems.size() == 1);
  CHECK(plan.problems[0].text == "none of the tensors `none.0`, `rows.0` is there");
}

TEST_CASE("parameters with ranges of their own share no memory") {
  Folder folder(LargerTensors(kColumns));
  manifest::Graph graph = Ranged(std::nullopt, false);
  graph.params.resize(3, graph.params[0]);
  graph.params[1].sources[1].ranges[0] = {0, kRows, kAllRows};
  const WeightPlan plan = runtime::PlanWeights(graph, folder.checkpoint, "", {});
  REQUIRE(plan.params.size() == 3);
  CHECK(!plan.params[1].same_as);
  CHECK(plan.params[2].same_as == 0);
}

TEST_CASE("the tensors of a checkpoint are whole") {
  std::vector<float> half(size_t{8} * 32);
  Folder folder(SafetensorsWriter()
                    .Add("rows.0", "F32", {8, 32}, half)
                    .Add("rows.1", "F32", {8, 32}, half)
                    .File());
  const manifest::Graph graph = Sharded(1, false);
  const WeightPlan plan = runtime::PlanWeights(graph, folder.checkpoint, "", {0, kRanks});
  REQUIRE(plan.problems.size() == 2);
  CHECK(plan.problems[0].text == "tensor `rows.0` has the shape [8, 32], but must have [16, 32]");
}

TEST_CASE("what is wrong with a parameter is said without its name") {
  Folder folder(TwoTensors());
  const auto problem = [&](const manifest::Graph& graph) {
    const WeightPlan plan = runtime::PlanWeights(graph, folder.checkpoint, "", {0, kRanks});
    REQUIRE(plan.problems.size() == 1);
    return plan.problems[0].text;
  };
  manifest::Graph graph = Sharded(1, true);
  graph.params[0].tile->rows = 16;
  CHECK(problem(graph) == "extent 1 is 8, but its tiles have 16");
  graph.params[0].shape[1].args[1] = Number(0);
  CHECK(problem(graph).starts_with("extent 1 divides by zero"));
}

}  // namespace
}  // namespace etc::test
