#include "compile/advice.h"

#include <memory>

#include "compile/tuning.h"
#include "emit/builtin_headers.h"
#include "schedule/choice_cost.h"
#include "support/files.h"

namespace etc {
namespace {

/// A file, or one that is built into etc.
std::optional<std::string> TextOf(const std::string& file, Diagnostics& diagnostics) {
  Diagnostics not_there;
  if (auto text = ReadInput(file, not_there)) {
    return text;
  }
  if (auto text = BuiltinHeader(file)) {
    return text;
  }
  diagnostics.Add(not_there);
  return std::nullopt;
}

}  // namespace

std::optional<Advise> Adviser(const Module& module, const SourceOptions& options,
                              Diagnostics& diagnostics) {
  Advise advise;
  if (!options.tuning.empty()) {
    auto text = TextOf(options.tuning, diagnostics);
    auto tuning = text ? ParseTuning(*text, options.tuning, diagnostics) : std::nullopt;
    if (!tuning) {
      return std::nullopt;
    }
    advise = [tuning = std::move(*tuning), target = std::string(options.target->name),
              origin = options.tuning](const Question& question) {
      return Find(tuning, target, question, origin);
    };
  }
  if (options.choose_by == ChooseBy::Cost) {
    // The model's own module: expansion changes the one at hand.
    auto open = std::make_shared<Module>(module);
    auto costs = std::make_shared<ChoiceCosts>(*open, *options.target, advise);
    advise = [open, costs, tuned = advise](const Question& question) -> std::optional<Answer> {
      auto answer = tuned ? tuned(question) : std::nullopt;
      return answer ? answer : costs->Best(question);
    };
  }
  return advise;
}

}  // namespace etc
