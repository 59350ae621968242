#include "schedule/event_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "support/diagnostics.h"

namespace etc {

EventPlan::EventPlan(Module& module, std::vector<CallProgram>& programs, int64_t ranks)
    : module_(module),
      programs_(programs),
      program_(programs.front()),
      ranks_(ranks),
      coords_(program_.calls.size()) {
  for (size_t i = 0; i < coords_.size(); ++i) {
    for (const Axis& axis : program_.calls[i].axes) {
      bool is_rank = ForEachRank() && axis.var == module.rank;
      coords_[i].push_back(is_rank ? axis.var
                                   : module.symbols.Add(Symbol(module.symbols[axis.var])));
    }
  }
}

EventId EventPlan::NewEvent(std::string name, SourceRange range) {
  return module_.events.Add({std::move(name), {}, {}, Realisation::Unset, range});
}

void EventPlan::Apply() {
  std::vector<std::unique_ptr<Clauses>> clauses;
  auto first = clauses_.begin();  // mostly they stand as before
  for (const PlannedEvent& planned : events) {
    while (first != clauses_.end() && !*first) {
      ++first;
    }
    auto known = std::find_if(first, clauses_.end(), [&](const auto& old) {
      return old && old->plan.event == planned.event && old->plan.grains == planned.grains &&
             old->plan.rank == planned.rank && old->plan.initial == planned.initial;
    });
    clauses.push_back(known == clauses_.end() ? std::make_unique<Clauses>(MakeClauses(planned))
                                              : std::move(*known));
    Update(*clauses.back(), planned);
  }
  clauses_.swap(clauses);
  for (CallProgram& program : programs_) {
    for (ProgramCall& call : program.calls) {
      call.waits.clear();
      call.notifies.clear();
    }
    ForClauses([&](size_t index, const EventRef& ref, bool notifies) {
      ProgramCall& call = program.calls[index];
      (notifies ? call.notifies : call.waits).push_back({&ref, coords_[index], call.range});
    });
  }
}

EventPlan::Clauses EventPlan::MakeClauses(const PlannedEvent& planned) {
  Clauses clauses;
  clauses.plan = planned;
  clauses.plan.waits.clear();
  Declare(planned);
  clauses.notifies.push_back(Notify(planned));
  if (planned.initial) {
    EventRef first{planned.event, {}, {}, {}, {}};
    for (size_t i = 0; i < CallAt(*planned.initial).repeats.size(); ++i) {
      const EnclosingRepeat& repeat = CallAt(*planned.initial).repeats[i];
      first.indices.push_back({ElementOf(planned, i, MakeRef(module_, repeat.var)), {}});
    }
    first.indices.push_back({MakeInt(module_, 0), {}});
    if (planned.rank && IsIndex(planned, *planned.rank)) {
      first.indices.push_back({MakeRef(module_, coords_[*planned.initial].front()), {}});
    }
    clauses.notifies.push_back(std::move(first));
  }
  return clauses;
}

/// Makes the waits those that are planned now.
void EventPlan::Update(Clauses& clauses, const PlannedEvent& planned) {
  std::vector<PlannedWait>& before = clauses.plan.waits;
  for (size_t i = 0; i < planned.waits.size(); ++i) {
    if (i < before.size() && before[i] == planned.waits[i]) {
      continue;
    }
    before.resize(i);
    clauses.waits.resize(i);
    before.push_back(planned.waits[i]);
    clauses.waits.push_back(std::make_shared<EventRef>(Wait(planned, planned.waits[i])));
  }
  before.resize(planned.waits.size());
  clauses.waits.resize(planned.waits.size());
}

/// Visits each call's clauses in the order in which they are written.
template <class Visit>
void EventPlan::ForClauses(const Visit& visit) const {
  for (const auto& clauses : clauses_) {
    visit(clauses->plan.from, clauses->notifies.front(), true);
    if (clauses->plan.initial) {
      visit(*clauses->plan.initial, clauses->notifies.back(), true);
    }
  }
  for (bool reads_table : {false, true}) {
    for (const auto& clauses : clauses_) {
      for (size_t i = 0; i < clauses->waits.size(); ++i) {
        if (clauses->plan.waits[i].reads_table == reads_table) {
          visit(clauses->plan.waits[i].call, *clauses->waits[i], false);
        }
      }
    }
  }
}

void EventPlan::Write(Graph& graph) const {
  std::vector<NodeId> declarations;
  for (const PlannedEvent& planned : events) {
    declarations.push_back(module_.AddNode(EventDecl{planned.event}));
  }
  auto first = std::find_if(graph.body.begin(), graph.body.end(), [&](NodeId id) {
    return !std::holds_alternative<BufferDecl>(module_.nodes[id]);
  });
  graph.body.insert(first, declarations.begin(), declarations.end());
  ForClauses([&](size_t index, const EventRef& ref, bool notifies) {
    auto& call = std::get<CallNode>(module_.nodes[program_.calls[index].node]);
    std::vector<Edge>& edges = notifies ? call.notifies : call.waits;
    if (edges.empty()) {
      // The rank is no name of the clauses.
      edges.push_back(
          {{coords_[index].begin() + (ForEachRank() ? 1 : 0), coords_[index].end()}, {}});
    }
    edges.back().refs.push_back(ref);
  });
  // Counts and indices may be read from what an earlier wait of the call is for.
  auto reads_nothing = [&](const EventRef& ref) {
    return !ReadsTensor(module_, ref) && !ReadsTensor(module_, module_.events[ref.event].count);
  };
  for (const ProgramCall& call : program_.calls) {
    for (Edge& edge : std::get<CallNode>(module_.nodes[call.node]).waits) {
      std::stable_partition(edge.refs.begin(), edge.refs.end(), reads_nothing);
    }
  }
}

void EventPlan::Remark(Diagnostics& diagnostics) const {
  for (const PlannedEvent& planned : events) {
    const ProgramCall& from = program_.calls[planned.from];
    const Event& event = module_.events[planned.event];
    std::string extents;
    for (const EventDim& dim : event.dims) {
      extents += (extents.empty() ? "" : ", ") + Print(module_, dim.extent);
    }
    Diagnostic& remark = diagnostics.Remark(
        DiagnosticKind::DerivedEvent, from.range,
        fmt::format("`@{}` notifies `%{}{}`, {} for each element", from.device->name, event.name,
                    extents.empty() ? "" : "[" + extents + "]", Print(module_, event.count)));
    for (const PlannedWait& wait : planned.waits) {
      const ProgramCall& to = program_.calls[wait.call];
      remark.notes.push_back(
          {to.range, fmt::format("`@{}` waits for it: {}", to.device->name, wait.why)});
    }
  }
}

EventRef EventPlan::Notify(const PlannedEvent& planned) {
  const ProgramCall& from = CallAt(planned.from);
  EventRef ref{planned.event, {}, {}, {}, {}};
  for (size_t i = 0; i < from.repeats.size(); ++i) {
    ref.indices.push_back({ElementOf(planned, i, MakeRef(module_, from.repeats[i].var)), {}});
  }
  for (size_t i = 0; i < planned.grains.size(); ++i) {
    if (IsIndex(planned, i)) {
      ExprId own = planned.keys[i] ? Build(planned.from, planned.keys[i]->value)
                                   : MakeRef(module_, coords_[planned.from][i]);
      ref.indices.push_back(
          {Quotient(Minus(own, AxisAt(planned.from, i).lo), planned.grains[i]), {}});
    }
  }
  if (ForEachRank()) {
    AddPeer(planned, ref);
  }
  for (size_t i = 0; i < from.repeats.size(); ++i) {
    const bool last_alone = AllWaitFor(planned, i, IterationWait::Kind::Last);
    const int64_t last = last_alone ? 1 : UnheardIterations(planned, i);
    if (last > 0) {
      ref.guard =
          And(ref.guard, module_.AddExpr(Binary{last_alone ? BinaryOp::Eq : BinaryOp::Lt,
                                                MakeRef(module_, from.repeats[i].var),
                                                MakeOffset(module_, from.repeats[i].hi, -last)}));
    }
  }
  return ref;
}

EventRef EventPlan::Wait(const PlannedEvent& planned, const PlannedWait& wait) {
  EventRef ref{planned.event, {}, {}, {}, {}};
  for (size_t i = 0; i < CallAt(planned.from).repeats.size(); ++i) {
    ref.indices.push_back(IterationIndex(planned, wait, i));
  }
  size_t used = 0;
  for (size_t i = 0; i < planned.grains.size(); ++i) {
    if (planned.grains[i] == 0) {
      continue;
    }
    const PlannedWait::Coordinate& coordinate = wait.coordinates[used++];
    if (!IsIndex(planned, i)) {
      continue;
    }
    // A chunk has its number already.
    ExprId origin = planned.grains[i] == 1 ? AxisAt(planned.from, i).lo : ExprId{};
    ExprId lo = Build(wait.call, coordinate.lo);
    // A distance in the ring of ranks means as much on fewer.
    bool is_rank = i == 0 && ForEachRank() && !coordinate.last;
    if (auto shift = is_rank ? ShiftOf(lo) : std::nullopt) {
      lo = ShiftedRank(wait.call, *shift);
    }
    EventIndex index{Minus(lo, origin), {}};
    if (coordinate.last) {
      index.hi = MakeOffset(module_, Minus(Build(wait.call, *coordinate.last), origin), 1);
    }
    ref.indices.push_back(index);
  }
  ref.guard = GuardOf(planned, wait);
  return ref;
}

bool EventPlan::IsAmong(size_t from, size_t coordinate, int64_t grain, size_t to,
                        const TaskExpr& last, const DimRanges& ranges) {
  std::map<SymbolId, Interval> tasks;
  for (size_t i = 0; i < CallAt(to).axes.size(); ++i) {
    const Axis& axis = AxisAt(to, i);
    auto lo = axis.lo ? Bounds(module_, axis.lo, {}, ranges) : Interval{0, 0};
    auto hi = Bounds(module_, axis.hi, {}, ranges);
    if (!lo || !hi) {
      return true;
    }
    if (hi->hi <= lo->lo) {
      return true;  // no task
    }
    tasks[coords_[to][i]] = {lo->lo, hi->hi - 1};
  }
  const Axis& axis = AxisAt(from, coordinate);
  ExprId origin = grain == 1 ? axis.lo : ExprId{};
  auto index = Bounds(module_, Minus(Build(to, last), origin), tasks, ranges);
  auto extent = Bounds(module_, Minus(axis.hi, axis.lo), {}, ranges);
  return !index || !extent || index->hi < (extent->lo + grain - 1) / grain;
}

/// The condition of a task to wait at all, if there is one.
ExprId EventPlan::GuardOf(const PlannedEvent& planned, const PlannedWait& wait) {
  const ProgramCall& to = CallAt(wait.call);
  ExprId guard;
  auto add = [&](BinaryOp op, size_t repeat, int64_t offset) {
    ExprId limit = MakeOffset(module_, to.repeats[repeat].lo, offset);
    guard =
        And(guard, module_.AddExpr(Binary{op, MakeRef(module_, to.repeats[repeat].var), limit}));
  };
  for (size_t i = 0; i < wait.iterations.size() && !wait.from_initial; ++i) {
    if (wait.iterations[i].kind == IterationWait::Kind::Earlier) {
      add(BinaryOp::Ge, i, wait.iterations[i].distance);
    }
  }
  for (size_t i = wait.first_only.value_or(to.repeats.size()); i < to.repeats.size(); ++i) {
    bool one = wait.first_iterations == 1;
    add(one ? BinaryOp::Eq : BinaryOp::Lt, i, one ? 0 : wait.first_iterations);
  }
  // What is needed where there is a last iteration is said by a guard already.
  for (size_t i = 0; i < wait.iterations.size() && !wait.guard; ++i) {
    const EnclosingRepeat& around = CallAt(planned.from).repeats[i];
    bool last = wait.iterations[i].kind == IterationWait::Kind::Last;
    if (last && InitialElements(planned, i) == 0 && MayBeEmpty(around)) {
      guard = And(guard, module_.AddExpr(Binary{BinaryOp::Lt, around.lo, around.hi}));
    }
  }
  return wait.guard ? And(guard, Build(wait.call, *wait.guard)) : guard;
}

/// Whether the repeat has no iteration at some size.
bool EventPlan::MayBeEmpty(const EnclosingRepeat& repeat) const {
  auto lo = Bounds(module_, repeat.lo, {});
  auto hi = Bounds(module_, repeat.hi, {});
  return !lo || !hi || lo->hi >= hi->lo;
}

EventIndex EventPlan::IterationIndex(const PlannedEvent& planned, const PlannedWait& wait,
                                     size_t repeat) {
  const EnclosingRepeat& around = CallAt(planned.from).repeats[repeat];
  const IterationWait& iteration = wait.iterations[repeat];
  int64_t initial = InitialElements(planned, repeat);
  auto own = [&] { return ElementOf(planned, repeat, MakeRef(module_, around.var)); };
  switch (iteration.kind) {
    case IterationWait::Kind::Same:
      return {own(), {}};
    case IterationWait::Kind::Earlier:
      return {MakeOffset(module_, own(), -iteration.distance), {}};
    case IterationWait::Kind::Before:
      return {MakeInt(module_, initial), own()};
    case IterationWait::Kind::Last:
      return {MakeOffset(module_, Minus(around.hi, around.lo), initial - 1), {}};
    case IterationWait::Kind::Range: {
      ExprId lo = ElementOf(planned, repeat, Build(wait.call, iteration.lo));
      if (iteration.lo == iteration.last) {
        return {lo, {}};
      }
      return {lo,
              MakeOffset(module_, ElementOf(planned, repeat, Build(wait.call, iteration.last)), 1)};
    }
    case IterationWait::Kind::All:
      break;
  }
  return {{}, {}, true};
}

/// The index for an iteration of a repeat around the event's call.
ExprId EventPlan::ElementOf(const PlannedEvent& planned, size_t repeat, ExprId iteration) {
  ExprId index = Minus(iteration, CallAt(planned.from).repeats[repeat].lo);
  return MakeOffset(module_, index, InitialElements(planned, repeat));
}

/// How many elements stand before those of a repeat's iterations.
int64_t EventPlan::InitialElements(const PlannedEvent& planned, size_t repeat) const {
  return planned.initial && repeat + 1 == CallAt(planned.from).repeats.size() ? 1 : 0;
}

ExprId EventPlan::Build(size_t call, const TaskExpr& expr) {
  auto arg = [&](size_t i) { return Build(call, expr.args[i]); };
  switch (expr.kind) {
    case TaskExpr::Kind::Number:
      return MakeInt(module_, expr.value);
    case TaskExpr::Kind::Dim:
      return MakeRef(module_, expr.dim);
    case TaskExpr::Kind::Iteration:
      return MakeRef(module_, CallAt(call).repeats[static_cast<size_t>(expr.value)].var);
    case TaskExpr::Kind::Coordinate:
      return MakeRef(module_, coords_[call][static_cast<size_t>(expr.value)]);
    case TaskExpr::Kind::Binary: {
      ExprId left = arg(0);
      ExprId right = arg(1);
      if (expr.op == BinaryOp::Add) {
        return MakeAdd(module_, left, right);
      }
      return expr.op == BinaryOp::Mul ? MakeMul(module_, left, right)
                                      : module_.AddExpr(Binary{expr.op, left, right});
    }
    case TaskExpr::Kind::Min:
      return module_.AddExpr(Call{Intrinsic::Min, {arg(0), arg(1)}});
    case TaskExpr::Kind::Max:
      return module_.AddExpr(Call{Intrinsic::Max, {arg(0), arg(1)}});
    case TaskExpr::Kind::CeilDiv:
      return module_.AddExpr(Call{Intrinsic::CeilDiv, {arg(0), arg(1)}});
    case TaskExpr::Kind::Select:
      return module_.AddExpr(Call{Intrinsic::Select, {arg(0), arg(1), arg(2)}});
    case TaskExpr::Kind::Element: {
      Load load{expr.tensor, {}};
      for (size_t i = ForEachRank() ? 1 : 0; i < expr.args.size(); ++i) {
        load.indices.push_back(arg(i));
      }
      return module_.AddExpr(std::move(load));
    }
  }
  ETC_CHECK(!"an expression of no kind");
  return {};
}

ExprId EventPlan::Quotient(ExprId value, int64_t divisor) {
  return divisor == 1 ? value
                      : module_.AddExpr(Binary{BinaryOp::Div, value, MakeInt(module_, divisor)});
}

ExprId EventPlan::And(ExprId left, ExprId right) {
  return left ? module_.AddExpr(Binary{BinaryOp::And, left, right}) : right;
}

}  // namespace etc
