// A comparison of two forms of isl's is one row. isl brings both to the same parameters, makes
// their difference, and a constraint of that.
#include <isl/aff.h>
#include <isl/space.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/sets/isl_join.h"
#include "analysis/sets/isl_layout.h"
#include "analysis/sets/small_numbers.h"

namespace etc {
namespace {

// Steps of the budget that isl takes more, as measured for Qwen3: where both forms have the same
// parameters, and where they have others.
constexpr int kStepsForSame = 10;
constexpr int kStepsForOthers = 23;

/// A comparison of two forms as the one row that it is.
class FormComparison {
 public:
  struct Side {
    const IslForm& form;
    Placement placement;
  };

  FormComparison(AffComparison comparison, isl_space* joined, Side a, Side b)
      : comparison_(comparison), joined_(joined), a_(std::move(a)), b_(std::move(b)) {}

  /// Null where a number takes more than a word.
  isl_basic_set* Run() {
    std::vector<int64_t> row(1 + ParamsOf(joined_), 0);
    int64_t below_a = 0, below_b = 0;  // the denominators
    if (!ToWord(IslVector::Of(a_.form.vector)->elements[0], below_a) ||
        !ToWord(IslVector::Of(b_.form.vector)->elements[0], below_b) || below_a <= 0 ||
        below_b <= 0) {
      return nullptr;
    }
    bool is_one = below_a == below_b;
    int64_t below = below_a;  // the difference
    if ((!is_one && __builtin_mul_overflow(below_a, below_b, &below)) ||
        !Add(a_, is_one ? 1 : below_b, row) || !Add(b_, is_one ? -1 : -below_a, row) ||
        (comparison_ == AffComparison::Above &&
         __builtin_sub_overflow(row[0], below, row.data()))) {
      return nullptr;
    }
    bool is_equal = comparison_ == AffComparison::Equal;
    isl_basic_set* made =
        isl_basic_map_alloc_space(isl_space_copy(joined_), 0, is_equal ? 1 : 0, is_equal ? 0 : 1);
    if (made == nullptr) {
      return nullptr;
    }
    int at = is_equal ? isl_basic_map_alloc_equality(made) : isl_basic_map_alloc_inequality(made);
    const IslRows& rows = *IslRows::Of(made);
    mpz_t* to = (is_equal ? rows.equality_rows : rows.inequality_rows)[at];
    for (size_t i = 0; i < row.size(); ++i) {
      auto magnitude =
          row[i] < 0 ? -static_cast<mp_limb_t>(row[i]) : static_cast<mp_limb_t>(row[i]);
      if (row[i] == 0) {
        to[i]->_mp_size = 0;
      } else {
        PutWord(to[i], row[i] < 0 ? -1 : 1, magnitude);
      }
    }
    return isl_basic_map_finalize(isl_basic_map_simplify(made));
  }

 private:
  static bool Add(const Side& side, int64_t factor, std::vector<int64_t>& row) {
    mpz_t* numbers = IslVector::Of(side.form.vector)->elements + 1;
    for (size_t i = 0; i <= side.placement.places.size(); ++i) {
      int64_t number = 0, product = 0;
      int64_t& sum = row[i == 0 ? 0 : 1 + side.placement.places[i - 1]];
      if (!ToWord(numbers[i], number) || __builtin_mul_overflow(number, factor, &product) ||
          __builtin_add_overflow(sum, product, &sum)) {
        return false;
      }
    }
    return true;
  }

  AffComparison comparison_;
  isl_space* joined_;
  Side a_;
  Side b_;
};

}  // namespace

isl_basic_set* CompareRows(AffComparison comparison, isl_aff* a, isl_aff* b) {
  if (a == nullptr || b == nullptr || !IslRows::AreKnown() || isl_aff_dim(a, isl_dim_div) != 0 ||
      isl_aff_dim(b, isl_dim_div) != 0) {
    return nullptr;
  }
  isl_space* of_a = isl_aff_get_domain_space(a);
  isl_space* of_b = isl_aff_get_domain_space(b);
  isl_basic_set* compared = nullptr;
  if (isl_space_is_params(of_a) == isl_bool_true && isl_space_is_params(of_b) == isl_bool_true) {
    bool is_same = isl_space_has_equal_params(of_a, of_b) == isl_bool_true;
    isl_space* joined = Behind(isl_space_copy(of_b), isl_space_copy(of_a));
    bool may = joined != nullptr &&
               Spend(isl_space_get_ctx(of_a), is_same ? kStepsForSame : kStepsForOthers);
    compared = !may ? nullptr
                    : FormComparison(comparison, joined, {*IslForm::Of(a), Placement(of_a, joined)},
                                     {*IslForm::Of(b), Placement(of_b, joined)})
                          .Run();
    isl_space_free(joined);
  }
  isl_space_free(of_a);
  isl_space_free(of_b);
  return compared;
}

}  // namespace etc
