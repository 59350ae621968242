#include "concrete.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "accesses.h"
#include "analysis/ranks.h"
#include "event_elements.h"
#include "ir/queue.h"
#include "ir/rewrite.h"

namespace etc::mutation {
namespace {

/// Far more than the small sizes need: beyond it a program is not judged.
constexpr size_t kMaxTasks = 20'000;

class Builder {
 public:
  Builder(const Module& module, const Env& dims, const DimRanges& ranges, const DataChoice& data,
          int64_t ranks)
      : module_(module),
        interpreter_(module, dims, ranges),
        data_(module, interpreter_, data),
        accesses_(module, interpreter_, data_),
        events_(module, interpreter_, program_),
        joined_(IsOfAllRanks(module)) {
    program_.ranks = ranks;
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
    program_.Outside(accesses_.outside());
    program_.overwritten = accesses_.overwritten();
    for (size_t element : events_.NotifiedOnly()) {
      if (!Stop()) {
        events_.Need(element);
      }
    }
    program_.cell_tensors = accesses_.memory().TakeNames();
    program_.cell_given = accesses_.memory().TakeGiven();
    program_.unknown = Stop();
    return std::move(program_);
  }

 private:
  bool Stop() const {
    return program_.unknown || interpreter_.unknown() || accesses_.unknown() ||
           !accesses_.outside().empty();
  }

