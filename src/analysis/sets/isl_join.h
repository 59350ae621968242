// Intersections of two basic sets, and comparisons of two forms, without a copy for each step.
#pragma once

#include <isl/aff.h>
#include <isl/set.h>

#include <vector>

namespace etc {

/// Where the parameters of a set without dimensions stand in the space of an intersection.
struct Placement {
  /// All parameters are in `joined`.
  Placement(isl_space* own, isl_space* joined);

  std::vector<unsigned> places;
  bool is_same = true;      // the space is that of the intersection
  bool is_in_order = true;  // no parameter comes before one that it stood behind
};

/// What `isl_basic_set_intersect` gives for two sets once they are brought to the parameters of
/// `joined`, a space of parameters alone. Null where that is left to isl.
isl_basic_set* JoinRows(isl_space* joined, isl_basic_set* a, const Placement& of_a,
                        isl_basic_set* b, const Placement& of_b);

/// What `isl_aff_eq_set`, `isl_aff_ge_set` and `isl_aff_gt_set` give for two forms over parameters
/// alone, once they are brought to the parameters of the second and then the other ones of the
/// first. Null where that is left to isl.
enum class AffComparison { Equal, AtLeast, Above };
isl_basic_set* CompareRows(AffComparison comparison, isl_aff* a, isl_aff* b);

/// A space with the parameters of the first one, and then the others of the second one.
isl_space* Behind(isl_space* first, isl_space* second);

}  // namespace etc
