#include "simulator/trace_of.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace etc {
namespace {

constexpr double kNanoseconds = 1000;  // in a microsecond

/// The coordinates of a call's tasks, "[3, 0]", in the order of their numbers.
std::vector<std::string> CoordinatesOf(const Module& module, const Share& share, Env sizes,
                                       const DimRanges& ranges, size_t most) {
  std::vector<std::string> names;
  std::vector<std::string> values(share.axes.size());
  auto visit = [&](auto&& self, size_t axis) -> void {
    if (names.size() >= most) {
      return;
    }
    if (axis == share.axes.size()) {
      names.push_back(fmt::format("[{}]", fmt::join(values, ", ")));
      return;
    }
    auto lo = share.axes[axis].lo ? EvaluateInt(module, share.axes[axis].lo, sizes, ranges) : 0;
    auto hi = EvaluateInt(module, share.axes[axis].hi, sizes, ranges);
    for (int64_t value = lo.value_or(0); hi && value < *hi; ++value) {
      sizes[share.axes[axis].var] = value;
      values[axis] = std::to_string(value);
      self(self, axis + 1);
    }
  };
  visit(visit, 0);
  return names;
}

class Writer {
 public:
  Writer(trace::Trace& trace, const Module& module, const Kernel& kernel, const Env& dims,
         const std::vector<CallCost>& calls, const Simulation& simulation)
      : trace_(trace), program_(simulation.play.program), run_(simulation.run) {
    size_t process = trace.processes.size();
    trace.processes.push_back("kernel @" + kernel.name);
    // Two tracks for each SM that has a task.
    tracks_.resize(static_cast<size_t>(program_.machine.sms));
    std::set<uint32_t> sms;
    for (const SimTimes& times : run_.tasks) {
      sms.insert(times.sm);
    }
    for (uint32_t sm : sms) {
      tracks_[sm] = trace.tracks.size();
      trace.tracks.push_back({process, fmt::format("SM {} loader", sm), false});
      trace.tracks.push_back({process, fmt::format("SM {} consumers", sm), true});
    }
    for (const CallCost& call : calls) {
      const auto& share = std::get<Share>(module.nodes[call.share]);
      names_.push_back("@" + module.devices[share.callee].name);
      coordinates_.push_back(CoordinatesOf(module, share, dims, RangesOf(module, kernel),
                                           static_cast<size_t>(std::max<int64_t>(call.tasks, 0))));
    }
  }

  void Run() {
    for (size_t i = 0; i < program_.tasks.size(); ++i) {
      const SimTask& task = program_.tasks[i];
      const SimStep& step = program_.steps[task.step];
      const SimTimes& times = run_.tasks[i];
      size_t loader = tracks_[times.sm];
      if (times.load_begun >= 0) {
        Add(loader, trace::Kind::Load, task, step, times.load_begun, times.load_ended);
      }
      if (times.begun > times.arrived) {
        Add(loader + 1, trace::Kind::Wait, task, step, times.arrived, times.begun);
      }
      trace::Span& span = Add(loader + 1, trace::Kind::Task, task, step, times.begun, times.ended);
      span.data = kNanoseconds * (times.starved + times.slowed);
      span.signals = kNanoseconds * (times.ended - times.worked);
    }
  }

 private:
  trace::Span& Add(size_t track, trace::Kind kind, const SimTask& task, const SimStep& step,
                   double begin, double end) {
    const std::vector<std::string>& coordinates = coordinates_[step.call];
    auto number = static_cast<size_t>(task.first);
    std::string name = names_[step.call] + (number < coordinates.size() ? coordinates[number] : "");
    trace_.spans.push_back({track, kind, names_[step.call], std::move(name), kNanoseconds * begin,
                            kNanoseconds * end});
    trace_.spans.back().arguments = {{"iteration", step.iteration}};
    return trace_.spans.back();
  }

  trace::Trace& trace_;
  const SimProgram& program_;
  const SimRun& run_;
  std::vector<size_t> tracks_;  // the first one of each SM
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> coordinates_;
};

}  // namespace

void AddTo(trace::Trace& trace, const Module& module, const Kernel& kernel, const Env& dims,
           const std::vector<CallCost>& calls, const Simulation& simulation) {
  Writer(trace, module, kernel, dims, calls, simulation).Run();
}

}  // namespace etc
