// How isl lays out a basic set, so that its rows can be read and written in place. Its functions
// for that make a matrix of them first, and then an object of each number.
#pragma once

#include <gmp.h>
#include <isl/aff.h>
#include <isl/set.h>
#include <isl/space.h>

#include <cstddef>
#include <span>

extern "C" {
// Of isl, in no public header; a basic map and a basic set are the same.
isl_basic_set* isl_basic_map_alloc_space(isl_space* space, unsigned extra, unsigned equalities,
                                         unsigned inequalities);
int isl_basic_map_alloc_equality(isl_basic_set* set);    // its place
int isl_basic_map_alloc_inequality(isl_basic_set* set);  // its place
isl_basic_set* isl_basic_map_gauss(isl_basic_set* set, int* progress);
isl_basic_set* isl_basic_map_simplify(isl_basic_set* set);
isl_basic_set* isl_basic_map_finalize(isl_basic_set* set);
}

namespace etc {

/// Takes so many steps off the budget of the context. Whoever does without isl spends what isl
/// would about spend, so that what the budget is too small for stays so. False where it is spent.
bool Spend(isl_ctx* ctx, int steps);

inline unsigned ParamsOf(isl_space* space) {
  return static_cast<unsigned>(isl_space_dim(space, isl_dim_param));
}

/// The first members of isl's `struct isl_basic_map`, as they are in 0.25. Basic sets have the
/// same.
struct IslRows {
  int references;
  unsigned flags;
  isl_ctx* ctx;
  isl_space* space;
  unsigned extra;
  unsigned equality_count;
  unsigned inequality_count;
  std::size_t row_count;
  mpz_t** equality_rows;
  mpz_t** inequality_rows;
  unsigned division_count;
  mpz_t** division_rows;
  isl_vec* sample;

  static constexpr unsigned kFinal = 1U << 0U;  // no constraint is being added
  static constexpr unsigned kEmpty = 1U << 1U;

  std::span<mpz_t* const> equalities() const { return {equality_rows, equality_count}; }
  std::span<mpz_t* const> inequalities() const { return {inequality_rows, inequality_count}; }

  /// Whether this isl lays them, its vectors and its forms out so: found out once, from some of
  /// which all is known.
  static bool AreKnown();
  static IslRows* Of(void* basic) { return static_cast<IslRows*>(basic); }
};

/// The same of its `struct isl_vec`.
struct IslVector {
  int references;
  isl_ctx* ctx;
  unsigned size;
  mpz_t* elements;

  static const IslVector* Of(const isl_vec* vector) {
    return reinterpret_cast<const IslVector*>(vector);
  }
};

/// The same of its `struct isl_aff`. The vector has the denominator, the constant, and the
/// coefficients of the parameters.
struct IslForm {
  int references;
  isl_local_space* space;
  isl_vec* vector;

  static const IslForm* Of(const isl_aff* form) { return reinterpret_cast<const IslForm*>(form); }
};

}  // namespace etc
