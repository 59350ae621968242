#include "analysis/sets/isl_layout.h"

#include <isl/mat.h>
#include <isl/space.h>
#include <isl/vec.h>

#include <cstdint>

#include "analysis/sets/isl.h"
#include "analysis/sets/small_numbers.h"

extern "C" {
// Of isl, in no public header.
int isl_ctx_next_operation(isl_ctx* ctx);
}

namespace etc {
namespace {

/// Whether the rows are as its public functions say.
bool LooksAsKnown() {
  IslContext context;
  isl_basic_set* set =
      isl_basic_set_read_from_str(context.get(), "[a, b, c] -> { : 3a = 5b + 2 and 7c >= a + 11 }");
  const IslRows& rows = *IslRows::Of(set);
  isl_mat* matrices[] = {
      isl_basic_set_equalities_matrix(set, isl_dim_cst, isl_dim_param, isl_dim_set, isl_dim_div),
      isl_basic_set_inequalities_matrix(set, isl_dim_cst, isl_dim_param, isl_dim_set, isl_dim_div)};
  bool same = rows.references == 1 && rows.ctx == context.get() && rows.division_count == 0 &&
              rows.sample == nullptr && (rows.flags & IslRows::kFinal) != 0 &&
              (rows.flags & IslRows::kEmpty) == 0 && ParamsOf(rows.space) == 3;
  for (size_t i = 0; i < 2; ++i) {
    auto read = i == 0 ? rows.equalities() : rows.inequalities();
    same = same && read.size() == 1 && isl_mat_rows(matrices[i]) == 1 &&
           isl_mat_cols(matrices[i]) == 4;
    for (int j = 0; same && j < 4; ++j) {
      Val number(isl_mat_get_element_val(matrices[i], 0, j));
      int64_t word = 0;
      same = ToWord(read[0][j], word) && ToInt(number) == word;
    }
    isl_mat_free(matrices[i]);
  }
  isl_basic_set_free(set);
  isl_vec* vector = isl_vec_set_element_si(isl_vec_zero(context.get(), 3), 1, -7);
  const IslVector& read = *IslVector::Of(vector);
  same = same && read.references == 1 && read.ctx == context.get() && read.size == 3 &&
         mpz_sgn(read.elements[0]) == 0 && mpz_cmp_si(read.elements[1], -7) == 0 &&
         mpz_sgn(read.elements[2]) == 0;
  isl_vec_free(vector);
  isl_aff* form = isl_aff_read_from_str(context.get(), "[a, b] -> { [(5 + 3a - 2b)/4] }");
  const IslForm& read_form = *IslForm::Of(form);
  const IslVector& numbers = *IslVector::Of(read_form.vector);
  isl_size divisions = isl_aff_dim(form, isl_dim_div);
  same = same && read_form.references == 1 && divisions == 0 && numbers.size == 4;
  for (unsigned i = 0; same && i < 4; ++i) {
    constexpr long kNumbers[] = {4, 5, 3, -2};
    same = mpz_cmp_si(numbers.elements[i], kNumbers[i]) == 0;
  }
  isl_aff_free(form);
  return same;
}

}  // namespace

bool IslRows::AreKnown() {
  static const bool known = LooksAsKnown();
  return known;
}

bool Spend(isl_ctx* ctx, int steps) {
  for (int i = 0; i < steps; ++i) {
    if (isl_ctx_next_operation(ctx) < 0) {
      return false;
    }
  }
  return true;
}

}  // namespace etc
