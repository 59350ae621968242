#include "analysis/event_walk.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/checked.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace etc {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 20;

using Kind = ProgramMark::Kind;

}  // namespace

EventWalk::EventWalk(const Module& module, const CallProgram& program, const Sizes& sizes,
                     int64_t& budget)
    : module_(module), program_(program), sizes_(sizes), budget_(budget) {
  AddVariables();
  for (EventId id : program.events) {
    AddEvent(id);
  }
  for (const ProgramCall& step : program.calls) {
    CompiledStep compiled;
    for (const TaskEdge& ref : step.waits) {
      compiled.waits.push_back(Compile(step, ref));
    }
    for (const TaskEdge& ref : step.notifies) {
      compiled.notifies.push_back(Compile(step, ref));
    }
    steps_.push_back(std::move(compiled));
  }
  for (size_t i = 0; i < program.order.size(); ++i) {
    const ProgramMark& mark = program.order[i];
    if (mark.kind == Kind::Enter) {
      repeats_[i] = {CompiledExpr(module, mark.lo, sizes, slots_),
                     CompiledExpr(module, mark.hi, sizes, slots_)};
    }
  }
}

void EventWalk::AddVariables() {
  for (const ProgramMark& mark : program_.order) {
    if (mark.kind == Kind::Enter) {
      slots_.Of(mark.var);
    }
  }
  for (const ProgramCall& step : program_.calls) {
    for (const Axis& axis : step.axes) {
      slots_.Of(axis.var);
    }
    for (const auto* refs : {&step.waits, &step.notifies}) {
      for (const TaskEdge& ref : *refs) {
        for (SymbolId coord : ref.coords) {
          slots_.Of(coord);
        }
        for (const Axis& axis : ref.ref->axes) {
          slots_.Of(axis.var);
        }
      }
    }
  }
}

void EventWalk::AddEvent(EventId id) {
  const Event& event = module_.events[id];
  EventState state{id, true, false, {}, {}};
  int64_t elements = 1;
  Slots slots;
  for (const EventDim& dim : event.dims) {
    auto extent = EvaluateInt(module_, dim.extent, sizes_.dims, sizes_.ranges);
    auto product = extent && *extent >= 0 ? CheckedMul(elements, *extent) : std::nullopt;
    if (!product || *product > kMaxElements) {
      state.known = false;
      break;
    }
    elements = *product;
    state.extents.push_back(*extent);
    if (dim.var) {
      slots.Of(dim.var);
    }
  }
  CompiledExpr count(module_, event.count, sizes_, slots);
  bool varies = !slots.all().empty();
  for (int64_t element = 0; state.known && element < elements; ++element) {
    if (element > 0 && !varies) {
      state.expected.resize(elements, state.expected[0]);
      break;
    }
    int64_t rest = element;
    for (size_t d = event.dims.size(); d-- > 0;) {
      if (event.dims[d].var) {
        slots[slots.Of(event.dims[d].var)] = rest % state.extents[d];
      }
      rest /= state.extents[d];
    }
    auto value = count.Evaluate(slots);
    state.known = value.has_value();
    state.expected.push_back(value.value_or(0));
  }
  event_index_[id] = events_.size();
  events_.push_back(std::move(state));
}

EventWalk::CompiledRef EventWalk::Compile(const ProgramCall& step, const TaskEdge& task_ref) {
  const EventRef& ref = *task_ref.ref;
  CompiledRef compiled{&task_ref, event_index_.at(ref.event), {}, {}, {}, {}};
  if (ReadsTensor(module_, ref) || ReadsTensor(module_, step.axes)) {
    events_[compiled.event].known = false;
    return compiled;
  }
  auto loop = [&](const Axis& axis) {
    return CompiledLoop{{slots_.Of(axis.var)},
                        CompiledExpr(module_, axis.lo, sizes_, slots_),
                        CompiledExpr(module_, axis.hi, sizes_, slots_)};
  };
  for (size_t i = 0; i < step.axes.size(); ++i) {
    CompiledLoop mine = loop(step.axes[i]);
    mine.slots.push_back(slots_.Of(task_ref.coords[i]));
    bool used = Mentions(module_, ref, {task_ref.coords[i]}) ||
                Mentions(module_, step.axes, {step.axes[i].var});
    (used ? compiled.loops : compiled.factors).push_back(std::move(mine));
  }
  for (const Axis& axis : ref.axes) {
    (Mentions(module_, ref, {axis.var}) ? compiled.loops : compiled.factors).push_back(loop(axis));
  }
  for (const EventIndex& index : ref.indices) {
    compiled.indices.push_back({CompiledExpr(module_, index.lo, sizes_, slots_),
                                CompiledExpr(module_, index.hi, sizes_, slots_), bool{index.hi},
                                index.all});
  }
  compiled.guard = CompiledExpr(module_, ref.guard, sizes_, slots_);
  return compiled;
}

bool EventWalk::Run(const std::function<void(size_t)>& on_step) {
  return RunRange(0, program_.order.size(), on_step);
}

