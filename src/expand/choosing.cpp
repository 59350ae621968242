#include "expand/choosing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "expand/kernel_options.h"
#include "ir/printer.h"
#include "ir/schedules.h"
#include "ir/walk.h"

namespace etc {
namespace {

std::string Listed(const std::vector<Option>& options) {
  constexpr size_t kMostNamed = 12;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(options.size(), kMostNamed); ++i) {
    names.push_back(fmt::format("`{}`", options[i].name));
  }
  return fmt::format("{}{}", fmt::join(names, ", "), options.size() > kMostNamed ? ", …" : "");
}

std::vector<Option> OptionsOf(const std::vector<int64_t>& values) {
  std::vector<Option> options;
  for (int64_t value : values) {
    options.push_back({fmt::format("{}", value), value});
  }
  return options;
}

/// What the name of a choice or of all alternatives is called in messages.
std::string NameOf(const Callee& callee, const std::string& parameter) {
  return parameter == kAlternative ? fmt::format("the alternative of `@{}`", callee.name)
                                   : fmt::format("`{}` of `@{}`", parameter, callee.name);
}

}  // namespace

void Choosing::Enter(const Graph& graph) {
  graph_ = SourceName(graph);
  ranges_.clear();
  at_hand_.clear();
  for (std::vector<Where>& where : WheresOf(module_, graph)) {
    DimRanges ends = RangesOf(module_, where);
    at_hand_.push_back(ranges_.size());
    ranges_.push_back({std::move(where), std::move(ends)});
  }
}

void Choosing::DecideKernels(const Graph& graph) {
  const Callee callee{SourceName(graph), graph.generics, graph.params, graph.range};
  for (const Range& one : ranges_) {
    DecideSchedule(callee, graph, one);
    const Option* loader = Settle(callee, std::optional<Answer>{}, one,
                                  LoaderQuestion(module_, graph, one.ends), graph.range);
    auto throttle = loader != nullptr ? LoaderThrottle(*loader) : std::nullopt;
    if (throttle) {
      module_.loader_advice.push_back({SourceName(graph), one.where, *throttle});
    }
  }
}

/// Nothing where its calls say several.
void Choosing::DecideSchedule(const Callee& callee, const Graph& graph, const Range& range) {
  const std::set<ScheduleKind> said = SchedulesOf(module_, graph);
  if (said.size() != 1) {
    return;
  }
  Question question = ScheduleQuestion(module_, graph, range.ends);
  std::optional<Answer> pinned;
  if (*said.begin() != ScheduleKind::Auto) {
    pinned = Answer{std::string(Spelling(*said.begin())), Decider::Pin, {}};
  }
  auto is_it = [&](const Option& option) { return option.name == pinned->option; };
  // What the text says and the program may not have is reported by choose-schedule.
  if (pinned && std::none_of(question.options.begin(), question.options.end(), is_it)) {
    return;
  }
  std::optional<Answer> passed_over = pinned && advise_ ? advise_(question) : std::nullopt;
  if (Settle(callee, std::move(pinned), range, std::move(question), graph.range) != nullptr) {
    made_.back().passed_over = std::move(passed_over);
  }
}

bool Choosing::AddPiece(std::vector<Piece>& pieces, size_t number, const Callee& callee,
                        SymbolId choice, const Substitution& values, ExprId formula,
                        std::optional<Answer> pinned, Question question, SourceRange range) {
  const Range& one = ranges_[number];
  std::optional<std::vector<int64_t>> legal = Legal(choice, values, one);
  if (!legal) {
    return false;
  }
  question.options = OptionsOf(*legal);
  if (std::optional<int64_t> value = EvaluateInt(module_, formula, {}, one.ends)) {
    question.by_formula = fmt::format("{}", *value);
  }
  const Option* option = Settle(callee, std::move(pinned), one, std::move(question), range);
  if (option == nullptr) {
    return false;
  }
  std::optional<int64_t> value;
  if (made_.back().answer.by != Decider::Formula) {
    value = option->value;
  }
  if (pieces.empty() || pieces.back().value != value) {
    pieces.push_back({number, value});
  }
  pieces.back().last = number;
  return true;
}

