#include "machine.h"

#include <algorithm>
#include <deque>
#include <set>

namespace etc::mutation {

Machine::Machine(const ConcreteProgram& program, int64_t sms) : program_(program) {
  size_t count = sms == kOwnSm ? program.tasks.size() : static_cast<size_t>(sms);
  ops_.resize(std::max<size_t>(count, 1));
  for (const etc::mutation::Step& step : program.steps) {
    std::vector<int64_t> ran(ops_.size(), 0);
    auto sm_of = [&](size_t task) {
      auto number = static_cast<size_t>(step.first) + task - step.begin;
      return sms == kOwnSm ? task : number % ops_.size();
    };
    for (size_t t = step.begin; t < step.end; ++t) {
      std::vector<Op>& ops = ops_[sm_of(t)];
      if (ran[sm_of(t)]++ == 0) {
        for (const Signal& signal : step.enter) {
          ops.push_back({Kind::Wait, signal.element, 1});
        }
      }
      for (const Signal& signal : program.tasks[t].waits) {
        ops.push_back({Kind::Wait, signal.element, 1});
      }
      ops.push_back({Kind::Start, t, 1});
      ops.push_back({Kind::End, t, 1});
      for (const Signal& signal : program.tasks[t].notifies) {
        ops.push_back({Kind::Notify, signal.element, signal.times});
      }
    }
    for (size_t sm = 0; sm < ops_.size(); ++sm) {
      for (const Signal& signal : ran[sm] > 0 ? step.leave : std::vector<Signal>()) {
        ops_[sm].push_back({Kind::Notify, signal.element, signal.times * ran[sm]});
      }
    }
  }
}

Machine::State Machine::Initial() const {
  return {std::vector<size_t>(ops_.size(), 0), std::vector<int64_t>(program_.needed.size(), 0)};
}

bool Machine::CanStep(const State& state, size_t sm) const {
  if (state.next[sm] == ops_[sm].size()) {
    return false;
  }
  const Op& op = ops_[sm][state.next[sm]];
  return op.kind != Kind::Wait || state.counted[op.id] >= program_.needed[op.id];
}

void Machine::Step(State& state, size_t sm) const {
  const Op& op = ops_[sm][state.next[sm]++];
  if (op.kind == Kind::Notify) {
    state.counted[op.id] += op.times;
  }
}

Machine::State Machine::Finish(State state, std::optional<size_t> withheld,
                               std::vector<bool>* started) const {
  bool moved = true;
  while (moved) {
    moved = false;
    for (size_t sm = 0; sm < ops_.size(); ++sm) {
      while (CanStep(state, sm)) {
        const Op& op = ops_[sm][state.next[sm]];
        if (op.kind == Kind::End && withheld == op.id) {
          break;
        }
        if (op.kind == Kind::Start && started != nullptr) {
          (*started)[op.id] = true;
        }
        Step(state, sm);
        moved = true;
      }
    }
  }
  return state;
}

std::optional<size_t> Machine::FindHang() const {
  State end = Finish(Initial(), std::nullopt, nullptr);
  for (size_t sm = 0; sm < ops_.size(); ++sm) {
    if (end.next[sm] != ops_[sm].size()) {
      return ops_[sm][end.next[sm]].id;
    }
  }
  return std::nullopt;
}

std::vector<bool> Machine::StartBeforeEndOf(size_t task) const {
  std::vector<bool> started(program_.tasks.size(), false);
  Finish(Initial(), task, &started);
  started[task] = false;
  return started;
}

std::optional<Machine::Exploration> Machine::Explore(size_t max_states) const {
  size_t tasks = program_.tasks.size();
  Exploration found{false, std::vector(tasks, std::vector<bool>(tasks, false))};
  std::set<std::vector<size_t>> seen{Initial().next};  // positions determine the counters
  std::deque<State> open{Initial()};
  std::vector<std::pair<size_t, size_t>> end_of(tasks);  // SM and position of a task's end
  for (size_t sm = 0; sm < ops_.size(); ++sm) {
    for (size_t i = 0; i < ops_[sm].size(); ++i) {
      if (ops_[sm][i].kind == Kind::End) {
        end_of[ops_[sm][i].id] = {sm, i};
      }
    }
  }
  while (!open.empty()) {
    State state = std::move(open.front());
    open.pop_front();
    bool stuck = true;
    for (size_t sm = 0; sm < ops_.size(); ++sm) {
      if (!CanStep(state, sm)) {
        continue;
      }
      stuck = false;
      const Op& op = ops_[sm][state.next[sm]];
      for (size_t a = 0; op.kind == Kind::Start && a < tasks; ++a) {
        if (a != op.id && state.next[end_of[a].first] <= end_of[a].second) {
          found.starts_before_end[a][op.id] = true;
        }
      }
      State after = state;
      Step(after, sm);
      if (seen.insert(after.next).second) {
        if (seen.size() > max_states) {
          return std::nullopt;
        }
        open.push_back(std::move(after));
      }
    }
    for (size_t sm = 0; stuck && sm < ops_.size(); ++sm) {
      found.hangs = found.hangs || state.next[sm] != ops_[sm].size();
    }
  }
  return found;
}

}  // namespace etc::mutation
