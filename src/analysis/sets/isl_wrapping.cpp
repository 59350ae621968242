#include "analysis/sets/isl_wrapping.h"

#include <isl/set.h>

namespace etc {
namespace {

thread_local int without_wrapping = 0;

}  // namespace

WithoutWrapping::WithoutWrapping() { ++without_wrapping; }
WithoutWrapping::~WithoutWrapping() { --without_wrapping; }

}  // namespace etc

#ifdef ETC_WRAPS_FACETS

extern "C" {

// Of isl, in no public header. Turns `facet`, a row of numbers, around `ridge` until it touches the
// set, and gives it back. Where it is as before, its caller joins nothing in this way.
void* RealWrapFacet(isl_set* set, void* facet, void* ridge) asm("__real_isl_set_wrap_facet");
void* WrapWrapFacet(isl_set* set, void* facet, void* ridge) asm("__wrap_isl_set_wrap_facet");
void* WrapWrapFacet(isl_set* set, void* facet, void* ridge) {
  return etc::without_wrapping > 0 ? facet : RealWrapFacet(set, facet, ridge);
}
}

#endif
