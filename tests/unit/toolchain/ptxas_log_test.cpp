#include "toolchain/ptxas_log.h"

#include <doctest/doctest.h>

namespace etc {
namespace {

TEST_CASE("messages C75xx are found") {
  CHECK(FindSerialisedWgmma("ptxas info    : (C7510) Potential Performance Loss: …") == "C7510");
  CHECK(FindSerialisedWgmma("line one\nptxas warning C7599, more") == "C7599");
}

TEST_CASE("what only resembles C75xx is not found") {
  for (const char* log : {"", "C75", "C751", "ptxas info : (C7610)", "function 'ABC7510'",
                          "symbol _C7510", "C75100", "Used 75 registers"}) {
    CAPTURE(log);
    CHECK_FALSE(FindSerialisedWgmma(log).has_value());
  }
}

}  // namespace
}  // namespace etc
