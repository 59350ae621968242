#include "compile/phase_timer.h"

#include <fmt/format.h>

#include <algorithm>

namespace etc {
namespace {

double Milliseconds(PhaseTimer::Clock::duration took) {
  return std::chrono::duration<double, std::milli>(took).count();
}

}  // namespace

void PhaseTimer::Note(const std::string& name, Clock::duration took) {
  auto phase = std::find_if(phases_.begin(), phases_.end(),
                            [&](const Phase& each) { return each.name == name; });
  if (phase == phases_.end()) {
    phase = phases_.insert(phase, {name, 0, false});
  }
  phase->milliseconds += Milliseconds(took);
}

void PhaseTimer::NoteBeside(std::string name, Clock::duration took) {
  phases_.push_back({std::move(name), Milliseconds(took), true});
}

std::string PhaseTimer::Report() const {
  std::string text;
  double total = 0;
  for (const Phase& phase : phases_) {
    text += fmt::format("{:>10.3f} ms  {}{}\n", phase.milliseconds, phase.name,
                        phase.beside ? ", beside the phases above" : "");
    total += phase.beside ? 0 : phase.milliseconds;
  }
  return text + fmt::format("{:>10.3f} ms  total\n", total);
}

}  // namespace etc
