#include "analysis/regions.h"

#include <algorithm>
#include <set>

#include "analysis/accessed.h"
#include "analysis/region_list.h"
#include "analysis/sets/intervals.h"
#include "ir/partial.h"
#include "ir/walk.h"

namespace etc {
namespace {

constexpr unsigned long kStepsForCall = 20'000'000;

class RegionWalk {
 public:
  /// Regions are those of `tensors`.
  RegionWalk(Unknowns& unknowns, const ProgramCall& call, const std::set<TensorId>& tensors,
             const BodyReader* reader)
      : unknowns_(unknowns),
        module_(unknowns.module()),
        call_(call),
        tensors_(tensors),
        reader_(reader),
        task_(unknowns, call, 1),
        intervals_(unknowns.module(), unknowns.program().ranges),
        loops_(unknowns.module(), unknowns.program().ranges,
               [this](const BodyLoops& loops) { reader_->on_loop(call_, loops, task_.converter); }),
        scope_(task_.domain),
        regions_(unknowns, TaskNames(call, 1)) {
    for (const EnclosingRepeat& repeat : call.repeats) {
      intervals_.Set(repeat.var, repeat.iterations);
    }
    for (size_t i = 0; i < call.scalars.size(); ++i) {
      intervals_.Set(call.device->scalars[i], intervals_.Of(call.scalars[i]));
    }
    for (size_t i = 0; i < call.axes.size(); ++i) {
      intervals_.Set(call.axes[i].var, call.axes[i]);
      intervals_.Set(call.task_symbols[i], call.axes[i]);
    }
    for (const Impl& impl : call.device->impls) {
      ahead_.insert(impl.preloaded.begin(), impl.preloaded.end());
    }
    if (reader_ != nullptr) {
      FindStored();
      CheckRange(call);
    }
    if (!IsEmpty(scope_)) {  // else no task at these sizes
      CheckSlices(call);
      CheckScalars(call);
      CheckEdges(call);
      Block(call.device->body);
    }
  }

  std::vector<AccessRegion> Take() { return regions_.Take(); }

 private:
  /// The facts that hold inside of a loop or a branch.
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
      bool names =
          std::visit(Overloaded{
                         [](const OneOf<Let, LetPair> auto&) { return true; },
                         [](const OneOf<For, If, LocalDecl, Assign, TopK> auto&) { return false; },
                     },
                     stmt);
      if (names || Matters(stmt)) {
        stmt_ = id;
        here_ = module_.RangeOf(id);
        std::visit([&](const auto& node) { Visit(node); }, stmt);
      }
    }
  }

  bool IsWanted(TensorId tensor) const {
    const Converter::Binding* binding = task_.converter.Find(tensor);
    return !is_control_ && binding != nullptr && tensors_.contains(binding->tensor);
  }

  /// Whether there may be anything to find in a part of the body.
  template <class Part>
  bool Matters(const Part& part) const {
    return reader_ != nullptr || Accesses(module_, part, [&](TensorId id) { return IsWanted(id); });
  }

  /// The parameters whose elements the call may store to, by this name or another.
  void FindStored() {
    const std::vector<TensorId>& params = call_.device->params;
    for (size_t a = 0; a < params.size(); ++a) {
      for (size_t b = 0; b < params.size(); ++b) {
        if (call_.args[a].tensor == call_.args[b].tensor &&
            module_.tensors[params[b]].access != Access::In) {
          stored_.insert(params[a]);
        }
      }
    }
  }

  /// What the iterations of a loop access is told when `body` has been read.
  template <class Body>
  void Independent(const std::vector<Axis>& axes, const Body& body) {
    Saved saved = Save();
    if (reader_ != nullptr) {
      loops_.Enter(stmt_, unknowns_.Mark());
    }
    EnterAxes(axes, true);
    body();
    if (reader_ != nullptr) {
      loops_.Leave();
    }
    Restore(std::move(saved));
  }

  void Visit(const For& loop) {
    if (!loop.sequential) {
      Independent(loop.axes, [&] { Block(loop.body); });
      return;
    }
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
    Restore(saved);
    EnterBranch(branch.condition, false);
    Block(branch.otherwise);
    Restore(std::move(saved));
  }

  void Visit(const Let& let) {
    VisitExpr(let.value);
    if (KindOf(module_, let.value) == ValueKind::Int) {
      task_.converter.Bind(let.symbol, task_.converter.Int(let.value));
      intervals_.Set(let.symbol, intervals_.Of(let.value));
      loops_.Let(let.symbol, let.value);
    } else {
      task_.converter.BindLet(let.symbol, let.value);
    }
  }

