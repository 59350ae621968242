// Calls that have no tasks in some ranges of a specialisation.
#include <doctest/doctest.h>

#include "analysis/proofs/proofs.h"
#include "ir/printer.h"
#include "schedule/lower.h"
#include "schedule/sources.h"

namespace etc {
namespace {

// Few rows are added by one call; more in two parts and by a call that joins them.
const std::string kTwoWays = R"(etir 1;
dim n in 1..16;
const few = upper(n) <= 8;
device @whole(%x: f32[n, 4], %y: out f32[n]) tasks (i: select(few, n, 0)) {
  %y[i] = sum(k: 4) %x[i, k];
}
device @part(%x: f32[n, 4], %parts: out f32[2, n]) tasks (i: select(few, 0, n), p: 2) {
  %parts[p, i] = sum(k: 2) %x[i, p * 2 + k];
}
device @join(%parts: f32[2, n], %y: out f32[n]) tasks (i: select(few, 0, n)) {
  %y[i] = %parts[0, i] + %parts[1, i];
}
device @spread(%y: f32[n], %x: out f32[n, 4]) tasks (i: n) {
  for (k: 4) %x[i, k] = 0.25 * %y[i];
}
graph @g(%in: f32[n], %out: out f32[n, 4]) specialise (n: 1..8, 9..16) {
  %x = buffer f32[n, 4];
  %y = buffer f32[n];
  %parts = buffer f32[2, n];
  call @spread(%in, %x);
  repeat l in 0..3 {
    call @whole(%x, %y);
    call @part(%x, %parts);
    call @join(%parts, %y);
    call @spread(%y, %x);
  }
  call @spread(%y, %out);
}
)";

/// The text of the graph's kernels after `pass`, one for each range.
std::vector<std::string> Kernels(Module& module, decltype(&LowerStatic) pass,
                                 const ScheduleOptions& options) {
  Diagnostics diagnostics;
  REQUIRE(Specialise(module, options, diagnostics));
  REQUIRE(pass(module, options, diagnostics));
  REQUIRE(Verify(module, diagnostics));
  CHECK(diagnostics.all().empty());
  std::string text = Print(module);
  std::vector<std::string> kernels;
  for (size_t at = text.find("kernel @"); at != std::string::npos;) {
    size_t next = text.find("kernel @", at + 1);
    kernels.push_back(text.substr(at, next - at));
    at = next;
  }
  return kernels;
}

TEST_CASE("events are derived for the calls that each range has") {
  std::string printed = Derive(kTwoWays);
  // No element for each row of a call that has no rows in a range.
  CHECK(Has(printed, "[3] count select(few, n, 0);"));
  CHECK(Has(printed, "[3] count select(few, 0, n);"));
}

TEST_CASE("a kernel has nothing of a call without tasks in its range") {
  auto module = ParseVerified(kTwoWays);
  Diagnostics diagnostics;
  REQUIRE(DeriveEvents(*module, {}, diagnostics));
  std::vector<std::string> kernels = Kernels(*module, LowerStatic, {});
  REQUIRE(kernels.size() == 2);
  CHECK(Has(kernels[0], "@whole"));
  CHECK_FALSE(Has(kernels[0], "part"));  // neither the call, nor its buffer or event
  CHECK_FALSE(Has(kernels[0], "@join"));
  CHECK_FALSE(Has(kernels[0], "select(few, 0, n)"));
  CHECK(Has(kernels[1], "%parts = buffer f32[2, n]"));
  CHECK(Has(kernels[1], "@join"));
  CHECK_FALSE(Has(kernels[1], "@whole"));
  CHECK_FALSE(Has(kernels[1], "select(few, n, 0)"));
}

TEST_CASE("there is no launch of a call without tasks") {
  auto module = ParseVerified(kTwoWays);
  ScheduleOptions options;
  options.schedule = ScheduleKind::Kernels;
  std::vector<std::string> kernels = Kernels(*module, LowerKernels, options);
  REQUIRE(kernels.size() == 2);
  CHECK(Has(kernels[0], "@whole"));
  CHECK_FALSE(Has(kernels[0], "part"));
  CHECK(Has(kernels[1], "@part"));
  CHECK_FALSE(Has(kernels[1], "@whole"));
}

}  // namespace
}  // namespace etc