ExprId Choosing::ByRange(const std::vector<Piece>& pieces, ExprId formula) {
  ExprId result;
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    ExprId mine = piece->value ? MakeInt(module_, *piece->value) : formula;
    if (!result) {
      result = mine;
      continue;
    }
    std::vector<size_t> until;
    for (size_t number : at_hand_) {
      if (number <= piece->last) {
        until.push_back(number);
      }
    }
    result = module_.AddExpr(Call{Intrinsic::Select, {Among(until), mine, result}});
  }
  return result;
}

ExprId Choosing::Value(const Callee& callee, const CallNode& call, SymbolId choice,
                       const Substitution& values, SourceRange range) {
  ExprId formula = Clone(module_, module_.symbols[choice].value, values);
  std::vector<Piece> pieces;
  for (size_t number : at_hand_) {
    const Range& one = ranges_[number];
    Question question = Ask(callee, values, one);
    question.parameter = module_.symbols[choice].name;
    std::optional<Answer> pinned = Pinned(callee, call, one, question);
    if ((pinned && pinned->option.empty()) ||
        !AddPiece(pieces, number, callee, choice, values, formula, std::move(pinned),
                  std::move(question), range)) {
      return {};
    }
  }
  return ByRange(pieces, formula);
}

ExprId Choosing::Constant(const Graph& graph, SymbolId constant) {
  const Callee callee{SourceName(graph), graph.generics, graph.params, graph.range};
  const Symbol symbol = module_.symbols[constant];
  std::vector<Piece> pieces;
  for (size_t number : at_hand_) {
    std::optional<Answer> pinned;
    if (module_.choices.at(constant).pinned) {
      pinned = Answer{Print(module_, symbol.value), Decider::Pin, {}};
    }
    Question question = ConstantQuestion(module_, graph, ranges_[number].ends, constant);
    if (!AddPiece(pieces, number, callee, constant, {}, symbol.value, std::move(pinned),
                  std::move(question), symbol.range)) {
      return {};
    }
  }
  return ByRange(pieces, symbol.value);
}

void Choosing::CheckConstant(SymbolId constant) {
  const Symbol symbol = module_.symbols[constant];
  std::optional<std::vector<int64_t>> legal = Legal(constant, {}, {});
  std::optional<int64_t> value = EvaluateInt(module_, symbol.value, {});
  if (!legal || (value && std::find(legal->begin(), legal->end(), *value) != legal->end())) {
    return;
  }
  diagnostics_.Error(
      DiagnosticKind::Choice, symbol.range,
      fmt::format("`{}` is `{}`; it may be {}", symbol.name, Print(module_, symbol.value),
                  legal->empty() ? "nothing" : Listed(OptionsOf(*legal))));
}

std::vector<size_t> Choosing::Alternatives(const Callee& callee,
                                           const std::vector<Alternative>& all,
                                           const CallNode& call, const Substitution& values,
                                           SourceRange range) {
  std::vector<size_t> taken(ranges_.size());
  for (size_t number : at_hand_) {
    const Range& one = ranges_[number];
    Question question = Ask(callee, values, one);
    question.parameter = kAlternative;
    auto holds = [&](ExprId condition, const Alternative& of, const char* word) {
      ExprId mine = Clone(module_, condition, values);
      std::optional<bool> decided = EvaluateBool(module_, mine, {}, one.ends);
      if (!decided) {
        diagnostics_
            .Error(DiagnosticKind::Alternative, module_.RangeOf(condition),
                   fmt::format("the range of sizes does not decide `{}` of the alternative `{}`: "
                               "`{}`",
                               word, of.name, Print(module_, mine)))
            .notes.push_back({range, "it is asked for here"});
      }
      return decided;
    };
    bool preferred = false;
    for (size_t i = 0; i < all.size(); ++i) {
      std::optional<bool> usable =
          all[i].condition ? holds(all[i].condition, all[i], "when") : std::optional(true);
      std::optional<bool> wanted =
          all[i].preference ? holds(all[i].preference, all[i], "prefer") : std::optional(false);
      if (!usable || !wanted) {
        return {};
      }
      if (*usable) {
        question.options.push_back({all[i].name, static_cast<int64_t>(i)});
      }
      if (*usable && *wanted && !preferred) {
        question.by_formula = all[i].name;
        preferred = true;
      }
    }
    if (question.options.empty()) {
      diagnostics_
          .Error(
              DiagnosticKind::Alternative, range,
              fmt::format("no alternative of `@{}` may be used for {}", callee.name, TextOf(one)))
          .notes.push_back({callee.range, "it is defined here"});
      return {};
    }
    if (!preferred) {
      question.by_formula = question.options.front().name;
    }
    const Option* option = Settle(callee, call, one, std::move(question), range);
    if (option == nullptr) {
      return {};
    }
    taken[number] = static_cast<size_t>(option->value);
  }
  return taken;
}

