// An SM in a play, and how fast everything goes on it until something changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <queue>
#include <vector>

#include "simulator/play.h"

namespace etc {

inline constexpr double kNever = std::numeric_limits<double>::infinity();
inline constexpr double kBytes = 1e-3;   // fewer are none
inline constexpr double kMoment = 1e-6;  // us; events nearer to each other are one

enum class Phase : uint8_t { Drawing, Waiting, Starting, Working, Joining, Done };

/// What the scheduler of an SM comes to: one of the SM's own tasks, a case that all draw from, or
/// what is pushed to a queue.
struct PlanEntry {
  enum class Kind : uint8_t { Task, Case, Queue } kind = Kind::Task;
  uint32_t id = 0;
};

struct Sm {
  // The scheduler: where it is, when its ticket is there, and for each word that it has handed on
  // and the consumers have not read, how many tasks are in front of it.
  std::vector<PlanEntry> plan;
  size_t plan_at = 0;
  double ticket_at = kNever;
  double asks_from = 0;              // it arrives at triggers until then
  std::optional<size_t> place = {};  // of a queue, which is empty or is being read
  std::queue<size_t> words;
  // What it has handed on so far.
  std::vector<uint32_t> tasks;
  // The loader: its task, what is missing of it, when it may begin at the earliest.
  size_t load_at = 0;
  double load_left = 0;
  double load_from = 0;
  double load_rate = 0;
  double limit = 0;      // what it could have had
  double of_memory = 1;  // bytes that memory moves for each that it copies
  bool load_blocked = false;
  // What lies in the ring.
  double ring = 0;
  // The consumers.
  size_t run_at = 0;
  Phase phase = Phase::Waiting;
  double until = kNever;  // end of the wait or of the start
  // Of its task's waits so many are over, by then.
  size_t waited = 0;
  double waited_until = 0;
  double left = 0;  // of the work, a part of 1
  // At work, were no byte missing: of the work and of bytes in a microsecond, and all bytes.
  double full_speed = 0;
  double full_taken = 0;
  double full_fetch = 0;
  double full_memory = 0;
  double full_sent = 0;
  double bytes = 0;
  double taken = 0;      // bytes in a microsecond, now
  double speed = 0;      // of the work in a microsecond, now
  double memory = 0;     // bytes of memory in a microsecond at full speed, if no loader has them
  double sent = 0;       // bytes for peers in a microsecond at full speed
  double fetch = 0;      // bytes of L2 in a microsecond at full speed
  bool starves = false;  // the ring is empty, and less comes than it could take
  double cta_from = 0;   // the start of the CTA, where each launch has its own
  size_t cta_step = kNoSignal;
};

inline const SimTask& TaskAt(const SimProgram& program, const Sm& sm, size_t at) {
  return program.tasks[sm.tasks[at]];
}
inline const SimStep& StepAt(const SimProgram& program, const Sm& sm, size_t at) {
  return program.steps[TaskAt(program, sm, at).step];
}

/// The consumers of an SM begin to work on their task.
void BeginWork(const SimProgram& program, Sm& sm);

/// Sets the rates of all SMs from the moment `now` on. `open` is scratch.
void SetRates(const SimProgram& program, double now, std::vector<Sm>& sms,
              std::vector<size_t>& open);

}  // namespace etc
