#include "simulator/rates.h"

#include <algorithm>

namespace etc {
namespace {

/// What the consumers would take and do, were no byte missing.
void SetConsumers(Sm& sm) {
  sm.taken = sm.speed = sm.fetch = sm.memory = sm.sent = 0;
  sm.starves = false;
  if (sm.phase == Phase::Working) {
    sm.speed = sm.full_speed;
    sm.taken = sm.full_taken;
    sm.fetch = sm.full_fetch;
    sm.memory = sm.full_memory;
    sm.sent = sm.full_sent;
  }
}

}  // namespace

void BeginWork(const SimProgram& program, Sm& sm) {
  const SimWork& work = TaskAt(program, sm, sm.run_at).work;
  double us = std::max(work.us, kMoment);
  sm.phase = Phase::Working;
  sm.left = 1;
  sm.full_speed = 1 / us;
  sm.full_taken = work.bytes / us;
  sm.full_fetch = work.fetched / us;
  sm.full_memory = work.bytes > 0 ? 0 : work.memory / us;
  sm.full_sent = work.sent / us;
  sm.bytes = work.bytes;
}

void SetRates(const SimProgram& program, double now, std::vector<Sm>& sms,
              std::vector<size_t>& open) {
  // Memory: consumers without a loader come first. Then each loader gets what it may have, or as
  // much as others of what these leave.
  open.clear();
  double consumed = 0, sent = 0;
  for (size_t i = 0; i < sms.size(); ++i) {
    Sm& sm = sms[i];
    sm.load_rate = 0;
    sm.limit = 0;
    SetConsumers(sm);
    consumed += sm.memory;
    sent += sm.sent;
    if (sm.load_at == sm.tasks.size() || sm.load_blocked || sm.load_from > now + kMoment) {
      continue;
    }
    const SimStep& step = StepAt(program, sm, sm.load_at);
    bool at_work = TaskAt(program, sm, sm.load_at).step ==
                       TaskAt(program, sm, std::min(sm.run_at, sm.load_at)).step &&
                   sm.phase == Phase::Working;
    const SimWork& work = TaskAt(program, sm, sm.load_at).work;
    sm.of_memory = work.memory / work.bytes;
    sm.limit = at_work ? step.load_rate : step.ahead_rate;
    if (sm.ring >= program.machine.ring_bytes - kBytes) {
      sm.limit = std::min(sm.limit, sm.taken);
    }
    if (sm.limit > 0) {
      open.push_back(i);
    }
  }
  double passed = std::min(sent > 0 ? program.machine.link_rate / sent : 1, 1.0);
  double moved = std::min(consumed > 0 ? program.machine.memory_rate / consumed : 1, 1.0);
  double left = program.machine.memory_rate - consumed * moved;
  while (!open.empty()) {
    double parts = 0;
    for (size_t i : open) {
      parts += sms[i].of_memory;
    }
    double fair = std::min(parts > 0 ? left / parts : kNever, program.machine.cache_rate);
    auto more =
        std::partition(open.begin(), open.end(), [&](size_t i) { return sms[i].limit <= fair; });
    bool all = more == open.begin();
    for (auto i = open.begin(); i != (all ? open.end() : more); ++i) {
      sms[*i].load_rate = std::min(sms[*i].limit, fair);
      left = std::max(left - sms[*i].load_rate * sms[*i].of_memory, 0.0);
    }
    open.erase(open.begin(), all ? open.end() : more);
  }
  // L2: what is too much slows all alike.
  double wanted = 0;
  for (const Sm& sm : sms) {
    wanted += sm.load_rate + sm.fetch;
  }
  double part = std::min(wanted > 0 ? program.machine.cache_rate / wanted : 1, 1.0);
  for (Sm& sm : sms) {
    sm.load_rate *= part;
    double slowed =
        std::min({sm.fetch > 0 ? part : 1, sm.memory > 0 ? moved : 1, sm.sent > 0 ? passed : 1});
    sm.taken *= slowed;
    sm.speed *= slowed;
    if (sm.taken > 0 && sm.ring <= kBytes && sm.load_rate < sm.taken) {
      sm.speed *= sm.load_rate / sm.taken;
      sm.taken = sm.load_rate;
      sm.starves = part == 1;
    }
  }
}

}  // namespace etc
