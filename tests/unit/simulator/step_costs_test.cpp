#include "simulator/step_costs.h"

#include <doctest/doctest.h>

#include <vector>

namespace etc {
namespace {

using doctest::Approx;

TEST_CASE("tasks at a place of a list have what the place has") {
  // Two tasks for each of four places. One expert has two of them, and another half of a third.
  CallCost call;
  call.tasks = 8;
  call.working_tasks = 6;
  call.streamed_bytes = 4000;
  call.copied_bytes = 6000;
  call.fetched_bytes = 600;
  call.flops = 6e9;
  call.listed = {4, 2, {{{1.2, true}, {1.2, false}, {0.6, true}}, {{3, true}}}};
  const Target& target = DefaultTarget();
  const SimWork first = WorkOfTask(call, 0, 0, target), again = WorkOfTask(call, 0, 3, target),
                half = WorkOfTask(call, 0, 4, target);
  CHECK(first.bytes == Approx(1000));
  CHECK(first.memory == Approx(1000));
  CHECK(first.fetched == Approx(1.2 * 100));
  // L2 has the weights of the expert's second place.
  CHECK(again.bytes == Approx(1000));
  CHECK(again.memory == Approx(0));
  CHECK(again.us == Approx(first.us));
  CHECK(half.fetched == Approx(0.6 * 100));
  CHECK(half.us - target.task == Approx((first.us - target.task) / 2));
  CHECK(WorkOfTask(call, 0, 6, target).us == 0);
  // The next layer, and the one behind it, which has the choices of the first.
  CHECK(WorkOfTask(call, 1, 2, target).us == 0);
  CHECK(WorkOfTask(call, 2, 2, target).us == Approx(first.us));
}

TEST_CASE("a ring has what the kernel's shared memory and depth leave, and two slots at least") {
  const Target& target = DefaultTarget();
  auto ring = [&](int64_t less, std::optional<int64_t> depth) {
    Kernel kernel;
    kernel.shared_bytes = target.shared_bytes - less;
    kernel.depth = depth;
    return MachineOf(kernel, target).ring_bytes;
  };
  CHECK(ring(0, {}) == target.sm_ring_bytes);
  CHECK(ring(20000, {}) == target.sm_ring_bytes - 20000);
  CHECK(ring(20000, 3) == 3 * target.slot_bytes);
  CHECK(ring(200000, 100) == 2 * target.slot_bytes);
}

TEST_CASE("the part of a tile's copies that no task has made before comes from memory") {
  CallCost call;
  call.tasks = call.working_tasks = 4;
  call.streamed_bytes = 1000;
  call.copied_bytes = 4000;
  const SimWork work = WorkOfTask(call, 0, 2, DefaultTarget());
  CHECK(work.bytes == Approx(1000));
  CHECK(work.memory == Approx(250));
}

TEST_CASE("what a call writes beside many bytes of tensor copies leaves L2") {
  const TensorId act{0}, sum{1};
  const Target& target = DefaultTarget();
  std::vector<CallCost> calls(3);
  calls[0].stores = {{act, 1e6}};
  calls[0].streamed_bytes = 2 * target.cache_capacity;
  calls[1].fetches = {{act, 8e6}};  // eight times the same
  calls[1].stores = {{sum, 3e6}};
  calls[2].fetches = {{sum, 3e6}};
  FindSpills(target, calls);
  // Bulk copies leave L2 first.
  CHECK(calls[0].spilled_bytes == 0);
  CHECK(calls[1].spilled_bytes == 0);
  calls[0].in_tiles = true;
  FindSpills(target, calls);
  CHECK(calls[0].spilled_bytes == 1e6);
  CHECK(calls[1].spilled_bytes == 1e6);
  CHECK(calls[2].spilled_bytes == 0);
  calls[1].stores[sum] = 2 * target.cache_capacity;
  FindSpills(target, calls);
  CHECK(calls[1].spilled_bytes == 1e6 + 2 * target.cache_capacity);
  CHECK(calls[2].spilled_bytes == 3e6);
}

}  // namespace
}  // namespace etc
