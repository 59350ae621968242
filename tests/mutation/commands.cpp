#include "commands.h"

#include <fmt/format.h>

#include <optional>

#include "emit/builtin_headers.h"
#include "emit/emit.h"
#include "ir/lower_slices.h"
#include "schedule/lower.h"
#include "schedule/passes.h"
#include "text/parser.h"
#include "verify/verify.h"

namespace etc::mutation {
namespace {

class Commands {
 public:
  explicit Commands(const std::string& text) : source_("program.etir", text) {}

  CommandsResult Run() {
    Check();
    if (result_.check.module) {
      bool verified = IsVerified();
      result_.opt = verified && Schedule({}, "opt");
      result_.run = verified && RunOnHost();
      result_.compile = Compile();
    }
    return std::move(result_);
  }

 private:
  /// What `opt` and `run` ask before they derive the events that are left out. As `check` has
  /// derived these, which takes more time than all else, all commands go on from there.
  bool IsVerified() {
    Diagnostics diagnostics;
    auto module = Parse(source_, diagnostics);
    if (!module || !VerifyAllButDependences(*module, diagnostics)) {
      return false;
    }
    LowerSlices(*module);
    return VerifyDependences(*module, diagnostics);
  }

  void Check() {
    CheckResult& check = result_.check;
    Diagnostics diagnostics;
    check.module = Parse(source_, diagnostics);
    if (check.module && VerifyAllButDependences(*check.module, diagnostics)) {
      LowerSlices(*check.module);
      (void)DeriveEvents(*check.module, {}, diagnostics);
      Diagnostics proofs;
      check.report = Prove(*check.module, true, proofs);
      check.AddRefutations(proofs);
      check.verified = VerifyDependences(*check.module, diagnostics);
      diagnostics.Add(proofs);
    }
    for (const Diagnostic& diagnostic : diagnostics.all()) {
      if (diagnostic.severity == Severity::Error) {
        check.errors.insert(diagnostic.kind);
      }
    }
    check.messages = RenderText(diagnostics, &source_);
  }

  /// Runs the pipeline on the module, and verifies after each pass.
  std::optional<Module> Schedule(const ScheduleOptions& options, const std::string& command) {
    Module module = *result_.check.module;
    Diagnostics diagnostics;
    for (const Pass& pass : StaticPipeline(options)) {
      if (!pass.run(module, options, diagnostics)) {
        result_.messages += RenderText(diagnostics, &source_);
        return std::nullopt;
      }
      if (!Verify(module, diagnostics)) {
        Internal(fmt::format("{}: after {}", command, pass.name), diagnostics);
        return std::nullopt;
      }
    }
    return module;
  }

  bool RunOnHost() {
    ScheduleOptions options;
    options.debug_checks = true;
    auto module = Schedule(options, "run");
    Diagnostics diagnostics;
    return module && EmitHost(*module, diagnostics);
  }

  bool Compile() {
    const CheckResult& check = result_.check;
    if (!check.verified) {
      return false;
    }
    ScheduleOptions options;
    options.flag_in_data = true;
    auto module = Schedule(options, "compile");
    if (!module || check.proofs_refute) {
      return false;
    }
    Diagnostics diagnostics;
    (void)Prove(*module, false, diagnostics, &check.report);
    if (diagnostics.HasErrors()) {
      Internal("compile: a kernel is wrong whose graph is proved", diagnostics);
      return false;
    }
    return EmitCuda(*module, Arch::Sm90a, BuiltinHeader, diagnostics) &&
           EmitHost(*module, diagnostics);
  }

  void Internal(const std::string& what, const Diagnostics& diagnostics) {
    result_.internal = what;
    result_.messages += RenderText(diagnostics, nullptr);
  }

  SourceFile source_;
  CommandsResult result_;
};

}  // namespace

CommandsResult RunCommands(const std::string& text) { return Commands(text).Run(); }

}  // namespace etc::mutation
