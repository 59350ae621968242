#include "simulator/rates.h"

#include <algorithm>

namespace etc {
namespace {

/// What the consumers would take and do, were no byte missing.
void SetConsumers(Sm& sm) {
  sm.taken = sm.speed = sm.fetch = 0;
  sm.starves = false;
  if (sm.phase == Phase::Working) {
    sm.speed = sm.full_speed;
    sm.taken = sm.full_taken;
    sm.fetch = sm.full_fetch;
  }
}

}  // namespace

void BeginWork(const SimProgram& program, Sm& sm) {
  const SimStep& step = StepAt(program, sm, sm.run_at);
  auto tasks = static_cast<double>(TaskAt(program, sm, sm.run_at).working);
  double work = std::max(step.work * tasks, kMoment);
  sm.phase = Phase::Working;
  sm.left = 1;
  sm.full_speed = 1 / work;
  sm.full_taken = step.bytes * tasks / work;
  sm.full_fetch = step.fetched * tasks / work;
  sm.bytes = step.bytes * tasks;
}

void SetRates(const SimProgram& program, double now, std::vector<Sm>& sms,
              std::vector<size_t>& open) {
  // Memory: each loader gets what it may have, or an equal part of what the others leave.
  double left = program.machine.memory_rate;
  open.clear();
  for (size_t i = 0; i < sms.size(); ++i) {
    Sm& sm = sms[i];
    sm.load_rate = 0;
    sm.limit = 0;
    SetConsumers(sm);
    if (sm.load_at == sm.tasks.size() || sm.load_blocked || sm.load_from > now + kMoment) {
      continue;
    }
    const SimStep& step = StepAt(program, sm, sm.load_at);
    bool at_work = TaskAt(program, sm, sm.load_at).step ==
                       TaskAt(program, sm, std::min(sm.run_at, sm.load_at)).step &&
                   sm.phase == Phase::Working;
    sm.limit = at_work ? step.load_rate : step.ahead_rate;
    if (sm.ring >= program.machine.ring_bytes - kBytes) {
      sm.limit = std::min(sm.limit, sm.taken);
    }
    if (sm.limit > 0) {
      open.push_back(i);
    }
  }
  while (!open.empty()) {
    double fair = left / static_cast<double>(open.size());
    auto more =
        std::partition(open.begin(), open.end(), [&](size_t i) { return sms[i].limit <= fair; });
    bool all = more == open.begin();
    for (auto i = open.begin(); i != (all ? open.end() : more); ++i) {
      sms[*i].load_rate = std::min(sms[*i].limit, fair);
      left -= sms[*i].load_rate;
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
    if (sm.fetch > 0) {
      sm.taken *= part;
      sm.speed *= part;
    }
    if (sm.taken > 0 && sm.ring <= kBytes && sm.load_rate < sm.taken) {
      sm.speed *= sm.load_rate / sm.taken;
      sm.taken = sm.load_rate;
      sm.starves = part == 1;
    }
  }
}

}  // namespace etc
