#include "analysis/regions.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/accessed.h"
#include "analysis/body_scope.h"
#include "analysis/region_list.h"
#include "ir/body_visitor.h"
#include "ir/loader_reads.h"
#include "ir/walk.h"

namespace etc {
namespace {

class RegionWalk : BodyScope, BodyVisitor {
 public:
  /// Regions are those of `tensors`.
  RegionWalk(Unknowns& unknowns, const ProgramCall& call, const std::set<TensorId>& tensors,
             const BodyReader* reader)
      : BodyScope(unknowns, call, reader),
        BodyVisitor(unknowns.module()),
        tensors_(tensors),
        loops_(unknowns.module(), unknowns.program().ranges,
               [this](const BodyLoops& loops) { reader_->on_loop(call_, loops, task_.converter); }),
        own_(unknowns, [this](const BodyRead& read) { AddUnwritten(read); }),
        regions_(unknowns, TaskNames(call, 1)),
        unwritten_(unknowns, TaskNames(call, 1)) {
    for (const Impl& impl : call.device->impls) {
      for (TensorId param : impl.preloaded) {
        const Argument* argument = ArgumentOf(call, param);
        if (argument == nullptr ||
            !IsReadBehindWait(module_, *call.device, param, argument->tensor)) {
          ahead_.insert(param);
        }
      }
    }
    if (reader_ != nullptr) {
      CheckRange(call);
    }
    if (!IsEmpty(scope_)) {  // else no task at these sizes
      CheckSlices();
      CheckScalars();
      CheckEdges(call);
      known_ = reader != nullptr ? reader->on_body(call) : std::nullopt;
      if (!known_) {
        VisitBlock(call.device->body);
      }
    }
  }

