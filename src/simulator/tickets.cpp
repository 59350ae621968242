#include "simulator/tickets.h"

#include <algorithm>
#include <utility>

namespace etc {

Tickets::Tickets(const SimProgram& program, std::vector<Sm>& sms,
                 std::function<double(uint32_t)> seen)
    : program_(program), seen_(std::move(seen)) {
  for (uint32_t i = 0; i < program.tasks.size(); ++i) {
    const SimTask& task = program.tasks[i];
    const SimStep& step = program.steps[task.step];
    if (!step.ahead) {
      sms[task.sm].plan.push_back({false, i});
    } else if (i > 0 && program.tasks[i - 1].step == task.step) {
      ++cases_.back().end;
    } else {
      for (Sm& sm : sms) {
        sm.plan.push_back({true, static_cast<uint32_t>(cases_.size())});
      }
      cases_.push_back({i, i + 1, &step});
    }
  }
}

/// When the ticket that is asked for as soon as may be is there.
double Tickets::NextTicket(const Sm& sm, const SimStep& step, double now) const {
  bool has_place = static_cast<int64_t>(sm.words.size()) < *step.ahead;
  if (!has_place && sm.run_at < sm.tasks.size()) {
    return kNever;
  }
  double from = step.draws_behind == kNoSignal ? now : std::max(now, seen_(step.draws_behind));
  return from + program_.machine.ticket;
}

void Tickets::Advance(Sm& sm, double now) {
  while (!sm.words.empty() && sm.words.front() <= sm.run_at) {
    sm.words.pop();
  }
  while (sm.plan_at < sm.plan.size()) {
    const PlanEntry& entry = sm.plan[sm.plan_at];
    if (!entry.is_case) {
      sm.tasks.push_back(entry.id);
      ++sm.plan_at;
      continue;
    }
    Case& drawn = cases_[entry.id];
    if (sm.ticket_at == kNever) {
      sm.ticket_at = NextTicket(sm, *drawn.step, now);
    }
    if (sm.ticket_at > now + kMoment) {
      return;
    }
    sm.ticket_at = kNever;
    ++taken_;
    // The consumers read at once what they have nothing in front of.
    if (sm.tasks.size() > sm.run_at) {
      sm.words.push(sm.tasks.size());
    }
    if (drawn.next < drawn.end) {
      sm.tasks.push_back(drawn.next++);
    } else {
      ++sm.plan_at;
    }
  }
}

}  // namespace etc
