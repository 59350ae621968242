#include "analysis/regions.h"

#include <algorithm>
#include <set>

#include "analysis/accessed.h"
#include "analysis/intervals.h"
#include "ir/walk.h"

namespace etc {
namespace {

constexpr unsigned long kStepsForCall = 20'000'000;

class RegionWalk {
 public:
  /// Regions are those of `tensors`.
  RegionWalk(Unknowns& unknowns, const ProgramCall& call, const std::set<TensorId>& tensors,
             const OnIndex& on_index)
      : unknowns_(unknowns),
        module_(unknowns.module()),
        tensors_(tensors),
        on_index_(on_index),
        task_(unknowns, call, 1),
        intervals_(unknowns.module(), unknowns.program().ranges),
        scope_(task_.domain) {
    keep_ = TaskNames(call, 1);
    for (const EnclosingRepeat& repeat : call.repeats) {
      intervals_.Set(repeat.var, repeat.iterations);
    }
    for (size_t i = 0; i < call.axes.size(); ++i) {
      intervals_.Set(call.axes[i].var, call.axes[i]);
      intervals_.Set(call.task_symbols[i], call.axes[i]);
    }
    for (const Impl& impl : call.device->impls) {
      ahead_.insert(impl.streams.begin(), impl.streams.end());
    }
    if (on_index_) {
      CheckRange(call);
    }
    if (!IsEmpty(scope_)) {  // else no task at these sizes
      CheckSlices(call);
      CheckEdges(call);
      Block(call.device->body);
    }
  }

  std::vector<AccessRegion> regions;

 private:
  /// What holds inside of a loop or a branch.
  struct Saved {
    Set scope;
    bool exact;
  };
  Saved Save() const { return {scope_, exact_}; }
  void Restore(Saved saved) {
    scope_ = std::move(saved.scope);
    exact_ = saved.exact;
  }

  /// Of what accesses nothing of interest, scalars are read all the same: others are made of them.
  void Block(const std::vector<StmtId>& stmts) {
    for (StmtId id : stmts) {
      const Stmt& stmt = module_.stmts[id];
      if (std::holds_alternative<Let>(stmt) || Matters(stmt)) {
        std::visit([&](const auto& node) { Visit(node); }, stmt);
      }
    }
  }

  bool IsWanted(TensorId tensor) const {
    const Converter::Binding* binding = task_.converter.Find(tensor);
    return !steers_ && binding != nullptr && tensors_.contains(binding->tensor);
  }

  /// Whether there may be anything to find in a part of the body.
  template <class Part>
  bool Matters(const Part& part) const {
    return on_index_ || Accesses(module_, part, [&](TensorId id) { return IsWanted(id); });
  }

  void Visit(const For& loop) {
    Saved saved = Save();
    EnterAxes(loop.axes);
    Block(loop.body);
    Restore(std::move(saved));
  }

  void Visit(const If& branch) {
    VisitExpr(branch.condition);
    Saved saved = Save();
    EnterBranch(branch.condition, true);
    Block(branch.body);
    Restore(std::move(saved));
  }

  void Visit(const Let& let) {
    VisitExpr(let.value);
    if (KindOf(module_, let.value) == ValueKind::Int) {
      task_.converter.Bind(let.symbol, task_.converter.Int(let.value));
      intervals_.Set(let.symbol, intervals_.Of(let.value));
    } else {
      task_.converter.BindLet(let.symbol, let.value);
    }
  }

  void Visit(const LocalDecl&) {}

  void Visit(const Assign& assign) {
    VisitExpr(assign.value);
    Element(assign.tensor, assign.indices, true);
  }

  void Visit(const TopK& topk) {
    Saved saved = Save();
    EnterAxes({topk.axis});
    VisitExpr(topk.body);
    Restore(saved);
    EnterAxes({topk.rank});
    Element(topk.values, topk.value_indices, true);
    Element(topk.positions, topk.position_indices, true);
    Restore(std::move(saved));
  }

  void EnterAxes(const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) {
      VisitExpr(axis.lo);
      VisitExpr(axis.hi);
      std::string name = unknowns_.Fresh(module_.symbols[axis.var].name);
      PwAff variable = unknowns_.Param(name);
      Set range = AxisRange(task_.converter, axis, variable);
      unknowns_.SetFacts(name, range);
      scope_ = scope_ & range;
      task_.converter.Bind(axis.var, variable);
      intervals_.Set(axis.var, axis);
    }
  }

