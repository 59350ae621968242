#include "simulator/tickets.h"

#include <algorithm>
#include <utility>

namespace etc {

Tickets::Tickets(const SimProgram& program, std::vector<Sm>& sms,
                 std::function<double(uint32_t)> seen)
    : program_(program), seen_(std::move(seen)), arrived_(program.triggers.size(), 0) {
  auto plan = [&](PlanEntry::Kind kind, size_t id) {
    for (Sm& sm : sms) {
      sm.plan.push_back({kind, static_cast<uint32_t>(id)});
    }
  };
  std::optional<uint32_t> open;  // a queue of which some step in front is pushed
  auto close = [&](std::optional<uint32_t> next) {
    if (open && open != next) {
      plan(PlanEntry::Kind::Queue, *open);
      open.reset();
    }
  };
  for (uint32_t i = 0; i < program.tasks.size(); ++i) {
    const SimTask& task = program.tasks[i];
    const SimStep& step = program.steps[task.step];
    close(step.queue);
    if (!step.ahead) {
      sms[task.sm].plan.push_back({PlanEntry::Kind::Task, i});
    } else if (step.pushed) {
      open = step.queue;
      queues_.try_emplace(*open, Queue{&step}).first->second.tasks += 1;
    } else if (i > 0 && program.tasks[i - 1].step == task.step) {
      ++cases_.back().end;
    } else {
      plan(PlanEntry::Kind::Case, cases_.size());
      cases_.push_back({i, i + 1, &step});
    }
  }
  close({});
}

/// Whether the SM has the ticket that it asks for as soon as may be, and then no longer.
bool Tickets::HasTicket(Sm& sm, const SimStep& step, double now) {
  if (sm.ticket_at == kNever) {
    bool has_place = static_cast<int64_t>(sm.words.size()) < *step.ahead;
    if (!has_place && sm.run_at < sm.tasks.size()) {
      return false;
    }
    double from = std::max(now, sm.asks_from);
    from = step.draws_behind == kNoSignal ? from : std::max(from, seen_(step.draws_behind));
    sm.ticket_at = from + program_.machine.ticket;
  }
  if (sm.ticket_at > now + kMoment) {
    return false;
  }
  sm.ticket_at = kNever;
  ++taken_;
  return true;
}

/// The consumers read at once what they have nothing in front of.
void Tickets::Write(Sm& sm) {
  if (sm.tasks.size() > sm.run_at) {
    sm.words.push(sm.tasks.size());
  }
}

/// One trigger after the other: the scheduler waits for what each says. Who waits for a place sees
/// it a round trip later.
void Tickets::Hand(Sm& sm, uint32_t task, double now) {
  Write(sm);
  sm.tasks.push_back(task);
  sm.asks_from = now;
  for (uint32_t id : program_.tasks[task].arrivals) {
    sm.asks_from += program_.machine.arrival;
    const SimTrigger& trigger = program_.triggers[id];
    if (++arrived_[id] != trigger.count || trigger.tasks == 0) {
      continue;
    }
    Queue& queue = queues_.at(*program_.steps[program_.tasks[trigger.first].step].queue);
    for (uint32_t i = 0; i < trigger.tasks; ++i) {
      if (auto found = queue.waiting.find(queue.pushed.size()); found != queue.waiting.end()) {
        found->second->ticket_at = now + program_.machine.ticket;
        queue.waiting.erase(found);
      }
      queue.pushed.push_back(trigger.first + i);
    }
  }
}

/// Whether the scheduler goes on.
bool Tickets::Draw(Case& drawn, Sm& sm, double now) {
  if (!HasTicket(sm, *drawn.step, now)) {
    return false;
  }
  if (drawn.next < drawn.end) {
    Hand(sm, drawn.next++, now);
  } else {
    Write(sm);
    ++sm.plan_at;
  }
  return true;
}

/// The same of a queue: first a ticket, and then the task of the place.
bool Tickets::Pop(Queue& queue, Sm& sm, double now) {
  if (!sm.place) {
    if (!HasTicket(sm, *queue.step, now)) {
      return false;
    }
    if (queue.taken == queue.tasks) {
      Write(sm);
      ++sm.plan_at;
      return true;
    }
    sm.place = queue.taken++;
    if (*sm.place >= queue.pushed.size()) {
      queue.waiting.emplace(*sm.place, &sm);
    }
  } else if (sm.ticket_at > now + kMoment) {
    return false;
  }
  if (*sm.place >= queue.pushed.size()) {
    return false;
  }
  sm.ticket_at = kNever;
  size_t place = *sm.place;
  sm.place.reset();
  Hand(sm, queue.pushed[place], now);
  return true;
}

void Tickets::Advance(Sm& sm, double now) {
  while (!sm.words.empty() && sm.words.front() <= sm.run_at) {
    sm.words.pop();
  }
  bool goes_on = true;
  while (goes_on && sm.plan_at < sm.plan.size()) {
    const PlanEntry& entry = sm.plan[sm.plan_at];
    switch (entry.kind) {
      case PlanEntry::Kind::Task:
        sm.tasks.push_back(entry.id);
        ++sm.plan_at;
        break;
      case PlanEntry::Kind::Case:
        goes_on = Draw(cases_[entry.id], sm, now);
        break;
      case PlanEntry::Kind::Queue:
        goes_on = Pop(queues_.at(entry.id), sm, now);
        break;
    }
  }
}

}  // namespace etc
