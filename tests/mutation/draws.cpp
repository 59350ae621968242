#include "draws.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace etc::mutation {
namespace {

enum class Kind : int64_t { Arrive, Wait, Start, End, Notify };
struct Op {
  Kind kind;
  size_t id;  // of the element or the task
  int64_t times = 1;
};

/// An SM. What it is to do before it draws again follows from its step and the numbers it has.
struct Sm {
  size_t step = 0;
  int64_t rank = 0;
  int64_t number = kBegins;            // of the task that it runs
  int64_t ran = 0;                     // tasks of the step
  size_t next = 0;                     // operation
  bool pops = false;                   // takes what is pushed to the queue of the step
  std::vector<size_t> completed = {};  // elements of triggers that it has yet to push, in order
  int64_t ticket = kNone;              // of a place that it waits for

  static constexpr int64_t kNone = -1;
  static constexpr int64_t kBegins = -2;  // the step, and has no number yet
  static constexpr int64_t kLeaves = -1;  // the step, since there are no more
};

struct State {
  std::vector<Sm> sms;
  std::vector<int64_t> drawn;       // by step: how many numbers
  std::vector<int64_t> counted;     // by element
  std::vector<bool> ended;          // by task; of one that several SMs run, when the first has
  std::vector<int64_t> taken = {};  // by queue: places of which SMs have tickets
  std::vector<std::vector<int64_t>> pushed = {};  // by queue: tasks
  std::vector<int64_t> pushes = {};               // by queue that counts them: how many there were

  std::vector<int64_t> Key() const {
    std::vector<int64_t> key;
    for (const Sm& sm : sms) {
      key.insert(key.end(),
                 {static_cast<int64_t>(sm.step), sm.number, sm.ran, static_cast<int64_t>(sm.next),
                  sm.pops ? 1 : 0, sm.ticket, static_cast<int64_t>(sm.completed.size())});
      key.insert(key.end(), sm.completed.begin(), sm.completed.end());
    }
    key.insert(key.end(), taken.begin(), taken.end());
    for (const std::vector<int64_t>& each : pushed) {
      key.push_back(static_cast<int64_t>(each.size()));
      key.insert(key.end(), each.begin(), each.end());
    }
    key.insert(key.end(), pushes.begin(), pushes.end());
    key.insert(key.end(), drawn.begin(), drawn.end());
    key.insert(key.end(), counted.begin(), counted.end());
    key.insert(key.end(), ended.begin(), ended.end());
    return key;
  }
};

class Exploring {
 public:
  Exploring(const ConcreteProgram& program, int64_t sms) : program_(program), sms_(sms) {
    pushes_.resize(program.needed.size());
    for (const Queue& queue : program.queues) {
      const size_t q = all_pushed_.size();
      int64_t& all = all_pushed_.emplace_back(0);
      for (size_t s = queue.begin; s < queue.end; ++s) {
        bool pushed = program.steps[s].pushed && program.steps[s].queue == q;
        all += pushed ? program.steps[s].tasks : 0;
      }
      for (const Push& push : queue.pushes) {
        does_.emplace(push.element, &push);
      }
    }
    for (size_t s = 0; s < program.steps.size(); ++s) {
      for (size_t t = program.steps[s].begin; t < program.steps[s].end; ++t) {
        step_of_.resize(program.tasks.size());
        step_of_[t] = s;
        if (program.tasks[t].trigger) {
          pushes_[*program.tasks[t].trigger].push_back(static_cast<int64_t>(t));
        }
      }
    }
  }

  std::optional<DrawsFound> Run(size_t max_states) {
    const size_t tasks = program_.tasks.size();
    found_.starts_before_end.assign(tasks, std::vector<bool>(tasks, false));
    State first{std::vector<Sm>(static_cast<size_t>(sms_ * program_.ranks)),
                std::vector<int64_t>(program_.steps.size(), 0),
                std::vector<int64_t>(program_.needed.size(), 0),
                std::vector<bool>(tasks, false),
                std::vector<int64_t>(program_.queues.size(), 0),
                std::vector<std::vector<int64_t>>(program_.queues.size()),
                std::vector<int64_t>(program_.queues.size(), 0)};
    for (size_t sm = 0; sm < first.sms.size(); ++sm) {
      first.sms[sm].rank = static_cast<int64_t>(sm) / sms_;
      GoTo(first.sms[sm], 0, std::nullopt);
    }
    std::set<std::vector<int64_t>> seen{first.Key()};
    std::deque<State> open{std::move(first)};
    while (!open.empty()) {
      State state = std::move(open.front());
      open.pop_front();
      bool stuck = true;
      for (size_t sm = 0; sm < state.sms.size(); ++sm) {
        State after = state;
        if (!Go(after, sm)) {
          continue;
        }
        stuck = false;
        if (seen.insert(after.Key()).second) {
          if (seen.size() > max_states) {
            return std::nullopt;
          }
          open.push_back(std::move(after));
        }
      }
      for (const Sm& sm : state.sms) {
        found_.hangs = found_.hangs || (stuck && sm.step < program_.steps.size());
      }
    }
    return std::move(found_);
  }