std::vector<size_t> Choosing::EachOf(const std::vector<size_t>& taken) const {
  std::vector<size_t> each;
  for (size_t range : at_hand_) {
    if (!taken.empty() && std::find(each.begin(), each.end(), taken[range]) == each.end()) {
      each.push_back(taken[range]);
    }
  }
  return each;
}

void Choosing::CheckPins(const Callee& callee, bool has_alternatives, const CallNode& call) {
  for (size_t i = 0; i < call.pins.size(); ++i) {
    const Pin& pin = call.pins[i];
    bool open = has_alternatives && pin.name == kAlternative;
    std::vector<std::string> known;
    if (has_alternatives) {
      known.emplace_back(fmt::format("`{}`", kAlternative));
    }
    for (SymbolId generic : callee.generics) {
      if (module_.choices.contains(generic)) {
        open |= module_.symbols[generic].name == pin.name;
        known.push_back(fmt::format("`{}`", module_.symbols[generic].name));
      }
    }
    auto same = [&](const Pin& other) { return other.name == pin.name; };
    bool twice =
        std::any_of(call.pins.begin(), call.pins.begin() + static_cast<std::ptrdiff_t>(i), same);
    if (!open) {
      diagnostics_
          .Error(DiagnosticKind::Choice, pin.range,
                 fmt::format("`@{}` leaves no `{}` open{}", callee.name, pin.name,
                             known.empty() ? "" : fmt::format(", but {}", fmt::join(known, ", "))))
          .notes.push_back({callee.range, "it is defined here"});
    } else if (twice) {
      diagnostics_.Error(DiagnosticKind::Choice, pin.range,
                         fmt::format("`{}` is pinned twice", pin.name));
    }
  }
}

Question Choosing::Ask(const Callee& callee, const Substitution& values, const Range& range) const {
  Question question;
  question.function = callee.name;
  for (SymbolId generic : callee.generics) {
    auto found = values.find(generic);
    const Symbol& symbol = module_.symbols[generic];
    if (symbol.value || found == values.end() || KindOf(module_, found->second) != ValueKind::Int) {
      continue;
    }
    std::vector<SymbolId> dims;
    for (const Where& one : range.where) {
      dims.push_back(one.dim);
    }
    const std::optional<Interval> ends = Bounds(module_, found->second, {}, range.ends);
    if (Mentions(module_, found->second, dims)) {
      if (ends) {
        question.range[symbol.name] = *ends;
      }
    } else if (auto value = EvaluateInt(module_, found->second, {}, range.ends)) {
      question.shape[symbol.name] = *value;
    } else if (ends) {
      question.bounds[symbol.name] = *ends;
    }
  }
  return question;
}

std::optional<Answer> Choosing::Pinned(const Callee& callee, const CallNode& call,
                                       const Range& range, const Question& question) {
  for (const Pin& pin : call.pins) {
    if (pin.name != question.parameter) {
      continue;
    }
    if (!pin.value) {
      return Answer{pin.alternative, Decider::Pin, {}};
    }
    std::optional<int64_t> value = EvaluateInt(module_, pin.value, {}, range.ends);
    if (!value) {
      diagnostics_.Error(DiagnosticKind::Choice, pin.range,
                         fmt::format("{} is pinned to `{}`, which is no constant",
                                     NameOf(callee, pin.name), Print(module_, pin.value)));
    }
    return Answer{value ? fmt::format("{}", *value) : "", Decider::Pin, {}};
  }
  return std::nullopt;
}