bool EventWalk::RunRange(size_t begin, size_t end, const std::function<void(size_t)>& on_step) {
  for (size_t i = begin; i < end; ++i) {
    const ProgramMark& mark = program_.order[i];
    if (mark.kind == Kind::Call) {
      if (--budget_ < 0) {
        return false;
      }
      on_step(mark.other);
      continue;
    }
    auto lo = repeats_.at(i).first.Evaluate(slots_);
    auto hi = repeats_.at(i).second.Evaluate(slots_);
    size_t slot = slots_.Of(mark.var);
    for (int64_t value = lo.value_or(0); lo && hi && value < *hi; ++value) {
      slots_[slot] = value;
      if (--budget_ < 0 || !RunRange(i + 1, mark.other, on_step)) {
        return false;
      }
    }
    i = mark.other;
  }
  return budget_ >= 0;
}

void EventWalk::Visit(const std::vector<CompiledRef>& refs, const OnTouch& on_touch) {
  for (const CompiledRef& ref : refs) {
    if (events_[ref.event].known) {
      VisitLoop(ref, 0, on_touch);
    }
  }
}

void EventWalk::VisitLoop(const CompiledRef& ref, size_t depth, const OnTouch& on_touch) {
  if (depth == ref.loops.size()) {
    VisitPoint(ref, on_touch);
    return;
  }
  const CompiledLoop& loop = ref.loops[depth];
  auto lo = loop.lo.Evaluate(slots_);
  auto hi = loop.hi.Evaluate(slots_);
  if (!lo || !hi) {
    events_[ref.event].known = false;
    return;
  }
  for (int64_t value = *lo; value < *hi && --budget_ >= 0; ++value) {
    for (size_t slot : loop.slots) {
      slots_[slot] = value;
    }
    VisitLoop(ref, depth + 1, on_touch);
  }
}

void EventWalk::VisitPoint(const CompiledRef& ref, const OnTouch& on_touch) {
  EventState& state = events_[ref.event];
  if (ref.ref->ref->guard) {
    auto holds = ref.guard.Evaluate(slots_);
    if (!holds) {
      state.known = false;
    }
    if (!holds || *holds == 0) {
      return;
    }
  }
  int64_t times = 1;
  for (const CompiledLoop& factor : ref.factors) {
    auto lo = factor.lo.Evaluate(slots_);
    auto hi = factor.hi.Evaluate(slots_);
    auto product = lo && hi ? CheckedMul(times, std::max<int64_t>(*hi - *lo, 0)) : std::nullopt;
    if (!product) {
      state.known = false;
      return;
    }
    times = *product;
  }
  if (times == 0) {
    return;
  }
  box_.clear();
  for (size_t axis = 0; axis < ref.indices.size(); ++axis) {
    const CompiledIndex& index = ref.indices[axis];
    int64_t extent = state.extents[axis];
    if (index.all) {
      box_.push_back({0, extent - 1});
      continue;
    }
    auto lo = index.lo.Evaluate(slots_);
    auto hi = index.has_hi ? index.hi.Evaluate(slots_) : (lo ? CheckedAdd(*lo, 1) : lo);
    if (!lo || !hi) {
      state.known = false;
      return;
    }
    if (*lo >= *hi) {
      return;  // an empty range names no element
    }
    if (*lo < 0 || *hi > extent) {
      ReportOutside(ref, axis, *lo < 0 ? *lo : *hi - 1);
      return;
    }
    box_.push_back({*lo, *hi - 1});
  }
  VisitBox(ref, 0, 0, times, on_touch);
}

void EventWalk::VisitBox(const CompiledRef& ref, size_t axis, int64_t offset, int64_t times,
                         const OnTouch& on_touch) {
  if (axis == box_.size()) {
    on_touch({ref.ref, ref.event, offset, times});
    return;
  }
  for (int64_t i = box_[axis].lo; i <= box_[axis].hi && --budget_ >= 0; ++i) {
    VisitBox(ref, axis + 1, offset * events_[ref.event].extents[axis] + i, times, on_touch);
  }
}

void EventWalk::ReportOutside(const CompiledRef& ref, size_t axis, int64_t index) {
  events_[ref.event].outside = true;
  if (on_outside) {
    const EventIndex& at = ref.ref->ref->indices[axis];
    ExprId id = at.hi && index >= events_[ref.event].extents[axis] ? at.hi : at.lo;
    on_outside({ref.ref, axis, index, events_[ref.event].extents[axis], Variables(id)});
  }
}

std::string EventWalk::Variables(ExprId id) const {
  std::string text;
  std::vector<SymbolId> seen;
  VisitExprs(module_, id, [&](ExprId inner) {
    const auto* symbol = std::get_if<SymbolRef>(&module_.exprs[inner]);
    auto slot = symbol != nullptr ? slots_.all().find(symbol->symbol) : slots_.all().end();
    if (slot == slots_.all().end() ||
        std::find(seen.begin(), seen.end(), symbol->symbol) != seen.end()) {
      return;
    }
    seen.push_back(symbol->symbol);
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", module_.symbols[symbol->symbol].name,
                        slots_[slot->second]);
  });
  return text;
}

std::string EventWalk::Name(size_t event, int64_t element) const {
  const EventState& state = events_[event];
  std::string indices;
  for (size_t d = state.extents.size(); d-- > 0;) {
    indices =
        fmt::format("{}{}{}", element % state.extents[d], indices.empty() ? "" : ", ", indices);
    element /= state.extents[d];
  }
  const std::string& name = module_.events[state.id].name;
  return state.extents.empty() ? fmt::format("%{}", name) : fmt::format("%{}[{}]", name, indices);
}

}  // namespace etc
