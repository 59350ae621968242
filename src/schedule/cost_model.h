// What a kernel's calls move and compute, and how long they take on a target.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "schedule/body_cost.h"
#include "target/target.h"

namespace etc {

/// How a share learns that an operand is there.
enum class Mechanism {
  None,        // nothing in this launch writes it, or program order suffices
  FlagInData,  // each word of the data says so
  Counter,     // an event counter in global memory, awaited by each task
  Hoisted,     // the same, awaited once for all tasks that an SM runs
};
std::string_view Spelling(Mechanism mechanism);

/// A tensor written in this launch that a share reads.
struct EdgeCost {
  TensorId tensor;
  Mechanism mechanism = Mechanism::None;
};

/// What sets the time.
enum class Limit {
  Signals,  // the edges into a call, and the first look at what they bring
  Memory,   // the bytes that the call streams and reads
  Cache,    // these and what the call reads of other calls, out of L2
  Operations,
  Tasks,  // those of an SM one after the other, each from its first read to its last store
};
inline constexpr size_t kLimits = 5;
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

/// One share; all numbers are of one iteration of the repeats around it.
struct CallCost {
  NodeId share;
  std::vector<Loop> loops;  // the repeats around it, outermost first
  NodeId repeat;            // the innermost of them
  int64_t iterations = 1;
  int64_t tasks = 0;
  int64_t tasks_per_sm = 0;   // on the SM that has most
  double balance = 1;         // tasks over what that many on each SM would be
  double streamed_bytes = 0;  // by the loader, ahead of every wait
  double read_bytes = 0;      // other operands that the launch does not write
  double fetched_bytes = 0;   // written in this launch and read again, by all tasks together
  double first_bytes = 0;     // what an SM reads of them before its first operation
  bool depends = false;       // a task reads an operand of its own behind an event
  bool generated = false;     // no implementation: its body is compiled as it is written
  double flops = 0;
  std::set<TensorId> streams;  // what the loader reads
  std::vector<EdgeCost> edges;
  // Filled by Predict, averages over the iterations.
  double floor_us = 0;    // to read what must be read once
  double latency_us = 0;  // of the edges into it
  Times times;
};

struct KernelCost {
  std::vector<CallCost> calls;  // in program order
  double bytes = 0;             // that must be read once
  double flops = 0;
  double floor_us = 0;
  Times times;
};

/// How the edges of a kernel are known.
enum class Edges {
  Scheduled,  // by its flagged buffers, waits and events
  Expected,   // it has none yet: few rows will be flagged, and the rest will be counted
};

/// What the target makes of the kernel at these sizes; `dims` has every dimension. Each element of
/// an integer parameter counts as the value that `elements` has for its name, else as the largest
/// that it may be.
KernelCost CostOf(const Module& module, const Kernel& kernel, const Env& dims, const Target& target,
                  const std::map<std::string, int64_t>& elements = {},
                  Edges edges = Edges::Scheduled);

/// The throttle of the loader in the shares of one repeat, or in those that no repeat holds, and
/// why.
struct ThrottleChoice {
  NodeId repeat;               // the innermost around the shares
  std::vector<NodeId> shares;  // those that stream
  double streamed_bytes = 0;   // by all of them, in all iterations
  Throttle throttle;
  std::string reason;
};

/// The least sizes that a kernel serves, at which its chain counts most: its throttle is chosen
/// there.
Env LeastSizes(const Module& module, const Kernel& kernel, const Env& given = {});

/// The least or the largest sizes of the ranges that a kernel is specialised for; of the other
/// dimensions a few: of a cache of pages, so many as a context of a thousand positions has.
Env TypicalSizes(const Module& module, const Kernel& kernel, bool largest);

/// One for each run of shares that streams, in program order.
std::vector<ThrottleChoice> ChooseThrottles(const Module& module, const Kernel& kernel,
                                            const Target& target);

}  // namespace etc
