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

TEST_CASE("between hosts a sum of all ranks takes what NCCL and two launches take") {
  const Target& target = DefaultTarget();
  const Target over = OverHosts(target, 2, 16);
  const Module module;
  SimProgram program;
  // A tree: seven links and one way over the network, there and back.
  const double expected =
      4.4 + 2 * (7 * 1.8 * 0.52 + 5) + 2 * (target.launch_signal + target.launch_start);
  for (Mechanism mechanism : {Mechanism::Counter, Mechanism::FlagInData}) {
    CHECK(PlaySignals(module, over, 16, program).LatencyOf(mechanism, true) == Approx(expected));
  }
  CHECK(OverHosts(target, 4, 32).link.counter == Approx(over.link.counter + 10));
}

}  // namespace
}  // namespace etc
