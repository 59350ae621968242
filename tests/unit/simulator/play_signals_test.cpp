#include "simulator/play_signals.h"

#include <doctest/doctest.h>

namespace etc {
namespace {

using doctest::Approx;

TEST_CASE("a signal of peers takes its way over the link, and more the more peers there are") {
  const Module module;
  const Target& target = DefaultTarget();
  SimProgram program;
  auto latency = [&](int64_t ranks, Mechanism mechanism, bool of_peers) {
    return PlaySignals(module, target, ranks, program).LatencyOf(mechanism, of_peers);
  };
  CHECK(latency(8, Mechanism::Counter, false) == target.signal.counter);
  CHECK(latency(1, Mechanism::Counter, true) == target.signal.counter);
  CHECK(latency(2, Mechanism::Counter, true) ==
        Approx(target.signal.counter + target.link.counter));
  CHECK(latency(4, Mechanism::FlagInData, true) ==
        Approx(target.signal.flag_in_data + target.link.flag_in_data +
               2 * target.each_link.flag_in_data));
}

}  // namespace
}  // namespace etc
