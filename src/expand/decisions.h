// What operators leave open, and who decides it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// The name under which a graph's alternatives are one thing to choose.
inline constexpr std::string_view kAlternative = "alternative";

/// A value of a choice, or an alternative.
struct Option {
  std::string name;   // `64`; `split`
  int64_t value = 0;  // of an alternative its number
};

/// One choice of one function, or its alternative, for the values that its other parameters have
/// in some call, in one range of sizes. Calls that do not differ in this are decided alike.
struct Question {
  std::string function;                         // without `@`
  std::string parameter;                        // or kAlternative
  std::map<std::string, int64_t> shape;         // the generic parameters that are one integer
  std::map<std::string, Interval> range;        // those that follow the sizes of the range
  std::vector<Option> options;                  // those that may be used
  std::string by_formula;                       // what is taken where nobody says otherwise
  std::map<std::string, Interval> bounds = {};  // over all sizes, of those that no range narrows
};

enum class Decider { Pin, Tuning, Library, Cost, Formula };
std::string_view Spelling(Decider decider);

struct Answer {
  std::string option;
  Decider by = Decider::Formula;
  std::string origin;  // a file's name, for messages
};

/// Asked where the text pins nothing. No answer leaves it to the formula.
using Advise = std::function<std::optional<Answer>(const Question&)>;

/// What was decided, of one graph that becomes kernels.
struct Decision {
  Question question;
  Answer answer;
  std::string graph;
  std::vector<Where> where;  // the range; empty for all sizes
  SourceRange call;
  SourceRange callee;                      // its name, where it is defined
  std::optional<Answer> passed_over = {};  // of a schedule: what would hold if the text said none
};

/// `B = 1..3, K = 2048, N = 1024`
std::string Describe(const Question& question);

}  // namespace etc
