// Nodes of graph functions and of kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/expr.h"
#include "ir/ids.h"
#include "support/source.h"

namespace etc {

enum class ScheduleKind : uint8_t { Static, Drain, Dynamic, Kernels, Auto };

std::string_view Spelling(ScheduleKind kind);

/// One index of an event reference: an element (`lo`), a range (`lo .. hi`), or the whole axis.
struct EventIndex {
  ExprId lo;
  ExprId hi;
  bool all = false;
};

/// `%e[i, *] for (s: 8) if i > 0`: the elements that one task waits for or notifies. With a peer,
/// `%e@(r)[i]`, they are those of another rank.
struct EventRef {
  EventId event;
  std::vector<EventIndex> indices;
  std::vector<Axis> axes;  // `for (…)`
  ExprId guard;            // `if …`, absent when none
  SourceRange range = {};
  ExprId peer = {};  // of a notify: whose elements they are; absent: those of its own rank
};

/// `(i, j) => %e[i], %f[*]`: names for the task's coordinates, then what it signals or awaits.
struct Edge {
  std::vector<SymbolId> coords;
  std::vector<EventRef> refs;
};

/// `%w` or `%w[l]`: a tensor, or its slice at the given leading indices. In a graph an axis before
/// the last index may stay free, `%w[*, l]`: its index is absent.
struct Argument {
  TensorId tensor;
  std::vector<ExprId> indices;
  SourceRange range = {};
};

/// Whether an axis in front of an index is free.
bool HasFreeAxes(const Argument& argument);

/// `%p = buffer f32[n];` in a graph, `%p = workspace f32[n] at 0;` in a kernel.
struct BufferDecl {
  TensorId tensor;
};
/// `event %e[n] count 4;`
struct EventDecl {
  EventId event;
};
/// `N = 64`: the value of a generic parameter.
struct GenericArg {
  std::string name;
  ExprId value;
  SourceRange range = {};
};
/// `rows = 64` or `alternative = split`: who calls decides for the compiler.
struct Pin {
  std::string name;
  ExprId value;             // absent for an alternative
  std::string alternative;  // its name
  SourceRange range = {};
};
/// `call @f(%a, %b, l + 1) wait … notify …;`, in graphs only.
struct CallNode {
  DeviceId callee;
  GraphId graph;                     // in the place of `callee`; none behind expansion
  std::vector<GenericArg> generics;  // those that the call says: none behind expansion
  std::vector<Pin> pins;             // the same
  std::vector<Argument> args;
  std::vector<ExprId> scalars;  // the values of the callee's scalar parameters
  std::vector<Edge> waits;
  std::vector<Edge> notifies;
  std::optional<ScheduleKind> schedule;
};
/// `repeat l in 0..n { … }`: the body once for each l, in order.
struct Repeat {
  SymbolId var;
  ExprId lo;
  ExprId hi;
  std::vector<NodeId> body;
};
/// `region schedule(dynamic) { … }`, in graphs only.
struct Region {
  ScheduleKind schedule;
  std::vector<NodeId> body;
};
/// `loader in_flight 3 interval 900 ahead 1 prefetch 1400;`: how fast the loader runs ahead of the
/// consumers.
struct Throttle {
  int64_t in_flight = 1;  // ring slots that may be on their way at once
  int64_t interval = 0;   // least clock cycles between the issues of two slots
  // The limit until the consumers have given back the share's first slot; absent: the same.
  std::optional<int64_t> ahead = {};
  // While the loader waits, for the ring or for what says what it copies, L2 is asked for another
  // slot each so many clock cycles; absent: never.
  std::optional<int64_t> prefetch = {};
  SourceRange range = {};

