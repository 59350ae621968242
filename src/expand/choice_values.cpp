// The values that a choice may have.
#include <fmt/format.h>

#include <algorithm>

#include "expand/choosing.h"
#include "ir/rewrite.h"

namespace etc {
namespace {

/// More values than anybody lists.
constexpr size_t kMostOptions = 4096;

}  // namespace

std::optional<std::vector<int64_t>> Choosing::Legal(SymbolId choice, const Substitution& values,
                                                    const Range& range) {
  const Choice of = module_.choices.at(choice);
  std::vector<int64_t> all;
  auto value_of = [&](ExprId id) {
    return EvaluateInt(module_, Clone(module_, id, values), {}, range.ends);
  };
  for (const ChoiceValues& one : of.values) {
    std::optional<int64_t> lo = value_of(one.lo);
    std::optional<int64_t> hi = one.hi ? value_of(one.hi) : lo;
    std::optional<int64_t> step = one.multiple ? value_of(one.multiple) : std::optional<int64_t>(1);
    if (!lo || !hi || !step || *step < 1) {
      continue;  // then nothing is legal, which is reported
    }
    if (*lo % *step != 0 || *hi % *step != 0) {  // both ends are values
      bool low = *lo % *step != 0;
      SourceRange end = module_.RangeOf(low ? one.lo : one.hi);
      if (reported_.insert(end.begin).second) {
        diagnostics_.Error(
            DiagnosticKind::Choice, end,
            fmt::format("the {} end of a range of `{}` must be a multiple of {}, but it is {}",
                        low ? "lower" : "upper", module_.symbols[choice].name, *step,
                        low ? *lo : *hi));
      }
      return std::nullopt;
    }
    for (int64_t value = *lo; value <= *hi && all.size() < kMostOptions; value += *step) {
      if (std::find(all.begin(), all.end(), value) == all.end()) {
        all.push_back(value);
      }
    }
  }
  std::sort(all.begin(), all.end());
  Substitution with = values;
  std::erase_if(all, [&](int64_t value) {
    with[choice] = MakeInt(module_, value);
    return of.condition &&
           EvaluateBool(module_, Clone(module_, of.condition, with), {}, range.ends) != true;
  });
  return all;
}

}  // namespace etc
