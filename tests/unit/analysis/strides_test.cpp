// What isl is asked for, of sets with strides, against their points one by one. isl 0.25 joins
// pieces with strides to more than their union, also inside of its own functions.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "analysis/derivation/closed_form.h"
#include "analysis/sets/task_pairs.h"
#include "analysis/sets/task_scope.h"
#include "ir/evaluate.h"
#include "text/parser.h"

namespace etc {
namespace {

constexpr int64_t kSide = 6;
constexpr int kCases = 150;

/// Which points (x, y) of a square a set has.
using Points = std::array<std::array<bool, kSide>, kSide>;

template <class Has>
Points PointsWhere(const Has& has) {
  Points points{};
  for (int64_t x = 0; x < kSide; ++x) {
    for (int64_t y = 0; y < kSide; ++y) {
      points[x][y] = has(x, y);
    }
  }
  return points;
}

struct Piece {
  std::array<int64_t, 4> box;  // of x and of y, both ends included
  int64_t p, q, rest, modulus;
  bool below;  // x <= y + 1

  bool Has(int64_t x, int64_t y) const {
    return box[0] <= x && x <= box[1] && box[2] <= y && y <= box[3] &&
           (p * x + q * y + rest) % modulus == 0 && (!below || x <= y + 1);
  }
  std::string Text() const {
    return fmt::format("{} <= x <= {} and {} <= y <= {} and ({} x + {} y + {}) mod {} = 0{}",
                       box[0], box[1], box[2], box[3], p, q, rest, modulus,
                       below ? " and x <= y + 1" : "");
  }
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  int64_t Below(int64_t end) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(end));
  }
  std::vector<Piece> Pieces() {
    std::vector<Piece> pieces(static_cast<size_t>(1 + Below(3)));
    for (Piece& piece : pieces) {
      for (size_t side : {size_t{0}, size_t{2}}) {
        piece.box[side] = Below(4);
        piece.box[side + 1] = piece.box[side] + Below(kSide - piece.box[side]);
      }
      piece.p = Below(3);
      piece.q = Below(3);
      piece.rest = Below(3);
      piece.modulus = 1 + Below(3);
      piece.below = Below(4) == 0;
    }
    return pieces;
  }

 private:
  std::mt19937 engine_;
};

Points PointsOf(const std::vector<Piece>& pieces) {
  return PointsWhere([&](int64_t x, int64_t y) {
    return std::any_of(pieces.begin(), pieces.end(),
                       [&](const Piece& piece) { return piece.Has(x, y); });
  });
}

std::string TextOf(const std::vector<Piece>& pieces) {
  std::string text;
  for (const Piece& piece : pieces) {
    text += (text.empty() ? "(" : " or (") + piece.Text() + ")";
  }
  return text;
}

Set Fix(Set set, const char* name, int64_t value) {
  int at = isl_set_find_dim_by_name(set.get(), isl_dim_param, name);
  return at < 0 ? set
                : Set(isl_set_fix_si(set.copy(), isl_dim_param, static_cast<unsigned>(at),
                                     static_cast<int>(value)));
}

Points PointsOf(const Set& set) {
  return PointsWhere([&](int64_t x, int64_t y) { return !IsEmpty(Fix(Fix(set, "x", x), "y", y)); });
}

Points PointsOf(const Map& map) {
  return PointsWhere([&](int64_t x, int64_t y) {
    Map at(isl_map_fix_si(map.copy(), isl_dim_in, 0, static_cast<int>(x)));
    return !IsEmpty(Map(isl_map_fix_si(at.copy(), isl_dim_out, 0, static_cast<int>(y))));
  });
}

/// A program with the sizes x and y.
struct Square {
  Square()
      : source("t.etir", fmt::format("etir 1;\ndim x in 0..{0};\ndim y in 0..{0};\n"
                                     "device @f(%a: out f32[9]) tasks (i: 9) {{ %a[i] = 0.0; }}\n"
                                     "graph @g(%a: out f32[9]) {{ call @f(%a); }}\n",
                                     kSide - 1)),
        module(Parse(source, diagnostics)),
        program(MakeCallProgram(*module, module->graphs[GraphId{0}])),
        unknowns(*module, program, context) {}

  Set Make(const std::vector<Piece>& pieces) const {
    std::string text = "[x, y] -> { : " + TextOf(pieces) + " }";
    return Set(isl_set_read_from_str(context.get(), text.c_str()));
  }
  Map MakeMap(const std::vector<Piece>& pieces) const {
    std::string text = "{ [x] -> [y] : " + TextOf(pieces) + " }";
    return Map(isl_map_read_from_str(context.get(), text.c_str()));
  }

  SourceFile source;
  Diagnostics diagnostics;
  std::unique_ptr<Module> module;
  CallProgram program;
  IslContext context;
  Unknowns unknowns;
};

int64_t ValueOf(const Module& module, const TaskExpr& expr, int64_t x, int64_t y) {
  using Kind = TaskExpr::Kind;
  auto arg = [&](size_t i) { return ValueOf(module, expr.args[i], x, y); };
  switch (expr.kind) {
    case Kind::Number:
      return expr.value;
    case Kind::Dim:
      return module.symbols[expr.dim].name == "x" ? x : y;
    case Kind::Min:
      return std::min(arg(0), arg(1));
    case Kind::Max:
      return std::max(arg(0), arg(1));
    case Kind::Select:
      return arg(arg(0) != 0 ? 1 : 2);
    case Kind::Binary: {
      if (expr.op == BinaryOp::And || expr.op == BinaryOp::Or) {
        return expr.op == BinaryOp::And ? arg(0) & arg(1) : arg(0) | arg(1);
      }
      auto compared = Compare(expr.op, arg(0), arg(1));
      auto value = compared ? *compared : Apply(expr.op, arg(0), arg(1));
      REQUIRE(value);
      return *value;
    }
    default:
      FAIL("a form that no size needs");
      return 0;
  }
}

