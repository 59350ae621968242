#include "simulator/play.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "simulator/rates.h"
#include "simulator/tickets.h"

namespace etc {
namespace {

constexpr double kLeast = 1e-9;  // of a task's work

struct SignalState {
  uint32_t pending = 0;
  double at = kNever;
  uint32_t last = kNoTask;
};

struct Finish {
  double at;
  uint32_t task;
  bool operator>(const Finish& other) const {
    return std::pair(at, task) > std::pair(other.at, other.task);
  }
};

class Player {
 public:
  explicit Player(const SimProgram& program)
      : program_(program),
        machine_(program.machine),
        sms_(static_cast<size_t>(program.machine.sms)),
        signals_(program.signals.size()),
        tickets_(program, sms_, [this](uint32_t signal) { return signals_[signal].at; }) {
    run_.tasks.resize(program.tasks.size());
    for (uint32_t i = 0; i < program.tasks.size(); ++i) {
      run_.tasks[i].sm = program.tasks[i].sm;
      for (uint32_t signal : program.tasks[i].notifies) {
        ++signals_[signal].pending;
      }
    }
    for (SignalState& signal : signals_) {
      signal.at = signal.pending == 0 ? 0 : kNever;
    }
    for (Sm& sm : sms_) {
      tickets_.Advance(sm, now_);
      BeginLoad(sm);
      Arrive(sm);
    }
  }

  SimRun Run() {
    while (true) {
      SetRates(program_, now_, sms_, open_);
      double next = Next();
      if (next == kNever) {
        break;
      }
      Advance(next);
    }
    for (Sm& sm : sms_) {
      run_.stuck |= sm.phase != Phase::Done;
      run_.idle[static_cast<size_t>(Idle::Tasks)] += run_.makespan - sm.until;
    }
    run_.tickets = tickets_.taken();
    return std::move(run_);
  }

 private:
  const SimTask& TaskAt(const Sm& sm, size_t at) const { return etc::TaskAt(program_, sm, at); }
  const SimStep& StepAt(const Sm& sm, size_t at) const { return etc::StepAt(program_, sm, at); }
  static bool IsEmpty(const SimTask& task) { return task.work.us <= 0; }
  double BytesOf(const Sm& sm, size_t at) const { return TaskAt(sm, at).work.bytes; }

  /// The loader looks at the tasks from `load_at` on; those that need nothing are passed over.
  void BeginLoad(Sm& sm) {
    while (sm.load_at < sm.tasks.size() && BytesOf(sm, sm.load_at) <= kBytes) {
      ++sm.load_at;
    }
    sm.load_blocked = false;
    if (sm.load_at == sm.tasks.size()) {
      return;
    }
    sm.load_left = BytesOf(sm, sm.load_at);
    sm.load_from = now_;
    Unblock(sm);
  }

  void EndLoad(Sm& sm) {
    run_.tasks[sm.tasks[sm.load_at]].load_ended = now_;
    ++sm.load_at;
    BeginLoad(sm);
  }

  /// Looks again whether the loader may go on.
  void Unblock(Sm& sm) {
    if (sm.load_at == sm.tasks.size()) {
      return;
    }
    const SimStep& step = StepAt(sm, sm.load_at);
    bool was = sm.load_blocked;
    double from = sm.load_from;
    bool blocked = false;
    if (step.launched) {
      bool mine = sm.cta_step == TaskAt(sm, sm.load_at).step;
      blocked = !mine;
      from = std::max(from, mine ? sm.cta_from + machine_.behind_wait : from);
    }
    if (step.loads_behind != kNoSignal) {
      double at = signals_[step.loads_behind].at;
      blocked |= at == kNever;
      // A loader that has copied behind this signal before finds its way paved.
      bool first =
          sm.load_at == 0 || TaskAt(sm, sm.load_at - 1).step != TaskAt(sm, sm.load_at).step;
      from = at == kNever || !first ? from : std::max(from, at + machine_.behind_wait);
    }
    sm.load_blocked = blocked;
    sm.load_from = from;
    if (!blocked && (was || run_.tasks[sm.tasks[sm.load_at]].load_begun < 0)) {
      run_.tasks[sm.tasks[sm.load_at]].load_begun = std::max(now_, from);
    }
  }

  /// The consumers get to the task at `run_at`.
  void Arrive(Sm& sm) {
    if (sm.run_at == sm.tasks.size()) {
      bool is_last = sm.plan_at == sm.plan.size();
      sm.phase = is_last ? Phase::Done : Phase::Drawing;
      sm.until = is_last ? now_ : kNever;
      // An SM that still draws keeps the kernel from its end.
      run_.makespan = std::max(run_.makespan, now_);
      return;
    }
    SimTimes& times = run_.tasks[sm.tasks[sm.run_at]];
    times.sm = static_cast<uint32_t>(&sm - sms_.data());
    const SimTask& task = TaskAt(sm, sm.run_at);
    const SimStep& step = program_.steps[task.step];
    times.arrived = now_;
    if (step.launched && sm.cta_step != task.step) {
      sm.cta_step = task.step;
      // The CTA before ends with the result of its last task.
      double ended = sm.run_at == 0 ? 0 : run_.tasks[sm.tasks[sm.run_at - 1]].finished;
      sm.cta_from = std::max(now_, ended) + step.launch;
      Unblock(sm);
    }
    sm.phase = Phase::Waiting;
    sm.waited = 0;
    sm.waited_until = step.launched ? std::max(now_, sm.cta_from) : now_;
    SetWait(sm);
  }

