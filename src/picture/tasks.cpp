#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <map>

#include "ir/evaluate.h"
#include "picture/picture.h"

namespace etc {
namespace {

using Kind = ProgramMark::Kind;

class TaskPicture {
 public:
  TaskPicture(const Module& module, const CallProgram& program, const Sizes& sizes,
              SourceRange range, Picture& picture, Diagnostics& diagnostics)
      : module_(module),
        program_(program),
        sizes_(sizes),
        env_(sizes.dims),
        range_(range),
        picture_(picture),
        diagnostics_(diagnostics) {}

  bool Run(const std::string& name) {
    whole_ = AddCluster(name + Describe(module_, sizes_), 0);
    Range(0, program_.order.size(), whole_);
    return ok_;
  }

 private:
  size_t AddCluster(std::string label, size_t parent) {
    picture_.clusters.push_back({std::move(label), parent});
    return picture_.clusters.size() - 1;
  }

  size_t AddNode(std::string label, size_t cluster, bool event) {
    if (picture_.nodes.size() == kMaxPictureNodes && ok_) {
      ok_ = false;
      diagnostics_.Error(
          DiagnosticKind::CommandLine, range_,
          fmt::format("more than {} tasks and elements of events at these sizes; expected sizes "
                      "for which a picture can be read",
                      kMaxPictureNodes));
    }
    picture_.nodes.push_back({std::move(label), cluster, event});
    return picture_.nodes.size() - 1;
  }

  /// Reports a value that only a launch has.
  int64_t Int(ExprId id, SourceRange range) {
    auto value = EvaluateInt(module_, id, env_, sizes_.ranges);
    if (!value && ok_) {
      ok_ = false;
      SourceRange own = module_.RangeOf(id);
      diagnostics_.Error(DiagnosticKind::Unsupported, own.IsValid() ? own : range,
                         "this depends on data, so its tasks and elements are known at a launch "
                         "only; without `--dims` the calls are drawn");
    }
    return value.value_or(0);
  }

  void Range(size_t begin, size_t end, size_t cluster) {
    for (size_t at = begin; at < end && ok_; ++at) {
      const ProgramMark& mark = program_.order[at];
      if (mark.kind == Kind::Call) {
        AddStep(program_.calls[mark.other], cluster);
        continue;
      }
      int64_t hi = Int(mark.hi, range_);
      for (int64_t i = Int(mark.lo, range_); i < hi && ok_; ++i) {
        env_[mark.var] = i;
        std::string label = fmt::format("{} = {}", module_.symbols[mark.var].name, i);
        Range(at + 1, mark.other, AddCluster(std::move(label), cluster));
      }
      at = mark.other;
    }
  }

  /// Calls `visit` at each point of the axes, in row-major order.
  void Loop(const std::vector<Axis>& axes, size_t axis, SourceRange range,
            const std::function<void()>& visit) {
    if (axis == axes.size()) {
      visit();
      return;
    }
    int64_t hi = Int(axes[axis].hi, range);
    int64_t lo = axes[axis].lo ? Int(axes[axis].lo, range) : 0;
    for (int64_t i = lo; i < hi && ok_; ++i) {
      env_[axes[axis].var] = i;
      Loop(axes, axis + 1, range, visit);
    }
  }

  void AddStep(const ProgramCall& step, size_t cluster) {
    size_t mine = AddCluster("@" + step.device->name, cluster);
    Loop(step.axes, 0, step.range, [&] {
      std::vector<int64_t> point;
      for (const Axis& axis : step.axes) {
        point.push_back(env_[axis.var]);
      }
      size_t task = AddNode(fmt::format("[{}]", fmt::join(point, ", ")), mine, false);
      for (const TaskEdge& ref : step.waits) {
        for (const auto& [element, times] : Elements(ref, point)) {
          picture_.edges.push_back({element, task, ""});
        }
      }
      for (const TaskEdge& ref : step.notifies) {
        for (const auto& [element, times] : Elements(ref, point)) {
          picture_.edges.push_back(
              {task, element, times > 1 ? fmt::format("{} times", times) : ""});
        }
      }
    });
  }

  /// The nodes of the elements that a reference names, and how often it names each.
  std::map<size_t, int64_t> Elements(const TaskEdge& ref, const std::vector<int64_t>& point) {
    for (size_t i = 0; i < ref.coords.size(); ++i) {
      env_[ref.coords[i]] = point[i];
    }
    std::map<size_t, int64_t> elements;
    Loop(ref.ref->axes, 0, ref.range, [&] {
      if (ref.ref->guard) {
        auto holds = EvaluateBool(module_, ref.ref->guard, env_, sizes_.ranges);
        if (!holds) {
          Int(ref.ref->guard, ref.range);
          return;
        }
        if (!*holds) {
          return;
        }
      }
      std::vector<int64_t> index;
      AddElements(ref, index, elements);
    });
    return elements;
  }

  void AddElements(const TaskEdge& ref, std::vector<int64_t>& index,
                   std::map<size_t, int64_t>& elements) {
    const Event& event = module_.events[ref.ref->event];
    size_t axis = index.size();
    if (axis == event.dims.size()) {
      ++elements[Element(ref.ref->event, index)];
      return;
    }
    const EventIndex& at = ref.ref->indices[axis];
    int64_t lo = at.all ? 0 : Int(at.lo, ref.range);
    int64_t hi = at.all  ? Int(event.dims[axis].extent, event.range)
                 : at.hi ? Int(at.hi, ref.range)
                         : lo + 1;
    for (int64_t i = lo; i < hi && ok_; ++i) {
      index.push_back(i);
      AddElements(ref, index, elements);
      index.pop_back();
    }
  }

  size_t Element(EventId id, const std::vector<int64_t>& index) {
    auto found = elements_.find({id, index});
    if (found != elements_.end()) {
      return found->second;
    }
    const Event& event = module_.events[id];
    for (size_t i = 0; i < index.size(); ++i) {
      if (event.dims[i].var) {
        env_[event.dims[i].var] = index[i];
      }
    }
    std::string indices = index.empty() ? "" : fmt::format("[{}]", fmt::join(index, ", "));
    std::string label =
        fmt::format("%{}{}\ncount {}", event.name, indices, Int(event.count, event.range));
    return elements_[{id, index}] = AddNode(std::move(label), whole_, true);
  }

  const Module& module_;
  const CallProgram& program_;
  const Sizes& sizes_;
  Env env_;
  SourceRange range_;
  Picture& picture_;
  Diagnostics& diagnostics_;
  size_t whole_ = 0;
  bool ok_ = true;
  std::map<std::pair<EventId, std::vector<int64_t>>, size_t> elements_;  // their nodes
};

}  // namespace

bool AddTasks(const Module& module, const CallProgram& program, const std::string& name,
              const Sizes& sizes, SourceRange range, Picture& picture, Diagnostics& diagnostics) {
  return TaskPicture(module, program, sizes, range, picture, diagnostics).Run(name);
}

}  // namespace etc
