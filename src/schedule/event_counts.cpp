// How many tasks calls have, and how many of them an element of a planned event counts.
#include <algorithm>

#include "analysis/shapes.h"
#include "ir/evaluate.h"
#include "ir/rewrite.h"
#include "ir/task_count.h"
#include "ir/walk.h"
#include "schedule/event_plan.h"

namespace etc {

bool EventPlan::CanSplit(size_t call, size_t coordinate) const {
  return IsFixed(call, coordinate) &&
         std::all_of(programs_.begin(), programs_.end(), [&](const CallProgram& program) {
           return MayHaveTasks(module_, {AxisAt(call, coordinate)}, program.ranges);
         });
}

bool EventPlan::IsFixed(size_t call, size_t coordinate) const {
  const Axis& axis = AxisAt(call, coordinate);
  const std::vector<SymbolId>& tasks = CallAt(call).task_symbols;
  auto fixed = [&](ExprId id) {
    return !id || (!ReadsTensor(module_, id) && !Mentions(module_, id, tasks));
  };
  return fixed(axis.lo) && fixed(axis.hi);
}

bool EventPlan::IsAlone(size_t call, size_t coordinate) const {
  std::vector<SymbolId> own{AxisAt(call, coordinate).var};
  const std::vector<Axis>& axes = CallAt(call).axes;
  return std::none_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    return Mentions(module_, axis.lo, own) || Mentions(module_, axis.hi, own);
  });
}

bool EventPlan::IsCountedInSlice(size_t index) const {
  const ProgramCall& call = CallAt(index);
  for (size_t a = 0; a < call.args.size(); ++a) {
    auto reads = [&](ExprId id) {
      return bool{FindExpr(module_, id, [&](const Expr& expr) {
        const auto* load = std::get_if<Load>(&expr);
        return load != nullptr && load->tensor == call.device->params[a];
      })};
    };
    bool read = std::any_of(call.axes.begin(), call.axes.end(),
                            [&](const Axis& axis) { return reads(axis.lo) || reads(axis.hi); });
    if (read && !call.args[a].indices.empty()) {
      return true;
    }
  }
  return false;
}

void EventPlan::Declare(const PlannedEvent& planned) {
  const ProgramCall& from = CallAt(planned.from);
  std::vector<EventDim> dims;
  std::vector<SymbolId> vars(planned.grains.size());
  for (size_t i = 0; i < from.repeats.size(); ++i) {
    ExprId iterations = Minus(from.repeats[i].hi, from.repeats[i].lo);
    dims.push_back({{},
                    MakeOffset(module_, iterations,
                               InitialElements(planned, i) - UnheardIterations(planned, i))});
  }
  for (size_t i = 0; i < planned.grains.size(); ++i) {
    int64_t grain = planned.grains[i];
    if (!IsIndex(planned, i)) {
      continue;
    }
    const Axis& axis = AxisAt(planned.from, i);
    const std::optional<TaskKey>& key = planned.keys[i];
    ExprId extent =
        key && key->extent ? Build(planned.from, *key->extent) : Minus(axis.hi, axis.lo);
    if (grain > 1) {
      // Constants may follow the range, so what is a multiple in one need not be in another.
      if (!program_.ranges.empty() || !IsMultiple(module_, extent, grain)) {
        vars[i] = module_.symbols.Add(Symbol(module_.symbols[axis.var]));
      }
      extent = module_.AddExpr(Call{Intrinsic::CeilDiv, {extent, MakeInt(module_, grain)}});
    } else if (!IsAlone(planned.from, i)) {
      vars[i] = module_.symbols.Add(Symbol(module_.symbols[axis.var]));
    }
    dims.push_back({vars[i], extent});
  }
  ExprId count = OfElements(planned, Count(planned.from, planned.grains, vars, planned.keys), dims);
  if (planned.initial) {
    ExprId initial = CountOf(*planned.initial);
    if (programs_.size() > 1 || !SameSize(module_, initial, count, program_.ranges)) {
      SymbolId& var = dims[from.repeats.size() - 1].var;
      var = module_.symbols.Add(Symbol(module_.symbols[from.repeats.back().var]));
      ExprId is_first =
          module_.AddExpr(Binary{BinaryOp::Eq, MakeRef(module_, var), MakeInt(module_, 0)});
      count = module_.AddExpr(Call{Intrinsic::Select, {is_first, initial, count}});
    }
  }
  Event& event = module_.events[planned.event];
  event.dims = std::move(dims);
  event.count = count;
  event.symmetric = ForEachRank() && planned.rank != 0;
}

