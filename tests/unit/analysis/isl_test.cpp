#include "analysis/sets/isl.h"

#include <doctest/doctest.h>
#include <isl/set.h>

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

}  // namespace
}  // namespace etc
