#include "concrete.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "accesses.h"
#include "ir/rewrite.h"

namespace etc::mutation {
namespace {

/// Far more than the small sizes need: beyond it a program is not judged.
constexpr int64_t kMaxSignals = 4'000'000;
constexpr size_t kMaxTasks = 20'000;

class Builder {
 public:
  Builder(const Module& module, const Env& dims, const DimRanges& ranges, const DataChoice& data)
      : module_(module),
        interpreter_(module, dims, ranges),
        data_(module, interpreter_, data),
        accesses_(module, interpreter_, data_) {
    interpreter_.on_choose = [this](int64_t n) {
      return data_.Choose(n, program_.tasks.size(), choices_++);
    };
  }

  void Block(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      if (Stop()) {
        return;
      }
      std::visit([&](const auto& node) { Add(node); }, module_.nodes[id]);
    }
  }

  ConcreteProgram Take() {
    Outside(accesses_.outside());
    program_.overwritten = accesses_.overwritten();
    NeedNotified();
    program_.cell_tensors = accesses_.memory().TakeNames();
    program_.cell_given = accesses_.memory().TakeGiven();
    program_.unknown = Stop();
    return std::move(program_);
  }

 private:
  /// The elements of an event.
  struct Counters {
    size_t base;
    std::vector<int64_t> shape;
  };

  bool Stop() const {
    return program_.unknown || interpreter_.unknown() || accesses_.unknown() ||
           !accesses_.outside().empty();
  }

  /// An integer that decides what happens.
  int64_t Known(Value value) {
    program_.unknown = program_.unknown || !value;
    return value.value_or(0);
  }

  void Add(const BufferDecl& decl) {
    if (module_.tensors[decl.tensor].tagged) {
      program_.unknown = true;  // a tagged word orders its own reads, which is not modelled
    }
  }
  void Add(const Region& region) { Block(region.body); }

  void Add(const EventDecl& decl) {
    const Event& event = module_.events[decl.event];
    std::vector<int64_t> extents;
    int64_t size = 1;
    for (const EventDim& dim : event.dims) {
      extents.push_back(interpreter_.Eval(dim.extent).value_or(-1));
      size *= extents.back();
    }
    if (size < 0 || size > kMaxSignals) {
      program_.unknown = true;
      return;
    }
    events_[decl.event] = {program_.needed.size(), extents};
    for (int64_t i = 0; i < size; ++i) {
      owners_.push_back(decl.event);
      program_.element_names.push_back(
          fmt::format("%{}[{}]", event.name, fmt::join(IndexOf(extents, i), ", ")));
    }
    counted_.resize(owners_.size());
    program_.needed.resize(owners_.size());
  }

  static std::vector<int64_t> IndexOf(const std::vector<int64_t>& extents, int64_t number) {
    std::vector<int64_t> index(extents.size(), 0);
    for (size_t d = extents.size(); d-- > 0;) {
      index[d] = number % extents[d];
      number /= extents[d];
    }
    return index;
  }

  /// The count of an element, which may be read from a tensor: when a task waits for it.
  void Need(size_t element) {
    const Event& event = module_.events[owners_[element]];
    const Counters& counters = events_[owners_[element]];
    auto number = static_cast<int64_t>(element - counters.base);
    std::vector<int64_t> index = IndexOf(counters.shape, number);
    for (size_t d = 0; d < index.size(); ++d) {
      if (event.dims[d].var) {
        interpreter_.Set(event.dims[d].var, index[d]);
      }
    }
    int64_t count = Known(interpreter_.Eval(event.count));
    if (counted_[element] && program_.needed[element] != count) {
      program_.unknown = true;  // two waits for one element that ask for different counts
    }
    counted_[element] = true;
    program_.needed[element] = count;
  }

  /// The counts of elements that nothing waits for: no launch reads them, but they must be right.
  void NeedNotified() {
    std::vector<bool> notified(program_.needed.size(), false);
    auto mark = [&](const std::vector<Signal>& signals) {
      for (const Signal& signal : signals) {
        notified[signal.element] = true;
      }
    };
    for (const Task& task : program_.tasks) {
      mark(task.notifies);
    }
    for (const Step& step : program_.steps) {
      mark(step.leave);
    }
    for (size_t i = 0; i < notified.size() && !Stop(); ++i) {
      if (notified[i] && !counted_[i]) {
        Need(i);
      }
    }
  }

  void Add(const Repeat& repeat) {
    Value lo = interpreter_.Eval(repeat.lo);
    Value hi = interpreter_.Eval(repeat.hi);
    if (!lo || !hi) {
      program_.unknown = true;
      return;
    }
    for (int64_t l = *lo; l < *hi && !Stop(); ++l) {
      interpreter_.Set(repeat.var, l);
      Block(repeat.body);
    }
  }

