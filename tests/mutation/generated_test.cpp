// What the generators write is right, in the eyes of the compiler and of the oracle alike; what the
// mutator makes of it is another program.
#include <doctest/doctest.h>

#include "check.h"
#include "generator.h"
#include "ir/printer.h"
#include "mutator.h"
#include "oracle.h"
#include "routing_generator.h"

namespace etc::mutation {
namespace {

/// Of each kind of generated programs. A sanitizer looks at this code, not at the programs.
#if defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kGenerated = 8;
#else
constexpr uint64_t kGenerated = 60;
#endif

TEST_CASE("generated programs are right, and one greedy run finds what all interleavings do") {
  int64_t explored = 0;
  for (uint64_t seed = 0; seed < kGenerated; ++seed) {
    std::string text = GenerateProgram(seed);
    INFO(text);
    CheckResult check = Check(text, {});
    INFO(check.messages);
    REQUIRE(check.Accepted());
    Verdict verdict = Judge(*check.module, {{}, 4, 4, 3000, true});
    CHECK(verdict.wrong.empty());
    CHECK(verdict.disagreements == 0);
    explored += verdict.explored;
  }
  CHECK(explored > static_cast<int64_t>(kGenerated));
}

TEST_CASE("generated programs in which data decide are right") {
  int64_t explored = 0;
  for (uint64_t seed = 0; seed < kGenerated / 2; ++seed) {
    std::string text = GenerateRouting(seed);
    INFO(text);
    CheckResult check = Check(text, {});
    INFO(check.messages);
    REQUIRE(check.Accepted());
    Verdict verdict = Judge(*check.module, {{}, 4, 4, 3000, true});
    CHECK(verdict.judged);
    CHECK(verdict.wrong.empty());
    CHECK(verdict.disagreements == 0);
    explored += verdict.explored;
  }
  CHECK(explored > static_cast<int64_t>(kGenerated / 2));
}

TEST_CASE("each mutation changes the program, and none breaks the module") {
  CheckResult base = Check(GenerateProgram(3), {});
  REQUIRE(base.Accepted());
  std::vector<Mutation> mutations = Mutations(*base.module);
  CHECK(mutations.size() > 50);
  for (const Mutation& mutation : mutations) {
    Module copy = *base.module;
    mutation.apply(copy);
    CHECK_MESSAGE(Print(copy) != Print(*base.module), mutation.what);
  }
}

}  // namespace
}  // namespace etc::mutation
