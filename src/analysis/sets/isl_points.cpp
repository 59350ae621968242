// isl finds out whether a set of integers is empty by looking for a point of it, by factors and
// cones. Most sets that are asked about have a point that bounds of single variables show, at a
// tenth of the cost. Where isl is linked as an archive, the linker brings its search here
// (`--wrap`, see CMakeLists.txt), and isl itself has what bounds leave open.
#include <isl/set.h>
#include <isl/val.h>
#include <isl/vec.h>

#include "analysis/sets/isl_constraints.h"
#include "analysis/sets/point_search.h"

extern "C" {

// Of isl, in no public header. The first gives no vector on an error, one without elements where
// there is no point, and else 1 and a value of each variable.
isl_vec* RealSampleVec(isl_basic_set* set) asm("__real_isl_basic_set_sample_vec");
isl_vec* WrapSampleVec(isl_basic_set* set) asm("__wrap_isl_basic_set_sample_vec");
}

namespace etc {
namespace {

/// A point of a set without parameters, as PointSearch has it.
std::optional<std::vector<int64_t>> FindPoint(isl_basic_set* set) {
  isl_size variables = isl_basic_set_dim(set, isl_dim_set);
  if (variables <= 0) {
    return std::nullopt;
  }
  auto constraints = ConstraintsOf(set);
  if (!constraints) {
    return std::nullopt;
  }
  PointSearch search(static_cast<size_t>(variables));
  for (size_t i = 0; i < constraints->rows(); ++i) {
    search.Add(constraints->row(i), i < constraints->equalities);
  }
  return search.Find();
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
