#include "analysis/steering.h"

#include <algorithm>
#include <map>

#include "ir/rewrite.h"
#include "ir/walk.h"

namespace etc {
namespace {

void AddLoads(const Module& module, ExprId id, std::set<TensorId>& tensors) {
  VisitExprs(module, id, [&](ExprId inner) {
    if (const auto* load = std::get_if<Load>(&module.exprs[inner])) {
      tensors.insert(load->tensor);
    }
  });
}

/// The argument that a device function's parameter is bound to; null for a tensor of the program.
const Argument* FindArgument(const ProgramCall& call, TensorId tensor) {
  for (size_t a = 0; a < call.args.size(); ++a) {
    if (call.device->params[a] == tensor) {
      return &call.args[a];
    }
  }
  return nullptr;
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
      same = SameBound(mine[i].lo, theirs[i].lo) && Same(mine[i].hi, theirs[i].hi);
      symbols_[mine[i].var] = theirs[i].var;
      axes_.push_back(mine[i].var);
    }
    return same;
  }

 private:
  bool SameBound(ExprId mine, ExprId theirs) const {
    return mine && theirs ? Same(mine, theirs) : !mine && !theirs;
  }

  bool Same(ExprId mine, ExprId theirs) const {
    const Expr& a = module_.exprs[mine];
    const Expr& b = module_.exprs[theirs];
    if (a.index() != b.index()) {
      return false;
    }
    if (const auto* literal = std::get_if<IntLiteral>(&a)) {
      return literal->value == std::get<IntLiteral>(b).value;
    }
    if (const auto* ref = std::get_if<SymbolRef>(&a)) {
      auto renamed = symbols_.find(ref->symbol);
      SymbolId symbol = renamed == symbols_.end() ? ref->symbol : renamed->second;
      return symbol == std::get<SymbolRef>(b).symbol;
    }
    if (const auto* binary = std::get_if<Binary>(&a)) {
      const auto& other = std::get<Binary>(b);
      return binary->op == other.op && Same(binary->left, other.left) &&
             Same(binary->right, other.right);
    }
    if (const auto* function = std::get_if<Call>(&a)) {
      const auto& other = std::get<Call>(b);
      return function->op == other.op && Same(function->args, other.args);
    }
    if (const auto* load = std::get_if<Load>(&a)) {
      const auto& other = std::get<Load>(b);
      const Argument* bound = FindArgument(call_, other.tensor);
      std::vector<ExprId> indices = bound == nullptr ? std::vector<ExprId>() : bound->indices;
      indices.insert(indices.end(), other.indices.begin(), other.indices.end());
      return load->tensor == (bound == nullptr ? other.tensor : bound->tensor) &&
             std::equal(load->indices.begin(), load->indices.end(), indices.begin(), indices.end(),
                        [&](ExprId x, ExprId y) { return Same(x, y) || SameValue(x, y); });
    }
    return false;
  }

  bool Same(const std::vector<ExprId>& mine, const std::vector<ExprId>& theirs) const {
    bool same = mine.size() == theirs.size();
    for (size_t i = 0; same && i < mine.size(); ++i) {
      same = Same(mine[i], theirs[i]);
    }
    return same;
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

std::set<TensorId> RangeTensors(const Unknowns& unknowns, const ProgramCall& call) {
  std::set<TensorId> named, tensors;
  for (const Axis& axis : call.axes) {
    AddLoads(unknowns.module(), axis.lo, named);
    AddLoads(unknowns.module(), axis.hi, named);
  }
  for (TensorId tensor : named) {
    const Argument* bound = FindArgument(call, tensor);
    tensors.insert(bound == nullptr ? tensor : bound->tensor);
  }
  return tensors;
}

std::set<TensorId> EdgeTensors(const Unknowns& unknowns, const TaskEdge& edge, bool wait) {
  const Module& module = unknowns.module();
  std::set<TensorId> tensors;
  VisitExprs(module, *edge.ref, [&](ExprId id) {
    if (const auto* load = std::get_if<Load>(&module.exprs[id])) {
      tensors.insert(load->tensor);
    }
  });
  if (wait) {
    AddLoads(module, module.events[edge.ref->event].count, tensors);
  }
  return tensors;
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

bool FollowsAll(Unknowns& unknowns, const EventRelations& all, const std::set<EventId>& trusted,
                const ProgramCall& writer, const ProgramCall& call,
                const std::function<bool(size_t wait)>& counts) {
  EventRelations relations;
  relations.notifies = all.notifies;
  for (const EdgeRelation& wait : all.waits) {
    if (wait.call != call.index || counts(static_cast<size_t>(wait.edge - call.waits.data()))) {
      relations.waits.push_back(wait);
    }
  }
  HappensBefore order(unknowns, relations, trusted);
  const Map& after = order.Between(writer.index, call.index);
  Set tasks = TaskScope(unknowns, writer, 1).domain & TaskScope(unknowns, call, 2).domain;
  return after && IsSubset(ToMap(unknowns, tasks & unknowns.GlobalFacts(), TaskNames(writer, 1),
                                 TaskNames(call, 2)),
                           after);
}

bool CountsElements(const Unknowns& unknowns, TensorId counts, TensorId counted) {
  const Module& module = unknowns.module();
  if (!unknowns.IsStable(counts) || !unknowns.IsStable(counted)) {
    return false;
  }
  if (module.tensors[counts].counts == counted) {
    return true;
  }
  for (const ProgramCall& call : unknowns.program().calls) {
    for (size_t a = 0; a < call.args.size(); ++a) {
      TensorId asked = module.tensors[call.device->params[a]].counts;
      const Argument* other = asked ? FindArgument(call, asked) : nullptr;
      if (other != nullptr && call.args[a].tensor == counts && call.args[a].indices.empty() &&
          other->tensor == counted && other->indices.empty()) {
        return true;
      }
    }
  }
  return false;
}

bool CountsTasks(const Unknowns& unknowns, ExprId sum, const ProgramCall& call,
                 const SameIndex& same_index) {
  const Module& module = unknowns.module();
  const auto* reduce = std::get_if<Reduce>(&module.exprs[sum]);
  const auto* one =
      reduce == nullptr ? nullptr : std::get_if<IntLiteral>(&module.exprs[reduce->body]);
  if (one == nullptr || reduce->op != Reduction::Sum || one->value != 1 ||
      !Comparison(module, call, same_index).Same(reduce->axes, call.axes)) {
    return false;
  }
  std::set<TensorId> tensors = RangeTensors(unknowns, call);
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](TensorId tensor) { return unknowns.IsStable(tensor); });
}

}  // namespace etc