/// A count of one iteration's tasks, which may be read from a slice that the iteration names, as
/// one of the elements.
ExprId EventPlan::OfElements(const PlannedEvent& planned, ExprId count,
                             std::vector<EventDim>& dims) {
  const std::vector<EnclosingRepeat>& repeats = CallAt(planned.from).repeats;
  Substitution symbols;
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (Mentions(module_, count, {repeats[i].var})) {
      dims[i].var = module_.symbols.Add(Symbol(module_.symbols[repeats[i].var]));
      symbols[repeats[i].var] = MakeAdd(module_, MakeRef(module_, dims[i].var), repeats[i].lo);
    }
  }
  return symbols.empty() ? count : Clone(module_, count, symbols);
}

ExprId EventPlan::CountOf(size_t call) {
  return TaskCount(module_, OnOneRank(program_, call), ArgumentsOf(call));
}

std::vector<Axis> EventPlan::OnOneRank(const CallProgram& program, size_t call) {
  const std::vector<Axis>& axes = program.calls[call].axes;
  return {axes.begin() + (program.of_ranks ? 1 : 0), axes.end()};
}

/// The tasks that an element of an event with these grains counts; `vars` are its indices.
ExprId EventPlan::Count(size_t call, const std::vector<int64_t>& grains,
                        const std::vector<SymbolId>& vars,
                        const std::vector<std::optional<TaskKey>>& keys) {
  ExprId count = MakeInt(module_, 1);
  Substitution symbols;
  std::vector<SymbolId> open;  // coordinates of which an element has all values
  for (size_t i = 0; i < CallAt(call).axes.size(); ++i) {
    const Axis& axis = AxisAt(call, i);
    int64_t grain = grains[i];
    if (ReadsTensor(module_, axis.lo) || ReadsTensor(module_, axis.hi) ||
        Mentions(module_, axis.lo, open) || Mentions(module_, axis.hi, open)) {
      return CountEach(call, grains, std::move(symbols));
    }
    if (grain == 1) {
      if (keys[i] && keys[i]->tasks) {
        count = MakeMul(module_, count, Build(call, *keys[i]->tasks));
      }
      if (vars[i]) {
        ExprId own = MakeRef(module_, vars[i]);
        symbols[axis.var] = axis.lo ? MakeAdd(module_, own, axis.lo) : own;
      }
      continue;
    }
    open.push_back(axis.var);
    ExprId extent = Minus(axis.hi, axis.lo);
    if (!symbols.empty()) {
      extent = Clone(module_, extent, symbols);
    }
    if (grain > 1) {
      ExprId chunk = MakeInt(module_, grain);
      if (vars[i]) {
        ExprId before = MakeMul(module_, MakeRef(module_, vars[i]), chunk);
        ExprId rest = module_.AddExpr(Binary{BinaryOp::Sub, extent, before});
        chunk = module_.AddExpr(Call{Intrinsic::Min, {chunk, rest}});
      }
      extent = chunk;
    }
    count = MakeMul(module_, count, extent);
  }
  return count;
}

/// The number of tasks where the range of one coordinate depends on another or on data. `symbols`:
/// what the coordinates that an element decides are in it.
ExprId EventPlan::CountEach(size_t call, const std::vector<int64_t>& grains, Substitution symbols) {
  std::vector<Axis> open;
  for (size_t i = 0; i < CallAt(call).axes.size(); ++i) {
    if (grains[i] == 0) {
      open.push_back(AxisAt(call, i));
    }
  }
  return SumOfTasks(module_, open, std::move(symbols), ArgumentsOf(call));
}

TensorSubstitution EventPlan::ArgumentsOf(size_t call) const {
  TensorSubstitution tensors;
  for (size_t a = 0; a < CallAt(call).args.size(); ++a) {
    tensors[CallAt(call).device->params[a]] = CallAt(call).args[a];
  }
  return tensors;
}

bool EventPlan::HasAtMost(size_t call, int64_t most) const {
  std::optional<int64_t> tasks;
  for (const CallProgram& program : programs_) {
    Env smallest;
    for (SymbolId id : module_.symbols.Ids()) {
      if (module_.symbols[id].kind == SymbolKind::Dim) {
        if (auto range = RangeOfDim(module_, id, program.ranges)) {
          smallest[id] = range->lo;
        }
      }
    }
    tasks = TaskCountAt(module_, OnOneRank(program, call), smallest, program.ranges, most);
    if (tasks != 0) {
      break;
    }
  }
  return tasks && *tasks <= most;
}

}  // namespace etc
