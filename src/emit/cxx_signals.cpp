#include "emit/cxx_signals.h"

#include <fmt/format.h>

#include "emit/cxx_checks.h"
#include "emit/cxx_spans.h"
#include "support/diagnostics.h"

namespace etc {

/// One call for each element of each reference: a wait where there is a place, for as many notifies
/// as the event counts, or else `amount` notifies.
void SignalWriter::Write(const std::vector<RaisedSignal>& signals, const std::string& amount,
                         const WaitPlace* place) {
  const Module& module = scope_.module();
  for (const RaisedSignal& signal : signals) {
    const auto& [ref, one_thread, checked, span, guards_span] = signal;
    const Event& event = module.events[ref.event];
    ETC_CHECK(event.realisation == Realisation::Counter);
    std::string loops, flat = "0LL", names, values;
    std::vector<std::string> indices;
    if (one_thread) {
      loops = fmt::format("if ({}.thread == 0) ", role_);
    }
    for (const Axis& axis : ref.axes) {
      loops += CxxFor(scope_, axis);
    }
    if (ref.guard) {
      loops += fmt::format("if ({}) ", CxxExpr(scope_, ref.guard));
    }
    for (size_t i = 0; i < ref.indices.size(); ++i) {
      const EventIndex& index = ref.indices[i];
      std::string extent = CxxExpr(scope_, event.dims[i].extent);
      std::string value = index.all || index.hi ? fmt::format("x{}", i) : CxxExpr(scope_, index.lo);
      if (index.all || index.hi) {
        loops += fmt::format("for (i64 {0} = {1}; {0} < {2}; ++{0}) ", value,
                             index.all ? "0LL" : CxxExpr(scope_, index.lo),
                             index.all ? extent : CxxExpr(scope_, index.hi));
      }
      indices.push_back(value);
      flat = i == 0 ? value : fmt::format("({}) * {} + {}", flat, extent, value);
      if (event.dims[i].var) {
        names +=
            fmt::format("{}i64 {}", names.empty() ? "" : ", ", CxxName(module, event.dims[i].var));
        values += (values.empty() ? "" : ", ") + value;
      }
    }
    std::string count = amount;
    if (place != nullptr) {
      count = CxxExpr(scope_, event.count);
      if (!names.empty()) {
        count = fmt::format("[&]({}) {{ return {}; }}({})", names, count, values);
      }
    }
    std::string record;
    if (checked) {
      loops += "if (" + InsideOf(event, indices) + ") ";
      if (place != nullptr) {
        record = "OpenChecks(params.event_memory), ";
        count = CountChecked(event, count);
      }
    }
    const std::string counter = fmt::format("e_{} + {}, u32({})", event.name, flat, count);
    if (place == nullptr) {
      out_.Line(fmt::format("{}events.NotifyOne({}, {});", loops, role_, counter));
    } else if (!scope_.raised().kernel.watchdog) {
      out_.Line(fmt::format("{}events.WaitOne({}, {}{});", loops, role_, record, counter));
    } else {
      out_.Line(fmt::format("{}WaitWatched(events, {}, {}, {});", loops, role_, counter,
                            GivesUp(event, indices, checked, *place)));
    }
    if (signal.span) {
      WriteSpan(signal);
    }
  }
}

void SignalWriter::WriteSpan(const RaisedSignal& signal) {
  std::string when;
  if (signal.guards_span) {
    when = fmt::format("{}if ({}) ",
                       signal.one_thread ? fmt::format("if ({}.thread == 0) ", role_) : "",
                       CxxExpr(scope_, signal.ref.guard));
  }
  out_.Line(fmt::format("{}asked = recorder.Write({}, asked, {});", when, role_,
                        SpanWord(scope_, *signal.span)));
}

/// What a watched wait asks when it has lasted for a while.
std::string SignalWriter::GivesUp(const Event& event, const std::vector<std::string>& indices,
                                  bool checked, const WaitPlace& place) const {
  constexpr size_t kCounts = 2;  // the notifies that came, and those that are awaited
  std::string places, values;
  for (size_t i = 0; i < indices.size(); ++i) {
    places += i == 0 ? "[{}" : ", {}";
  }
  const int64_t seconds = scope_.raised().kernel.watchdog->seconds;
  // In the place of the last value, waits agree which of them is the first.
  bool fits = place.values.size() + indices.size() + kCounts < kRecordValues;
  for (const auto* list : {fits ? &place.values : nullptr, &indices}) {
    for (const std::string& value : list != nullptr ? *list : std::vector<std::string>()) {
      values += ", " + value;
    }
  }
  std::string who = fits ? place.who : place.who.substr(0, place.who.find(','));
  size_t number = CheckNumber(
      scope_.WaitTexts(),
      fmt::format("kernel @{}: {} waits for %{}{}, of which {{}} of {{}} notifies came, and "
                  "nothing has happened for {} s",
                  scope_.raised().kernel.name, who, event.name, places.empty() ? "" : places + "]",
                  seconds));
  return fmt::format("[&](const Stalled& wait) {{ return {}wait.GivesUp({}, {}, {}{}); }}",
                     checked ? "OpenChecks(params.event_memory).Failed() || " : "", seconds,
                     place.place, number, values);
}

/// Whether an element that data may decide is one of the event.
std::string SignalWriter::InsideOf(const Event& event,
                                   const std::vector<std::string>& indices) const {
  std::string inside = indices.empty() ? "true" : "";
  for (size_t i = 0; i < indices.size(); ++i) {
    size_t number = CheckNumber(
        scope_.Texts(),
        fmt::format("index {} of event %{} is {{}}, outside of 0..{{}}", i, event.name));
    inside +=
        fmt::format("{}OpenChecks(params.event_memory).Inside({}, {}, {})", i == 0 ? "" : " && ",
                    number, indices[i], CxxExpr(scope_, event.dims[i].extent));
  }
  return inside;
}

/// No event counts less than nothing, or more than its counter holds.
std::string SignalWriter::CountChecked(const Event& event, const std::string& count) const {
  size_t number =
      CheckNumber(scope_.Texts(),
                  fmt::format("event %{} counts {{}} notifies, outside of {{}}..{{}}", event.name));
  return fmt::format("OpenChecks(params.event_memory).InRange({}, {}, 0, 1LL << 32)", number,
                     count);
}

}  // namespace etc