  void Add(const CallNode& call) {
    const Device& device = module_.devices[call.callee];
    Begin(device, call.args);
    program_.steps.back().first = first_;
    std::vector<EventRef> common;
    for (const Edge& edge : call.waits) {
      for (const EventRef& ref : edge.refs) {
        if (!Mentions(module_, ref, edge.coords)) {
          common.push_back(ref);
        }
      }
    }
    ReadRange(device, device.tasks, common);
    interpreter_.Loop(device.tasks, [&] {
      if (!BeginTask(device, device.tasks)) {
        return;
      }
      std::vector<Signal> waits;
      for (const Edge& edge : call.waits) {
        SetCoordinates(edge);
        AddWaits(edge.refs, Task::Runs::Once, waits);
      }
      RunBody(device, std::move(waits));
      for (const Edge& edge : call.notifies) {
        SetCoordinates(edge);
        AddNotifies(edge.refs);
      }
    });
    End();
  }

  void Add(const Share& share) {
    const Device& device = module_.devices[share.callee];
    Begin(device, share.args);
    program_.steps.back().first = Known(interpreter_.Eval(share.first));
    ReadRange(device, share.axes, share.range_waits);
    std::vector<Signal> enter;
    name_ = fmt::format("@{}[", device.name);
    AddWaits(share.enter_waits, Task::Runs::OnEntry, enter);
    program_.steps.back().enter = std::move(enter);
    std::vector<size_t> reads;
    std::vector<Signal> leave;
    accesses_.Note(&reads);
    for (const EventRef& ref : share.leave_notifies) {
      AddElements(ref, leave);
    }
    accesses_.Stop();
    program_.unknown = program_.unknown || !reads.empty();
    program_.steps.back().leave = std::move(leave);
    interpreter_.Loop(share.axes, [&] {
      if (!BeginTask(device, share.axes)) {
        return;
      }
      std::vector<Signal> waits;
      AddWaits(share.waits, Task::Runs::Once, waits);
      for (size_t i = 0; i < coordinates_.size(); ++i) {
        interpreter_.Set(device.tasks[i].var, coordinates_[i]);
      }
      RunBody(device, std::move(waits));
      AddNotifies(share.notifies);
    });
    End();
  }

  void Begin(const Device& device, const std::vector<Argument>& args) {
    if (!accesses_.Bind(device, args) && data_.assumes()) {
      program_.unknown = true;
    }
    program_.steps.emplace_back();
    program_.steps.back().begin = program_.tasks.size();
  }

  void End() {
    Step& step = program_.steps.back();
    step.end = program_.tasks.size();
    first_ += step.tasks;
  }

  bool BeginTask(const Device& device, const std::vector<Axis>& axes) {
    if (program_.tasks.size() >= kMaxTasks || Stop()) {
      program_.unknown = true;
      return false;
    }
    coordinates_.clear();
    for (const Axis& axis : axes) {
      coordinates_.push_back(*interpreter_.Get(axis.var));
    }
    name_ = fmt::format("@{}[{}]", device.name, fmt::join(coordinates_, ", "));
    return true;
  }

  void SetCoordinates(const Edge& edge) {
    for (size_t i = 0; i < edge.coords.size(); ++i) {
      interpreter_.Set(edge.coords[i], coordinates_[i]);
    }
  }

  Task& AddTask(Task::Runs runs, bool body, std::vector<Signal> waits) {
    Task task;
    task.runs = runs;
    task.body = body;
    task.number = program_.steps.back().tasks;
    task.name = name_;
    task.waits = std::move(waits);
    program_.tasks.push_back(std::move(task));
    return program_.tasks.back();
  }

  void RunBody(const Device& device, std::vector<Signal> waits) {
    if (Stop()) {
      return;
    }
    AddTask(Task::Runs::Once, true, std::move(waits));
    accesses_.Note(&program_.tasks.back().reads, &program_.tasks.back().writes);
    interpreter_.RunTask(device.body);
    accesses_.Stop();
    ++program_.steps.back().tasks;
    if (!interpreter_.fault().empty()) {
      Outside(fmt::format("{}: {}", name_, interpreter_.fault()));
    }
  }

  /// Each SM finds out which tasks there are, after the waits that hold for all of them.
  void ReadRange(const Device& device, const std::vector<Axis>& axes,
                 const std::vector<EventRef>& common) {
    std::vector<size_t> reads;
    accesses_.Note(&reads);
    interpreter_.Loop(axes, [] {});
    accesses_.Stop();
    if (reads.empty()) {
      return;
    }
    name_ = fmt::format("@{}[*]", device.name);
    std::vector<Signal> waits;
    AddWaits(common, Task::Runs::EachSm, waits);
    AddTask(Task::Runs::EachSm, false, std::move(waits)).reads = std::move(reads);
  }

