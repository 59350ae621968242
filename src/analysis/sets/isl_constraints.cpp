#include "analysis/sets/isl_constraints.h"

#include <gmp.h>
#include <isl/mat.h>

#include "analysis/sets/small_numbers.h"

extern "C" {
// Of isl, in no public header: by those, each number would be an object of its own.
int isl_mat_get_element(isl_mat* matrix, int row, int column, mpz_t* value);
}

namespace etc {
namespace {

/// Adds the rows of a matrix, which it frees.
bool AddRows(isl_mat* matrix, Constraints& constraints) {
  isl_size rows = isl_mat_rows(matrix), columns = isl_mat_cols(matrix);
  bool fits = rows >= 0 && columns > 0;
  if (fits) {
    constraints.numbers.reserve(constraints.numbers.size() +
                                static_cast<size_t>(rows) * static_cast<size_t>(columns));
  }
  mpz_t value;
  mpz_init(value);
  for (int i = 0; fits && i < rows; ++i) {
    for (int j = 0; fits && j < columns; ++j) {
      int64_t number = 0;
      fits = isl_mat_get_element(matrix, i, j, &value) >= 0 && ToWord(value, number);
      constraints.numbers.push_back(number);
    }
  }
  mpz_clear(value);
  isl_mat_free(matrix);
  constraints.columns = static_cast<size_t>(columns);
  return fits;
}

std::optional<Constraints> Read(isl_mat* equalities, isl_mat* inequalities) {
  Constraints constraints;
  bool fits = AddRows(equalities, constraints);
  constraints.equalities = fits ? constraints.rows() : 0;
  fits = AddRows(inequalities, constraints) && fits;
  return fits ? std::optional(std::move(constraints)) : std::nullopt;
}

}  // namespace

std::optional<Constraints> ConstraintsOf(isl_basic_set* set) {
  auto rows = [&](auto matrix) {
    return matrix(set, isl_dim_cst, isl_dim_param, isl_dim_set, isl_dim_div);
  };
  return Read(rows(isl_basic_set_equalities_matrix), rows(isl_basic_set_inequalities_matrix));
}

std::optional<Constraints> ConstraintsOf(isl_basic_map* map) {
  auto rows = [&](auto matrix) {
    return matrix(map, isl_dim_cst, isl_dim_param, isl_dim_in, isl_dim_out, isl_dim_div);
  };
  return Read(rows(isl_basic_map_equalities_matrix), rows(isl_basic_map_inequalities_matrix));
}

}  // namespace etc
