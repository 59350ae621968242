#include "machine.h"

#include <algorithm>
#include <deque>
#include <set>

namespace etc::mutation {

Machine::Machine(const ConcreteProgram& program, int64_t sms) : program_(program) {
  int64_t tasks = 0;
  for (const etc::mutation::Step& step : program.steps) {
    tasks += step.tasks;
  }
  // Of own SMs the last one of each rank has no task, and is told so by the ranges alone.
  ops_.resize(static_cast<size_t>(sms == kOwnSm ? tasks + program.ranks : sms * program.ranks));
  ends_.resize(program.tasks.size());
  int64_t before = 0;  // tasks of the steps before
  for (const etc::mutation::Step& step : program.steps) {
    auto sm_of = [&](int64_t number) {
      return static_cast<size_t>(sms == kOwnSm ? before + number
                                               : step.rank * sms + (step.first + number) % sms);
    };
    std::vector<int64_t> ran(ops_.size(), 0);
    std::vector<bool> entered(ops_.size(), false);
    std::vector<size_t> on_entry, after;
    for (size_t t = step.begin; t < step.end; ++t) {
      const Task& task = program.tasks[t];
      if (task.runs == Task::Runs::OnEntry) {
        on_entry.push_back(t);
        continue;
      }
      if (task.runs == Task::Runs::EachSm) {
        for (size_t sm = 0; sm < ops_.size(); ++sm) {
          const auto place = static_cast<int64_t>(sm);
          const int64_t number = place - before;
          bool own = sms != kOwnSm   ? place / sms == step.rank
                     : place < tasks ? number >= 0 && number < step.tasks
                                     : place - tasks == step.rank;
          if (own) {
            Append(t, sm);
          }
        }
        continue;
      }
      if (task.after) {
        after.push_back(t);
        continue;
      }
      size_t sm = sm_of(task.number);
      if (!entered[sm]) {
        entered[sm] = true;
        for (size_t reading : on_entry) {
          Append(reading, sm);
        }
        for (const Signal& signal : step.enter) {
          ops_[sm].push_back({Kind::Wait, signal.element, 1});
        }
      }
      Append(t, sm);
      ran[sm] += task.body ? 1 : 0;
    }
    for (size_t sm = 0; sm < ops_.size(); ++sm) {
      for (const Signal& signal : ran[sm] > 0 ? step.leave : std::vector<Signal>()) {
        ops_[sm].push_back({Kind::Notify, signal.element, signal.times * ran[sm]});
      }
    }
    for (size_t t : after) {
      Append(t, sm_of(program.tasks[t].number));
    }
    before += step.tasks;
  }
}

void Machine::Append(size_t t, size_t sm) {
  const Task& task = program_.tasks[t];
  for (const Signal& signal : task.waits) {
    ops_[sm].push_back({Kind::Wait, signal.element, 1});
  }
  ops_[sm].push_back({Kind::Start, t, 1});
  ends_[t].emplace_back(sm, ops_[sm].size());
  ops_[sm].push_back({Kind::End, t, 1});
  for (const Signal& signal : task.notifies) {
    ops_[sm].push_back({Kind::Notify, signal.element, signal.times});
  }
}

size_t Machine::CounterOf(size_t element, size_t sm) const {
  return program_.of_sm.empty() || !program_.of_sm[element]
             ? element
             : program_.needed.size() * (sm + 1) + element;
}

Machine::State Machine::Initial() const {
  bool own = std::find(program_.of_sm.begin(), program_.of_sm.end(), true) != program_.of_sm.end();
  size_t counters = program_.needed.size() * (own ? ops_.size() + 1 : 1);
  return {std::vector<size_t>(ops_.size(), 0), std::vector<int64_t>(counters, 0)};
}

bool Machine::CanStep(const State& state, size_t sm) const {
  if (state.next[sm] == ops_[sm].size()) {
    return false;
  }
  const Op& op = ops_[sm][state.next[sm]];
  return op.kind != Kind::Wait || state.counted[CounterOf(op.id, sm)] >= program_.needed[op.id];
}

void Machine::Step(State& state, size_t sm) const {
  const Op& op = ops_[sm][state.next[sm]++];
  if (op.kind == Kind::Notify) {
    state.counted[CounterOf(op.id, sm)] += op.times;
  }
}

Machine::State Machine::Finish(State state, std::optional<Place> withheld,
                               std::vector<bool>* started) const {
  bool moved = true;
  while (moved) {
    moved = false;
    for (size_t sm = 0; sm < ops_.size(); ++sm) {
      while (CanStep(state, sm)) {
        const Op& op = ops_[sm][state.next[sm]];
        if (withheld == Place(sm, state.next[sm])) {
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
  for (const Place& end : ends_[task]) {
    Finish(Initial(), end, &started);
  }
  started[task] = false;
  return started;
}

std::optional<Machine::Exploration> Machine::Explore(size_t max_states) const {
  size_t tasks = program_.tasks.size();
  Exploration found{false, std::vector(tasks, std::vector<bool>(tasks, false))};
  std::set<std::vector<size_t>> seen{Initial().next};  // positions determine the counters
  std::deque<State> open{Initial()};
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
        for (const auto& [on, end] : ends_[a]) {
          if (a != op.id && state.next[on] <= end) {
            found.starts_before_end[a][op.id] = true;
          }
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