  /// Adds to `waits`; where elements or counts are read from tensors, after the waits so far.
  void AddWaits(const std::vector<EventRef>& refs, Task::Runs runs, std::vector<Signal>& waits) {
    for (const EventRef& ref : refs) {
      std::vector<Signal> signals;
      std::vector<size_t> reads;
      accesses_.Note(&reads);
      AddElements(ref, signals);
      for (const Signal& signal : signals) {
        Need(signal.element);
      }
      accesses_.Stop();
      if (!reads.empty()) {
        AddTask(runs, false, std::move(waits)).reads = std::move(reads);
        waits.clear();
      }
      waits.insert(waits.end(), signals.begin(), signals.end());
    }
  }

  /// Adds the notifies of the task before.
  void AddNotifies(const std::vector<EventRef>& refs) {
    for (const EventRef& ref : refs) {
      std::vector<Signal> signals;
      std::vector<size_t> reads;
      accesses_.Note(&reads);
      AddElements(ref, signals);
      accesses_.Stop();
      if (!reads.empty()) {
        Task& task = AddTask(Task::Runs::Once, false, {});
        --task.number;  // stands behind the task
        task.reads = std::move(reads);
      }
      std::vector<Signal>& notifies = program_.tasks.back().notifies;
      notifies.insert(notifies.end(), signals.begin(), signals.end());
    }
  }

  void AddElements(const EventRef& ref, std::vector<Signal>& signals) {
    interpreter_.Loop(ref.axes, [&] {
      bool holds = !ref.guard || Known(interpreter_.Eval(ref.guard)) != 0;
      if (holds && events_.contains(ref.event)) {
        AddElements(ref, events_[ref.event], 0, 0, signals);
      }
    });
  }

  void AddElements(const EventRef& ref, const Counters& event, size_t axis, int64_t offset,
                   std::vector<Signal>& signals) {
    if (axis == event.shape.size()) {
      signals.push_back({event.base + static_cast<size_t>(offset), 1});
      return;
    }
    const EventIndex& index = ref.indices[axis];
    Value lo = index.all ? 0 : interpreter_.Eval(index.lo);
    Value hi = index.all  ? event.shape[axis]
               : index.hi ? interpreter_.Eval(index.hi)
                          : (lo ? Value(*lo + 1) : lo);
    if (!lo || !hi) {
      program_.unknown = true;
      return;
    }
    for (int64_t i = *lo; i < *hi; ++i) {
      if (i < 0 || i >= event.shape[axis]) {
        Outside(fmt::format("event `%{}` has no index {}", module_.events[ref.event].name, i));
      } else {
        AddElements(ref, event, axis + 1, offset * event.shape[axis] + i, signals);
      }
    }
  }

  void Outside(const std::string& text) {
    if (program_.outside.empty()) {
      program_.outside = text;
    }
  }

  const Module& module_;
  Interpreter interpreter_;
  CallerData data_;
  Accesses accesses_;
  ConcreteProgram program_;
  std::map<EventId, Counters> events_;
  std::vector<EventId> owners_;       // by element of an event
  std::vector<bool> counted_;         // by element of an event
  std::string name_;                  // of the current task
  std::vector<int64_t> coordinates_;  // of the current task
  int64_t first_ = 0;
  int64_t choices_ = 0;
};

DimRanges RangesAt(const Module& module, const Graph& graph, const Env& dims) {
  for (const DimRanges& ranges : RangesOf(module, graph)) {
    bool inside = std::all_of(ranges.begin(), ranges.end(), [&](const auto& range) {
      int64_t value = dims.at(range.first);
      return range.second.lo <= value && value <= range.second.hi;
    });
    if (inside) {
      return ranges;
    }
  }
  return {};
}

}  // namespace

ConcreteProgram MakeConcrete(const Module& module, const Graph& graph, const Env& dims,
                             const DataChoice& data) {
  Builder builder(module, dims, RangesAt(module, graph, dims), data);
  builder.Block(graph.body);
  return builder.Take();
}

ConcreteProgram MakeConcrete(const Module& module, const Kernel& kernel, const Env& dims,
                             const DataChoice& data) {
  Builder builder(module, dims, RangesOf(module, kernel), data);
  builder.Block(kernel.declarations);
  builder.Block(kernel.body);
  return builder.Take();
}

}  // namespace etc::mutation
