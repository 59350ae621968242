#include "analysis/program.h"

#include <algorithm>

#include "analysis/ranks.h"
#include "ir/queue.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// What a program is of: of events, of triggers, or of events with calls for who arrives.
enum class ProgramOf : uint8_t { Events, Triggers, Arrivals };

class Builder {
 public:
  Builder(const Module& module, CallProgram& program, ProgramOf of = ProgramOf::Events)
      : module_(module), program_(program), of_(of) {}

  void Block(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      node_ = id;
      if (depth_ == 0) {
        statement_ = module_.RangeOf(id);
      }
      ++depth_;
      std::visit([&](const auto& node) { Add(module_.RangeOf(id), node); }, module_.nodes[id]);
      --depth_;
    }
  }

 private:
  void Add(SourceRange, const BufferDecl& decl) {
    const Tensor& tensor = module_.tensors[decl.tensor];
    program_.flagged = program_.flagged || tensor.flagged;
  }
  void Add(SourceRange, const EventDecl& decl) {
    if (module_.events[decl.event].trigger == (of_ == ProgramOf::Triggers)) {
      program_.events.push_back(decl.event);
    }
  }
  void Add(SourceRange, const Region& region) { Block(region.body); }
  void Add(SourceRange, const Dispatch& dispatch) {
    dispatch_ = node_;
    Block(dispatch.cases);
    dispatch_ = {};
  }

  void Add(SourceRange, const Repeat& repeat) {
    auto lo = Bounds(module_, repeat.lo, {});
    auto hi = Bounds(module_, repeat.hi, {});
    if (!lo || !hi) {
      program_.open = true;
      return;
    }
    bool fixed = lo->lo == lo->hi && hi->lo == hi->hi;
    size_t calls = program_.calls.size();
    repeats_.push_back({node_, repeat.var, {lo->lo, hi->hi - 1}, repeat.lo, repeat.hi, fixed});
    size_t enter = program_.order.size();
    program_.order.push_back({ProgramMark::Kind::Enter, 0, repeat.var, repeat.lo, repeat.hi});
    Block(repeat.body);
    program_.order[enter].other = program_.order.size();
    program_.order.push_back({ProgramMark::Kind::Leave, enter, {}, {}, {}});
    repeats_.pop_back();
    segment_ += repeats_.empty() && program_.calls.size() > calls ? 1 : 0;
  }

  void Add(SourceRange range, const CallNode& call) {
    ProgramCall mine = Make(range, call.callee, module_.devices[call.callee].tasks, call.args);
    mine.scalars = call.scalars;
    for (const auto& [edges, to] :
         {std::pair{&call.waits, &mine.waits}, std::pair{&call.notifies, &mine.notifies}}) {
      for (const Edge& edge : *edges) {
        AddRefs(edge.refs, edge.coords, range, *to);
      }
    }
    MarkCommon(mine.waits);
    Push(std::move(mine));
  }

  /// A wait on entering a share holds for all of its tasks, a notify on leaving it counts once for
  /// each of them.
  void Add(SourceRange range, const Share& share) {
    ProgramCall mine = Make(range, share.callee, share.axes, share.args);
    mine.scalars = share.scalars;
    std::vector<SymbolId> coords;
    for (const Axis& axis : share.axes) {
      coords.push_back(axis.var);
    }
    mine.pushed = share.pushed_by.has_value();
    if (of_ == ProgramOf::Triggers) {
      if (ArriveByPush(module_, share)) {  // the elements stand for the tasks that they push
        size_t given = std::min(share.axes.size(), GivenBy(*share.pushed_by));
        coords.resize(given);
        mine.axes.resize(given);
        mine.task_symbols.resize(std::min(mine.task_symbols.size(), given));
      }
      if (mine.pushed) {
        AddRef(*share.pushed_by, coords, range, mine.waits);
      }
      AddRefs(share.arrivals, coords, range, mine.notifies);
      AddRefs(share.after_arrivals, coords, range, mine.notifies);
      return Push(std::move(mine));
    }
    AddRefs(share.after_waits, coords, range, mine.after_waits);
    AddRefs(share.after_arrivals, coords, range, mine.after_arrivals);
    AddRefs(share.range_waits, coords, range, mine.waits);
    for (TaskEdge& wait : mine.waits) {
      wait.common = true;
    }
    AddRefs(share.enter_waits, coords, range, mine.waits);
    for (TaskEdge& wait : mine.waits) {
      wait.entering = true;
    }
    AddRefs(share.waits, coords, range, mine.waits);
    AddRefs(share.notifies, coords, range, mine.notifies);
    AddRefs(share.leave_notifies, coords, range, mine.notifies);
    if (of_ == ProgramOf::Arrivals && !share.after_arrivals.empty()) {
      ProgramCall arriving = mine;
      arriving.arriving = true;
      arriving.args.clear();
      arriving.waits = arriving.after_waits;
      arriving.notifies.clear();
      Push(std::move(mine));
      return Push(std::move(arriving));
    }
    Push(std::move(mine));
  }

  /// How many indices of a trigger are coordinates: the others are the iterations around.
  size_t GivenBy(const EventRef& on) const {
    return on.indices.size() - std::min(on.indices.size(), repeats_.size());
  }

  ProgramCall Make(SourceRange range, DeviceId callee, const std::vector<Axis>& axes,
                   const std::vector<Argument>& args) const {
    ProgramCall call;
    call.node = node_;
    call.dispatch = dispatch_;
    call.callee = callee;
    call.device = &module_.devices[callee];
    call.axes = axes;
    for (const Axis& axis : call.device->tasks) {
      call.task_symbols.push_back(axis.var);
    }
    call.args = args;
    call.range = range;
    call.statement = statement_;
    call.repeats = repeats_;
    return call;
  }

  static void AddRefs(const std::vector<EventRef>& refs, const std::vector<SymbolId>& coords,
                      SourceRange range, std::vector<TaskEdge>& to) {
    for (const EventRef& ref : refs) {
      if (!ref.peer) {  // what is notified at a peer puts nothing in order on the own rank
        AddRef(ref, coords, range, to);
      }
    }
  }

  static void AddRef(const EventRef& ref, const std::vector<SymbolId>& coords, SourceRange range,
                     std::vector<TaskEdge>& to) {
    to.push_back({&ref, coords, ref.range.IsValid() ? ref.range : range});
  }

  void MarkCommon(std::vector<TaskEdge>& waits) const {
    bool behind_others = false;
    for (TaskEdge& wait : waits) {
      wait.common = IsCommonWait(module_, *wait.ref, wait.coords, behind_others);
      behind_others |= !wait.common;
    }
  }

  void Push(ProgramCall call) {
    call.index = program_.calls.size();
    call.segment = repeats_.empty() ? segment_++ : segment_;
    program_.order.push_back({ProgramMark::Kind::Call, call.index, {}, {}, {}});
    program_.calls.push_back(std::move(call));
  }

  const Module& module_;
  CallProgram& program_;
  ProgramOf of_;
  NodeId node_;      // the one being added
  NodeId dispatch_;  // around it, or an absent id
  SourceRange statement_;
  size_t depth_ = 0;  // of blocks around it
  size_t segment_ = 0;
  std::vector<EnclosingRepeat> repeats_;
};

}  // namespace