  void EnterBranch(ExprId condition, bool wanted) {
    Converter::Condition where = task_.converter.Where(condition, wanted);
    scope_ = scope_ & where.set;
    exact_ = exact_ && where.exact;
  }

  void Element(TensorId tensor, const std::vector<ExprId>& indices, bool write) {
    VisitAll(indices);
    for (size_t i = 0; on_index_ && i < indices.size(); ++i) {
      CheckIndex(tensor, i, indices[i], exact_);
    }
    if (IsWanted(tensor)) {
      std::vector<PwAff> values;
      for (ExprId index : indices) {
        values.push_back(task_.converter.Int(index));
      }
      AddRegion(*task_.converter.Find(tensor), values, write, !write && ahead_.contains(tensor));
    }
  }

  /// What is read to know which tasks there are, whether there are any or not.
  void CheckRange(const ProgramCall& call) {
    steers_ = true;
    for (size_t i = 0; i < call.axes.size(); ++i) {
      scope_ = task_.outer[i];
      VisitExpr(call.axes[i].lo);
      VisitExpr(call.axes[i].hi);
    }
    scope_ = task_.domain;
    steers_ = false;
  }

  void CheckEdges(const ProgramCall& call) {
    steers_ = true;
    for (const TaskEdge& wait : call.waits) {
      CheckEdge(wait, on_index_ && ReadsTensor(module_, module_.events[wait.ref->event].count));
    }
    for (const TaskEdge& notify : call.notifies) {
      CheckEdge(notify, false);
    }
    steers_ = false;
  }

  /// What is read to know the elements of a wait or notify, and the count that a wait is for.
  void CheckEdge(const TaskEdge& edge, bool count) {
    if (!on_index_ || !(count || ReadsTensor(module_, *edge.ref))) {
      return;
    }
    for (size_t i = 0; i < edge.coords.size(); ++i) {
      task_.converter.Bind(edge.coords[i], unknowns_.Param(CoordinateName(i, 1)));
    }
    Saved saved = Save();
    EnterAxes(edge.ref->axes);
    if (edge.ref->guard) {
      VisitExpr(edge.ref->guard);
      EnterBranch(edge.ref->guard, true);
    }
    const Event& event = module_.events[edge.ref->event];
    for (size_t i = 0; i < event.dims.size(); ++i) {
      const EventIndex& index = edge.ref->indices[i];
      VisitExpr(index.lo);
      VisitExpr(index.hi);
      ElementRange range(task_.converter, index, event.dims[i]);
      std::string name = unknowns_.Fresh("element");
      PwAff element = unknowns_.Param(name);
      Set indices = Le(range.lo, element) & Lt(element, range.hi);
      unknowns_.SetFacts(name, indices);
      scope_ = scope_ & indices;
      if (event.dims[i].var) {
        task_.converter.Bind(event.dims[i].var, element);
      }
    }
    if (count) {
      VisitExpr(event.count);
    }
    Restore(std::move(saved));
  }

  void CheckSlices(const ProgramCall& call) {
    for (const Argument& arg : call.args) {
      for (size_t i = 0; on_index_ && i < arg.indices.size(); ++i) {
        CheckIndex(arg.tensor, i, arg.indices[i], task_.exact);
      }
    }
  }

  void CheckIndex(TensorId tensor, size_t axis, ExprId index, bool exact) {
    if (intervals_.IsInside(index, module_.tensors[tensor].shape[axis])) {
      on_index_({tensor, axis, index, true});
      return;
    }
    PwAff value = task_.converter.Int(index);
    PwAff extent = task_.converter.Int(module_.tensors[tensor].shape[axis]);
    on_index_({tensor, axis, index, false, value, extent, &scope_, exact});
  }

