// What emission decides of kernels before it prints them. Passes (raise.cpp) fill it in; printers
// read it and decide nothing. It is keyed by the ids of the module, which stays as it is.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "emit/raise/messages.h"
#include "ir/module.h"
#include "target/arch.h"

namespace etc {

/// How integers are divided.
enum class Division : uint8_t {
  Small,  // in 32 bits, several times faster: both are in 0 .. 2^31, and the divisor is not 0
  Floor,  // in 64 bits, by a divisor that is above 0 at all sizes
  Total,  // in 64 bits, by a divisor that may be 0
};

/// A float of the program's own constants. `wide`: 32 bits do not hold it, or it is one of 64.
struct FloatConstant {
  double value;
  bool wide;
};
using Constant = std::variant<int64_t, bool, FloatConstant>;

/// What is known of a tensor's place in memory at all sizes of a kernel.
struct RaisedTensor {
  std::vector<std::optional<int64_t>> extents = {};  // absent: only the launch knows it
  std::vector<int64_t> tile = {};                    // along the last axis but one, and the last
  std::optional<int64_t> array = {};                 // how many tensors an array has

  /// Their product, of a local, whose extents are all known.
  int64_t Elements() const {
    int64_t count = 1;
    for (const std::optional<int64_t>& extent : extents) {
      count *= extent.value();
    }
    return count;
  }
};

/// Where a buffer or the counters of an event lie: `unit` bytes or counters for each element.
struct RaisedPlace {
  ExprId first;
  int64_t unit;
  std::vector<ExprId> extents;
  std::vector<Axis> iterations = {};  // an element for each of them
  ExprId places = {};                 // of a queue: how many it has beside
};

/// Who walks over the shares of a kernel. Prefetch stands for itself in a launch only; else it is a
/// part of Consumer.
/// The scheduler takes the tasks of dispatches and hands them to the other roles.
enum class Role : uint8_t { Consumer, Loader, EpilogueWarp, Prefetch, Scheduler };
inline constexpr size_t kRoles = 5;

/// What one role does in a share, beside its work.
struct RaisedRole {
  bool walks = true;         // over the tasks of the share; else it leaves the share out
  bool skips = false;        // what the scheduler says of them, where it leaves the share out
  bool waits_first = false;  // before it reads what follows, the ranges of tasks or a copy's source
  bool after_launches = false;  // for the launches in front, at that place
  bool reads_flags = true;      // of all operands that are flagged; else of those `behind_wait`
};

/// A number that goes with a span: an index, an iteration, or an index of an event. One that is too
/// large for its bits is written down as all ones.
struct RaisedField {
  std::string name;
  std::variant<SymbolId, ExprId> value;
  size_t bits = 0;
  bool fits = false;  // every value that it may have
};

/// What a profile may write down, and what its records say of it in words of 48 bits: the first
/// field has the lowest bits.
struct RaisedSpan {
  enum class Kind : uint8_t { Task, Wait, Signal };
  Kind kind = Kind::Task;
  std::string call;  // `@final_sum`
  std::string text;  // `@final_sum[{}], l = {}`, with the fields in the places of `{}`
  std::vector<RaisedField> fields = {};
  SourceRange range = {};
};

/// A wait for the elements of an event, or a notify of them.
struct RaisedSignal {
  const EventRef& ref;
  bool one_thread;  // only the thread that waited for a tensor may read it
  bool checked;     // data decide the elements and their counts, which are held against the event
  bool one_fence;   // of several notifies at peers, in front of all
  std::optional<size_t> span = {};           // of the kernel: what a profile makes of it
  bool guards_span = false;                  // where its guard does not hold, there is none
  SignalMessages says = {};                  // where it is checked
  std::optional<WatchMessage> watched = {};  // of a wait, where the kernel has a watchdog
};

/// A debug check of a whole tensor.
struct RaisedCheck {
  const Check& check;
  ElementMessages says;
};

/// Where an SM takes its tasks of a case: the case's counter is one of `cases` for each iteration
/// of the repeats around the dispatch, the first of which is number `first`.
struct RaisedTickets {
  ExprId first;
  std::vector<Axis> iterations;
  size_t place;  // of the case among all
  size_t cases;
  int64_t ahead;
  ExprId capacity = {};  // of a queue, whose counters are those of the cases, of pushes where it
                         // counts them, of head and tail, and those that hold its places
  int64_t counters = 0;  // all but the last
  bool pushed = false;
  bool by_push = false;               // what pushes its tasks arrives, not each of them
  std::optional<size_t> behind = {};  // the place of the case whose tasks are numbered in front
};

/// What giving out a task counts, and the case whose tasks it pushes when it is the last to.
struct RaisedArrival {
  const EventRef& ref;
  NodeId pushes;
  size_t iterations;  // indices in front, which are those of the repeats around
  // Where debug checks hold the indices that data decide against the extents: what they say.
  std::vector<MessageId> says = {};
};

/// The order in which an SM takes the cases of a queue.
struct RaisedQueue {
  std::vector<NodeId> from_start;
  std::vector<NodeId> pushed;
  /// Data decide how many tasks are pushed. Then each case has as many numbers as the queue has
  /// places, and who makes the last push marks the end.
  bool counts_pushes = false;
  std::vector<OrderPart> place = {};         // in program order: behind its cases
  std::optional<WatchMessage> watched = {};  // of the wait for a place, where there is a watchdog
};

/// How an SM does its tasks of a share. They are numbered row-major over the axes.
struct RaisedShare {
  const Share& share;
  size_t device;                              // its place among those of the kernel
  std::optional<RaisedTickets> tickets = {};  // of a case of a dispatch
  /// How many axes are loops, from the first on: others' ranges depend on them. The rest, the box,
  /// has a size for each of their values, and division gives its coordinates.
  size_t loops = 0;
  bool by_value = false;  // data decide the box, so an SM looks at the values with tasks alone
  Division coordinates = Division::Floor;  // of a task's number by the extents of the box
  Division first = Division::Floor;        // of the first task's place by the number of SMs
  bool reads_ranges = false;               // the ranges of the axes, from tensors
  bool moves_others = false;               // every role counts its tasks, since shares behind it
                                           // begin where they end
  std::set<size_t> behind_wait = {};       // operands that its loader reads behind its waits
  std::set<size_t> fetched = {};  // operands that the launch computes: the loader waits for each
                                  // task before it copies them
  std::vector<NodeId> next = {};  // shares of the next iteration whose weights its loader asks L2
                                  // for while it waits for what it reads
  std::map<size_t, size_t> maps = {};  // of operands with boxes, the kernel's tensor maps
  bool one_object = false;   // an implementation's object serves all tasks of an SM, else one each
  bool hands_waits = false;  // an implementation may wait for its tasks' events itself
  bool hands_loads = false;  // so may its loader, of operands that it fetches
  bool prefetches = false;   // what an SM's first task reads, before it waits
  bool enters_together = false;  // a barrier stands before the first task; else only where an
                                 // implementation has scratch memory
  std::array<RaisedRole, kRoles> roles = {};
  std::optional<Throttle> throttle = {};  // of the loader
  std::optional<size_t> span = {};        // of the kernel: what a profile makes of a task
  std::vector<RaisedSignal> range_waits = {};
  std::vector<RaisedSignal> enter_waits = {};
  std::vector<RaisedSignal> waits = {};
  std::vector<RaisedSignal> notifies = {};
  std::vector<RaisedSignal> leave_notifies = {};
  std::vector<RaisedArrival> arrivals = {};
  std::vector<RaisedSignal> after_waits = {};
  std::vector<RaisedArrival> after_arrivals = {};
  std::vector<RaisedCheck> range_checks = {};
  std::vector<RaisedCheck> enter_checks = {};
  std::vector<RaisedCheck> task_checks = {};
  std::vector<OrderPart> place = {};  // of its waits in program order, where they are watched
  std::optional<WatchMessage> watched_peers = {};  // of its wait for peers, in front of all others
};

/// A statement of a body that all consumer threads of a CTA run together, or what stands between
/// two of them.
struct Step;
using Steps = std::vector<Step>;
/// The threads wait for each other.
struct BarrierStep {};
/// Each thread runs a `let` for itself.
struct EachThread {
  StmtId stmt;
};
/// The points of a reduction are divided among the threads, along its first `flat` axes, and each
/// gets what all of them make together: the text of statements behind has it by its number.
struct SharedReduction {
  ExprId reduce;
  size_t number;
  size_t flat;
  int64_t offset;  // of a word for each warp in the scratch memory
};
/// One thread runs the statement with all that is inside.
struct OneThread {
  StmtId stmt;
};
/// The points of a `for` are divided among the threads, along its first `flat` axes.
struct Divided {
  StmtId loop;
  size_t flat;
  bool barrier;  // in front, behind the bounds of the axes, which all threads have read then
};
/// The threads walk through a `scan` together.
struct Together {
  StmtId loop;
  Steps body;
};
/// The threads take the same side of an `if`.
struct SameSide {
  StmtId branch;
  Steps body;
  Steps otherwise;
};
/// The most bytes of a local that each thread has for itself.
inline constexpr int64_t kMostStackBytes = 65536;

/// A local that the threads share.
struct SharedLocal {
  TensorId tensor;
  int64_t offset;  // in the scratch memory
};
using AnyStep = std::variant<BarrierStep, EachThread, SharedReduction, OneThread, Divided, Together,
                             SameSide, SharedLocal>;
struct Step : AnyStep {
  using AnyStep::AnyStep;
  const AnyStep& AsVariant() const { return *this; }
};

/// A device function in a kernel.
struct RaisedDevice {
  const Device& device;
  const Impl* impl;                                       // null: its body is generated
  std::vector<std::optional<Constant>> impl_args = {};    // absent: a bare word
  std::map<TensorId, std::array<int64_t, 2>> boxes = {};  // rows and columns, of parameters
  std::optional<Steps> steps = {};  // of a generated body; absent: one thread runs a task
  int64_t scratch_bytes = 0;        // of the locals in these steps, and of shared reductions
  std::set<ExprId> from_data = {};  // the indices, peers and bounds of `topk` that debug checks
                                    // hold against extents, as their values depend on elements
  BodyMessages says = {};           // where these checks are printed
};

/// What tensor copies know of a tensor, its leading axes folded into one, and of their box.
struct RaisedMap {
  TensorId tensor;  // of the kernel
  int64_t rows;
  int64_t columns;
  auto operator<=>(const RaisedMap&) const = default;
};

/// A launch of a kernel of the schedule `kernels`.
struct RaisedLaunch {
  NodeId share;
  std::vector<SymbolId> iterations = {};  // variables of the repeats around it, outermost first
  // The axes whose extents make the number of its tasks; absent where only the launch knows it.
  std::optional<std::vector<Axis>> tasks = {};
};

struct RaisedKernel {
  const Module& module;
  const Kernel& kernel;
  std::vector<RaisedDevice> devices = {};  // those that it runs, each once, by their first share
  std::set<TensorId> flagged = {};         // parameters of these that are bound to flagged buffers
  std::set<TensorId> phased = {};          // and to phased ones
  std::set<TensorId> computed = {};        // parameters of these whose elements the kernel computes
  bool loaders_read_flags = false;         // some loader waits for words of a flagged buffer
  std::vector<SymbolId> dims = {};         // of the launch block, in its order
  std::vector<RaisedLaunch> launches = {};  // in program order; none of a persistent kernel
  size_t iterations = 0;                    // the most repeats around a launch
  std::vector<std::pair<SymbolId, Constant>> constants = {};  // of the program, in its order
  std::map<TensorId, RaisedTensor> tensors = {};
  std::vector<RaisedPlace> buffers = {};    // in the workspace, as large as the largest end
  std::vector<RaisedPlace> symmetric = {};  // the same of symmetric memory
  std::vector<RaisedMap> maps = {};         // the tensor maps of the launch block,
  size_t unused_words = 0;                  // and what makes the rest a multiple of their alignment
  bool fetches = false;                     // some loader copies what the launch computes
  std::vector<RaisedPlace> flag_buffers = {};     // those buffers that have flags,
  std::optional<int64_t> flags_begin = {};        // and the first one's place, where there is one
  bool symmetric_flags = false;                   // in symmetric memory, not in the workspace
  std::optional<RaisedPlace> last_counters = {};  // where they end, all counters do
  std::vector<RaisedCheck> checks = {};           // of parameters
  std::map<NodeId, RaisedShare> shares = {};
  std::vector<RaisedSpan> spans = {};  // of a kernel with a profile
  int64_t block_bytes = 0;             // of the shared memory, what a CTA has for its roles
  int64_t cta_counters = 0;            // of events inside of an SM, behind these bytes
  bool moves = false;  // a share begins behind the tasks that data gave to those in front of it
  std::set<NodeId> preloading = {};   // the shares and repeats that the loader walks
  std::set<NodeId> dispatching = {};  // the cases of dispatches, and the repeats around them
  std::map<NodeId, RaisedQueue> queues = {};
  int64_t most_ahead = 0;                           // of all dispatches
  std::map<ExprId, size_t> shared_reductions = {};  // their numbers
  std::map<ExprId, size_t> kept_reductions = {};    // of those that a statement has several times,
  std::map<StmtId, std::vector<ExprId>> keeping = {};  // and which ones are computed before it
  std::set<ExprId> chained = {};  // whose left side goes on in them: a sum in a longer one
  std::map<ExprId, Division> divisions = {};  // of `/`, `%` and the intrinsics that divide
  std::set<ExprId> open_shifts = {};          // by places that may be outside of 0 .. 63
  std::map<ExprId, int64_t> limits = {};      // the values of `lower(d)` and `upper(d)`
  std::map<ExprId, double> doubles = {};      // floats without a variable, where one of 64 bits is
                                              // asked for
};

struct RaisedModule {
  const Module& module;
  Arch arch;
  std::vector<RaisedKernel> kernels = {};  // in the order of the module
  int64_t consumer_warps = 8;              // of all of them
  bool has_checks = false;                 // whether some kernel has debug checks
  bool has_task_ranges = false;            // whether some share is walked by value
  bool has_dispatches = false;             // whether some kernel has one,
  bool has_queues = false;                 // one that is a queue,
  bool has_counted_queues = false;         // and one that counts its pushes
  bool has_cta_counters = false;           // whether some kernel has events inside of an SM
  bool has_watchdog = false;               // whether launches of some kernel end that stand still
  bool has_profile = false;                // whether launches of some kernel leave a profile behind
  MessageTexts check_texts = {};           // what debug checks say, and what the watchdog says: the
  MessageTexts wait_texts = {};            // failure's number is the place in the list
};

}  // namespace etc
