#include "analysis/order/task_sample.h"

#include <algorithm>

#include "ir/checked.h"

namespace etc {
namespace {

constexpr size_t kMostTasks = 4000;
constexpr size_t kMostTouches = 60'000;

}  // namespace

TaskSample::TaskSample(const Module& module, const CallProgram& program, Env sizes)
    : module_(module), program_(program), sizes_(std::move(sizes)), has_tasks_(ListTasks()) {}

bool TaskSample::ListTasks() {
  numbers_.assign(program_.calls.size(), {});
  return std::all_of(program_.calls.begin(), program_.calls.end(), [&](const ProgramCall& call) {
    Env env = sizes_;
    Task task;
    return ForTasks(call, task, env, [&](const Task& each) {
      numbers_[call.index].emplace(each, calls_.size());
      calls_.push_back(call.index);
      return calls_.size() < kMostTasks;
    });
  });
}

/// Calls `visit` for each task of the call that begins with `task`; `env` has its values then.
/// False where it does not go on, or where the tasks are not known.
bool TaskSample::ForTasks(const ProgramCall& call, Task& task, Env& env,
                          const OnTask& visit) const {
  size_t at = task.size();
  if (at == call.repeats.size() + call.axes.size()) {
    return visit(task);
  }
  bool in_repeat = at < call.repeats.size();
  const Axis* axis = in_repeat ? nullptr : &call.axes[at - call.repeats.size()];
  SymbolId variable = in_repeat ? call.repeats[at].var : axis->var;
  ExprId first = in_repeat ? call.repeats[at].lo : axis->lo;
  auto lo = first ? Int(first, env) : std::optional<int64_t>(0);
  auto hi = Int(in_repeat ? call.repeats[at].hi : axis->hi, env);
  // So many values are not looked at one by one, be there tasks or not.
  auto values = lo && hi ? CheckedSub(*hi, *lo) : std::nullopt;
  bool all = values && *values <= static_cast<int64_t>(kMostTasks);
  task.push_back(0);
  for (int64_t value = lo.value_or(0); all && value < *hi; ++value) {
    env[variable] = value;
    task.back() = value;
    all = ForTasks(call, task, env, visit);
  }
  task.pop_back();
  return all;
}

std::optional<int64_t> TaskSample::Int(ExprId id, const Env& env) const {
  return EvaluateInt(module_, id, env, program_.ranges);
}

std::optional<std::vector<int64_t>> TaskSample::ExtentsOf(EventId event) const {
  std::vector<int64_t> extents;
  int64_t product = 1;
  for (const EventDim& dim : module_.events[event].dims) {
    auto extent = Int(dim.extent, sizes_);
    if (!extent || *extent < 0 || *extent > static_cast<int64_t>(kMostTouches) / product) {
      return std::nullopt;
    }
    product *= std::max<int64_t>(*extent, 1);
    extents.push_back(*extent);
  }
  return extents;
}

const std::optional<TaskSample::Elements>& TaskSample::ElementsOf(EventId event) {
  auto [found, fresh] = elements_.try_emplace(event);
  auto extents = fresh ? ExtentsOf(event) : std::nullopt;
  if (extents) {
    size_t number = 1;
    for (int64_t extent : *extents) {
      number *= static_cast<size_t>(extent);
    }
    found->second = Elements{element_count_, std::move(*extents)};
    element_count_ += number;
  }
  return found->second;
}

/// Forgets all events where one has other elements than before.
void TaskSample::ForgetIfOthers() {
  bool same = std::all_of(elements_.begin(), elements_.end(), [&](const auto& each) {
    auto extents = ExtentsOf(each.first);
    return each.second ? extents == each.second->extents : !extents;
  });
  if (!same) {
    elements_.clear();
    touches_.clear();
    element_count_ = 0;
  }
}

TaskSample::Touches TaskSample::TouchesOf(const ProgramCall& call, const TaskEdge& edge) {
  const auto& event = ElementsOf(edge.ref->event);
  if (!event) {
    return std::nullopt;
  }
  std::vector<Touch> touches;
  Env env = sizes_;
  Task task;
  bool all = ForTasks(call, task, env, [&](const Task& each) {
    for (size_t i = 0; i < edge.coords.size(); ++i) {
      env[edge.coords[i]] = each[call.repeats.size() + i];
    }
    size_t number = numbers_[call.index].at(each);
    return ForVariables(*edge.ref, 0, env, [&] {
      return ForElements(*edge.ref, *event, 0, 0, env, [&](size_t element) {
        touches.push_back({number, element});
        return touches.size() < kMostTouches;
      });
    });
  });
  return all ? Touches(std::move(touches)) : std::nullopt;
}

/// For the variables of the `for` of a reference.
bool TaskSample::ForVariables(const EventRef& ref, size_t at, Env& env,
                              const std::function<bool()>& visit) const {
  if (at == ref.axes.size()) {
    auto holds = ref.guard ? EvaluateBool(module_, ref.guard, env, program_.ranges)
                           : std::optional<bool>(true);
    return holds && (!*holds || visit());
  }
  auto lo = ref.axes[at].lo ? Int(ref.axes[at].lo, env) : std::optional<int64_t>(0);
  auto hi = Int(ref.axes[at].hi, env);
  bool all = lo && hi;
  for (int64_t value = lo.value_or(0); all && value < *hi; ++value) {
    env[ref.axes[at].var] = value;
    all = ForVariables(ref, at + 1, env, visit);
  }
  return all;
}

bool TaskSample::ForElements(const EventRef& ref, const Elements& event, size_t at, size_t offset,
                             const Env& env, const std::function<bool(size_t)>& visit) const {
  if (at == ref.indices.size()) {
    return visit(event.first + offset);
  }
  const EventIndex& index = ref.indices[at];
  int64_t extent = event.extents[at];
  auto lo = index.all ? std::optional<int64_t>(0) : Int(index.lo, env);
  auto hi = index.all  ? std::optional(extent)
            : index.hi ? Int(index.hi, env)
            : lo       ? std::optional(*lo + 1)
                       : lo;
  bool all = lo && hi;
  // An element outside of the event is another proof's business.
  for (int64_t i = std::max<int64_t>(lo.value_or(0), 0); all && i < std::min(*hi, extent); ++i) {
    size_t inside = offset * static_cast<size_t>(extent) + static_cast<size_t>(i);
    all = ForElements(ref, event, at + 1, inside, env, visit);
  }
  return all;
}

void TaskSample::EventsChanged(const std::set<const EventRef*>& left,
                               const std::set<const EventRef*>& without) {
  std::erase_if(touches_, [&](const auto& each) { return !left.contains(each.first); });
  without_ = without;
  linked_ = false;
}

bool TaskSample::Link() {
  if (linked_ || !has_tasks_) {
    return linked_ && complete_;
  }
  ForgetIfOthers();
  linked_ = true;
  complete_ = true;
  after_.clear();
  notified_.assign(calls_.size(), {});
  waiting_.clear();
  for (const ProgramCall& call : program_.calls) {
    for (const auto* edges : {&call.waits, &call.notifies}) {
      for (const TaskEdge& edge : *edges) {
        if (without_.contains(edge.ref)) {
          continue;
        }
        auto [found, fresh] = touches_.try_emplace(edge.ref);
        if (fresh) {
          found->second = TouchesOf(call, edge);
        }
        const Touches& touches = found->second;
        complete_ = complete_ && touches;
        waiting_.resize(element_count_);
        for (size_t i = 0; touches && i < touches->size(); ++i) {
          const auto& [task, element] = (*touches)[i];
          edges == &call.waits ? waiting_[element].push_back(task)
                               : notified_[task].push_back(element);
        }
      }
    }
  }
  return complete_;
}

std::optional<size_t> TaskSample::NumberOf(size_t call, const Task& task) const {
  auto found = numbers_[call].find(task);
  return found == numbers_[call].end() ? std::nullopt : std::optional(found->second);
}

const std::vector<size_t>& TaskSample::After(size_t task) {
  auto [found, fresh] = after_.try_emplace(task);
  if (fresh) {
    found->second = Search(task, nullptr);
  }
  return found->second;
}

/// For each task that comes after one, the task before it in a shortest chain of events. `steps`:
/// those that count, or null for all.
std::vector<size_t> TaskSample::Search(size_t task, const StepSet* steps) const {
  std::vector<size_t> before(calls_.size(), kNone);
  std::vector<bool> seen(element_count_, false);
  std::vector<size_t> open{task};
  for (size_t at = 0; at < open.size(); ++at) {
    for (size_t element : notified_[open[at]]) {
      if (seen[element]) {
        continue;
      }
      seen[element] = steps == nullptr;  // else a step to it counts by the call that it is from
      for (size_t next : waiting_[element]) {
        bool counts = steps == nullptr || steps->contains({calls_[open[at]], calls_[next]});
        if (counts && before[next] == kNone) {
          before[next] = open[at];
          open.push_back(next);
        }
      }
    }
  }
  return before;
}

std::vector<size_t> TaskSample::PathOf(size_t first, size_t second) {
  const std::vector<size_t>& before = After(first);
  std::vector<size_t> path{calls_[second]};
  for (size_t at = second; at != first;) {
    at = before[at];
    path.insert(path.begin(), calls_[at]);
  }
  return path;
}

}  // namespace etc