  void Visit(const LetPair& pair) {
    VisitExpr(pair.reduction);
    task_.converter.Bind(pair.index, task_.converter.Int(pair.reduction));
    intervals_.Set(pair.index, intervals_.Of(pair.reduction));
    task_.converter.Bind(pair.value, unknowns_.Any("the value of a reduction",
                                                   [&](const PwAff&) { return unknowns_.All(); }));
  }

  void Visit(const LocalDecl& decl) { loops_.Declare(decl.tensor); }

  void Visit(const Assign& assign) {
    SourceRange range = here_;
    VisitExpr(assign.value);
    if (assign.adds) {
      here_ = range;
      Touch(assign.tensor, assign.indices, false);
    }
    StoredValue(assign.tensor, [&] {
      return assign.adds ? unknowns_.Any("a sum", [&](const PwAff&) { return unknowns_.All(); })
                         : task_.converter.Int(assign.value);
    });
    Store(assign.tensor, assign.indices, range);
  }

  /// Values are read for each rank anew.
  void Visit(const TopK& topk) {
    SourceRange range = here_;
    CheckRanks(topk);
    Independent({topk.rank}, [&] {
      Saved saved = Save();
      EnterAxes({topk.axis});
      VisitExpr(topk.body);
      StoredValue(topk.positions, [&] { return task_.converter.ValueOf(topk.axis.var); });
      Restore(std::move(saved));
      Store(topk.values, topk.value_indices, range);
      Store(topk.positions, topk.position_indices, range);
    });
  }

  /// `value` is asked for where somebody looks at it.
  template <class Value>
  void StoredValue(TensorId tensor, const Value& value) {
    const Converter::Binding* binding = task_.converter.Find(tensor);
    if (reader_ != nullptr && binding != nullptr &&
        KindOf(module_.tensors[tensor].type) == ValueKind::Int) {
      reader_->on_store(binding->tensor, scope_ & Eq(unknowns_.Param(kStoredValue), value()));
    }
  }

  void Store(TensorId tensor, const std::vector<ExprId>& indices, SourceRange range) {
    here_ = range;
    Element(tensor, indices, true);
  }

