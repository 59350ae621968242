#include "simulator/play_signals.h"

#include <algorithm>

namespace etc {

void AddOnce(std::vector<uint32_t>& signals, uint32_t signal) {
  if (signal != kNoSignal && std::find(signals.begin(), signals.end(), signal) == signals.end()) {
    signals.push_back(signal);
  }
}

void Add(std::vector<uint32_t>& signals, uint32_t signal) {
  if (signal != kNoSignal && (signals.empty() || signals.back() != signal)) {
    signals.push_back(signal);
  }
}

void KeepOnce(std::vector<uint32_t>& signals) {
  std::sort(signals.begin(), signals.end());
  signals.erase(std::unique(signals.begin(), signals.end()), signals.end());
}

uint32_t PlaySignals::New(double latency) {
  program_.signals.push_back({latency});
  return static_cast<uint32_t>(program_.signals.size() - 1);
}

double PlaySignals::LatencyOf(EventId event) const {
  switch (module_.events[event].realisation) {
    case Realisation::None:
      return 0;
    case Realisation::Shared:
      return target_.cta_signal;
    case Realisation::Words:
      return LatencyOf(Mechanism::Words, module_.events[event].symmetric);
    case Realisation::Unset:
    case Realisation::Counter:
      break;
  }
  return LatencyOf(Mechanism::Counter, module_.events[event].symmetric);
}

double PlaySignals::LatencyOf(Mechanism mechanism, bool of_peers) const {
  const auto kind = mechanism == Mechanism::FlagInData || mechanism == Mechanism::Words
                        ? &PerSignal::flag_in_data
                        : &PerSignal::counter;
  auto peers = static_cast<double>(of_peers ? ranks_ - 1 : 0);
  return target_.signal.*kind + (peers > 0 ? target_.link.*kind : 0) +
         std::max(peers - 1, 0.0) * target_.each_link.*kind;
}

uint32_t PlaySignals::Notified(EventId event, int64_t element) {
  auto [found, is_new] = elements_.try_emplace({event, element}, kNoSignal);
  if (is_new) {
    found->second = New(LatencyOf(event));
  }
  last_element_[event] = found->second;
  return found->second;
}

uint32_t PlaySignals::Awaited(EventId event, int64_t element) const {
  auto found = elements_.find({event, element});
  if (found != elements_.end()) {
    return found->second;
  }
  auto last = last_element_.find(event);
  return last == last_element_.end() ? kNoSignal : last->second;
}

uint32_t PlaySignals::EndOf(uint32_t step, double latency) {
  auto [found, is_new] = ends_.try_emplace({step, latency}, kNoSignal);
  if (is_new) {
    found->second = New(latency);
    std::vector<SimTask>& tasks = program_.tasks;
    size_t end = step + 1 < first_task_.size() ? first_task_[step + 1] : tasks.size();
    for (size_t i = first_task_[step]; i < end && tasks[i].step == step; ++i) {
      tasks[i].notifies.push_back(found->second);
    }
  }
  return found->second;
}

}  // namespace etc