 private:
  /// One operation or one draw of an SM; false where it can do neither.
  bool Go(State& state, size_t index) {
    Sm& sm = state.sms[index];
    if (sm.step == program_.steps.size()) {
      return false;
    }
    if (!sm.completed.empty()) {
      return PushNext(state, sm);
    }
    if (sm.ticket != Sm::kNone) {
      return Pop(state, sm);
    }
    const std::vector<Op> ops = OpsOf(sm);
    if (sm.next == ops.size()) {
      Draw(state, sm, static_cast<int64_t>(index) % sms_);
      return true;
    }
    const Op& op = ops[sm.next];
    if (op.kind == Kind::Wait && state.counted[op.id] < program_.needed[op.id]) {
      return false;
    }
    ++sm.next;
    if (op.kind == Kind::Arrive) {
      Arrive(state, sm, op.id);
    } else if (op.kind == Kind::Notify) {
      state.counted[op.id] += op.times;
    } else if (op.kind == Kind::End) {
      state.ended[op.id] = true;
    } else if (op.kind == Kind::Start) {
      for (size_t a = 0; a < program_.tasks.size(); ++a) {
        if (a != op.id && !state.ended[a]) {
          found_.starts_before_end[a][op.id] = true;
        }
      }
    }
    return true;
  }

  void Arrive(State& state, Sm& sm, size_t element) const {
    if (++state.counted[element] == program_.needed[element]) {
      sm.completed.push_back(element);
    }
  }

  /// The tasks of an element that the SM has completed, once it is known how many they are.
  bool PushNext(State& state, Sm& sm) const {
    const size_t element = sm.completed.front();
    const auto found = does_.find(element);
    const Push* push = found == does_.end() ? nullptr : found->second;
    for (const Signal& wait : push == nullptr ? std::vector<Signal>() : push->waits) {
      if (state.counted[wait.element] < program_.needed[wait.element]) {
        return false;
      }
    }
    sm.completed.erase(sm.completed.begin());
    const size_t queue = *program_.steps[sm.step].queue;
    std::vector<int64_t>& places = state.pushed[queue];
    places.insert(places.end(), pushes_[element].begin(), pushes_[element].end());
    if (push != nullptr) {
      ++state.pushes[queue];
      for (const Signal& arrival : push->arrivals) {
        Arrive(state, sm, arrival.element);
      }
    }
    return true;
  }

  /// The SM's next task of the step, or the next step.
  void Draw(State& state, Sm& sm, int64_t index) const {
    const Step& step = program_.steps[sm.step];
    if (sm.pops) {
      PopNext(state, sm);
      return;
    }
    if (sm.number == Sm::kLeaves) {
      GoTo(sm, sm.step + 1, program_.steps[sm.step].queue);
      return;
    }
    sm.ran += sm.number == Sm::kBegins ? 0 : 1;
    sm.next = 0;
    if (step.drawn) {
      sm.number = state.drawn[sm.step];
      // Beyond the last one, numbers tell nobody anything.
      state.drawn[sm.step] = std::min(sm.number + 1, step.tasks);
    } else if (sm.number == Sm::kBegins) {
      sm.number = ((index - step.first) % sms_ + sms_) % sms_;
    } else {
      sm.number += sms_;
    }
    if (sm.number >= step.tasks) {
      sm.number = Sm::kLeaves;
    }
  }

  /// To a step of the SM's rank, from one of the queue `from` if there is one: of a queue first to
  /// those whose tasks are there from the start, and then to what is pushed.
  void GoTo(Sm& sm, size_t step, std::optional<size_t> from) const {
    if (from) {
      const Queue& queue = program_.queues[*from];
      auto is_own = [&](size_t s) { return program_.steps[s].queue == from; };
      while (step < queue.end && (!is_own(step) || program_.steps[step].pushed)) {
        ++step;
      }
      if (step < queue.end) {
        sm = {step, sm.rank};
        return;
      }
      if (all_pushed_[*from] > 0 || queue.counted) {
        sm = {queue.begin, sm.rank};
        while (!is_own(sm.step)) {
          ++sm.step;
        }
        sm.pops = true;
        sm.number = Sm::kLeaves;
        return;
      }
    }
    while (step < program_.steps.size() && program_.steps[step].rank != sm.rank) {
      ++step;
    }
    if (step < program_.steps.size() && program_.steps[step].queue) {
      GoTo(sm, step, program_.steps[step].queue);
      return;
    }
    sm = {step, sm.rank};
  }

