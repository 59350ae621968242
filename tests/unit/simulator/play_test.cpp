#include "simulator/play.h"

#include <doctest/doctest.h>

#include <vector>

namespace etc {
namespace {

using doctest::Approx;

/// SMs that copy 100 bytes in a microsecond together, with rings of 1000.
SimProgram Machine(int64_t sms) {
  SimProgram program;
  program.machine = {sms, 100, 1e9, 1000, 0.5};
  return program;
}

/// A task that copies bytes from memory, and takes so long when they are there.
SimWork Streams(double bytes, double us) { return {.us = us, .bytes = bytes, .memory = bytes}; }

double IdleFor(const SimRun& run, Idle cause) { return run.idle[static_cast<size_t>(cause)]; }
double StalledFor(const SimRun& run, Stall cause) { return run.stalls[static_cast<size_t>(cause)]; }

TEST_CASE("a task waits for the last of those that notify its signal, and for the signal's way") {
  // SM 0: a task of 3 us. SM 1: one of 1 us, then one that waits for both.
  SimProgram program = Machine(2);
  program.steps = {{.finish = 0.25}, {}, {.start = 0.5}};
  program.signals = {{.latency = 1}};
  program.tasks = {{.step = 0, .sm = 0, .work = {.us = 3}, .notifies = {0}},
                   {.step = 1, .sm = 1, .work = {.us = 1}, .notifies = {0}},
                   {.step = 2, .sm = 1, .work = {.us = 2}, .waits = {0}}};
  SimRun run = Play(program);
  CHECK_FALSE(run.stuck);
  CHECK(run.tasks[0].finished == Approx(3.25));
  CHECK(run.tasks[2].arrived == Approx(1));
  CHECK(run.tasks[2].ready == Approx(4.25));
  CHECK(run.tasks[2].begun == Approx(4.75));
  CHECK(run.tasks[2].after == 0);
  CHECK(run.makespan == Approx(6.75));
  CHECK(run.busy == Approx(6));
  // SM 1 has nothing to do from 1 to 3.25, and SM 0 from 3 to the end.
  CHECK(IdleFor(run, Idle::Tasks) == Approx(2.25 + 3.75));
  CHECK(IdleFor(run, Idle::Signals) == Approx(1.5));
}

TEST_CASE("loaders share the memory, and a lone one is held back by its own rate") {
  SimProgram program = Machine(2);
  program.steps = {{.load_rate = 80, .ahead_rate = 80}, {.load_rate = 80, .ahead_rate = 80}};
  program.tasks = {{.step = 0, .sm = 0, .work = Streams(200, 1)},
                   {.step = 1, .sm = 1, .work = Streams(600, 1)}};
  SimRun run = Play(program);
  // 50 each until 200 have come at 4, then the 400 that are left at 80.
  CHECK(run.tasks[0].ended == Approx(4));
  CHECK(run.tasks[1].ended == Approx(9));
  CHECK(run.bytes == Approx(800));
  CHECK(IdleFor(run, Idle::Bandwidth) == Approx(3 + (4 - 4 * 50.0 / 600)));
  CHECK(IdleFor(run, Idle::Throttle) == Approx(5 - 400.0 / 600));
}

TEST_CASE("a loader runs ahead as far as the ring holds, and on as slots are given back") {
  SimProgram program = Machine(1);
  program.machine.ring_bytes = 300;
  program.steps = {{}, {}};
  program.tasks = {{.step = 0, .sm = 0, .work = {.us = 10}},
                   {.step = 1, .sm = 0, .work = Streams(600, 1)}};
  SimRun run = Play(program);
  // 300 bytes lie there at 3; from 10 on they are taken at 600, and what comes is missing.
  CHECK(StalledFor(run, Stall::Ring) == Approx(7));
  CHECK(run.tasks[1].load_ended == Approx(13));
  CHECK(run.makespan == Approx(13));
}

TEST_CASE("a loader that waits for a signal copies behind it") {
  SimProgram program = Machine(2);
  program.steps = {{}, {.loads_behind = 0}};
  program.signals = {{.latency = 1}};
  program.tasks = {{.step = 0, .sm = 0, .work = {.us = 2}, .notifies = {0}},
                   {.step = 1, .sm = 1, .work = Streams(100, 0.5), .waits = {0}}};
  SimRun run = Play(program);
  // The signal is there at 3, the first byte half a microsecond later, the last at 4.5.
  CHECK(run.tasks[1].begun == Approx(3));
  CHECK(run.tasks[1].load_begun == Approx(3.5));
  CHECK(run.makespan == Approx(4.5));
  CHECK(StalledFor(run, Stall::Wait) >= 3.5);
}

TEST_CASE("a launch begins on an SM when the one before has ended there") {
  SimProgram program = Machine(1);
  program.steps = {{.finish = 0.5, .launched = true, .launch = 1}, {.launched = true, .launch = 1}};
  program.signals = {{.latency = 0.25}};
  program.tasks = {{.step = 0, .sm = 0, .work = {.us = 2}, .notifies = {0}},
                   {.step = 1, .sm = 0, .work = Streams(100, 0.1), .waits = {0}}};
  SimRun run = Play(program);
  // 1 + 2 + 0.5, the next at 4.5; its first byte half a microsecond behind, the last 1 later.
  CHECK(run.tasks[0].finished == Approx(3.5));
  CHECK(run.tasks[1].begun == Approx(4.5));
  CHECK(run.makespan == Approx(6));
}

TEST_CASE("a task may work first, and wait for what its result needs") {
  SimProgram program = Machine(2);
  program.steps = {{}, {}};
  program.signals = {{.latency = 0.5}};
  program.tasks = {{.step = 0, .sm = 0, .work = {.us = 3}, .notifies = {0}},
                   {.step = 1, .sm = 1, .work = {.us = 2}, .joins = {0}}};
  SimRun run = Play(program);
  CHECK(run.tasks[1].begun == Approx(0));
  CHECK(run.tasks[1].worked == Approx(2));
  CHECK(run.tasks[1].ended == Approx(3.5));
  CHECK(run.tasks[1].joined == 0);
}

TEST_CASE("L2 slows copies and fetches alike") {
  SimProgram program = Machine(1);
  program.machine.cache_rate = 100;
  program.steps = {{}};
  program.tasks = {{.step = 0, .sm = 0, .work = {.us = 1, .bytes = 100, .fetched = 300}}};
  CHECK(Play(program).makespan == Approx(4));
}

TEST_CASE("what L2 has takes nothing of what memory gives others") {
  // Of the second one's 600 bytes 200 are in memory alone.
  SimProgram program = Machine(2);
  program.steps = {{}};
  program.tasks = {{.step = 0, .sm = 0, .work = Streams(200, 1)},
                   {.step = 0, .sm = 1, .work = {.us = 1, .bytes = 600, .memory = 200}}};
  SimRun run = Play(program);
  // 75 bytes each in a microsecond: 75 and a third of 75 are 100. From 2.667 on three times 100.
  CHECK(run.tasks[0].ended == Approx(200 / 75.0));
  CHECK(run.tasks[1].ended == Approx(200 / 75.0 + 400 / 300.0));
}

TEST_CASE("consumers that move bytes to and from memory are as slow as it, and loaders wait") {
  SimProgram program = Machine(2);
  program.steps = {{}};
  program.tasks = {{.step = 0, .sm = 0, .work = {.us = 1, .memory = 300}},
                   {.step = 0, .sm = 1, .work = Streams(100, 1)}};
  SimRun run = Play(program);
  CHECK(run.tasks[0].ended == Approx(3));
  CHECK(run.tasks[1].ended == Approx(4));
}

TEST_CASE("what is stored at peers takes its time on the link, which all SMs share") {
  SimProgram program = Machine(2);
  program.machine.link_rate = 50;
  program.steps = {{}};
  program.tasks = {{.step = 0, .sm = 0, .work = {.us = 1, .sent = 100}},
                   {.step = 0, .sm = 1, .work = {.us = 1, .sent = 100}}};
  CHECK(Play(program).makespan == Approx(4));
}

TEST_CASE("a task without work takes no time at all") {
  SimProgram program = Machine(1);
  program.steps = {{.start = 0.5, .finish = 0.25}};
  program.tasks = {{.step = 0, .sm = 0}};
  CHECK(Play(program).makespan == Approx(0));
}

TEST_CASE("a task that waits for what nobody gives is stuck") {
  SimProgram program = Machine(1);
  program.steps = {{}};
  program.signals = {{}};
  program.tasks = {{.step = 0, .sm = 0, .work = {.us = 1}, .waits = {0}},
                   {.step = 0, .sm = 0, .work = {.us = 1}, .notifies = {0}}};
  CHECK(Play(program).stuck);
}

/// Tasks of one case on two SMs, and what each takes; a ticket takes half a microsecond.
SimProgram Draws(int64_t ahead, const std::vector<double>& costs) {
  SimProgram program = Machine(2);
  program.machine.ticket = 0.5;
  program.steps = {{.ahead = ahead}};
  for (double us : costs) {
    program.tasks.push_back({.work = {.us = us}});
  }
  return program;
}

/// The same as a share that begins on SM 0.
SimProgram AsShare(SimProgram program) {
  program.steps[0].ahead = {};
  for (uint32_t i = 0; i < program.tasks.size(); ++i) {
    program.tasks[i].sm = i % 2;
  }
  return program;
}

TEST_CASE("an SM that is free draws the next task") {
  SimProgram program = Draws(0, {4, 1, 2});
  SimRun run = Play(program);
  CHECK_FALSE(run.stuck);
  CHECK(run.tasks[0].ended == Approx(4.5));
  CHECK(run.tasks[1].ended == Approx(1.5));
  // SM 1 asks at 1.5, and knows at 4.5 that there are no more. SM 0 knows it at 5.
  CHECK(run.tasks[2].sm == 1);
  CHECK(run.tasks[2].begun == Approx(2));
  CHECK(run.tasks[2].ended == Approx(4));
  CHECK(run.makespan == Approx(5));
  CHECK(run.tickets == 5);
  CHECK(IdleFor(run, Idle::Tickets) == Approx(5 * 0.5));
  CHECK(IdleFor(run, Idle::Tasks) == Approx(0.5));
  CHECK(Play(AsShare(program)).makespan == Approx(6));
}

TEST_CASE("a task that is taken ahead belongs to the SM that took it") {
  SimProgram program = Draws(1, {4, 1, 1, 1, 1});
  SimRun run = Play(program);
  // At 1 SM 0 has taken the third task while it runs the first, and SM 1 the fourth. At 1.5 SM 1
  // reads its word and asks for the fifth.
  CHECK(run.tasks[2].sm == 0);
  CHECK(run.tasks[2].begun == Approx(4.5));
  CHECK(run.tasks[3].begun == Approx(1.5));
  CHECK(run.tasks[4].sm == 1);
  CHECK(run.tasks[4].begun == Approx(2.5));
  CHECK(run.makespan == Approx(5.5));
  // Nobody waits for a ticket but the first.
  CHECK(IdleFor(run, Idle::Tickets) == Approx(2 * 0.5));
  CHECK(Play(AsShare(program)).makespan == Approx(6));
}

TEST_CASE("an SM goes on to the next case when the tickets are used up") {
  SimProgram program = Draws(2, {3, 1});
  program.steps.push_back({.ahead = 2});
  program.tasks.push_back({.step = 1, .work = {.us = 2}});
  SimRun run = Play(program);
  // The word that ends the case is there at 1, in both; at 1.5 SM 0 gets the task behind it, which
  // it begins when it has ended its own.
  CHECK(run.tasks[2].sm == 0);
  CHECK(run.tasks[2].begun == Approx(3.5));
  CHECK(run.makespan == Approx(5.5));
  CHECK(run.tickets == 3 + 2 + 2);
}

TEST_CASE("a loader knows a task when its ticket is there") {
  SimProgram program = Draws(1, {1, 1});
  program.machine.sms = 1;
  program.steps.insert(program.steps.begin(), SimStep{});
  for (SimTask& task : program.tasks) {
    task.step = 1;
    task.work = Streams(100, 1);
  }
  program.tasks.insert(program.tasks.begin(), SimTask{.step = 0, .sm = 0, .work = {.us = 10}});
  SimRun run = Play(program);
  CHECK(run.tasks[1].load_begun == Approx(0.5));
  CHECK(run.tasks[1].load_ended == Approx(1.5));
  // The word of the second is asked for at 10, when the first begins, and its bytes are there at
  // 11.5.
  CHECK(run.tasks[2].load_begun == Approx(10.5));
  CHECK(run.tasks[2].begun == Approx(11));
  CHECK(run.tasks[2].ended == Approx(12));
}

TEST_CASE("nobody draws before what says how many tasks there are") {
  SimProgram program = Draws(1, {1, 1});
  program.steps[0].draws_behind = 0;
  program.steps.insert(program.steps.begin(), SimStep{});
  program.signals = {{.latency = 1}};
  program.tasks[0].step = program.tasks[1].step = 1;
  program.tasks.insert(program.tasks.begin(),
                       SimTask{.step = 0, .sm = 0, .work = {.us = 2}, .notifies = {0}});
  SimRun run = Play(program);
  CHECK(run.tasks[1].arrived == Approx(3.5));
  CHECK(run.tasks[2].arrived == Approx(3.5));
  CHECK(run.makespan == Approx(4.5));
  CHECK(IdleFor(run, Idle::Tickets) == Approx(2 * 0.5));
  CHECK(IdleFor(run, Idle::Tasks) == Approx(1 + 3));
}

/// Two tasks that are there from the start, and two that each of them pushes one of.
SimProgram Pushes() {
  SimProgram program = Machine(2);
  program.machine.ticket = program.machine.arrival = 0.5;
  program.steps = {{.ahead = 0, .queue = 0}, {.ahead = 0, .queue = 0, .pushed = true}};
  program.tasks = {{.step = 0, .work = {.us = 4}, .arrivals = {0}},
                   {.step = 0, .work = {.us = 1}, .arrivals = {1}},
                   {.step = 1, .work = {.us = 1}},
                   {.step = 1, .work = {.us = 1}}};
  program.triggers = {{.count = 1, .first = 2, .tasks = 1}, {.count = 1, .first = 3, .tasks = 1}};
  return program;
}

TEST_CASE("an SM takes what is pushed, in the order of the pushes") {
  SimRun run = Play(Pushes());
  CHECK_FALSE(run.stuck);
  CHECK(run.tasks[0].ended == Approx(4.5));
  CHECK(run.tasks[1].ended == Approx(1.5));
  // SM 1 knows at 2 that the case is used up, at 2.5 its first task of the queue, at 4 the next.
  CHECK(run.tasks[2].sm == 1);
  CHECK(run.tasks[2].begun == Approx(2.5));
  CHECK(run.tasks[3].sm == 1);
  CHECK(run.tasks[3].begun == Approx(4));
  CHECK(run.makespan == Approx(5.5));
  CHECK(run.tickets == 8);
}

TEST_CASE("what nobody pushes is never given out") {
  SimProgram program = Pushes();
  program.triggers[0].count = 2;
  SimRun run = Play(program);
  CHECK(run.stuck);
  CHECK(run.tasks[3].begun == Approx(2.5));  // it has the first place
}

}  // namespace
}  // namespace etc
