#include "analysis/sets/isl_constraints.h"

#include <gmp.h>
#include <isl/mat.h>
#include <isl/space.h>

#include "analysis/sets/isl_layout.h"
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

/// From its rows, where these are known.
std::optional<Constraints> ReadInPlace(void* basic) {
  const IslRows& rows = *IslRows::Of(basic);
  constexpr int kStepsForMatrices = 6;
  if (!Spend(rows.ctx, kStepsForMatrices)) {
    return std::nullopt;
  }
  Constraints constraints;
  constraints.columns =
      1 + static_cast<size_t>(isl_space_dim(rows.space, isl_dim_all)) + rows.division_count;
  constraints.equalities = rows.equality_count;
  constraints.numbers.resize(constraints.columns * (rows.equality_count + rows.inequality_count));
  int64_t* number = constraints.numbers.data();
  for (auto part : {rows.equalities(), rows.inequalities()}) {
    for (mpz_t* row : part) {
      for (size_t i = 0; i < constraints.columns; ++i) {
        if (!ToWord(row[i], *number++)) {
          return std::nullopt;
        }
      }
    }
  }
  return constraints;
}

}  // namespace

std::optional<Constraints> ConstraintsOf(isl_basic_set* set) {
  if (set != nullptr && IslRows::AreKnown()) {
    return ReadInPlace(set);
  }
  auto rows = [&](auto matrix) {
    return matrix(set, isl_dim_cst, isl_dim_param, isl_dim_set, isl_dim_div);
  };
  return Read(rows(isl_basic_set_equalities_matrix), rows(isl_basic_set_inequalities_matrix));
}

std::optional<Constraints> ConstraintsOf(isl_basic_map* map) {
  if (map != nullptr && IslRows::AreKnown()) {
    return ReadInPlace(map);
  }
  auto rows = [&](auto matrix) {
    return matrix(map, isl_dim_cst, isl_dim_param, isl_dim_in, isl_dim_out, isl_dim_div);
  };
  return Read(rows(isl_basic_map_equalities_matrix), rows(isl_basic_map_inequalities_matrix));
}

}  // namespace etc