TEST_CASE("sets with strides keep their points") {
  Square square;
  Random random(1);
  for (int i = 0; i < kCases; ++i) {
    std::vector<Piece> first = random.Pieces();
    std::vector<Piece> second = random.Pieces();
    CAPTURE(TextOf(first));
    CAPTURE(TextOf(second));
    Set a = square.Make(first);
    Set b = square.Make(second);
    Points pa = PointsOf(first);
    Points pb = PointsOf(second);
    auto both = [&](const auto& join) {
      return PointsWhere([&](int64_t x, int64_t y) { return join(pa[x][y], pb[x][y]); });
    };
    CHECK(PointsOf(Coalesce(a)) == pa);
    CHECK(PointsOf(a & b) == both(std::logical_and()));
    CHECK(PointsOf(Coalesce(a | b)) == both(std::logical_or()));
    Points rest = both([](bool in_a, bool in_b) { return in_a && !in_b; });
    CHECK(PointsOf(Coalesce(a - b)) == rest);
    CHECK(IsSubset(a, b) == (rest == Points{}));
    CHECK(IsEmpty(a & b) == (both(std::logical_and()) == Points{}));
    Points over_y = PointsWhere([&](int64_t x, int64_t) {
      return std::find(pa[x].begin(), pa[x].end(), true) != pa[x].end();
    });
    CHECK(PointsOf(Coalesce(ProjectOut(a, {"y"}))) == over_y);
    Set gist(isl_set_gist_params(a.copy(), b.copy()));
    CHECK(PointsOf(gist & b) == both(std::logical_and()));
  }
}

TEST_CASE("relations with strides keep their pairs") {
  Square square;
  Random random(2);
  for (int i = 0; i < kCases; ++i) {
    std::vector<Piece> first = random.Pieces();
    std::vector<Piece> second = random.Pieces();
    CAPTURE(TextOf(first));
    CAPTURE(TextOf(second));
    Map a = square.MakeMap(first);
    Map b = square.MakeMap(second);
    Points pa = PointsOf(first);
    Points pb = PointsOf(second);
    Points through = PointsWhere([&](int64_t x, int64_t z) {
      bool any = false;
      for (size_t y = 0; y < kSide; ++y) {
        any = any || (pa[x][y] && pb[y][z]);
      }
      return any;
    });
    CHECK(PointsOf(Coalesce(After(a, b))) == through);
    Points rest = PointsWhere([&](int64_t x, int64_t y) { return pa[x][y] && !pb[x][y]; });
    CHECK(PointsOf(Coalesce(a - b)) == rest);
    CHECK(IsSubset(a, b) == (rest == Points{}));
    Points later = PointsWhere([&](int64_t x, int64_t y) { return pa[x][y] && x < y; });
    CHECK(PointsOf(InLaterIteration(a, 0)) == later);
  }
}

TEST_CASE("values on sets with strides keep their values") {
  Square square;
  Random random(3);
  const Unknowns& unknowns = square.unknowns;
  PwAff x = unknowns.Param("x");
  PwAff y = unknowns.Param("y");
  for (int i = 0; i < kCases; ++i) {
    // Of the first, isl's own expression has a point too much: x = 3, y = 5.
    std::vector<Piece> pieces = i == 0 ? std::vector{Piece{{3, 4, 2, 5}, 2, 1, 0, 2, false},
                                                     Piece{{3, 3, 2, 3}, 2, 0, 0, 3, false}}
                                       : random.Pieces();
    CAPTURE(TextOf(pieces));
    Set where = square.Make(pieces);
    Points points = PointsOf(pieces);
    std::optional<int64_t> most;
    for (int64_t at = 0; at < kSide * kSide; ++at) {
      if (points[at / kSide][at % kSide]) {
        most = std::max(most.value_or(0), 2 * (at / kSide) + at % kSide);
      }
    }
    CHECK(LargestOn(where, x + x + y, unknowns) == most);
    // One value inside, another one elsewhere, as of a `select`.
    Set elsewhere = unknowns.sizes() - where;
    int64_t constant = random.Below(3);
    PwAff chosen(isl_pw_aff_union_add(
        isl_pw_aff_intersect_domain((x + y).copy(), where.copy()),
        isl_pw_aff_intersect_domain(unknowns.Constant(constant).copy(), elsewhere.copy())));
    auto value = ClosedForm(unknowns, Coalesce(chosen), unknowns.sizes());
    auto condition = ClosedForm(unknowns, where, unknowns.sizes());
    PwAff least(isl_pw_aff_min(chosen.copy(), x.copy()));
    auto smaller = ClosedForm(unknowns, least, unknowns.sizes());
    for (int64_t at = 0; at < kSide * kSide; ++at) {
      int64_t px = at / kSide;
      int64_t py = at % kSide;
      CAPTURE(px);
      CAPTURE(py);
      int64_t right = points[px][py] ? px + py : constant;
      if (value) {
        CHECK(ValueOf(*square.module, *value, px, py) == right);
      }
      if (condition) {
        CHECK((ValueOf(*square.module, *condition, px, py) != 0) == points[px][py]);
      }
      if (smaller) {
        CHECK(ValueOf(*square.module, *smaller, px, py) == std::min(right, px));
      }
    }
  }
}

}  // namespace
}  // namespace etc