  /// The scheduler goes on, and hands what it gets to the loader and the consumers.
  void Draw(Sm& sm) {
    if (sm.plan_at == sm.plan.size()) {
      return;
    }
    size_t before = sm.tasks.size();
    tickets_.Advance(sm, now_);
    if (sm.load_at == before) {
      BeginLoad(sm);
    }
    if (sm.phase == Phase::Drawing &&
        (sm.run_at < sm.tasks.size() || sm.plan_at == sm.plan.size())) {
      Arrive(sm);
    }
  }

  /// Looks at the waits that were not over before.
  void SetWait(Sm& sm) {
    SimTimes& times = run_.tasks[sm.tasks[sm.run_at]];
    const std::vector<uint32_t>& waits = TaskAt(sm, sm.run_at).waits;
    for (; sm.waited < waits.size() && signals_[waits[sm.waited]].at != kNever; ++sm.waited) {
      const SignalState& signal = signals_[waits[sm.waited]];
      if (signal.at > sm.waited_until) {
        sm.waited_until = signal.at;
        times.after = signal.last;
      }
    }
    times.ready = sm.waited == waits.size() ? sm.waited_until : kNever;
    sm.until = times.ready;
  }

  /// The same behind the work.
  void SetJoin(Sm& sm) {
    SimTimes& times = run_.tasks[sm.tasks[sm.run_at]];
    sm.until = times.worked;
    for (uint32_t join : TaskAt(sm, sm.run_at).joins) {
      if (signals_[join].at > sm.until) {
        sm.until = signals_[join].at;
        times.joined = signals_[join].last;
      }
    }
  }

  /// When something changes next.
  double Next() const {
    double next = finishes_.empty() ? kNever : finishes_.top().at;
    for (const Sm& sm : sms_) {
      if (sm.load_from > now_ + kMoment && !sm.load_blocked && sm.load_at < sm.tasks.size()) {
        next = std::min(next, sm.load_from);
      }
      if (sm.load_rate > 0) {
        next = std::min(next, now_ + sm.load_left / sm.load_rate);
      }
      double change = sm.load_rate - sm.taken;
      if (change > 0 && sm.ring < machine_.ring_bytes - kBytes) {
        next = std::min(next, now_ + (machine_.ring_bytes - sm.ring) / change);
      } else if (change < 0 && sm.ring > kBytes) {
        next = std::min(next, now_ - sm.ring / change);
      }
      next = std::min(next, sm.ticket_at);
      if (sm.phase == Phase::Done) {
        continue;
      }
      if (sm.phase != Phase::Working) {
        next = std::min(next, sm.until);
      } else if (sm.speed > 0) {
        next = std::min(next, now_ + sm.left / sm.speed);
      }
    }
    return next;
  }

  void Advance(double next) {
    double us = std::max(next - now_, 0.0);
    now_ = next;
    for (Sm& sm : sms_) {
      Account(sm, us);
      double copied = std::min(sm.load_rate * us, sm.load_left);
      sm.ring = std::max(sm.ring + copied - sm.taken * us, 0.0);
      run_.bytes += copied;
      sm.load_left -= copied;
      sm.left -= sm.speed * us;
    }
    while (!finishes_.empty() && finishes_.top().at <= now_ + kMoment) {
      Give(finishes_.top().task);
      finishes_.pop();
    }
    for (Sm& sm : sms_) {
      Step(sm);
    }
  }

  void Account(Sm& sm, double us) {
    bool blocked = sm.load_blocked || sm.load_from > now_ - us + kMoment;
    if (sm.load_at == sm.tasks.size()) {
      bool is_last = sm.plan_at == sm.plan.size();
      run_.stalls[static_cast<size_t>(is_last ? Stall::Nothing : Stall::Wait)] += us;
    } else if (blocked) {
      run_.stalls[static_cast<size_t>(Stall::Wait)] += us;
    } else if (sm.ring >= machine_.ring_bytes - kBytes && sm.taken == 0) {
      run_.stalls[static_cast<size_t>(Stall::Ring)] += us;
    }
    if (sm.phase == Phase::Drawing) {
      double asked = std::clamp(now_ - (sm.ticket_at - machine_.ticket), 0.0, us);
      run_.idle[static_cast<size_t>(Idle::Tickets)] += asked;
      run_.idle[static_cast<size_t>(Idle::Tasks)] += us - asked;
    }
    if (sm.phase != Phase::Working) {
      return;
    }
    double lost = us * (1 - sm.speed / sm.full_speed);
    run_.busy += us - lost;
    SimTimes& times = run_.tasks[sm.tasks[sm.run_at]];
    (sm.starves || blocked ? times.starved : times.slowed) += lost;
    Idle cause = blocked                            ? Idle::Loader
                 : !sm.starves                      ? Idle::Cache
                 : sm.load_rate < sm.limit - kBytes ? Idle::Bandwidth
                                                    : Idle::Throttle;
    run_.idle[static_cast<size_t>(cause)] += lost;
  }

