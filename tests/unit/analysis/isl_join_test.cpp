// What is joined and compared row by row is what isl makes of it, in the same form.
#include "analysis/sets/isl_join.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "analysis/sets/isl.h"
#include "analysis/sets/isl_constraints.h"
#include "analysis/sets/isl_layout.h"

namespace etc {
namespace {

class Generator {
 public:
  explicit Generator(isl_ctx* ctx) : ctx_(ctx) {}

  int Number(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }

  /// Some of the parameters, in any order.
  std::vector<std::string> Params() {
    std::vector<std::string> params{"a", "b", "c", "d", "e"};
    std::shuffle(params.begin(), params.end(), random_);
    params.resize(static_cast<size_t>(Number(0, 5)));
    return params;
  }

  std::string Sum(const std::vector<std::string>& params) {
    std::string sum = std::to_string(Number(-6, 6));
    for (const std::string& param : params) {
      int factor = Number(0, 2) == 0 ? Number(-3, 3) : Number(0, 4) == 0 ? 1 : 0;
      sum += fmt::format(" + {}{}", factor, param);
    }
    return sum;
  }

  isl_basic_set* BasicSet() {
    std::vector<std::string> params = Params();
    std::string text;
    for (int i = Number(0, 5); i-- > 0;) {
      text += fmt::format("{} {} {} 0", text.empty() ? "" : " and", Sum(params),
                          Number(0, 6) == 0 ? "=" : ">=");
    }
    if (Number(0, 19) == 0) {
      text += text.empty() ? "a = a" : " and exists (x : 2x = 1 + a)";
      params = {"a", "b", "c", "d", "e"};
    }
    return isl_basic_set_read_from_str(
        ctx_, fmt::format("[{}] -> {{ : {} }}", fmt::join(params, ", "), text).c_str());
  }

  PwAff Form() {
    std::vector<std::string> params = Params();
    std::string text = fmt::format("[{}] -> {{ [({})/{}] }}", fmt::join(params, ", "), Sum(params),
                                   Number(0, 3) == 0 ? Number(2, 6) : 1);
    return PwAff(isl_pw_aff_read_from_str(ctx_, text.c_str()));
  }

 private:
  isl_ctx* ctx_;
  std::mt19937 random_{7};
};

/// The parameters and rows of a set of one piece at most, in their order.
std::string FormOf(const Set& set) {
  isl_size params = isl_set_dim(set.get(), isl_dim_param);
  std::string form = fmt::format("{} pieces, ", isl_set_n_basic_set(set.get()));
  for (isl_size i = 0; i < params; ++i) {
    form += isl_set_get_dim_name(set.get(), isl_dim_param, static_cast<unsigned>(i));
  }
  isl_set_foreach_basic_set(
      set.get(),
      [](isl_basic_set* piece, void* text) {
        auto rows = ConstraintsOf(piece);
        isl_basic_set_free(piece);
        *static_cast<std::string*>(text) +=
            fmt::format(": {} of {}", rows->equalities, fmt::join(rows->numbers, " "));
        return isl_stat_ok;
      },
      &form);
  return form;
}

Set Aligned(isl_basic_set* set, isl_space* space) {
  return Set(isl_set_align_params(isl_set_from_basic_set(set), space));
}

TEST_CASE("this isl is known") { CHECK(IslRows::AreKnown()); }

TEST_CASE("sets are joined as isl joins them") {
  IslContext context;
  Generator generator(context.get());
  int joined = 0, same = 0;
  for (int i = 0; i < 20000; ++i) {
    isl_basic_set* a = generator.BasicSet();
    isl_basic_set* b = generator.BasicSet();
    if (generator.Number(0, 2) == 0) {
      // The rows of another one besides, and a point that isl knows.
      a = isl_basic_set_align_params(a, isl_basic_set_get_space(b));
      a = isl_basic_set_intersect(
          isl_basic_set_align_params(isl_basic_set_copy(b), isl_basic_set_get_space(a)), a);
    }
    for (isl_basic_set* each : {a, b}) {
      if (generator.Number(0, 2) == 0) {
        isl_basic_set_is_empty(each);
      }
    }
    bool empty = isl_basic_set_plain_is_empty(a) == isl_bool_true ||
                 isl_basic_set_plain_is_empty(b) == isl_bool_true;
    if (a == nullptr || b == nullptr || empty) {
      isl_basic_set_free(a);
      isl_basic_set_free(b);
      continue;
    }
    Set first(isl_set_from_basic_set(isl_basic_set_copy(a)));
    Set second(isl_set_from_basic_set(isl_basic_set_copy(b)));
    Set x = Aligned(a, isl_set_get_space(second.get()));
    Set y = Aligned(b, isl_set_get_space(x.get()));
    auto piece_of = [](const Set& set) {
      isl_basic_set_list* list = isl_set_get_basic_set_list(set.get());
      isl_basic_set* piece = isl_basic_set_list_get_at(list, 0);
      isl_basic_set_list_free(list);
      return piece;
    };
    Set expected(isl_set_from_basic_set(isl_basic_set_intersect(piece_of(x), piece_of(y))));
    Set found = first & second;
    INFO(i);
    CHECK(FormOf(found) == FormOf(expected));
    ++joined;
    same += FormOf(found) == FormOf(first) ? 1 : 0;
  }
  CHECK(joined > 5000);
  CHECK(same > 100);
}

TEST_CASE("forms are compared as isl compares them") {
  IslContext context;
  Generator generator(context.get());
  for (int i = 0; i < 5000; ++i) {
    PwAff a = generator.Form(), b = generator.Form();
    INFO(i);
    CHECK(FormOf(Eq(a, b)) == FormOf(Set(isl_pw_aff_eq_set(a.copy(), b.copy()))));
    CHECK(FormOf(Le(a, b)) == FormOf(Set(isl_pw_aff_ge_set(b.copy(), a.copy()))));
    CHECK(FormOf(Lt(a, b)) == FormOf(Set(isl_pw_aff_gt_set(b.copy(), a.copy()))));
  }
}

TEST_CASE("a spent budget gives no set") {
  IslContext context;
  Set a(isl_set_read_from_str(context.get(), "[a, b] -> { : a >= 3 and b >= a }"));
  Set b(isl_set_read_from_str(context.get(), "[b, c] -> { : b >= 2c }"));
  PwAff x(isl_pw_aff_read_from_str(context.get(), "[a] -> { [(2a)] }"));
  PwAff y(isl_pw_aff_read_from_str(context.get(), "[b] -> { [(b + 1)] }"));
  int joined = 0, compared = 0;
  for (unsigned long steps = 1; steps < 80; ++steps) {
    context.SetBudget(steps);
    Set both = a & b;
    joined += both ? 1 : 0;
    CHECK((context.GaveUp() || both));
    CHECK(!IsEmpty(both));
    context.SetBudget(steps);
    Set smaller = Lt(x, y);
    compared += smaller ? 1 : 0;
    CHECK((context.GaveUp() || smaller));
    CHECK(!IsEmpty(smaller));
  }
  CHECK((joined > 0 && joined < 79));
  CHECK((compared > 0 && compared < 79));
}

}  // namespace
}  // namespace etc
