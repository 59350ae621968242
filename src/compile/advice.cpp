#include "compile/advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>

#include "compile/tuning.h"
#include "emit/builtin_headers.h"
#include "expand/kernel_options.h"
#include "expand/open_constants.h"
#include "schedule/choice_cost.h"
#include "support/files.h"

namespace etc {
namespace {

/// The text of a tuning file.
struct TuningSource {
  std::string text;
  bool builtin;  // for many programs
};

/// A file, or one that is built into etc.
std::optional<TuningSource> SourceOf(const std::string& file, Diagnostics& diagnostics) {
  Diagnostics not_there;
  if (auto text = ReadInput(file, not_there)) {
    return TuningSource{*text, false};
  }
  if (auto text = BuiltinHeader(file)) {
    return TuningSource{*text, true};
  }
  diagnostics.Add(not_there);
  return std::nullopt;
}

/// What an entry may say of a function.
struct Tunable {
  std::set<std::string> open;       // what its calls choose
  std::set<std::string> generics;   // what tells its calls apart
  bool is_kernel = false;           // it becomes kernels, which these tell apart
  std::set<std::string> constants;  // of the shapes of its parameters, and the number of ranks
  std::set<std::string> dims;
};

/// Adds what tells the kernels of a graph apart.
void AddKernelNames(const Module& module, const Graph& graph, Tunable& tunable) {
  const Question question = ScheduleQuestion(module, graph, {});
  for (const auto& [name, value] : question.shape) {
    tunable.constants.insert(name);
  }
  for (const auto& [name, bounds] : question.bounds) {
    tunable.dims.insert(name);
  }
  if (module.mesh) {
    tunable.constants.insert(module.symbols[module.mesh->size].name);
  }
}

/// Of all functions of this name; nothing where the program has none.
std::optional<Tunable> TunableIn(const Module& module, const std::string& function) {
  std::optional<Tunable> tunable;
  auto add = [&](const auto& callee, const std::string& name) {
    if (name != function) {
      return false;
    }
    tunable = tunable.value_or(Tunable{});
    for (SymbolId generic : callee.generics) {
      tunable->generics.insert(module.symbols[generic].name);
      if (module.choices.contains(generic)) {
        tunable->open.insert(module.symbols[generic].name);
      }
    }
    return true;
  };
  for (const Device& device : module.devices) {
    add(device, device.name);
  }
  for (const Graph& graph : module.graphs) {
    const bool is_it = add(graph, SourceName(graph));
    if (is_it && !graph.alternatives.empty()) {
      tunable->open.emplace(kAlternative);
    }
    if (is_it && graph.generics.empty()) {
      tunable->open.emplace(kLoader);
      tunable->open.emplace(kSchedule);
      for (const Item& item : module.items) {
        if (IsOpen(module, item)) {
          tunable->open.insert(module.symbols[std::get<SymbolId>(item)].name);
        }
      }
      tunable->is_kernel = true;
      AddKernelNames(module, graph, *tunable);
    }
  }
  return tunable;
}

/// The names by which an entry tells calls apart.
std::set<std::string> NamesIn(const TuningEntry& entry) {
  std::set<std::string> names;
  for (const auto& [name, value] : entry.shape) {
    names.insert(name);
  }
  for (const auto& [name, range] : entry.range) {
    names.insert(name);
  }
  return names;
}

/// Another program may have a graph of this name, with other constants and dimensions.
void WarnOfNames(const TuningEntry& entry, const Tunable& tunable, const std::string& origin,
                 Diagnostics& diagnostics) {
  auto warn = [&](const std::string& name, std::string_view why) {
    diagnostics.Warning(DiagnosticKind::Choice, {},
                        fmt::format("`{}` has an entry for kernels of `@{}` by their `{}`, which "
                                    "is {}: it never holds",
                                    origin, entry.function, name, why));
  };
  for (const auto& [name, value] : entry.shape) {
    if (!tunable.constants.contains(name)) {
      warn(name, "no constant in the shapes of its parameters");
    }
  }
  for (const auto& [name, range] : entry.range) {
    if (!tunable.dims.contains(name)) {
      warn(name, "no dimension");
    }
  }
}

/// Why an option of all kernels is none; empty where it may be one.
std::string UnknownOption(const std::string& parameter, const std::string& option) {
  std::vector<std::string> names;
  for (const Option& one : OptionsOfKernels(parameter)) {
    names.push_back(one.name);
  }
  return names.empty() || std::find(names.begin(), names.end(), option) != names.end()
             ? ""
             : fmt::format("`{}`, which is none of `{}`", option, fmt::join(names, "`, `"));
}

/// An entry may be for an operator of the library that this program does not use. One of another
/// name would never hold, and nobody would see it.
bool Fits(const Tuning& tuning, const Module& module, const std::string& origin,
          Diagnostics& diagnostics) {
  bool fits = true;
  auto refuse = [&](std::string message) {
    diagnostics.Error(DiagnosticKind::Choice, {}, std::move(message));
    fits = false;
  };
  for (const TuningEntry& entry : tuning.entries) {
    auto tunable = TunableIn(module, entry.function);
    if (!tunable && !IsBuiltinOperator(entry.function)) {
      refuse(
          fmt::format("`{}` has an entry for `@{}`, which neither the program nor the library has",
                      origin, entry.function));
    }
    if (!tunable) {
      continue;
    }
    if (tunable->is_kernel) {
      WarnOfNames(entry, *tunable, origin, diagnostics);
    }
    for (const auto& [parameter, option] : entry.choose) {
      const std::string unknown =
          tunable->is_kernel ? UnknownOption(parameter, option) : std::string();
      if (!unknown.empty()) {
        refuse(fmt::format("`{}` says that `{}` of `@{}` is {}", origin, parameter, entry.function,
                           unknown));
      }
      if (!tunable->open.contains(parameter)) {
        refuse(fmt::format("`{}` says what `{}` of `@{}` is, which is not left open{}", origin,
                           parameter, entry.function,
                           tunable->open.empty()
                               ? std::string()
                               : fmt::format(", but `{}`", fmt::join(tunable->open, "`, `"))));
      }
    }
    for (const std::string& name : NamesIn(entry)) {
      if (!tunable->is_kernel && !tunable->generics.contains(name)) {
        refuse(
            fmt::format("`{}` has an entry for calls of `@{}` by their `{}`, which is none of "
                        "its generic parameters `{}`",
                        origin, entry.function, name, fmt::join(tunable->generics, "`, `")));
      }
    }
  }
  return fits;
}

/// A program's own function may have the name of one that a file built into etc is about, and other
/// options.
bool IsUsable(const std::optional<Answer>& answer, const Question& question) {
  return answer && std::any_of(question.options.begin(), question.options.end(),
                               [&](const Option& one) { return one.name == answer->option; });
}

std::optional<Answer> InLibrary(const Tuning& tuning, const std::string& target,
                                const Question& question) {
  auto answer = Find(tuning, {target}, question, "");
  return IsUsable(answer, question) ? std::optional(Answer{answer->option, Decider::Library, {}})
                                    : std::nullopt;
}

}  // namespace

std::optional<Advise> LibraryAdvice(const Target& target, Diagnostics& diagnostics) {
  const std::string file = "tuning/" + std::string(target.name) + ".json";
  auto text = BuiltinHeader(file);
  if (!text) {
    return Advise{};
  }
  auto tuning = ParseTuning(*text, file, diagnostics);
  if (!tuning) {
    return std::nullopt;
  }
  return [tuning = std::move(*tuning), name = std::string(target.name)](const Question& question) {
    return InLibrary(tuning, name, question);
  };
}

std::optional<Advise> Adviser(const Module& module, const SourceOptions& options,
                              Diagnostics& diagnostics) {
  Advise advise;
  if (options.library_tuning) {
    auto library = LibraryAdvice(*options.target, diagnostics);
    if (!library) {
      return std::nullopt;
    }
    advise = std::move(*library);
  }
  if (!options.tuning.empty()) {
    auto source = SourceOf(options.tuning, diagnostics);
    auto tuning = source ? ParseTuning(source->text, options.tuning, diagnostics) : std::nullopt;
    if (!tuning || !(source->builtin || Fits(*tuning, module, options.tuning, diagnostics))) {
      return std::nullopt;
    }
    advise = [tuning = std::move(*tuning), targets = TuningTargets(options),
              origin = options.tuning, builtin = source->builtin,
              library = std::move(advise)](const Question& question) {
      auto answer = Find(tuning, targets, question, origin);
      if (builtin && !IsUsable(answer, question)) {
        answer = std::nullopt;
      }
      return answer || !library ? answer : library(question);
    };
  }
  if (options.choose_by == ChooseBy::Cost) {
    // The model's own module: expansion changes the one at hand.
    auto open = std::make_shared<Module>(module);
    auto costs = std::make_shared<ChoiceCosts>(*open, *options.target, advise);
    advise = [open, costs, tuned = advise](const Question& question) -> std::optional<Answer> {
      auto answer = tuned ? tuned(question) : std::nullopt;
      bool has_rule = IsOfKernel(question.parameter);  // which is by the same costs
      return answer || has_rule ? answer : costs->Best(question);
    };
  }
  return advise;
}

}  // namespace etc