const Option* Choosing::Settle(const Callee& callee, const CallNode& call, const Range& range,
                               Question question, SourceRange call_range) {
  std::optional<Answer> pinned = Pinned(callee, call, range, question);
  return pinned && pinned->option.empty()
             ? nullptr
             : Settle(callee, std::move(pinned), range, std::move(question), call_range);
}

const Option* Choosing::Settle(const Callee& callee, std::optional<Answer> answer,
                               const Range& range, Question question, SourceRange call_range) {
  if (!answer && advise_) {
    answer = advise_(question);
  }
  if (!answer) {
    answer = Answer{question.by_formula, Decider::Formula, {}};
  }
  auto is_it = [&](const Option& option) { return option.name == answer->option; };
  made_.push_back({std::move(question), *answer, graph_, range.where, call_range, callee.range});
  const Question& asked = made_.back().question;
  auto found = std::find_if(asked.options.begin(), asked.options.end(), is_it);
  if (found != asked.options.end()) {
    return &*found;
  }
  bool alternative = asked.parameter == kAlternative;
  std::string what = answer->option.empty() ? "no constant" : fmt::format("`{}`", answer->option);
  std::string says = answer->by == Decider::Pin ? "pinned to " + what
                     : answer->by == Decider::Tuning
                         ? fmt::format("{} by `{}`", what, answer->origin)
                         : what + " by its formula";
  diagnostics_
      .Error(
          alternative ? DiagnosticKind::Alternative : DiagnosticKind::Choice, call_range,
          fmt::format("{} is {}; for {} {}", NameOf(callee, asked.parameter), says, TextOf(range),
                      asked.options.empty() ? "no value may be used"
                                            : "it may be " + Listed(asked.options)))
      .notes.push_back({callee.range, "it is defined here"});
  return nullptr;
}

ExprId Choosing::Guard() { return at_hand_.size() == ranges_.size() ? ExprId{} : Among(at_hand_); }

/// Of one specialised dimension only the upper ends of runs of ranges count; of several, each
/// combination has a condition of its own.
ExprId Choosing::Among(const std::vector<size_t>& numbers) {
  auto upper = [&](SymbolId dim) {
    return module_.AddExpr(Call{Intrinsic::Upper, {MakeRef(module_, dim)}});
  };
  auto compare = [&](BinaryOp op, const Where& one) {
    return module_.AddExpr(Binary{op, upper(one.dim), one.hi});
  };
  auto join = [&](BinaryOp op, ExprId left, ExprId right) {
    return !left ? right : !right ? left : module_.AddExpr(Binary{op, left, right});
  };
  ExprId any;
  for (size_t i = 0; i < numbers.size(); ++i) {
    ExprId mine;
    size_t first = numbers[i];
    if (ranges_[first].where.size() == 1) {
      while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1) {
        ++i;
      }
      if (first > 0) {
        mine = compare(BinaryOp::Gt, ranges_[first - 1].where.front());
      }
      if (numbers[i] + 1 < ranges_.size()) {
        mine = join(BinaryOp::And, mine, compare(BinaryOp::Le, ranges_[numbers[i]].where.front()));
      }
    } else {
      for (const Where& one : ranges_[first].where) {
        mine = join(BinaryOp::And, mine, compare(BinaryOp::Eq, one));
      }
    }
    any = join(BinaryOp::Or, any, mine);
  }
  return any;
}

std::string Choosing::TextOf(const Range& range) const {
  std::vector<std::string> parts;
  for (const auto& [dim, ends] : range.ends) {
    parts.push_back(fmt::format("`{}` in {}..{}", module_.symbols[dim].name, ends.lo, ends.hi));
  }
  return parts.empty() ? "all sizes" : fmt::format("{}", fmt::join(parts, ", "));
}

Choosing::Narrowed::Narrowed(Choosing& choosing, const std::vector<size_t>& taken, size_t number)
    : choosing_(choosing), before_(choosing.at_hand_) {
  std::erase_if(choosing.at_hand_, [&](size_t range) { return taken[range] != number; });
}

}  // namespace etc