const Argument* ArgumentOf(const ProgramCall& call, TensorId param) {
  const std::vector<TensorId>& params = call.device->params;
  size_t i = std::find(params.begin(), params.end(), param) - params.begin();
  return i < call.args.size() ? &call.args[i] : nullptr;
}

bool MayHaveTasks(const Module& module, const CallProgram& program, const ProgramCall& call) {
  return MayHaveTasks(module, call.axes, program.ranges);
}

size_t CommonRepeats(const ProgramCall& a, const ProgramCall& b) {
  size_t common = 0;
  while (common < a.repeats.size() && common < b.repeats.size() &&
         a.repeats[common].node == b.repeats[common].node) {
    ++common;
  }
  return common;
}

CallProgram MakeCallProgram(const Module& module, const Graph& graph) {
  CallProgram program;
  program.name = graph.name;
  program.of_ranks = IsOfAllRanks(module);
  program.range = graph.range;
  program.params = graph.params;
  Builder(module, program).Block(graph.body);
  return program;
}

std::vector<CallProgram> MakeCallPrograms(const Module& module, const Graph& graph) {
  std::vector<CallProgram> programs;
  for (DimRanges& ranges : RangesOf(module, graph)) {
    programs.push_back(MakeCallProgram(module, graph));
    programs.back().ranges = std::move(ranges);
  }
  return programs;
}

namespace {

CallProgram MakeProgram(const Module& module, const Kernel& kernel, ProgramOf of) {
  CallProgram program;
  program.name = kernel.name;
  program.of_ranks = IsOfAllRanks(module);
  program.scheduled = true;
  program.range = kernel.range;
  program.params = kernel.params;
  program.launches = kernel.schedule == ScheduleKind::Kernels;
  program.ranges = RangesOf(module, kernel);
  Builder builder(module, program, of);
  builder.Block(kernel.declarations);
  builder.Block(kernel.body);
  return program;
}

}  // namespace

CallProgram MakeCallProgram(const Module& module, const Kernel& kernel) {
  return MakeProgram(module, kernel, ProgramOf::Events);
}

CallProgram MakePushProgram(const Module& module, const Kernel& kernel) {
  return MakeProgram(module, kernel, ProgramOf::Triggers);
}

CallProgram MakeArrivalProgram(const Module& module, const Kernel& kernel) {
  return MakeProgram(module, kernel, ProgramOf::Arrivals);
}

}  // namespace etc
