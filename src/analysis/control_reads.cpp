#include "analysis/control_reads.h"

#include <algorithm>
#include <map>

#include "analysis/same_expr.h"
#include "analysis/sets/task_pairs.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// Gives a visitor that adds what an expression itself reads, by what the converter knows.
auto AddingTo(ControlReads& reads, Converter& converter) {
  return [&](ExprId id) {
    const auto* load = std::get_if<Load>(&converter.unknowns().module().exprs[id]);
    if (load == nullptr) {
      return;
    }
    const Converter::Binding* bound = converter.Find(load->tensor);
    std::vector<PwAff> indices = bound == nullptr ? std::vector<PwAff>() : bound->slice;
    for (ExprId index : load->indices) {
      indices.push_back(converter.Int(index));
    }
    reads[bound == nullptr ? load->tensor : bound->tensor].push_back(std::move(indices));
  };
}

/// Compares expressions of the program with those of a call, over its device function's parameters.
class Comparison {
 public:
  Comparison(const Module& module, const ProgramCall& call, const SameIndex& same_index)
      : module_(module), call_(call), same_index_(same_index) {
    for (const Axis& axis : call.axes) {
      coordinates_.push_back(axis.var);
    }
  }

  bool Same(const std::vector<Axis>& mine, const std::vector<Axis>& theirs) {
    bool same = mine.size() == theirs.size();
    for (size_t i = 0; same && i < mine.size(); ++i) {
      same = Same(mine[i].lo, theirs[i].lo) && Same(mine[i].hi, theirs[i].hi);
      symbols_[mine[i].var] = theirs[i].var;
      axes_.push_back(mine[i].var);
    }
    return same;
  }

 private:
  bool Same(ExprId mine, ExprId theirs) const {
    return SameExpr(module_, mine, theirs, symbols_, [this](const Load& load, const Load& other) {
      const Argument* bound = ArgumentOf(call_, other.tensor);
      std::vector<ExprId> indices = bound == nullptr ? std::vector<ExprId>() : bound->indices;
      indices.insert(indices.end(), other.indices.begin(), other.indices.end());
      return load.tensor == (bound == nullptr ? other.tensor : bound->tensor) &&
             std::equal(load.indices.begin(), load.indices.end(), indices.begin(), indices.end(),
                        [&](ExprId x, ExprId y) { return Same(x, y) || SameValue(x, y); });
    });
  }

  bool SameValue(ExprId mine, ExprId theirs) const {
    return !Mentions(module_, mine, axes_) && !Mentions(module_, theirs, coordinates_) &&
           same_index_(mine, theirs);
  }

  const Module& module_;
  const ProgramCall& call_;
  const SameIndex& same_index_;
  std::vector<SymbolId> axes_;            // of the sum
  std::vector<SymbolId> coordinates_;     // of the call's tasks
  std::map<SymbolId, SymbolId> symbols_;  // of the sum to the call's axes
};

}  // namespace

ControlReads RangeReads(Unknowns& unknowns, const ProgramCall& call) {
  ControlReads reads;
  if (!ReadsTensor(unknowns.module(), call.axes)) {
    return reads;
  }
  TaskScope task(unknowns, call, 2);
  for (const Axis& axis : call.axes) {
    VisitExprs(unknowns.module(), axis.lo, AddingTo(reads, task.converter));
    VisitExprs(unknowns.module(), axis.hi, AddingTo(reads, task.converter));
  }
  return reads;
}

ControlReads EdgeReads(Unknowns& unknowns, const ProgramCall& call, const TaskEdge& edge,
                       bool wait) {
  const Module& module = unknowns.module();
  const Event& event = module.events[edge.ref->event];
  ControlReads reads;
  if (!ReadsTensor(module, *edge.ref) && !(wait && ReadsTensor(module, event.count))) {
    return reads;
  }
  TaskScope task(unknowns, call, 2);
  for (size_t i = 0; i < edge.coords.size(); ++i) {
    task.converter.Bind(edge.coords[i], unknowns.Param(CoordinateName(i, 2)));
  }
  VisitExprs(module, *edge.ref, AddingTo(reads, task.converter));
  for (size_t i = 0; i < event.dims.size(); ++i) {
    const EventIndex& index = edge.ref->indices[i];
    if (event.dims[i].var && !index.all && !index.hi) {
      task.converter.Bind(event.dims[i].var, task.converter.Int(index.lo));
    }
  }
  if (wait) {
    VisitExprs(module, event.count, AddingTo(reads, task.converter));
  }
  return reads;
}