  /// The ticket for the next task of the queue.
  void PopNext(State& state, Sm& sm) const {
    sm.next = 0;
    sm.number = Sm::kLeaves;
    sm.ran = 0;
    const size_t q = *program_.steps[sm.step].queue;
    if (state.taken[q] == all_pushed_[q] && !program_.queues[q].counted) {
      GoTo(sm, program_.queues[q].end, std::nullopt);
      return;
    }
    sm.ticket = state.taken[q]++;
  }

  /// The task of the place that the SM has a ticket for, once there is one.
  bool Pop(State& state, Sm& sm) const {
    const size_t q = *program_.steps[sm.step].queue;
    const std::vector<int64_t>& places = state.pushed[q];
    if (sm.ticket >= static_cast<int64_t>(places.size())) {
      const Queue& queue = program_.queues[q];
      bool ended = queue.counted && state.pushes[q] == static_cast<int64_t>(queue.pushes.size());
      if (ended) {
        GoTo(sm, queue.end, std::nullopt);
      }
      return ended;
    }
    const auto task = static_cast<size_t>(places[static_cast<size_t>(sm.ticket)]);
    sm.ticket = Sm::kNone;
    sm.step = step_of_[task];
    sm.number = program_.tasks[task].number;
    return true;
  }

  /// Behind a task of the queue the SM leaves its case, and arrives where data say.
  std::vector<Op> OpsOf(const Sm& sm) const {
    const Step& step = program_.steps[sm.step];
    std::vector<Op> ops;
    auto append = [&](Task::Runs runs, auto has) {
      for (size_t t = step.begin; t < step.end; ++t) {
        const Task& task = program_.tasks[t];
        if (task.runs != runs || !has(task)) {
          continue;
        }
        for (const Signal& signal : task.waits) {
          ops.push_back({Kind::Wait, signal.element});
        }
        ops.push_back({Kind::Start, t});
        ops.push_back({Kind::End, t});
        for (const Signal& signal : task.notifies) {
          ops.push_back({Kind::Notify, signal.element, signal.times});
        }
        for (const Signal& signal : task.after ? task.arrivals : std::vector<Signal>()) {
          ops.push_back({Kind::Arrive, signal.element});
        }
      }
    };
    auto all = [](const Task&) { return true; };
    if (sm.number == Sm::kBegins) {
      append(Task::Runs::EachSm, all);
    } else if (sm.number == Sm::kLeaves) {
      for (const Signal& signal : sm.ran > 0 ? step.leave : std::vector<Signal>()) {
        ops.push_back({Kind::Notify, signal.element, signal.times * sm.ran});
      }
    } else {
      if (step.pushed) {
        append(Task::Runs::EachSm, all);  // of each task
      }
      for (size_t t = step.begin; t < step.end; ++t) {
        const Task& task = program_.tasks[t];
        if (task.runs == Task::Runs::Once && task.body && task.number == sm.number) {
          for (const Signal& signal : task.arrivals) {
            ops.push_back({Kind::Arrive, signal.element});
          }
        }
      }
      if (sm.ran == 0) {
        append(Task::Runs::OnEntry, all);
        for (const Signal& signal : step.enter) {
          ops.push_back({Kind::Wait, signal.element});
        }
      }
      auto is_here = [&](const Task& task) { return task.number == sm.number; };
      append(Task::Runs::Once, [&](const Task& task) { return is_here(task) && !task.after; });
      if (sm.pops) {
        for (const Signal& signal : step.leave) {
          ops.push_back({Kind::Notify, signal.element, signal.times});
        }
        append(Task::Runs::Once, [&](const Task& task) { return is_here(task) && task.after; });
      }
    }
    return ops;
  }

  const ConcreteProgram& program_;
  int64_t sms_;
  std::vector<std::vector<int64_t>> pushes_;  // by element of a trigger: tasks
  std::vector<int64_t> all_pushed_;           // by queue: how many tasks
  std::map<size_t, const Push*> does_;        // by element of a trigger, where pushes are counted
  std::vector<size_t> step_of_;               // by task
  DrawsFound found_;
};

}  // namespace

bool HasDraws(const ConcreteProgram& program) {
  return std::any_of(program.steps.begin(), program.steps.end(),
                     [](const Step& step) { return step.drawn; });
}

std::optional<DrawsFound> ExploreDraws(const ConcreteProgram& program, int64_t sms,
                                       size_t max_states) {
  return Exploring(program, sms).Run(max_states);
}

}  // namespace etc::mutation