  /// `independent`: those of the loop that was entered.
  void EnterAxes(const std::vector<Axis>& axes, bool independent = false) {
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
      loops_.Know(axis.var);
      if (independent && reader_ != nullptr) {
        loops_.AddVariable(axis.var, name);
      }
    }
  }

  void EnterBranch(ExprId condition, bool wanted) {
    Converter::Condition where = task_.converter.Where(condition, wanted);
    scope_ = scope_ & where.set;
    exact_ = exact_ && where.exact;
  }

  void Element(TensorId tensor, const std::vector<ExprId>& indices, bool write) {
    SourceRange range = here_;
    VisitAll(indices);
    for (size_t i = 0; reader_ != nullptr && i < indices.size(); ++i) {
      CheckIndex(tensor, i, indices[i], exact_);
    }
    here_ = range;
    Touch(tensor, indices, write);
  }

  /// Of an element whose indices are read and checked.
  void Touch(TensorId tensor, const std::vector<ExprId>& indices, bool write) {
    if (reader_ != nullptr && !is_control_ &&
        (stored_.contains(tensor) || module_.tensors[tensor].kind == TensorKind::Local)) {
      loops_.Add({tensor, indices, write, here_, scope_, exact_});
    }
    if (IsWanted(tensor)) {
      const Converter::Binding& binding = *task_.converter.Find(tensor);
      std::vector<PwAff> element = binding.slice;
      for (ExprId index : indices) {
        element.push_back(task_.converter.Int(index));
      }
      regions_.Add({binding.tensor, write, !write && ahead_.contains(tensor), exact_}, element,
                   scope_);
    }
  }

  /// What is read to know which tasks there are, whether there are any or not.
  void CheckRange(const ProgramCall& call) {
    is_control_ = true;
    for (size_t i = 0; i < call.axes.size(); ++i) {
      scope_ = task_.outer[i];
      VisitExpr(call.axes[i].lo);
      VisitExpr(call.axes[i].hi);
    }
    scope_ = task_.domain;
    is_control_ = false;
  }

  void CheckEdges(const ProgramCall& call) {
    is_control_ = true;
    for (const TaskEdge& wait : call.waits) {
      ExprId counted = module_.events[wait.ref->event].count;
      CheckEdge(wait, reader_ != nullptr && (ReadsTensor(module_, counted) || IsPartial(counted)));
    }
    for (const TaskEdge& notify : call.notifies) {
      CheckEdge(notify, false);
    }
    is_control_ = false;
  }

  bool IsPartial(ExprId expr) const {
    bool partial = false;
    VisitExprs(module_, expr, [&](ExprId id) { partial |= bool{PartialOperand(module_, id)}; });
    return partial;
  }

  /// What is read to know the elements of a wait or notify, and the count that a wait is for.
  void CheckEdge(const TaskEdge& edge, bool count) {
    bool partial = false;
    VisitExprs(module_, *edge.ref,
               [&](ExprId id) { partial |= bool{PartialOperand(module_, id)}; });
    if (reader_ == nullptr || !(count || partial || ReadsTensor(module_, *edge.ref))) {
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
      for (size_t i = 0; reader_ != nullptr && i < arg.indices.size(); ++i) {
        CheckIndex(arg.tensor, i, arg.indices[i], task_.exact);
      }
    }
  }

  void CheckIndex(TensorId tensor, size_t axis, ExprId index, bool exact) {
    using Kind = IndexUse::Kind;
    if (intervals_.IsInside(index, module_.tensors[tensor].shape[axis])) {
      reader_->on_index(call_, {Kind::Element, tensor, axis, index, true});
      return;
    }
    PwAff value = task_.converter.Int(index);
    PwAff extent = task_.converter.Int(module_.tensors[tensor].shape[axis]);
    reader_->on_index(call_, {Kind::Element, tensor, axis, index, false, value,
                              unknowns_.Constant(0), extent, &scope_, exact});
  }

  /// The values of scalar parameters are in the ranges that the device function declares.
  void CheckScalars(const ProgramCall& call) {
    Converter& converter = task_.converter;
    for (size_t i = 0; reader_ != nullptr && i < call.scalars.size(); ++i) {
      const Symbol& scalar = module_.symbols[call.device->scalars[i]];
      if (scalar.lo) {
        PwAff value = converter.Int(call.scalars[i]);
        PwAff lo = converter.Int(scalar.lo), hi = converter.Int(scalar.hi);
        reader_->on_index(call, {IndexUse::Kind::Scalar,
                                 {},
                                 i,
                                 call.scalars[i],
                                 false,
                                 value,
                                 lo,
                                 hi,
                                 &scope_,
                                 task_.exact});
      }
    }
  }

  /// A division by zero or a shift too far has no useful value.
  void CheckOperation(ExprId id) {
    ExprId operand = reader_ == nullptr ? ExprId{} : PartialOperand(module_, id);
    if (!operand) {
      return;
    }
    bool divides = !IsShift(module_, id);
    auto values = intervals_.Of(operand);
    bool proved = values && (divides ? values->lo >= 1 || values->hi <= -1
                                     : values->lo >= 0 && values->hi <= 63);
    if (!proved) {
      reader_->on_index(call_, {divides ? IndexUse::Kind::Divisor : IndexUse::Kind::Places,
                                {},
                                0,
                                operand,
                                false,
                                task_.converter.Int(operand),
                                unknowns_.Constant(0),
                                unknowns_.Constant(64),
                                &scope_,
                                exact_,
                                id});
    }
  }

  /// There are as many elements as are taken.
  void CheckRanks(const TopK& topk) {
    if (reader_ == nullptr) {
      return;
    }
    PwAff taken = task_.converter.Int(topk.rank.hi);
    PwAff there = task_.converter.Int(topk.axis.hi);
    if (topk.axis.lo) {
      there = there - task_.converter.Int(topk.axis.lo);
    }
    PwAff one = unknowns_.Constant(1);
    Set some = scope_ & Le(one, taken);
    reader_->on_index(call_, {IndexUse::Kind::TopK,
                              {},
                              0,
                              topk.rank.hi,
                              false,
                              taken - one,
                              unknowns_.Constant(0),
                              there,
                              &some,
                              exact_});
  }

  void VisitExpr(ExprId id) {
    if (id) {
      here_ = module_.RangeOf(id);
      std::visit([&](const auto& expr) { Visit(expr); }, module_.exprs[id]);
      CheckOperation(id);
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
    if (KindOf(call.op) != IntrinsicKind::Choice) {
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
  const ProgramCall& call_;
  const std::set<TensorId>& tensors_;
  const BodyReader* reader_;
  TaskScope task_;
  Intervals intervals_;
  BodyLoops loops_;
  std::set<TensorId> stored_;
  StmtId stmt_;       // that is being read
  SourceRange here_;  // of the statement or the expression
  Set scope_;
  RegionList regions_;
  bool exact_ = true;
  bool is_control_ = false;   // what is read now is not read by a body
  std::set<TensorId> ahead_;  // parameters that a loader reads ahead of every wait
};

}  // namespace

std::vector<AccessRegion> RegionsOf(Unknowns& unknowns, const ProgramCall& call,
                                    const std::set<TensorId>& tensors, const BodyReader* reader) {
  unknowns.context().SetBudget(kStepsForCall);
  std::vector<AccessRegion> regions = RegionWalk(unknowns, call, tensors, reader).Take();
  if (reader != nullptr) {
    reader->on_end(call);
  }
  return regions;
}

}  // namespace etc
