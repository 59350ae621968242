#include "compile/tuning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compile/json_problem.h"
#include "target/target.h"

namespace etc {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

/// Of 64 bits with a sign.
bool IsInteger(const Json& json) {
  return json.is_number_unsigned() ? json.get<uint64_t>() <= INT64_MAX : json.is_number_integer();
}
bool IsPair(const Json& json) {
  return json.is_array() && json.size() == 2 && IsInteger(json[0]) && IsInteger(json[1]);
}
bool IsOption(const Json& json) { return IsInteger(json) || json.is_string(); }

/// A key of an entry, and what its value is: a string, or an object whose members are all alike.
struct EntryKey {
  std::string_view name;
  std::string_view value;
  std::string_view member = "";
  bool (*is_member)(const Json&) = nullptr;
};

constexpr EntryKey kEntryKeys[] = {
    {"target", "a string"},
    {"function", "a string"},
    {"shape", "an object of integers", "integer", IsInteger},
    {"range", "an object of pairs of integers", "pair of integers", IsPair},
    {"choose", "an object of integers and strings", "integer or string", IsOption}};

/// `a key "K", which is none of ...`; empty where the object has no key beside the known ones.
std::string UnknownKey(const Json& object, const std::vector<std::string_view>& known) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return fmt::format("a key `{}`, which is none of `{}`", key, fmt::join(known, "`, `"));
    }
  }
  return "";
}

class Reader {
 public:
  Reader(const std::string& origin, Diagnostics& diagnostics)
      : origin_(origin), diagnostics_(diagnostics) {}

  std::optional<Tuning> Read(std::string_view text) {
    Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) {
      return Refuse(JsonProblem(text));
    }
    if (std::string key = KeyGivenTwice(text); !key.empty()) {
      return Refuse(fmt::format("has `{}` twice in one object", key));
    }
    if (!json.is_object() || json.value("tuning", Json()) != kVersion ||
        !json.value("entries", Json()).is_array()) {
      return Refuse(
          fmt::format("is no tuning file of version {}: it is an object with "
                      "`\"tuning\": {}` and a list `entries`",
                      kVersion, kVersion));
    }
    if (std::string unknown = UnknownKey(json, {"tuning", "entries"}); !unknown.empty()) {
      return Refuse("has " + unknown);
    }
    Tuning tuning;
    for (const Json& json_entry : json["entries"]) {
      std::string problem = FormProblemOf(json_entry);
      if (problem.empty()) {
        problem = ProblemOf(tuning.entries.emplace_back(Entry(json_entry)));
      }
      if (!problem.empty()) {
        return Refuse(fmt::format("has an entry {}: {}", problem, json_entry.dump()));
      }
    }
    return tuning;
  }

 private:
  std::optional<Tuning> Refuse(const std::string& what) {
    diagnostics_.Error(DiagnosticKind::Choice, {}, fmt::format("`{}` {}", origin_, what));
    return std::nullopt;
  }

  /// What makes the text none of an entry; empty where it is one.
  static std::string FormProblemOf(const Json& json) {
    if (!json.is_object()) {
      return "that is no object";
    }
    std::vector<std::string_view> names;
    for (const EntryKey& key : kEntryKeys) {
      names.push_back(key.name);
    }
    if (std::string unknown = UnknownKey(json, names); !unknown.empty()) {
      return "with " + unknown;
    }
    for (const EntryKey& key : kEntryKeys) {
      const auto value = json.find(key.name);
      if (value == json.end()) {
        return fmt::format("with no `{}`, which is {}", key.name, key.value);
      }
      if (key.is_member == nullptr ? !value->is_string() : !value->is_object()) {
        return fmt::format("whose `{}` is not {}", key.name, key.value);
      }
      for (const auto& [name, member] : value->items()) {
        if (key.is_member != nullptr && !key.is_member(member)) {
          return fmt::format("whose `{}` has no {} for `{}`", key.name, key.member, name);
        }
      }
    }
    return "";
  }

  static TuningEntry Entry(const Json& json) {
    TuningEntry entry{json["target"], json["function"], json["shape"], {}, {}};
    for (const auto& [name, value] : json["range"].items()) {
      entry.range[name] = {value[0].get<int64_t>(), value[1].get<int64_t>()};
    }
    for (const auto& [name, value] : json["choose"].items()) {
      entry.choose[name] = value.is_string() ? value.get<std::string>() : value.dump();
    }
    return entry;
  }

  /// What would keep the entry from ever deciding something; empty where nothing does.
  static std::string ProblemOf(const TuningEntry& entry) {
    std::vector<std::string_view> targets = {kHostTarget};
    for (const Target& target : Targets()) {
      targets.push_back(target.name);
    }
    if (std::find(targets.begin(), targets.end(), entry.target) == targets.end()) {
      return fmt::format("for the target `{}`, which is none of `{}`", entry.target,
                         fmt::join(targets, "`, `"));
    }
    for (const auto& [name, range] : entry.range) {
      if (range.lo > range.hi) {
        return fmt::format("whose range of `{}` is empty", name);
      }
    }
    return entry.choose.empty() ? "that chooses nothing" : "";
  }

  const std::string& origin_;
  Diagnostics& diagnostics_;
};