  void Add(const BufferDecl& decl) {
    if (module_.tensors[decl.tensor].flagged) {
      program_.unknown = true;  // a flagged word orders its own reads, which is not modelled
    }
  }
  void Add(const EventDecl& decl) { events_.Declare(decl.event); }
  void Add(const Region& region) { Block(region.body); }
  void Add(const Dispatch& dispatch) {
    drawn_ = true;
    if (dispatch.capacity) {
      const int64_t places = program_.Known(interpreter_.Eval(dispatch.capacity)) / program_.ranks;
      queues_ = program_.queues.size();
      for (int64_t rank = 0; rank < program_.ranks; ++rank) {
        program_.queues.push_back(
            {places, program_.steps.size(), 0, CountsPushes(module_, dispatch), {}});
      }
    }
    Block(dispatch.cases);
    for (size_t q = queues_.value_or(program_.queues.size()); q < program_.queues.size(); ++q) {
      program_.queues[q].end = program_.steps.size();
    }
    queues_.reset();
    queue_.reset();
    drawn_ = false;
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

  /// Calls `add` with the axes of a rank's own tasks, for each rank.
  template <class F>
  void ForEachRank(const std::vector<Axis>& axes, const F& add) {
    std::vector<Axis> own = axes;
    if (joined_) {
      own.erase(own.begin());
    }
    const int64_t first = first_;
    for (rank_ = 0; rank_ < program_.ranks && !Stop(); ++rank_) {
      first_ = first;
      if (joined_) {
        interpreter_.Set(module_.rank, rank_);
      }
      if (queues_) {
        queue_ = *queues_ + static_cast<size_t>(rank_);
      }
      add(own);
    }
  }

  void Add(const CallNode& call) {
    ForEachRank(module_.devices[call.callee].tasks,
                [&](const std::vector<Axis>& axes) { AddCall(call, axes); });
  }
  void Add(const Share& share) {
    ForEachRank(share.axes, [&](const std::vector<Axis>& axes) {
      Share own = share;
      own.axes = axes;
      AddShare(own, share.axes);
    });
  }

  void AddCall(const CallNode& call, const std::vector<Axis>& axes) {
    const Device& device = module_.devices[call.callee];
    Begin(device, call.args, call.scalars);
    program_.steps.back().first = first_;
    std::vector<EventRef> common;
    for (const Edge& edge : call.waits) {
      const std::vector<SymbolId> coords(edge.coords.begin() + (joined_ ? 1 : 0),
                                         edge.coords.end());
      for (const EventRef& ref : edge.refs) {
        if (!Mentions(module_, ref, coords)) {
          common.push_back(ref);
        }
      }
    }
    ReadRange(device, axes, common);
    interpreter_.Loop(axes, [&] {
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

  /// `all`: the axes with that of the rank.
  void AddShare(const Share& share, const std::vector<Axis>& all) {
    const Device& device = module_.devices[share.callee];
    Begin(device, share.args, share.scalars);
    if (share.first) {
      program_.steps.back().first = program_.Known(interpreter_.Eval(share.first));
    }
    ReadRange(device, share.axes, share.range_waits);
    std::vector<Signal> enter;
    name_ = fmt::format("@{}[", device.name);
    AddWaits(share.enter_waits, Task::Runs::OnEntry, enter);
    program_.steps.back().enter = std::move(enter);
    std::vector<size_t> reads;
    std::vector<Signal> leave;
    accesses_.Note(&reads);
    for (const EventRef& ref : share.leave_notifies) {
      events_.Add(ref, leave);
    }
    accesses_.Stop();
    program_.unknown = program_.unknown || !reads.empty();
    program_.steps.back().leave = std::move(leave);
    interpreter_.Loop(share.axes, [&] {
      if (!BeginTask(device, all)) {
        return;
      }
      std::vector<Signal> waits;
      AddWaits(share.waits, Task::Runs::Once, waits);
      for (size_t i = 0; i < coordinates_.size(); ++i) {
        interpreter_.Set(device.tasks[i].var, coordinates_[i]);
      }
      RunBody(device, std::move(waits));
      AddPushes(share);
      AddNotifies(share.notifies);
      AddAfter(share);
    });
    if (queue_ && program_.queues[*queue_].counted && share.pushed_by) {
      AddElements(device, share);
    }
    End();
  }

  /// The elements that push the tasks of the step, also those that push none.
  void AddElements(const Device& device, const Share& share) {
    program_.steps.back().pushed = true;
    std::vector<Axis> given;
    for (const Axis& axis : share.axes) {
      if (given.size() < MostGiven(module_, share) &&
          Mentions(module_, *share.pushed_by, {axis.var})) {
        given.push_back(axis);
      }
    }
    interpreter_.Loop(given, [&] {
      if (Stop() || program_.queues[*queue_].pushes.size() >= kMaxTasks) {
        program_.unknown = true;
        return;
      }
      std::vector<Signal> elements;
      events_.Add(*share.pushed_by, elements);
      program_.unknown = program_.unknown || elements.size() != 1;
      for (const Signal& element : elements) {
        events_.Need(element.element);
        Push& push = program_.queues[*queue_].pushes.emplace_back();
        push.element = element.element;
        push.name = fmt::format("what `@{}` is pushed by", device.name);
        for (const EventRef& ref : share.range_waits) {
          events_.Add(ref, push.waits);
        }
        for (const EventRef& ref :
             ArriveByPush(module_, share) ? share.arrivals : std::vector<EventRef>()) {
          events_.Add(ref, push.arrivals);
        }
      }
    });
  }

  /// Where the task before arrives, and what pushes it.
  void AddPushes(const Share& share) {
    if (Stop()) {
      return;
    }
    Task& task = program_.tasks.back();
    if (!ArriveByPush(module_, share)) {
      for (const EventRef& ref : share.arrivals) {
        events_.Add(ref, task.arrivals);
      }
    }
    if (share.pushed_by) {
      program_.steps.back().pushed = true;
      std::vector<Signal> elements;
      events_.Add(*share.pushed_by, elements);
      program_.unknown = program_.unknown || elements.size() != 1;
      for (const Signal& element : elements) {
        events_.Need(element.element);
        task.trigger = element.element;
      }
    }
  }

  /// What the task before arrives at behind waits that are not its own.
  void AddAfter(const Share& share) {
    if (Stop() || share.after_arrivals.empty()) {
      return;
    }
    std::vector<Signal> waits;
    AddWaits(share.after_waits, Task::Runs::Once, waits);
    std::vector<Signal> arrivals;
    std::vector<size_t> reads;
    accesses_.Note(&reads);
    for (const EventRef& ref : share.after_arrivals) {
      std::vector<Signal> signals;
      events_.Add(ref, signals);
      for (const Signal& signal : signals) {
        events_.Need(signal.element);
      }
      arrivals.insert(arrivals.end(), signals.begin(), signals.end());
    }
    accesses_.Stop();
    Task& task = AddTask(Task::Runs::Once, false, std::move(waits));
    --task.number;  // stands behind the task
    task.after = true;
    task.reads = std::move(reads);
    task.arrivals = std::move(arrivals);
  }

  void Begin(const Device& device, const std::vector<Argument>& args,
             const std::vector<ExprId>& scalars) {
    if (!accesses_.Bind(device, args, scalars) && data_.assumes()) {
      program_.unknown = true;
    }
    program_.steps.emplace_back();
    program_.steps.back().begin = program_.tasks.size();
    program_.steps.back().rank = rank_;
    program_.steps.back().drawn = drawn_;
    program_.steps.back().queue = queue_;
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
    for (const auto* names : {&accesses_.dependent(), &interpreter_.dependent()}) {
      for (TensorId tensor : *names) {
        program_.dependent.emplace(device.name, module_.tensors[tensor].name);
      }
    }
    program_.tasks.back().unwritten.assign(accesses_.unwritten().begin(),
                                           accesses_.unwritten().end());
    program_.tasks.back().written_ranks.assign(accesses_.written_ranks().begin(),
                                               accesses_.written_ranks().end());
    for (const auto* names : {&accesses_.undefined(), &interpreter_.undefined()}) {
      for (TensorId tensor : *names) {
        program_.undefined.emplace(device.name, module_.tensors[tensor].name);
      }
    }
    if (!interpreter_.fault().empty()) {
      program_.Outside(fmt::format("{}: {}", name_, interpreter_.fault()));
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
      events_.Add(ref, signals);
      for (const Signal& signal : signals) {
        events_.Need(signal.element);
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
      events_.Add(ref, signals);
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

  const Module& module_;
  Interpreter interpreter_;
  CallerData data_;
  Accesses accesses_;
  ConcreteProgram program_;
  EventElements events_;
  std::string name_;                  // of the current task
  std::vector<int64_t> coordinates_;  // of the current task
  int64_t first_ = 0;
  const bool joined_;             // the rank is the first coordinate of each task
  int64_t rank_ = 0;              // of the next step
  bool drawn_ = false;            // it is a case
  std::optional<size_t> queues_;  // the first of those of its dispatch, one for each rank
  std::optional<size_t> queue_;   // of its rank
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
                             const DataChoice& data, int64_t ranks) {
  Builder builder(module, dims, RangesAt(module, graph, dims), data, ranks);
  builder.Block(graph.body);
  return builder.Take();
}

ConcreteProgram MakeConcrete(const Module& module, const Kernel& kernel, const Env& dims,
                             const DataChoice& data, int64_t ranks) {
  Builder builder(module, dims, RangesOf(module, kernel), data, ranks);
  builder.Block(kernel.declarations);
  builder.Block(kernel.body);
  return builder.Take();
}

}  // namespace etc::mutation
