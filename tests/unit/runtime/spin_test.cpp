#include "runtime/spin.h"

#include <doctest/doctest.h>

namespace etc::runtime {
namespace {

/// How often a wait in vain looks.
int LooksInVain(Spin* spin) {
  int looks = 0;
  CHECK_FALSE(spin->Until([&] {
    ++looks;
    return false;
  }));
  return looks;
}

TEST_CASE("a thread that looked in vain sleeps at once for some waits") {
  Spin spin;
  for (const int skipped : {1, 3, 7, 15, 31, 31}) {
    CHECK(LooksInVain(&spin) >= 32);
    for (int i = 0; i < skipped; ++i) {
      CHECK(LooksInVain(&spin) == 1);
    }
  }
  // What comes in time has it look again.
  CHECK(spin.Until([] { return true; }));
  CHECK(LooksInVain(&spin) >= 32);
  CHECK(LooksInVain(&spin) == 1);
  CHECK(LooksInVain(&spin) >= 32);
}

}  // namespace
}  // namespace etc::runtime
