#include "draws.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

namespace etc::mutation {
namespace {

enum class Kind : int64_t { Wait, Start, End, Notify };
struct Op {
  Kind kind;
  size_t id;  // of the element or the task
  int64_t times = 1;
};

/// An SM. What it is to do before it draws again follows from its step and the numbers it has.
struct Sm {
  size_t step = 0;
  int64_t number = kBegins;  // of the task that it runs
  int64_t ran = 0;           // tasks of the step
  size_t next = 0;           // operation

  static constexpr int64_t kBegins = -2;  // the step, and has no number yet
  static constexpr int64_t kLeaves = -1;  // the step, since there are no more
};

struct State {
  std::vector<Sm> sms;
  std::vector<int64_t> drawn;    // by step: how many numbers
  std::vector<int64_t> counted;  // by element
  std::vector<bool> ended;       // by task; of one that several SMs run, when the first has

  std::vector<int64_t> Key() const {
    std::vector<int64_t> key;
    for (const Sm& sm : sms) {
      key.insert(key.end(),
                 {static_cast<int64_t>(sm.step), sm.number, sm.ran, static_cast<int64_t>(sm.next)});
    }
    key.insert(key.end(), drawn.begin(), drawn.end());
    key.insert(key.end(), counted.begin(), counted.end());
    key.insert(key.end(), ended.begin(), ended.end());
    return key;
  }
};

class Exploring {
 public:
  Exploring(const ConcreteProgram& program, int64_t sms) : program_(program), sms_(sms) {}

  std::optional<DrawsFound> Run(size_t max_states) {
    const size_t tasks = program_.tasks.size();
    found_.starts_before_end.assign(tasks, std::vector<bool>(tasks, false));
    State first{std::vector<Sm>(static_cast<size_t>(sms_)),
                std::vector<int64_t>(program_.steps.size(), 0),
                std::vector<int64_t>(program_.needed.size(), 0), std::vector<bool>(tasks, false)};
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
    const std::vector<Op> ops = OpsOf(sm);
    if (sm.next == ops.size()) {
      Draw(state, sm, static_cast<int64_t>(index));
      return true;
    }
    const Op& op = ops[sm.next];
    if (op.kind == Kind::Wait && state.counted[op.id] < program_.needed[op.id]) {
      return false;
    }
    ++sm.next;
    if (op.kind == Kind::Notify) {
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

  /// The SM's next task of the step, or the next step.
  void Draw(State& state, Sm& sm, int64_t index) const {
    const Step& step = program_.steps[sm.step];
    if (sm.number == Sm::kLeaves) {
      sm = {sm.step + 1};
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
      if (sm.ran == 0) {
        append(Task::Runs::OnEntry, all);
        for (const Signal& signal : step.enter) {
          ops.push_back({Kind::Wait, signal.element});
        }
      }
      append(Task::Runs::Once, [&](const Task& task) { return task.number == sm.number; });
    }
    return ops;
  }

  const ConcreteProgram& program_;
  int64_t sms_;
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