  void AddRegion(const Converter::Binding& binding, const std::vector<PwAff>& values, bool write,
                 bool ahead) {
    std::vector<PwAff> all = binding.slice;
    all.insert(all.end(), values.begin(), values.end());
    std::vector<std::string> keep = keep_;
    Set set = scope_;
    for (size_t i = 0; i < all.size(); ++i) {
      keep.push_back(ElementName(i));
      set = set & Eq(unknowns_.Param(ElementName(i)), all[i]);
    }
    set = unknowns_.Close(set);
    bool exact = exact_ && !OnData(unknowns_, set);
    bool possible = exact_;
    size_t elements = 0;  // of index tensors that the set is about
    bool of_any_iteration = false;
    for (const Term* term : unknowns_.TermsIn(set)) {
      if (!term->global) {
        possible = possible && term->promised;
        ++elements;
        of_any_iteration = of_any_iteration || !unknowns_.DependsOnlyOn(term->name, keep);
      }
    }
    possible = possible && (!of_any_iteration || elements == 1);
    set = Coalesce(ProjectOut(set, Locals(set, keep)));
    for (AccessRegion& region : regions) {
      if (region.tensor == binding.tensor && region.write == write && region.ahead == ahead &&
          region.exact == exact && region.possible == possible &&
          region.of_any_iteration == of_any_iteration) {
        if (!IsSubset(set, region.set)) {
          region.set = Coalesce(region.set | set);
        }
        return;
      }
    }
    regions.push_back({binding.tensor, write, ahead, exact, possible, of_any_iteration, set});
  }

  /// The loop variables in the set, and the terms that depend on them. Elements of distinct tensors
  /// and those related to others stay, with the variables that they depend on: what is known of two
  /// of them needs both.
  std::vector<std::string> Locals(const Set& set, const std::vector<std::string>& keep) const {
    std::set<std::string> known;
    for (const Term* term : unknowns_.TermsIn(set)) {
      if (term->distinct || term->related) {
        unknowns_.AddNames(*term, known);
      }
    }
    std::vector<std::string> locals;
    for (const std::string& name : unknowns_.Involved(set)) {
      bool kept = known.contains(name) || std::find(keep.begin(), keep.end(), name) != keep.end();
      if (!kept && !unknowns_.IsDim(name) && !unknowns_.DependsOnlyOn(name, keep)) {
        locals.push_back(name);
      }
    }
    return locals;
  }

  void VisitExpr(ExprId id) {
    if (id) {
      std::visit([&](const auto& expr) { Visit(expr); }, module_.exprs[id]);
    }
  }
  void VisitAll(const std::vector<ExprId>& ids) {
    for (ExprId id : ids) {
      VisitExpr(id);
    }
  }

  void Visit(const IntLiteral&) {}
  void Visit(const FloatLiteral&) {}
  void Visit(const BoolLiteral&) {}
  void Visit(const SymbolRef&) {}
  void Visit(const Load& load) { Element(load.tensor, load.indices, false); }
  void Visit(const Cast& cast) { VisitExpr(cast.operand); }
  void Visit(const Unary& unary) { VisitExpr(unary.operand); }

  void Visit(const Binary& binary) {
    VisitExpr(binary.left);
    if (binary.op != BinaryOp::And && binary.op != BinaryOp::Or) {
      VisitExpr(binary.right);
      return;
    }
    Saved saved = Save();
    EnterBranch(binary.left, binary.op == BinaryOp::And);
    VisitExpr(binary.right);
    Restore(std::move(saved));
  }

  void Visit(const Call& call) {
    if (call.op != Intrinsic::Select) {
      VisitAll(call.args);
      return;
    }
    VisitExpr(call.args[0]);
    for (bool side : {true, false}) {
      Saved saved = Save();
      EnterBranch(call.args[0], side);
      VisitExpr(call.args[side ? 1 : 2]);
      Restore(std::move(saved));
    }
  }

  void Visit(const Reduce& reduce) {
    if (!Matters(reduce.axes) && !Matters(reduce.body)) {
      return;
    }
    Saved saved = Save();
    EnterAxes(reduce.axes);
    VisitExpr(reduce.body);
    Restore(std::move(saved));
  }

  Unknowns& unknowns_;
  const Module& module_;
  const std::set<TensorId>& tensors_;
  const OnIndex& on_index_;
  TaskScope task_;
  Intervals intervals_;
  Set scope_;
  bool exact_ = true;
  bool steers_ = false;  // what is read now is not read by a body
  std::vector<std::string> keep_;
  std::set<TensorId> ahead_;  // parameters that a loader reads ahead of every wait
};

}  // namespace

std::vector<AccessRegion> RegionsOf(Unknowns& unknowns, const ProgramCall& call,
                                    const std::set<TensorId>& tensors, const OnIndex& on_index) {
  unknowns.context().SetBudget(kStepsForCall);
  return RegionWalk(unknowns, call, tensors, on_index).regions;
}

}  // namespace etc
