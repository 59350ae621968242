#include "report/choices_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "expand/kernel_options.h"

namespace etc {
namespace {

using Json = nlohmann::ordered_json;

std::string RangeText(const std::map<std::string, Interval>& range) {
  std::string text;
  for (const auto& [name, ends] : range) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, ends.lo);
    text += ends.lo == ends.hi ? "" : fmt::format("..{}", ends.hi);
  }
  return text.empty() ? "all sizes" : text;
}

std::string ShapeText(const std::map<std::string, int64_t>& shape) {
  std::string text;
  for (const auto& [name, value] : shape) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  }
  return text.empty() ? "" : " (" + text + ")";
}

/// The options from the quickest to the slowest, with what each takes more than the quickest.
std::string OptionsText(const ExplainedChoice& choice) {
  constexpr size_t kMost = 6;
  std::vector<size_t> order(choice.us.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return choice.us[a] < choice.us[b]; });
  std::string text;
  for (size_t i = 0; i < std::min(kMost, order.size()); ++i) {
    const Option& option = choice.decision.question.options[order[i]];
    double us = choice.us[order[i]];
    text += i == 0 ? "" : ", ";
    text += !std::isfinite(us) ? option.name + " has no estimate"
            : i == 0
                ? fmt::format("{} {:.1f} us", option.name, us)
                : fmt::format("{} +{:.1f} %", option.name, 100 * (us / choice.us[order[0]] - 1));
  }
  return text + (order.size() > kMost ? fmt::format(", and {} more", order.size() - kMost) : "");
}

/// The ranges of one option after the other as one range, where they are of one dimension.
struct Stretch {
  std::string option;
  std::map<std::string, Interval> range;
};

/// Where the ranges of a schedule have several: which for which sizes.
std::string StretchesText(const std::vector<const ExplainedChoice*>& rows) {
  std::vector<Stretch> stretches;
  for (const ExplainedChoice* row : rows) {
    const std::string& option = row->decision.answer.option;
    const auto& range = row->decision.question.range;
    if (stretches.empty() || stretches.back().option != option || range.size() != 1) {
      stretches.push_back({option, range});
    } else {
      Interval& ends = stretches.back().range.begin()->second;
      ends = {std::min(ends.lo, range.begin()->second.lo),
              std::max(ends.hi, range.begin()->second.hi)};
    }
  }
  auto is_first = [&](const Stretch& stretch) {
    return stretch.option == stretches.front().option;
  };
  if (std::all_of(stretches.begin(), stretches.end(), is_first)) {
    return "";
  }
  std::string text = "  changes      ";
  for (const Stretch& stretch : stretches) {
    text += fmt::format("{}{} for {}", &stretch == &stretches.front() ? "" : ", ", stretch.option,
                        RangeText(stretch.range));
  }
  return text + "\n";
}

}  // namespace

std::string ChoicesText(const std::vector<ExplainedChoice>& choices, const Target& target) {
  std::string text = fmt::format(
      "what a launch takes with each option on {} SMs of an {}, as the simulator has it\n",
      target.sms, target.product);
  std::string last;
  std::vector<const ExplainedChoice*> schedules;  // of one graph
  for (const ExplainedChoice& choice : choices) {
    const Question& question = choice.decision.question;
    std::string head =
        fmt::format("@{} {}{}", question.function, question.parameter, ShapeText(question.shape));
    if (head != last) {
      text += StretchesText(std::exchange(schedules, {}));
      text += "\n" + head + "\n";
      last = head;
    }
    text += fmt::format("  {:<12} {:<9} by {:<8} {}\n", RangeText(question.range),
                        choice.decision.answer.option, Spelling(choice.decision.answer.by),
                        OptionsText(choice));
    if (question.parameter == kSchedule) {
      schedules.push_back(&choice);
    }
  }
  return choices.empty() ? "nothing is left open\n" : text + StretchesText(schedules);
}

std::string ChoicesJson(const std::vector<ExplainedChoice>& choices, const Target& target) {
  Json json = {{"target", target.name}, {"choices", Json::array()}};
  for (const ExplainedChoice& choice : choices) {
    const Question& question = choice.decision.question;
    Json one = {{"function", question.function},
                {"parameter", question.parameter},
                {"shape", question.shape},
                {"range", Json::object()},
                {"option", choice.decision.answer.option},
                {"by", Spelling(choice.decision.answer.by)},
                {"options", Json::array()}};
    for (const auto& [name, ends] : question.range) {
      one["range"][name] = {ends.lo, ends.hi};
    }
    for (size_t i = 0; i < question.options.size(); ++i) {
      double us = choice.us[i];
      one["options"].push_back(
          {{"option", question.options[i].name},
           {"predicted_us", std::isfinite(us) ? Json(std::round(us * 1000) / 1000) : Json()}});
    }
    json["choices"].push_back(std::move(one));
  }
  return json.dump(2) + "\n";
}

}  // namespace etc