  CallRegions Take() {
    if (known_) {
      return *std::move(known_);
    }
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
  bool Wants(const Stmt& stmt) override {
    bool names =
        std::visit(Overloaded{
                       [](const OneOf<Let, LetPair> auto&) { return true; },
                       [](const OneOf<For, If, LocalDecl, Assign, TopK> auto&) { return false; },
                   },
                   stmt);
    return names || Matters(stmt);
  }
  bool Wants(const Reduce& reduce) override { return Matters(reduce.axes) || Matters(reduce.body); }

  bool IsWanted(TensorId tensor) const {
    const Converter::Binding* binding = task_.converter.Find(tensor);
    return !is_control_ && binding != nullptr && tensors_.contains(binding->tensor);
  }

  /// Whether there may be anything to find in a part of the body.
  template <class Part>
  bool Matters(const Part& part) const {
    return reader_ != nullptr || Accesses(module_, part, [&](TensorId id) { return IsWanted(id); });
  }

  void Within(const Inside& inside) {
    Saved saved = Save();
    inside();
    Restore(std::move(saved));
  }

  /// What the iterations of a loop access is told when its body has been read.
  void Loop(StmtId stmt, bool sequential, const Inside& inside) {
    bool independent = reader_ != nullptr && !sequential;
    if (independent) {
      loops_.Enter(stmt, unknowns_.Mark());
    }
    own_.EnterLoop(sequential);
    Within([&] {
      inside();
      own_.LeaveLoop();
      if (independent) {
        loops_.Leave();
      }
    });
  }

  void AroundLoop(StmtId id, const For& loop, const Inside& inside) override {
    Loop(id, loop.sequential, inside);
  }
  void AroundRanks(StmtId id, const TopK& topk, const Inside& inside) override {
    CheckRanks(topk);
    Loop(id, false, inside);
  }
  void AroundElements(const TopK& topk, const Inside& inside) override {
    Within([&] {
      inside();
      StoredValue(topk.values, [&] { return task_.converter.Int(topk.body); });
      StoredValue(topk.positions, [&] { return task_.converter.ValueOf(topk.axis.var); });
    });
  }
  void AroundReduction(const Reduce&, const Inside& inside) override { Within(inside); }

  void AroundIf(StmtId, const If&, const Inside& inside) override {
    BodyWrites::Sides sides;
    BodyWrites::Sides* around = std::exchange(sides_, &sides);
    inside();
    sides_ = around;
    own_.Join(sides);
  }

  void AroundSide(const BodySide& side, const Inside& inside) override {
    Within([&] {
      size_t first_write = own_.Mark();
      bool exact = EnterBranch(side.condition, side.wanted);
      if (side.of_statement) {
        size_t i = side.wanted ? 0 : 1;
        sides_->begin[i] = first_write;
        sides_->exact = exact && sides_->exact;
        sides_->scopes[i] = scope_;
      }
      inside();
    });
  }

  /// Each variable is known before the range of the next one is read.
  void OnVariable(const Axis& axis, AxisOf of) override {
    std::string name = unknowns_.Fresh(module_.symbols[axis.var].name);
    PwAff variable = unknowns_.Param(name);
    Set range = AxisRange(task_.converter, axis, variable);
    unknowns_.SetFacts(name, range);
    scope_ = scope_ & range;
    task_.converter.Bind(axis.var, variable);
    intervals_.Set(axis.var, axis);
    loops_.Know(axis.var);
    bool independent = of == AxisOf::For || of == AxisOf::Ranks;
    if (independent || of == AxisOf::Scan) {
      own_.AddVariable(axis.var, name);
    }
    if (independent && reader_ != nullptr) {
      loops_.AddVariable(axis.var, name);
    }
  }

  void OnLet(const Let& let) override {
    if (KindOf(module_, let.value) == ValueKind::Int) {
      task_.converter.Bind(let.symbol, task_.converter.Int(let.value));
      intervals_.Set(let.symbol, intervals_.Of(let.value));
      loops_.Let(let.symbol, let.value);
    } else {
      task_.converter.BindLet(let.symbol, let.value);
    }
  }

  void OnLetPair(const LetPair& pair) override {
    loops_.Know(pair.index);
    loops_.Know(pair.value);
    task_.converter.Bind(pair.index, task_.converter.Int(pair.reduction));
    intervals_.Set(pair.index, intervals_.Of(pair.reduction));
    task_.converter.Bind(pair.value, unknowns_.Any("the value of a reduction",
                                                   [&](const PwAff&) { return unknowns_.All(); }));
  }

  void OnLocal(const LocalDecl& decl) override {
    loops_.Declare(decl.tensor);
    own_.Declare(decl.tensor);
  }

  void OnAssign(const Assign& assign) override {
    StoredValue(assign.tensor, [&] {
      return assign.adds ? unknowns_.Any("a sum", [&](const PwAff&) { return unknowns_.All(); })
                         : task_.converter.Int(assign.value);
    });
  }

  void OnExpr(ExprId id) override { CheckOperation(id); }

  /// `value` is asked for where somebody looks at it.
  template <class Value>
  void StoredValue(TensorId tensor, const Value& value) {
    const Converter::Binding* binding = task_.converter.Find(tensor);
    if (reader_ != nullptr && binding != nullptr &&
        KindOf(module_.tensors[tensor].type) == ValueKind::Int) {
      reader_->on_store(binding->tensor, scope_ & Eq(unknowns_.Param(kStoredValue), value()));
    }
  }

  /// What `+=` reads is in bounds if what it writes is.
  void OnElement(const BodyElement& accessed) override {
    const auto& [use, tensor, indices, range, peer] = accessed;
    for (size_t i = 0;
         reader_ != nullptr && use != BodyElement::Use::ReadToAdd && i < indices.size(); ++i) {
      CheckIndex(tensor, i, indices[i], exact_);
    }
    bool write = accessed.IsWrite();
    if (reader_ != nullptr && !is_control_ &&
        (stored_.contains(tensor) || module_.tensors[tensor].kind == TensorKind::Local)) {
      loops_.Add({tensor, indices, write, range, scope_, exact_});
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
      own_.Read({tensor, memory, range, exact_, {}, elements & ElementsOf(memory)});
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
    // Whoever arrives reads what the trigger counts.
    for (const auto* edges : {&call.waits, &call.after_waits, &call.after_arrivals}) {
      for (const TaskEdge& edge : *edges) {
        ExprId counted = module_.events[edge.ref->event].count;
        CheckEdge(edge,
                  reader_ != nullptr && (ReadsTensor(module_, counted) || IsPartial(counted)));
      }
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
    VisitAxes(edge.ref->axes, AxisOf::Reduction);
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

  const std::set<TensorId>& tensors_;
  BodyLoops loops_;
  BodyWrites own_;
  BodyWrites::Sides* sides_ = nullptr;  // of the innermost `if`
  RegionList regions_;
  RegionList unwritten_;
  bool is_control_ = false;           // what is read now is not read by a body
  std::set<TensorId> ahead_;          // parameters that a loader reads ahead of every wait
  std::optional<CallRegions> known_;  // without reading the body
};

}  // namespace

CallRegions RegionsOf(Unknowns& unknowns, const ProgramCall& call,
                      const std::set<TensorId>& tensors, const BodyReader* reader) {
  unknowns.context().SetBudget();
  CallRegions regions = RegionWalk(unknowns, call, tensors, reader).Take();
  if (reader != nullptr) {
    reader->on_end(call, regions);
  }
  return regions;
}

}  // namespace etc