bool IsNumber(const std::string& option) {
  return std::all_of(option.begin(), option.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Whether the question's range lies inside of the entry's.
bool Holds(const TuningEntry& entry, const Question& question) {
  auto lies_inside = [&](const std::map<std::string, Interval>& of, const auto& one) {
    auto found = of.find(one.first);
    return found != of.end() && one.second.lo <= found->second.lo &&
           found->second.hi <= one.second.hi;
  };
  return std::all_of(entry.range.begin(), entry.range.end(), [&](const auto& one) {
    return lies_inside(question.range, one) || lies_inside(question.bounds, one);
  });
}

bool HasShape(const TuningEntry& entry, const Question& question) {
  return std::all_of(entry.shape.begin(), entry.shape.end(), [&](const auto& one) {
    auto found = question.shape.find(one.first);
    return found != question.shape.end() && found->second == one.second;
  });
}

/// Whether the entry says what the question asks.
bool Answers(const TuningEntry& entry, const std::string& target, const Question& question) {
  return entry.choose.contains(question.parameter) && entry.target == target &&
         entry.function == question.function && HasShape(entry, question) && Holds(entry, question);
}

}  // namespace

std::optional<Tuning> ParseTuning(std::string_view text, const std::string& origin,
                                  Diagnostics& diagnostics) {
  return Reader(origin, diagnostics).Read(text);
}

std::string TuningText(const Tuning& tuning) {
  std::string entries;
  for (const TuningEntry& entry : tuning.entries) {
    Json json = {{"target", entry.target},
                 {"function", entry.function},
                 {"shape", entry.shape},
                 {"range", Json::object()},
                 {"choose", Json::object()}};
    for (const auto& [name, range] : entry.range) {
      json["range"][name] = {range.lo, range.hi};
    }
    for (const auto& [name, option] : entry.choose) {
      json["choose"][name] = IsNumber(option) ? Json(std::stoll(option)) : Json(option);
    }
    entries += fmt::format("{}    {}", entries.empty() ? "" : ",\n", json.dump());
  }
  return fmt::format("{{\n  \"tuning\": {},\n  \"entries\": [\n{}\n  ]\n}}\n", kVersion, entries);
}

std::vector<std::string> TuningTargets(const SourceOptions& source) {
  std::vector<std::string> targets = {std::string(source.target->name)};
  if (source.for_host) {
    targets.emplace(targets.begin(), kHostTarget);
  }
  return targets;
}

void Set(Tuning& tuning, const std::string& target, const Question& question,
         const std::string& option) {
  auto same = [&](const TuningEntry& entry) {
    return entry.target == target && entry.function == question.function &&
           entry.shape == question.shape && entry.range == question.range;
  };
  auto answers = [&](const TuningEntry& entry) { return Answers(entry, target, question); };
  auto found = std::find_if(tuning.entries.begin(), tuning.entries.end(), same);
  auto first = std::find_if(tuning.entries.begin(), tuning.entries.end(), answers);
  if (found == tuning.entries.end() || first < found) {
    found = tuning.entries.insert(first,
                                  {target, question.function, question.shape, question.range, {}});
  }
  found->choose[question.parameter] = option;
}

std::optional<Answer> Find(const Tuning& tuning, const std::vector<std::string>& targets,
                           const Question& question, const std::string& origin) {
  for (const std::string& target : targets) {
    for (const TuningEntry& entry : tuning.entries) {
      if (Answers(entry, target, question)) {
        return Answer{entry.choose.at(question.parameter), Decider::Tuning, origin};
      }
    }
  }
  return std::nullopt;
}

}  // namespace etc