  bool IsSame(const Throttle& other) const {
    return in_flight == other.in_flight && interval == other.interval && ahead == other.ahead &&
           prefetch == other.prefetch;
  }
};

/// `check %t[*, i] in 0..n distinct monotone;`: what every launch makes sure of, for each slice
/// of the tensor at its leading indices: of a parameter before its first task, of what it computes
/// before the tasks of a share. `check (%t[l])[i] in 0..n counts %u[l];` is of one slice alone.
struct Check {
  TensorId tensor;
  std::vector<ExprId> slice = {};      // its indices; empty: the tensor is whole
  size_t leading = 0;                  // how many axes are `*`
  std::vector<SymbolId> indices = {};  // names of the others, where the range has them; else empty
  ExprId value_lo;                     // absent when no range is checked
  ExprId value_hi;
  bool distinct = false;
  bool monotone = false;
  TensorId counts = {};
  std::vector<ExprId> counts_slice = {};
  SourceRange range = {};
};

/// In kernels only: an SM's share of one call's tasks.
///   share (i: n, j: 4) from F {
///     loader in_flight 3 interval 900;
///     ranges { wait … }  enter { wait … }  wait …;  check …;  run @f[i, j](%a, %p);  notify …;
///     leave { notify … }
///   }
/// Task number t, counted row-major over the axes, runs on SM (F + t) mod sms, in ascending order.
/// `ranges` happens once, before any role of the SM reads the ranges of the axes from tensors: on
/// an SM without a task, too. `enter` happens once, before the SM's first task of the share,
/// `leave` once, after its last; an SM without a task skips both. A notify under `leave` counts
/// once for each task the SM ran. In a kernel of the schedule `kernels` each share is a launch of
/// its own, `launch (i: n, j: 4) run @f[i, j](%a, %p);`: F is 0, there are no events, and each
/// launch follows those before it. `wait peers;` in `enter` waits until every peer has begun the
/// launch, and so has ended the one before.
struct Share {
  std::vector<Axis> axes;
  ExprId first;
  std::optional<Throttle> throttle;  // of what it preloads; absent: that of the kernel
  std::vector<EventRef> range_waits;
  std::vector<Check> range_checks;  // behind them
  bool awaits_peers = false;        // in front of `enter_waits`
  std::vector<EventRef> enter_waits;
  std::vector<Check> enter_checks;
  std::vector<EventRef> waits;
  std::vector<Check> task_checks;  // behind them, for each task
  DeviceId callee;
  std::vector<Argument> args;
  std::vector<ExprId> scalars;
  std::vector<EventRef> notifies;
  std::vector<EventRef> leave_notifies;
  // Of a case of a queue:
  std::optional<EventRef> pushed_by;  // `on %due[i]`; absent: its tasks are there from the start
  std::vector<EventRef> arrivals;     // `arrive %due[i];`, when a task of it is dispatched
  // `after { wait %e; arrive %due[%t[i]]; }`: what a task arrives at where tensors say, and what
  // whoever is given it waits for before it reads them. The task itself does not wait for these.
  std::vector<EventRef> after_waits;
  std::vector<EventRef> after_arrivals;
};

/// In kernels only: shares whose tasks go to the SM that takes them first.
///   dispatch drain ahead 4 at T {
///     case (i: n, j: 4) { run @f[i, j](%a, %p); notify %e[i]; }
///   }
/// The tasks of a case are taken in the order of their numbers, by tickets that all SMs draw from
/// one counter. An SM goes on to the next case when the tickets are used up. `enter` and `leave`
/// are what they are in a share: an SM's tasks of a case follow each other. It may have taken
/// `ahead` tasks beside the one that it runs. The counters are those of event memory from number T
/// on: for each iteration of the repeats around one for each case.
///   dispatch queue capacity C ahead 4 at T {
///     case (i: n, j: 4) { arrive %due[i]; run @f[i, j](%a, %p); notify %e[i]; }
///     case (i: n) on %due[i] { wait %e[i]; run @g[i](%p, %c); }
///   }
/// A queue gives out the tasks of cases without `on` first, as a drain does. The tasks of the
/// others are pushed: what an SM is given arrives at triggers, and the arrival that completes an
/// element appends all tasks whose coordinates it names to the queue, which SMs take from in its
/// order. The task itself waits for its events. The queue has C places for each iteration, behind
/// the counters of its cases and two more. Arrivals under `after` come later, and data say where.
struct Dispatch {
  int64_t ahead = 1;
  SourceRange ahead_range = {};
  ExprId capacity;  // C, of a queue; absent of a drain
  ExprId tickets;   // T; absent before it is chosen
  std::vector<NodeId> cases;
};

using Node = std::variant<BufferDecl, EventDecl, CallNode, Repeat, Region, Share, Dispatch>;

}  // namespace etc
