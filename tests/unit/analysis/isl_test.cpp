#include "analysis/sets/isl.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <isl/set.h>

#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analysis/sets/isl_layout.h"

namespace etc {
namespace {

TEST_CASE("pieces with strides are joined to no more than their union") {
  IslContext context;
  Set pieces(isl_set_read_from_str(context.get(),
                                   "{ [x] : 0 <= x <= 1; [x] : x mod 2 = 0 and 0 <= x <= 6 }"));
  Set joined = Coalesce(pieces);
  CHECK(IsSubset(joined, pieces));
  CHECK(IsSubset(pieces, joined));
}

TEST_CASE("pieces without strides are joined") {
  IslContext context;
  Set pieces(isl_set_read_from_str(context.get(), "{ [x] : 0 <= x <= 1; [x] : 2 <= x <= 6 }"));
  CHECK(isl_set_n_basic_set(Coalesce(pieces).get()) == 1);
}

/// Uses up the steps that are allowed.
void GiveUp(const IslContext& context) {
  while (Spend(context.get(), 1)) {
  }
}

TEST_CASE("the steps of a fact halve with each that they did not suffice for") {
  constexpr unsigned long kSteps = 64;
  IslContext context;
  for (unsigned long left : {64, 32, 16, 8, 4, 4}) {
    context.SetBudget(kSteps);
    CHECK(isl_ctx_get_max_operations(context.get()) == left);
    CHECK_FALSE(context.GaveUp());
    GiveUp(context);
    CHECK(context.GaveUp());
  }
}

TEST_CASE("exact steps neither halve nor have others halve") {
  IslContext context;
  for (int i = 0; i < 3; ++i) {
    context.SetExactBudget(10);
    CHECK(isl_ctx_get_max_operations(context.get()) == 10);
    GiveUp(context);
  }
  context.SetBudget(64);
  CHECK(isl_ctx_get_max_operations(context.get()) == 64);
}

/// Values over `n` and `m`, of one form or of several, with their parameters in different orders.
std::vector<PwAff> Values(const IslContext& context) {
  std::vector<PwAff> values;
  for (const char* text :
       {"{ [(3)] }", "[n] -> { [(n)] }", "[m, n] -> { [(m - 2n + 1)] }",
        "[n, m] -> { [(2n + 3m)] }", "[m] -> { [(floor((m + 5)/16))] }",
        "[n, m] -> { [(n - 4*floor((n + m)/4))] }", "[n] -> { [(n)] : n >= 5; [(7 - n)] : n < 5 }",
        "[m, n] -> { [(m)] : n > 3 }"}) {
    values.emplace_back(isl_pw_aff_read_from_str(context.get(), text));
    REQUIRE(values.back());
  }
  return values;
}

TEST_CASE("values of one form are compared and added as isl does those of several") {
  IslContext context;
  std::vector<PwAff> values = Values(context);
  for (const PwAff& a : values) {
    for (const PwAff& b : values) {
      auto are_equal = [](const Set& ours, isl_set* isls) {
        return IsPlainlyEqual(ours, Set(isls));
      };
      CHECK(are_equal(Eq(a, b), isl_pw_aff_eq_set(a.copy(), b.copy())));
      CHECK(are_equal(Le(a, b), isl_pw_aff_le_set(a.copy(), b.copy())));
      CHECK(are_equal(Lt(a, b), isl_pw_aff_lt_set(a.copy(), b.copy())));
      // In the same form, by which terms are told apart.
      auto text = [](const PwAff& value) {
        char* printed = isl_pw_aff_to_str(value.get());
        std::string copy = printed;
        std::free(printed);
        return copy;
      };
      CHECK(text(a + b) == text(PwAff(isl_pw_aff_add(a.copy(), b.copy()))));
      CHECK(text(a - b) == text(PwAff(isl_pw_aff_sub(a.copy(), b.copy()))));
      CHECK(text(a * values[0]) == text(PwAff(isl_pw_aff_mul(a.copy(), values[0].copy()))));
    }
  }
}

/// One or two pieces over x, y and n, with equalities and strides among their constraints.
std::string SomeSet(std::mt19937& random) {
  auto number = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random); };
  std::string text;
  for (int piece = number(1, 2); piece > 0; --piece) {
    text += text.empty() ? "" : "; ";
    text += fmt::format("[x, y] : 0 <= x <= {} and {} <= y < n and 1 <= n <= 6", number(0, 5),
                        number(-1, 2));
    for (int i = number(0, 2); i > 0; --i) {
      text += number(0, 3) == 0
                  ? fmt::format(" and (x + {}y) mod {} = 0", number(0, 2), number(2, 3))
                  : fmt::format(" and {}x + {}y {} {}n + {}", number(-2, 2), number(-2, 2),
                                number(0, 2) == 0 ? "=" : ">=", number(-1, 1), number(-4, 4));
    }
  }
  return "[n] -> { " + text + " }";
}

TEST_CASE("a set is inside of another one where isl finds nothing outside") {
  IslContext context;
  std::mt19937 random(3);
  size_t inside = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string first = SomeSet(random), second = SomeSet(random);
    CAPTURE(first);
    CAPTURE(second);
    Set a(isl_set_read_from_str(context.get(), first.c_str()));
    Set b(isl_set_read_from_str(context.get(), second.c_str()));
    for (const auto& [left, right] : {std::pair(a, b), std::pair(a & b, b), std::pair(a, a | b)}) {
      bool is_inside = isl_set_is_empty(Set(left - right).get()) == isl_bool_true;
      inside += is_inside ? 1 : 0;
      CHECK(IsSubset(left, right) == is_inside);
      // As relations of x to y.
      auto relation = [](const Set& set) {
        Map map(isl_map_from_range(set.copy()));
        return Map(isl_map_move_dims(map.copy(), isl_dim_in, 0, isl_dim_out, 0, 1));
      };
      CHECK(IsSubset(relation(left), relation(right)) == is_inside);
    }
  }
  CHECK(inside > 3000);
}

}  // namespace
}  // namespace etc