  /// A task's result is stored: its notifies count.
  void Give(uint32_t id) {
    run_.makespan = std::max(run_.makespan, now_);
    for (uint32_t notified : program_.tasks[id].notifies) {
      SignalState& signal = signals_[notified];
      if (--signal.pending == 0) {
        signal.at = now_ + program_.signals[notified].latency;
        signal.last = id;
        for (Sm& sm : sms_) {
          Unblock(sm);
          if (sm.phase == Phase::Waiting && sm.until == kNever) {
            SetWait(sm);
          } else if (sm.phase == Phase::Joining && sm.until == kNever) {
            SetJoin(sm);
          }
        }
      }
    }
  }

  void Step(Sm& sm) {
    if (sm.load_at < sm.tasks.size() && !sm.load_blocked && sm.load_left <= kBytes) {
      EndLoad(sm);
    }
    while (sm.phase != Phase::Done) {
      Draw(sm);
      if (sm.phase == Phase::Waiting && sm.until <= now_ + kMoment) {
        Begin(sm);
      } else if (sm.phase == Phase::Starting && sm.until <= now_ + kMoment) {
        run_.tasks[sm.tasks[sm.run_at]].begun = now_;
        BeginWork(program_, sm);
      } else if (sm.phase == Phase::Working && IsThrough(sm)) {
        run_.tasks[sm.tasks[sm.run_at]].worked = now_;
        sm.phase = Phase::Joining;
        SetJoin(sm);
      } else if (sm.phase == Phase::Joining && sm.until <= now_ + kMoment) {
        End(sm);
      } else {
        return;
      }
    }
  }

  bool IsThrough(const Sm& sm) const {
    double bytes = sm.left * sm.bytes;
    return sm.left <= kLeast || sm.left <= kMoment * sm.speed || (bytes > 0 && bytes <= 4 * kBytes);
  }

  void Begin(Sm& sm) {
    uint32_t id = sm.tasks[sm.run_at];
    SimTimes& times = run_.tasks[id];
    const SimTask& task = program_.tasks[id];
    double given = times.after == kNoTask ? times.arrived : run_.tasks[times.after].finished;
    double others = std::clamp(given - times.arrived, 0.0, times.ready - times.arrived);
    bool follows = sm.run_at > 0 && TaskAt(sm, sm.run_at - 1).step == task.step;
    double start = follows || IsEmpty(task) ? 0 : program_.steps[task.step].start;
    run_.idle[static_cast<size_t>(Idle::Tasks)] += others;
    run_.idle[static_cast<size_t>(Idle::Signals)] += times.ready - times.arrived - others + start;
    sm.phase = Phase::Starting;
    sm.until = now_ + start;
  }

  void End(Sm& sm) {
    uint32_t id = sm.tasks[sm.run_at];
    run_.tasks[id].ended = now_;
    if (sm.load_at == sm.run_at) {
      // The last fraction of a byte.
      EndLoad(sm);
    }
    run_.idle[static_cast<size_t>(Idle::Signals)] += now_ - run_.tasks[id].worked;
    const SimTask& task = program_.tasks[id];
    double finish = IsEmpty(task) ? 0 : program_.steps[task.step].finish;
    run_.tasks[id].finished = now_ + finish;
    finishes_.push({now_ + finish, id});
    ++sm.run_at;
    Arrive(sm);
  }

  const SimProgram& program_;
  const SimMachine& machine_;
  std::vector<Sm> sms_;
  std::vector<SignalState> signals_;
  Tickets tickets_;
  std::priority_queue<Finish, std::vector<Finish>, std::greater<>> finishes_;
  std::vector<size_t> open_;  // loaders whose rate is not set yet
  double now_ = 0;
  SimRun run_;
};

}  // namespace

SimWork& SimWork::operator+=(const SimWork& other) {
  us += other.us;
  bytes += other.bytes;
  fetched += other.fetched;
  memory += other.memory;
  sent += other.sent;
  return *this;
}

SimWork SimWork::operator*(double times) const {
  return {us * times, bytes * times, fetched * times, memory * times, sent * times};
}

SimRun Play(const SimProgram& program) { return Player(program).Run(); }

}  // namespace etc
