// What the calls of a kernel move and compute, before anything is said of time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "simulator/body_cost.h"
#include "target/target.h"

namespace etc {

/// How a share learns that an operand is there.
enum class Mechanism {
  None,        // nothing in this launch writes it, or program order suffices
  FlagInData,  // each word of the data says so
  Counter,     // an event counter in global memory, awaited by each task
  Hoisted,     // the same, awaited once for all tasks that an SM runs
  Words,       // an event in words of the data, which say in which turn they were written
};
std::string_view Spelling(Mechanism mechanism);

/// A tensor written in this launch that a share reads.
struct EdgeCost {
  TensorId tensor;
  Mechanism mechanism = Mechanism::None;
  bool of_peers = false;  // ranks write it at each other
};

/// What sets the time.
enum class Limit {
  Signals,  // the edges into a call, and the first look at what they bring
  Memory,   // the bytes that the call streams and reads
  Cache,    // these and what the call reads of other calls, out of L2
  Operations,
  Tasks,  // those of an SM one after the other, each from its first read to its last store
  Power,  // what a card may draw makes its clock slower
};
inline constexpr size_t kLimits = 6;
std::string_view Spelling(Limit limit);

/// Microseconds by what sets them.
struct Times {
  std::array<double, kLimits> us{};

  double& operator[](Limit limit) { return us[static_cast<size_t>(limit)]; }
  double operator[](Limit limit) const { return us[static_cast<size_t>(limit)]; }
  [[nodiscard]] double Sum() const;
  [[nodiscard]] Limit Longest() const;
};

/// A repeat around a share.
struct Loop {
  NodeId repeat;
  int64_t rounds = 0;
};

/// A place of a list, whose tasks have tokens of one expert.
struct Place {
  double size = 1;       // what its tasks compute and fetch, over those of the mean place
  bool is_first = true;  // of its expert
};

/// The places that data leave the tasks of a call. Those of a place follow each other.
struct ListedTasks {
  int64_t places = 0;  // of the list: tasks at places that nobody takes have no work
  int64_t tasks_of_place = 0;
  std::vector<std::vector<Place>> taken;  // by iteration
};

/// One share; all numbers are of one iteration of the repeats around it.
struct CallCost {
  NodeId share;
  std::vector<Loop> loops;  // the repeats around it, outermost first
  NodeId repeat;            // the innermost of them
  int64_t iterations = 1;
  int64_t tasks = 0;
  int64_t working_tasks = 0;          // the others find that data leave them nothing
  std::optional<ListedTasks> listed;  // where data say which of the tasks work, and how much
  int64_t tasks_per_sm = 0;           // on the SM that has most
  double balance = 1;                 // tasks over what that many on each SM would be
  double streamed_bytes = 0;          // by the loader, ahead of every wait
  double copied_bytes = 0;           // the same by all tasks together, what L2 has by then included
  double read_bytes = 0;             // other operands that the launch does not write
  double fetched_bytes = 0;          // written in this launch and read again, by all tasks together
  double first_bytes = 0;            // what an SM reads of them before its first operation
  bool is_own = false;               // what a task reads most of written in this launch is its own
  std::map<TensorId, double> reads;  // of streamed_bytes and read_bytes, by tensor
  std::map<TensorId, double> fetches;  // of fetched_bytes, by tensor
  std::map<TensorId, double> stores;   // bytes that all tasks together write
  double spilled_bytes = 0;   // of both, those that memory moves, as L2 does not hold them so long
  double sent_bytes = 0;      // that all tasks together store at peers
  bool in_tiles = false;      // its implementation multiplies tiles that tensor copies bring
  bool in_registers = false;  // it takes its activations as flagged words
  bool generated = false;     // no implementation: its body is compiled as it is written
  double flops = 0;
  int64_t reductions = 0;      // of a task, one after the other
  std::set<TensorId> streams;  // what the loader reads
  std::vector<EdgeCost> edges;
  // Filled by Predict, averages over the iterations.
  double floor_us = 0;    // to read what must be read once
  double latency_us = 0;  // of the edges into it
  Times times;
};

/// The time of the slowest edge into a call; one of peers counts as `of_peer` others.
double SlowestEdge(const CallCost& call, const PerSignal& signal, const PerSignal& of_peer);

/// What the calls read of what the launch does not write: of a tensor that several read, or one in
/// several iterations, no more than it has.
double BytesReadOnce(const Module& module, const std::vector<CallCost>& calls, const Env& dims);

/// Fills in `spilled_bytes`. What a call writes leaves L2 where it and what tensor copies bring
/// meanwhile is more than L2 holds: other copies are the first that L2 gives up.
void FindSpills(const Target& target, std::vector<CallCost>& calls);

/// Each tensor that `ranks` ranks write for each other is read as if it were one of their parts,
/// which NCCL has made of all.
void SumByNetwork(int64_t ranks, std::vector<CallCost>& calls);

/// How the edges of a kernel are known.
enum class Edges {
  Scheduled,  // by its flagged buffers, waits and events
  Expected,   // it has none yet: few rows will be flagged, and the rest will be counted
};

/// The bytes, operations, tasks and edges of each share in program order, at given sizes.
/// `elements`: values of tensors that data decide, by name.
std::vector<CallCost> CountCalls(const Module& module, const Kernel& kernel, const Env& dims,
                                 const Target& target,
                                 const std::map<std::string, int64_t>& elements, Edges edges);

}  // namespace etc
