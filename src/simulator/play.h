// Plays tasks on SMs as discrete events. Between two events each rate is constant: what a loader
// copies, what consumers take. It knows nothing of the IR: whoever has tasks, bytes and signals can
// have them played.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace etc {

/// What all SMs share, and what one has. Bytes, and bytes in a microsecond.
struct SimMachine {
  int64_t sms = 0;
  double memory_rate = 0;  // that all loaders copy together
  double cache_rate = 0;   // that all SMs get from L2, what is copied included
  double ring_bytes = 0;   // that a loader may be ahead of its consumers
  double behind_wait = 0;  // us from the wait of a loader to the first bytes behind it
  double ticket = 0;       // us from asking for a ticket to the task that it stands for
  double arrival = 0;      // us of a scheduler at a trigger
  double link_rate = std::numeric_limits<double>::infinity();  // that all SMs store at peers
};

inline constexpr uint32_t kNoSignal = std::numeric_limits<uint32_t>::max();
inline constexpr uint32_t kNoTask = std::numeric_limits<uint32_t>::max();

/// A share in one iteration, or a launch. Times are microseconds.
struct SimStep {
  size_t call = 0;        // whose it is
  int64_t iteration = 0;  // of the repeats around it
  double start = 0;       // of the first task of an SM, from the signal to its first operation
  double finish = 0;      // from the last operation to the stored result, beside the next task
  double load_rate = std::numeric_limits<double>::infinity();  // of an SM's loader at most
  double ahead_rate =
      std::numeric_limits<double>::infinity();  // the same until its consumers begin
  uint32_t loads_behind = kNoSignal;            // what the loader itself waits for
  // A launch behind another, with CTAs of its own: nothing is copied before the SM's last one
  // ended.
  bool launched = false;
  double launch = 0;                   // us from that end to the first instruction
  std::optional<int64_t> ahead = {};   // its tasks are drawn: how many beside the one that runs
  std::optional<uint32_t> queue = {};  // they belong to this one, as the steps around it do,
  bool pushed = false;                 // and triggers push them
  uint32_t draws_behind = kNoSignal;   // what is waited for before the first ticket
};

/// What tasks copy and do. Nothing at all where data leave them nothing.
struct SimWork {
  double us = 0;       // of the consumers, where no byte is missing
  double bytes = 0;    // that the loader copies
  double fetched = 0;  // that the consumers get from L2 meanwhile
  double memory = 0;   // that memory moves for all that
  double sent = 0;     // that the consumers store at peers

  SimWork& operator+=(const SimWork& other);
  SimWork operator*(double times) const;
};

/// Tasks of a step that an SM runs one after the other, as one.
struct SimTask {
  uint32_t step = 0;
  uint32_t sm = 0;    // unless it is drawn
  int64_t first = 0;  // its number among those of the step
  int64_t tasks = 1;
  SimWork work = {};  // of all of them
  std::vector<uint32_t> waits = {};
  std::vector<uint32_t> joins = {};  // what it waits for behind its work, before its result
  std::vector<uint32_t> notifies = {};
  std::vector<uint32_t> arrivals = {};  // at triggers, when an SM is given it
};

/// Pushes tasks that follow each other when as many tasks have arrived as name it.
struct SimTrigger {
  uint32_t count = 0;
  uint32_t first = 0;
  uint32_t tasks = 0;
};

/// Given when as many tasks have notified it as name it; seen `latency` later.
struct SimSignal {
  double latency = 0;
};

struct SimProgram {
  SimMachine machine;
  std::vector<SimStep> steps;
  // Of each SM in the order in which it runs them. Those that are drawn, step by step, in the order
  // of their tickets.
  std::vector<SimTask> tasks;
  std::vector<SimSignal> signals;
  std::vector<SimTrigger> triggers = {};
};

/// Why the consumers of an SM stand still.
enum class Idle : uint8_t {
  Tasks,      // other SMs still run what its next task waits for, or the rest of the launch
  Signals,    // what they have ended is not yet known here, or not yet looked at
  Bandwidth,  // bytes are missing, as other SMs' take the memory's time
  Throttle,   // bytes are missing, as the loader may not have more on its way
  Loader,     // bytes are missing, as the loader itself had to wait
  Cache,      // L2 gives all SMs less than they could take
  Tickets,    // it does not know its next task yet
};
inline constexpr size_t kIdles = 7;

/// Why a loader stands still.
enum class Stall : uint8_t {
  Ring,    // it is full
  Wait,    // for a signal, a ticket, or a CTA's start
  Nothing  // is left to copy
};
inline constexpr size_t kStalls = 3;

/// When, in microseconds.
struct SimTimes {
  double arrived = 0;      // the SM got to the task
  double ready = 0;        // all signals were there
  double begun = 0;        // its first operation
  double worked = 0;       // all work but what waits for `joins` was done
  double ended = 0;        // its last one
  double finished = 0;     // its result was stored, and its notifies were given
  double starved = 0;      // of begun..ended, without bytes to work on
  double slowed = 0;       // of begun..ended, lost to what L2 gives
  double load_begun = -1;  // below 0: it copies nothing
  double load_ended = 0;
  uint32_t after = kNoTask;   // the task whose notify it waited for last, to begin
  uint32_t joined = kNoTask;  // the same, to end
  uint32_t sm = 0;            // that ran it
};

struct SimRun {
  double makespan = 0;
  std::vector<SimTimes> tasks;        // as in the program
  std::array<double, kIdles> idle{};  // us, of all SMs together
  std::array<double, kStalls> stalls{};
  double busy = 0;   // us, of all SMs together
  double bytes = 0;  // that were copied
  int64_t tickets = 0;
  bool stuck = false;  // some tasks wait for what nobody gives
};

SimRun Play(const SimProgram& program);

}  // namespace etc
