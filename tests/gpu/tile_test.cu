// One group of tests, so that all of them compile at once. The command line includes its header,
// and has its function in ETC_TILE_TEST.
#include "support.cuh"

#define ETC_RUN_OF(function) Run##function
#define ETC_RUN(function) ETC_RUN_OF(function)

namespace etc::test {
void ETC_RUN(ETC_TILE_TEST)(Report& report) { ETC_TILE_TEST(report); }
}  // namespace etc::test
