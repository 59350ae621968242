#include "emit/cxx_signals.h"

#include <fmt/format.h>

#include "emit/cxx_checks.h"
#include "support/diagnostics.h"

namespace etc {

/// One call of `method` for each element of each reference; an empty `amount` means its count.
void SignalWriter::Write(const std::vector<RaisedSignal>& signals, std::string_view method,
                         const std::string& amount) {
  const Module& module = scope_.module();
  for (const auto& [ref, one_thread, checked] : signals) {
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
    if (count.empty()) {
      count = CxxExpr(scope_, event.count);
      if (!names.empty()) {
        count = fmt::format("[&]({}) {{ return {}; }}({})", names, count, values);
      }
    }
    std::string record;
    if (checked) {
      loops += "if (" + InsideOf(event, indices) + ") ";
      if (amount.empty()) {
        record = "OpenChecks(params.event_memory), ";
        count = CountChecked(event, count);
      }
    }
    out_.Line(fmt::format("{}events.{}({}, {}e_{} + {}, u32({}));", loops, method, role_, record,
                          event.name, flat, count));
  }
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
