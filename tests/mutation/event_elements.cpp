#include "event_elements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/events_of_sm.h"
#include "analysis/ranks.h"

namespace etc::mutation {
namespace {

/// Far more than the small sizes need: beyond it a program is not judged.
constexpr int64_t kMaxSignals = 4'000'000;

std::vector<int64_t> IndexOf(const std::vector<int64_t>& extents, int64_t number) {
  std::vector<int64_t> index(extents.size(), 0);
  for (size_t d = extents.size(); d-- > 0;) {
    index[d] = number % extents[d];
    number /= extents[d];
  }
  return index;
}

}  // namespace

void EventElements::Declare(EventId id) {
  const Event& event = module_.events[id];
  std::vector<int64_t> extents;
  int64_t size = 1;
  for (const EventDim& dim : event.dims) {
    extents.push_back(interpreter_.Eval(dim.extent).value_or(-1));
    size *= extents.back();
  }
  if (size < 0 || size > kMaxSignals) {
    program_.unknown = true;
    return;
  }
  events_[id] = {program_.needed.size(), extents};
  for (int64_t i = 0; i < size; ++i) {
    owners_.push_back(id);
    program_.element_ranks.push_back(IsOfAllRanks(module_) ? IndexOf(extents, i).front()
                                                           : int64_t{0});
    program_.element_names.push_back(
        fmt::format("%{}[{}]", event.name, fmt::join(IndexOf(extents, i), ", ")));
  }
  counted_.resize(owners_.size());
  program_.needed.resize(owners_.size());
  program_.of_sm.resize(owners_.size(), IsOfSm(event));
}

void EventElements::Need(size_t element) {
  const Event& event = module_.events[owners_[element]];
  const Counters& counters = events_[owners_[element]];
  auto number = static_cast<int64_t>(element - counters.base);
  std::vector<int64_t> index = IndexOf(counters.shape, number);
  for (size_t d = 0; d < index.size(); ++d) {
    if (event.dims[d].var) {
      interpreter_.Set(event.dims[d].var, index[d]);
    }
  }
  int64_t count = program_.Known(interpreter_.Eval(event.count));
  if (counted_[element] && program_.needed[element] != count) {
    program_.unknown = true;  // two waits for one element that ask for different counts
  }
  counted_[element] = true;
  program_.needed[element] = count;
}

std::vector<size_t> EventElements::NotifiedOnly() const {
  std::vector<bool> notified(program_.needed.size(), false);
  auto mark = [&](const std::vector<Signal>& signals) {
    for (const Signal& signal : signals) {
      notified[signal.element] = true;
    }
  };
  for (const Task& task : program_.tasks) {
    mark(task.notifies);
    mark(task.arrivals);
  }
  for (const Queue& queue : program_.queues) {
    for (const Push& push : queue.pushes) {
      mark(push.arrivals);
    }
  }
  for (const Step& step : program_.steps) {
    mark(step.leave);
  }
  std::vector<size_t> elements;
  for (size_t i = 0; i < notified.size(); ++i) {
    if (notified[i] && !counted_[i]) {
      elements.push_back(i);
    }
  }
  return elements;
}

void EventElements::Add(const EventRef& ref, std::vector<Signal>& signals) {
  interpreter_.Loop(ref.axes, [&] {
    bool holds = !ref.guard || program_.Known(interpreter_.Eval(ref.guard)) != 0;
    if (holds && events_.contains(ref.event)) {
      Add(ref, events_[ref.event], 0, 0, signals);
    }
  });
}

void EventElements::Add(const EventRef& ref, const Counters& event, size_t axis, int64_t offset,
                        std::vector<Signal>& signals) {
  if (axis == event.shape.size()) {
    signals.push_back({event.base + static_cast<size_t>(offset), 1});
    return;
  }
  const EventIndex& index = ref.indices[axis];
  Value lo = index.all ? 0 : interpreter_.Eval(index.lo);
  Value hi = index.all  ? event.shape[axis]
             : index.hi ? interpreter_.Eval(index.hi)
                        : (lo ? Value(*lo + 1) : lo);
  if (!lo || !hi) {
    program_.unknown = true;
    return;
  }
  for (int64_t i = *lo; i < *hi; ++i) {
    if (i < 0 || i >= event.shape[axis]) {
      program_.Outside(
          fmt::format("event `%{}` has no index {}", module_.events[ref.event].name, i));
    } else {
      Add(ref, event, axis + 1, offset * event.shape[axis] + i, signals);
    }
  }
}

}  // namespace etc::mutation
