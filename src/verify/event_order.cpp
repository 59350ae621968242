#include "verify/event_order.h"

#include <fmt/format.h>

#include <deque>

#include "analysis/event_walk.h"

namespace etc {
namespace {

constexpr int64_t kBudget = 2'000'000;

/// One step with the repeat variables at given values.
struct Instance {
  size_t step;
  std::vector<EventWalk::Touch> waits;
};

using Element = std::pair<size_t, int64_t>;

/// How the search came to an instance.
struct Arrival {
  size_t from;
  EventWalk::Touch wait;  // of `from`, for what this instance notifies
};

class OrderSearch {
 public:
  OrderSearch(const Module& module, const CallProgram& program, const Sizes& sizes)
      : program_(program), budget_(kBudget), walk_(module, program, sizes, budget_) {
    (void)walk_.Run([&](size_t step) {
      Instance instance{step, {}};
      walk_.Waits(step, [&](const EventWalk::Touch& t) { instance.waits.push_back(t); });
      walk_.Notifies(step, [&](const EventWalk::Touch& t) {
        notifiers_[{t.event, t.element}].push_back(instances_.size());
      });
      instances_.push_back(std::move(instance));
    });
  }

  const EventWalk& walk() const { return walk_; }
  const std::string& Callee(size_t instance) const {
    return program_.calls[instances_[instance].step].device->name;
  }
  SourceRange StepRange(size_t instance) const {
    return program_.calls[instances_[instance].step].range;
  }

  /// The first step from `position` on that notifies the element.
  size_t LaterNotifier(const EarlyWait& wait) const {
    auto found = notifiers_.find({wait.event, wait.element});
    if (found != notifiers_.end()) {
      for (size_t instance : found->second) {
        if (instance >= wait.position) {
          return instance;
        }
      }
    }
    return wait.position;
  }

  /// The waits that lead from `from` to `to`, or none.
  std::vector<std::pair<size_t, Arrival>> Path(size_t from, size_t to) const {
    std::map<size_t, Arrival> arrivals;
    std::deque<size_t> open{from};
    while (!open.empty() && !arrivals.contains(to)) {
      size_t at = open.front();
      open.pop_front();
      for (const EventWalk::Touch& wait : instances_[at].waits) {
        auto found = notifiers_.find({wait.event, wait.element});
        if (found == notifiers_.end()) {
          continue;
        }
        for (size_t next : found->second) {
          if (arrivals.emplace(next, Arrival{at, wait}).second) {
            open.push_back(next);
          }
        }
      }
    }
    std::vector<std::pair<size_t, Arrival>> path;
    for (auto at = arrivals.find(to); at != arrivals.end(); at = arrivals.find(at->second.from)) {
      path.insert(path.begin(), *at);
      if (at->second.from == from) {
        break;
      }
    }
    return path;
  }

 private:
  const CallProgram& program_;
  int64_t budget_;
  EventWalk walk_;
  std::vector<Instance> instances_;
  std::map<Element, std::vector<size_t>> notifiers_;
};

}  // namespace

void ReportOrder(const Module& module, const CallProgram& program, const Sizes& sizes,
                 const EarlyWait& wait, Diagnostics& diagnostics) {
  OrderSearch search(module, program, sizes);
  const std::string name = search.walk().Name(wait.event, wait.element);
  const std::string& waiting = search.Callee(wait.position);
  size_t notifier = search.LaterNotifier(wait);
  if (notifier == wait.position) {
    diagnostics
        .Error(DiagnosticKind::EventCycle, wait.ref->range,
               fmt::format("`@{}` waits for itself{}", waiting, Describe(module, sizes)))
        .notes.push_back(
            {wait.ref->range,
             fmt::format("`@{}` waits for `{}`, which the same call notifies", waiting, name)});
    return;
  }
  auto path = search.Path(notifier, wait.position);
  if (path.empty()) {
    diagnostics
        .Error(DiagnosticKind::EventOrder, wait.ref->range,
               fmt::format("`@{}` waits for `{}`, which is complete only after a later call{}",
                           waiting, name, Describe(module, sizes)))
        .notes.push_back({search.StepRange(notifier),
                          fmt::format("`@{}` notifies it here; a call stands after all that it "
                                      "waits for",
                                      search.Callee(notifier))});
    return;
  }
  std::string calls = fmt::format("`@{}`, `@{}`", waiting, search.Callee(notifier));
  for (const auto& [instance, arrival] : path) {
    calls += fmt::format(", `@{}`", search.Callee(instance));
  }
  Diagnostic& error = diagnostics.Error(
      DiagnosticKind::EventCycle, wait.ref->range,
      fmt::format("calls wait for each other in a cycle: {}{}", calls, Describe(module, sizes)));
  error.notes.push_back({wait.ref->range, fmt::format("`@{}` waits for `{}`, which `@{}` notifies",
                                                      waiting, name, search.Callee(notifier))});
  for (const auto& [instance, arrival] : path) {
    error.notes.push_back(
        {arrival.wait.ref->range,
         fmt::format("`@{}` waits for `{}`, which `@{}` notifies", search.Callee(arrival.from),
                     search.walk().Name(arrival.wait.event, arrival.wait.element),
                     search.Callee(instance))});
  }
}

}  // namespace etc
