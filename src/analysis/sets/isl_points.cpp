// isl finds out whether a set of integers is empty by looking for a point of it, by factors and
// cones. Most sets that are asked about have a point that bounds of single variables show, at a
// tenth of the cost. Where isl is linked as an archive, the linker brings its search here
// (`--wrap`, see CMakeLists.txt), and isl itself has what bounds leave open.
#include <gmp.h>
#include <isl/mat.h>
#include <isl/set.h>
#include <isl/val.h>
#include <isl/vec.h>

#include "analysis/sets/point_search.h"

extern "C" {

// Of isl, in no public header. The first gives no vector on an error, one without elements where
// there is no point, and else 1 and a value of each variable.
isl_vec* RealSampleVec(isl_basic_set* set) asm("__real_isl_basic_set_sample_vec");
isl_vec* WrapSampleVec(isl_basic_set* set) asm("__wrap_isl_basic_set_sample_vec");
int isl_mat_get_element(isl_mat* matrix, int row, int column, mpz_t* value);
}

namespace etc {
namespace {

/// Adds the rows of a matrix, which it frees. False where a number takes more than a word.
bool AddRows(PointSearch& search, isl_mat* matrix, bool equalities) {
  isl_size rows = isl_mat_rows(matrix), columns = isl_mat_cols(matrix);
  bool fits = rows >= 0 && columns > 0;
  std::vector<int64_t> row(fits ? static_cast<size_t>(columns) : 0);
  mpz_t value;
  mpz_init(value);
  for (int i = 0; fits && i < rows; ++i) {
    for (int j = 0; fits && j < columns; ++j) {
      fits = isl_mat_get_element(matrix, i, j, &value) >= 0 && mpz_fits_slong_p(value) != 0;
      row[static_cast<size_t>(j)] = mpz_get_si(value);
    }
    if (fits) {
      search.Add(row, equalities);
    }
  }
  mpz_clear(value);
  isl_mat_free(matrix);
  return fits;
}

/// A point of a set without parameters, as PointSearch has it.
std::optional<std::vector<int64_t>> FindPoint(isl_basic_set* set) {
  isl_size variables = isl_basic_set_dim(set, isl_dim_set);
  if (variables <= 0) {
    return std::nullopt;
  }
  auto rows = [&](auto matrix) {
    return matrix(set, isl_dim_cst, isl_dim_param, isl_dim_set, isl_dim_div);
  };
  PointSearch search(static_cast<size_t>(variables));
  bool fits = AddRows(search, rows(isl_basic_set_equalities_matrix), true) &&
              AddRows(search, rows(isl_basic_set_inequalities_matrix), false);
  return fits ? search.Find() : std::nullopt;
}

isl_vec* ToVector(isl_ctx* ctx, const std::vector<int64_t>& point) {
  isl_vec* vector = isl_vec_alloc(ctx, point.empty() ? 0 : static_cast<unsigned>(point.size() + 1));
  for (size_t i = 0; i < point.size(); ++i) {
    vector = isl_vec_set_element_val(vector, static_cast<int>(i + 1),
                                     isl_val_int_from_si(ctx, point[i]));
  }
  return point.empty() ? vector : isl_vec_set_element_si(vector, 0, 1);
}

}  // namespace
}  // namespace etc

isl_vec* WrapSampleVec(isl_basic_set* set) {
  auto point = etc::FindPoint(set);
  if (!point) {
    return RealSampleVec(set);
  }
  isl_vec* vector = etc::ToVector(isl_basic_set_get_ctx(set), *point);
  isl_basic_set_free(set);
  return vector;
}
