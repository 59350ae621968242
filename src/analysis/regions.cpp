#include "analysis/regions.h"

#include <algorithm>
#include <set>

#include "analysis/accessed.h"
#include "analysis/body_scope.h"
#include "analysis/region_list.h"
#include "ir/walk.h"

namespace etc {
namespace {

constexpr unsigned long kStepsForCall = 20'000'000;

class RegionWalk : BodyScope {
 public:
  /// Regions are those of `tensors`.
  RegionWalk(Unknowns& unknowns, const ProgramCall& call, const std::set<TensorId>& tensors,
             const BodyReader* reader)
      : BodyScope(unknowns, call, reader),
        tensors_(tensors),
        loops_(unknowns.module(), unknowns.program().ranges,
               [this](const BodyLoops& loops) { reader_->on_loop(call_, loops, task_.converter); }),
        own_(unknowns, [this](const BodyRead& read) { AddUnwritten(read); }),
        regions_(unknowns, TaskNames(call, 1)),
        unwritten_(unknowns, TaskNames(call, 1)) {
    for (const Impl& impl : call.device->impls) {
      ahead_.insert(impl.preloaded.begin(), impl.preloaded.end());
    }
    if (reader_ != nullptr) {
      CheckRange(call);
    }
    if (!IsEmpty(scope_)) {  // else no task at these sizes
      CheckSlices();
      CheckScalars();
      CheckEdges(call);
      Block(call.device->body);
    }
  }

  CallRegions Take() {
    CallRegions regions{regions_.Take(), unwritten_.Take()};
    for (const AccessRegion& region : regions.all) {
      bool listed = empty_.contains(region.tensor);  // what is listed of it is all
      if (!region.write && !listed && StartsEmpty(module_.tensors[region.tensor])) {
        regions.unwritten.push_back(region);
      }
    }
    return regions;
  }

 private:
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

  /// What the iterations of a loop access is told when `body` has been read.
  template <class Body>
  void Loop(const std::vector<Axis>& axes, bool sequential, const Body& body) {
    Saved saved = Save();
    bool independent = reader_ != nullptr && !sequential;
    if (independent) {
      loops_.Enter(stmt_, unknowns_.Mark());
    }
    own_.EnterLoop(sequential);
    EnterAxes(axes, [&](SymbolId variable, const std::string& name) {
      own_.AddVariable(variable, name);
      if (independent) {
        loops_.AddVariable(variable, name);
      }
    });
    body();
    own_.LeaveLoop();
    if (independent) {
      loops_.Leave();
    }
    Restore(std::move(saved));
  }

  void Visit(const For& loop) {
    Loop(loop.axes, loop.sequential, [&] { Block(loop.body); });
  }

  void Visit(const If& branch) {
    VisitExpr(branch.condition);
    Saved saved = Save();
    BodyWrites::Sides sides;
    for (bool holds : {true, false}) {
      size_t side = holds ? 0 : 1;
      sides.begin[side] = own_.Mark();
      sides.exact = EnterBranch(branch.condition, holds) && sides.exact;
      sides.scopes[side] = scope_;
      Block(holds ? branch.body : branch.otherwise);
      Restore(saved);
    }
    own_.Join(sides);
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

  void Visit(const LocalDecl& decl) {
    loops_.Declare(decl.tensor);
    own_.Declare(decl.tensor);
  }

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
    Loop({topk.rank}, false, [&] {
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

  void EnterAxes(const std::vector<Axis>& axes) {
    EnterAxes(axes, [](SymbolId, const std::string&) {});
  }

  /// Tells each variable before the range of the next one is read.
  template <class OnVariable>
  void EnterAxes(const std::vector<Axis>& axes, const OnVariable& on_variable) {
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
      on_variable(axis.var, name);
    }
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
    const Converter::Binding* binding = task_.converter.Find(tensor);
    TensorId memory = binding == nullptr ? tensor : binding->tensor;
    bool empty = !is_control_ && empty_.contains(memory);
    if (!IsWanted(tensor) && !empty) {
      return;
    }
    std::vector<PwAff> element = binding == nullptr ? std::vector<PwAff>() : binding->slice;
    for (ExprId index : indices) {
      element.push_back(task_.converter.Int(index));
    }
    Set elements = ElementsAt(unknowns_, memory, element, scope_);
    if (IsWanted(tensor)) {
      regions_.Add({memory, write, !write && ahead_.contains(tensor), exact_}, elements);
    }
    if (empty && write) {
      own_.Write(memory, elements);
    } else if (empty) {
      own_.Read({tensor, memory, here_, exact_, {}, elements & Inside(memory)});
    }
  }

  void AddUnwritten(const BodyRead& read) {
    const Tensor& tensor = module_.tensors[read.tensor];
    if (tensor.kind == TensorKind::Local || tensor.access == Access::Out) {
      reader_->on_own_read(call_, read);
    } else if (StartsEmpty(module_.tensors[read.memory]) && !IsEmpty(read.open)) {
      bool exact = read.exact && read.never && IsSubset(read.open, read.never);
      unwritten_.Add({read.memory, false, false, exact}, read.open);
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

  /// What is read to know the elements of a wait or notify, and the count that a wait is for.
  void CheckEdge(const TaskEdge& edge, bool count) {
    bool of_interest = count || IsPartial(*edge.ref) || ReadsTensor(module_, *edge.ref);
    if (reader_ == nullptr || !of_interest) {
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

  void Visit(const OneOf<IntLiteral, FloatLiteral, BoolLiteral, SymbolRef> auto&) {}
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

  const std::set<TensorId>& tensors_;
  BodyLoops loops_;
  BodyWrites own_;
  StmtId stmt_;       // that is being read
  SourceRange here_;  // of the statement or the expression
  RegionList regions_;
  RegionList unwritten_;
  bool is_control_ = false;   // what is read now is not read by a body
  std::set<TensorId> ahead_;  // parameters that a loader reads ahead of every wait
};

}  // namespace

CallRegions RegionsOf(Unknowns& unknowns, const ProgramCall& call,
                      const std::set<TensorId>& tensors, const BodyReader* reader) {
  unknowns.context().SetBudget(kStepsForCall);
  CallRegions regions = RegionWalk(unknowns, call, tensors, reader).Take();
  if (reader != nullptr) {
    reader->on_end(call);
  }
  return regions;
}

}  // namespace etc
