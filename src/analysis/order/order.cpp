#include "analysis/order/order.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/control_reads.h"
#include "analysis/order/task_order.h"
#include "analysis/order/whole_calls.h"
#include "analysis/sets/task_pairs.h"

namespace etc {

struct Order::Exact {
  Exact(const Module& module, const CallProgram& program)
      : unknowns(module, program, context), tasks(unknowns), writers(WritersOf(unknowns)) {}

  IslContext context;
  Unknowns unknowns;
  TaskOrder tasks;
  std::map<TensorId, std::set<size_t>> writers;
};

namespace {

/// Whether the writer writes again, in later iterations of the repeats around both, behind all
/// tasks of the call only.
bool IsKept(Unknowns& unknowns, TaskOrder& tasks, const ProgramCall& call,
            const ProgramCall& writer) {
  size_t repeats = CommonRepeats(call, writer);
  if (repeats == 0 || tasks.OrdersIterations(call, writer)) {
    return true;
  }
  TaskScope first(unknowns, call, 1);
  TaskScope second(unknowns, writer, 2);
  Set later = unknowns.All() - unknowns.All();
  for (size_t around = 0; around < repeats; ++around) {
    later = later | InLaterIteration(unknowns, around);
  }
  later = later & first.domain & second.domain & unknowns.GlobalFacts();
  return tasks.Orders(call.index, writer.index,
                      ToMap(unknowns, later, TaskNames(call, 1), TaskNames(writer, 2)));
}

}  // namespace

Order::Order(const Module& module, const CallProgram& program)
    : module_(module), program_(program) {}

Order::~Order() = default;

const WholeCalls& Order::Whole() {
  if (whole_ == nullptr) {
    whole_ = std::make_unique<WholeCalls>(module_, program_);
  }
  return *whole_;
}

const UseChains& Order::Chains() {
  if (chains_ == nullptr) {
    chains_ = std::make_unique<UseChains>(module_, program_);
  }
  return *chains_;
}

bool Order::Before(size_t x, size_t y) { return Whole().Before(x, y); }
bool Order::BeforeNext(size_t x, size_t y) { return Whole().BeforeNext(x, y); }

void Order::FindUnjoined(NeedOrder need, const std::function<void(const Unjoined&)>& on_unjoined) {
  Chains().FindUnjoined(need, {}, on_unjoined);
}

std::set<EventId> Order::Redundant(const std::vector<EventId>& events) {
  // The two calls, the tensor, whether the one and the other are tasks, and the repeat of which the
  // second is in a later iteration.
  using Pair = std::tuple<size_t, size_t, TensorId, bool, bool, SymbolId>;
  auto unjoined_without = [&](const std::set<EventId>& without) {
    std::set<Pair> pairs;
    Chains().FindUnjoined(NeedOrder::Conflicts, without, [&](const Unjoined& unjoined) {
      const CallUse& first = unjoined.earlier;
      const CallUse& second = unjoined.later;
      pairs.emplace(first.call, second.call, first.arg.tensor, first.reader == Conflicts::Use::Body,
                    second.reader == Conflicts::Use::Body,
                    unjoined.carrier ? unjoined.carrier->repeat : SymbolId());
    });
    return pairs;
  };
  std::set<EventId> redundant;
  // What no event joins now need not be joined: the uses are of other elements.
  std::set<Pair> unjoined = unjoined_without({});
  for (EventId event : events) {
    std::set<EventId> without = redundant;
    without.insert(event);
    if (unjoined_without(without) == unjoined) {
      redundant = std::move(without);
    }
  }
  return redundant;
}

bool Order::IsComplete(const ProgramCall& call, size_t waits, size_t param) {
  if (exact_ == nullptr) {
    exact_ = std::make_unique<Exact>(module_, program_);
  }
  auto& [context, unknowns, tasks, all_writers] = *exact_;
  TensorId tensor = call.args[param].tensor;
  auto writers = all_writers.find(tensor);
  if (writers == all_writers.end()) {
    return true;
  }
  TaskScope task(unknowns, call, 2);
  ControlReads::value_type reads(tensor, {task.converter.Find(call.device->params[param])->slice});
  bool stable = unknowns.IsStable(tensor);
  return std::all_of(writers->second.begin(), writers->second.end(), [&](size_t w) {
    const ProgramCall& writer = program_.calls[w];
    return w < call.index &&
           (tasks.FollowsProgramOrder() ||
            ((stable || IsKept(unknowns, tasks, call, writer)) &&
             FollowsWrites(
                 unknowns, tasks, writer, call, reads, [&](size_t wait) { return wait < waits; },
                 stable ? WritesOf::AllIterations : WritesOf::OneIteration)));
  });
}

}  // namespace etc