ControlReads EdgeReads(Unknowns& unknowns, const ProgramCall& call) {
  ControlReads reads;
  for (const auto* edges : {&call.waits, &call.notifies, &call.after_waits, &call.after_arrivals}) {
    for (const TaskEdge& edge : *edges) {
      for (auto& [tensor, elements] : EdgeReads(unknowns, call, edge, edges != &call.notifies)) {
        std::vector<std::vector<PwAff>>& all = reads[tensor];
        all.insert(all.end(), elements.begin(), elements.end());
      }
    }
  }
  return reads;
}

std::map<TensorId, std::set<size_t>> WritersOf(const Unknowns& unknowns) {
  std::map<TensorId, std::set<size_t>> writers;
  for (const ProgramCall& call : unknowns.program().calls) {
    for (size_t a = 0; a < call.args.size(); ++a) {
      if (unknowns.module().tensors[call.device->params[a]].access != Access::In) {
        writers[call.args[a].tensor].insert(call.index);
      }
    }
  }
  return writers;
}

bool FollowsWrites(Unknowns& unknowns, TaskOrder& order, const ProgramCall& writer,
                   const ProgramCall& call, const ControlReads::value_type& reads,
                   const std::function<bool(size_t wait)>& counts, WritesOf writes) {
  TaskScope first(unknowns, writer, 1);
  TaskScope second(unknowns, call, 2);
  Set pairs = unknowns.All() - unknowns.All();
  for (size_t a = 0; a < writer.args.size(); ++a) {
    const Tensor& param = unknowns.module().tensors[writer.device->params[a]];
    if (writer.args[a].tensor != reads.first || param.access == Access::In) {
      continue;
    }
    const std::vector<PwAff>& slice = first.converter.Find(writer.device->params[a])->slice;
    for (const std::vector<PwAff>& indices : reads.second) {
      Set meet = unknowns.All();
      for (size_t i = 0; i < std::min(slice.size(), indices.size()); ++i) {
        meet = meet & Eq(slice[i], indices[i]);
      }
      pairs = pairs | meet;
    }
  }
  pairs = pairs & first.domain & second.domain & unknowns.GlobalFacts();
  if (writes == WritesOf::OneIteration) {
    pairs = pairs & InOneIteration(unknowns, CommonRepeats(writer, call));
  }
  if (writer.index == call.index) {
    pairs = pairs - InOneIteration(unknowns, call.repeats.size());
  }
  return IsEmpty(pairs) ||
         order.OrdersThrough(writer.index, call,
                             ToMap(unknowns, pairs, TaskNames(writer, 1), TaskNames(call, 2)),
                             counts);
}

std::optional<std::vector<PwAff>> CountedSlice(Unknowns& unknowns, TensorId counts,
                                               const std::vector<PwAff>& element,
                                               TensorId counted) {
  const Module& module = unknowns.module();
  if (!unknowns.IsStable(counts) || !unknowns.IsStable(counted)) {
    return std::nullopt;
  }
  if (module.tensors[counts].counts == counted && element.size() == 1) {
    return std::vector<PwAff>();
  }
  for (const ProgramCall& call : unknowns.program().calls) {
    for (size_t a = 0; a < call.args.size(); ++a) {
      TensorId asked = module.tensors[call.device->params[a]].counts;
      const Argument* other = asked ? ArgumentOf(call, asked) : nullptr;
      Converter converter(unknowns);
      if (other != nullptr && other->tensor == counted && call.args[a].tensor == counts &&
          call.args[a].indices.size() + 1 == element.size() && converter.Enter(call, a, element) &&
          converter.Find(asked) != nullptr) {
        return converter.Find(asked)->slice;
      }
    }
  }
  return std::nullopt;
}

bool CountsTasks(Unknowns& unknowns, ExprId sum, const ProgramCall& call,
                 const SameIndex& same_index) {
  const Module& module = unknowns.module();
  const auto* reduce = std::get_if<Reduce>(&module.exprs[sum]);
  const auto* one =
      reduce == nullptr ? nullptr : std::get_if<IntLiteral>(&module.exprs[reduce->body]);
  if (one == nullptr || reduce->op != Reduction::Sum || one->value != 1 ||
      !Comparison(module, call, same_index).Same(reduce->axes, call.axes)) {
    return false;
  }
  ControlReads reads = RangeReads(unknowns, call);
  return std::all_of(reads.begin(), reads.end(),
                     [&](const auto& read) { return unknowns.IsStable(read.first); });
}

}  // namespace etc
