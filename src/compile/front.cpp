#include "compile/front.h"

#include <fmt/format.h>

#include <algorithm>

#include "compile/advice.h"
#include "compile/arrays.h"
#include "compile/config.h"
#include "compile/include_path.h"
#include "compile/outputs_differ.h"
#include "compile/pipeline.h"
#include "compile/sizes.h"
#include "expand/expand.h"
#include "expand/kernel_options.h"
#include "ir/lower_slices.h"
#include "ir/printer.h"
#include "ir/walk.h"
#include "support/files.h"
#include "verify/verify.h"

namespace etc {
namespace {

bool IsConstant(const Module& module, const std::string& name) {
  for (const Symbol& symbol : module.symbols) {
    if (symbol.kind == SymbolKind::Const && symbol.name == name) {
      return true;
    }
  }
  return false;
}

/// Whether a configuration says of a member what the module asks for, or nothing.
bool FitsMember(const ConfigMember& member, const Config& config, const std::string& file,
                Diagnostics& diagnostics) {
  auto is_it = [&](const auto& value) { return value.name == member.name; };
  auto is_one = [&](const std::string& text) {
    return std::find(member.values.begin(), member.values.end(), text) != member.values.end();
  };
  auto found = std::find_if(config.unusable.begin(), config.unusable.end(), is_it);
  const bool is_there = found != config.unusable.end();
  const bool takes_lists =
      std::any_of(member.values.begin(), member.values.end(),
                  [](const std::string& value) { return value.starts_with('['); });
  const bool is_other = is_there && found->texts.empty() && !(takes_lists && !found->json.empty());
  if (is_other || std::any_of(config.overrides.begin(), config.overrides.end(), is_it)) {
    diagnostics.Error(DiagnosticKind::Config, member.range,
                      fmt::format("`{}` in `{}` is {}; expected a {}", member.name, file,
                                  is_other ? found->what : "a number or a boolean",
                                  takes_lists ? "list" : "string"));
    return false;
  }
  if (!is_there || is_one(found->json) ||
      (!found->texts.empty() && std::all_of(found->texts.begin(), found->texts.end(), is_one))) {
    return true;
  }
  diagnostics.Error(DiagnosticKind::Config, member.range,
                    fmt::format("`{}` in `{}` is {}, and the program is for \"{}\"", member.name,
                                file, found->json, fmt::join(member.values, "\" or \"")));
  return false;
}

/// Adds what one configuration says about the constants of the module.
bool ReadConfig(const Module& module, const std::string& file, std::vector<Override>& overrides,
                Diagnostics& diagnostics) {
  auto text = ReadInput(file, diagnostics);
  auto config = text ? ParseConfig(*text, DisplayName(file), diagnostics) : std::nullopt;
  if (!config) {
    return false;
  }
  bool ok = true;
  for (const UnusableValue& value : config->unusable) {
    if (IsConstant(module, value.name)) {
      diagnostics.Error(DiagnosticKind::Config, {},
                        fmt::format("`{}` in `{}` is {}; expected an integer, a float or a boolean",
                                    value.name, DisplayName(file), value.what));
      ok = false;
    }
  }
  for (const ConfigMember& member : module.config_members) {
    ok &= FitsMember(member, *config, DisplayName(file), diagnostics);
  }
  overrides.insert(overrides.end(), config->overrides.begin(), config->overrides.end());
  return ok;
}

/// Says which constants of the file itself, written as numbers, no configuration gives: an optional
/// member that one leaves out may mean another value to whoever wrote it.
void RemarkOnKept(const Module& module, const std::vector<Override>& overrides, Session& session) {
  const SourceFile& source = *session.source();
  std::string kept;
  for (const Item& item : module.items) {
    const auto* id = std::get_if<SymbolId>(&item);
    const Symbol* symbol = id != nullptr ? &module.symbols[*id] : nullptr;
    auto is_name = [](const Expr& expr) { return std::holds_alternative<SymbolRef>(expr); };
    if (symbol == nullptr || symbol->kind != SymbolKind::Const ||
        FindExpr(module, symbol->value, is_name) ||
        source.NameAt(symbol->range.begin) != source.name() ||
        std::ranges::find(overrides, symbol->name, &Override::name) != overrides.end()) {
      continue;
    }
    kept += fmt::format("{}`{} = {}`", kept.empty() ? "" : ", ", symbol->name,
                        Print(module, symbol->value));
  }
  if (!kept.empty()) {
    session.diagnostics().Remark(DiagnosticKind::Config, {},
                                 fmt::format("no configuration has these constants: {}", kept));
  }
}

bool Flatten(Module& module, const SourceOptions& options, Session& session,
             std::vector<Decision>* decisions = nullptr) {
  auto advise = Adviser(module, options, session.diagnostics());
  if (!advise) {
    return false;
  }
  const Target& target = *options.target;
  std::vector<Decision> mine;
  std::vector<Decision>& made = decisions != nullptr ? *decisions : mine;
  Diagnostics found;
  bool ok = Expand(module, {{target.sms, target.shared_bytes}, *advise, &made}, found);
  if (ok || VerifyConstants(module, session.diagnostics())) {  // else the constants are at fault
    session.diagnostics().Add(found);
  }
  session.SetExpansions(module.expansions);
  session.SetSchedules(TunedSchedules(made));
  return ok;
}

}  // namespace

std::unique_ptr<Module> ParseSource(const SourceOptions& options, Session& session,
                                    AbsentImports absent) {
  const std::string& file = options.file;
  auto text = ReadInput(file, session.diagnostics());
  if (!text) {
    return nullptr;
  }
  if (text->empty()) {
    session.diagnostics().Error(DiagnosticKind::File, {},
                                fmt::format("`{}` is empty", DisplayName(file)));
    return nullptr;
  }
  if (size_t zero = text->find('\0'); zero != std::string::npos) {
    session.diagnostics().Error(
        DiagnosticKind::File, {},
        fmt::format("`{}` is not text: its byte {}, on line {}, is zero", DisplayName(file), zero,
                    1 + std::count(text->begin(), text->begin() + static_cast<std::ptrdiff_t>(zero),
                                   '\n')));
    return nullptr;
  }
  IncludePath include_path(options.include_dirs);
  auto module = Parse(session.SetSource(DisplayName(file), std::move(*text)),
                      include_path.Imports(), session.diagnostics(), absent);
  session.SetImports(include_path.used());
  if (module && !CheckOutputsDiffer(session.outputs(), session.imports(), session.diagnostics())) {
    return nullptr;
  }
  return module;
}

bool ApplySettings(Module& module, const SourceOptions& options, Session& session, bool remarks) {
  std::vector<Override> overrides;
  bool ok = true;
  for (const std::string& file : options.configs) {
    ok &= ReadConfig(module, file, overrides, session.diagnostics());
  }
  for (const std::string& text : options.defines) {
    auto define = ParseDefine(text, session.diagnostics());
    ok &= define.has_value();
    if (define) {
      overrides.push_back(std::move(*define));
    }
  }
  if (remarks && !options.configs.empty()) {
    RemarkOnKept(module, overrides, session);
  }
  ok &= MakeArrays(module, options.arrays, session.diagnostics());
  return OverrideConstants(module, overrides, session.diagnostics()) && ok;
}

std::unique_ptr<Module> LoadOpen(const SourceOptions& options, Session& session) {
  auto module = ParseSource(options, session);
  return module && ApplySettings(*module, options, session) ? std::move(module) : nullptr;
}

std::optional<std::vector<Decision>> DecisionsOf(const Module& open, const SourceOptions& options,
                                                 Session& session) {
  std::vector<Decision> decisions;
  Module module = open;
  bool ok = Flatten(module, options, session, &decisions) &&
            VerifyAllButDependences(module, session.diagnostics());
  return ok ? std::optional(std::move(decisions)) : std::nullopt;
}

std::unique_ptr<Module> LoadModule(const SourceOptions& options, Session& session,
                                   const std::map<std::string, int64_t>& sizes) {
  auto module = LoadOpen(options, session);
  if (module) {
    KeepRangesOf(*module, sizes);
  }
  if (!module || !Flatten(*module, options, session) ||
      !VerifyAllButDependences(*module, session.diagnostics())) {
    return nullptr;
  }
  LowerSlices(*module);  // dependences are between slices at leading indices
  return VerifyDependences(*module, session.diagnostics()) ? std::move(module) : nullptr;
}

bool HasProgram(const Module& module, Session& session) {
  if (std::any_of(module.items.begin(), module.items.end(), [](const Item& item) {
        return std::holds_alternative<GraphId>(item) || std::holds_alternative<KernelId>(item);
      })) {
    return true;
  }
  Diagnostic& error = session.diagnostics().Error(DiagnosticKind::Structure, {},
                                                  "the program has no graph that becomes a kernel");
  const SourceFile& source = *session.source();
  for (const Graph& graph : module.graphs) {  // those that expansion has left out, too
    if (source.NameAt(graph.range.begin) == source.name()) {
      error.notes.push_back(
          {graph.range,
           fmt::format("`@{}` has {}: it is a part of the graphs that call it", graph.name,
                       graph.generics.empty() ? "alternatives" : "generic parameters")});
    }
  }
  return false;
}

bool PrepareModule(Module& module, const SourceOptions& source, const ProofOptions& options,
                   Session& session, DerivedBodies& bodies) {
  Diagnostics& diagnostics = session.diagnostics();
  if (!ApplySettings(module, source, session, options.remarks) ||
      !Flatten(module, source, session) || !VerifyAllButDependences(module, diagnostics)) {
    return false;
  }
  LowerSlices(module);
  return options.skip || DeriveEventsFirst(module, options.remarks, diagnostics, &bodies);
}

bool CheckModule(Module& module, const SourceOptions& source, const ProofOptions& options,
                 Session& session, std::optional<ProofReport>& report) {
  Diagnostics& diagnostics = session.diagnostics();
  std::shared_ptr<DerivedBodies> bodies = MakeDerivedBodies();
  if (!PrepareModule(module, source, options, session, *bodies)) {
    return false;
  }
  if (!options.skip) {
    report = Prove(module, options.remarks, diagnostics, nullptr, Cores(), bodies.get());
  }
  return !diagnostics.HasErrors() && VerifyDependences(module, diagnostics);
}

}  // namespace etc
