#include "expand/decisions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etc {

std::string_view Spelling(Decider decider) {
  switch (decider) {
    case Decider::Pin:
      return "pin";
    case Decider::Tuning:
      return "tuning";
    case Decider::Library:
      return "library";
    case Decider::Cost:
      return "cost";
    case Decider::Formula:
      return "formula";
  }
  return "";
}

std::string Describe(const Question& question) {
  std::vector<std::string> parts;
  for (const auto& [name, range] : question.range) {
    parts.push_back(range.lo == range.hi ? fmt::format("{} = {}", name, range.lo)
                                         : fmt::format("{} = {}..{}", name, range.lo, range.hi));
  }
  for (const auto& [name, value] : question.shape) {
    parts.push_back(fmt::format("{} = {}", name, value));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace etc
