#include "compile/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "ir/equal.h"
#include "ir/printer.h"
#include "ir/unique_names.h"
#include "support/stderr.h"
#include "text/parser.h"
#include "verify/verify.h"

namespace etc {
namespace {

#ifdef ETC_VERIFY_EACH
constexpr bool kVerifyEach = true;
#else
constexpr bool kVerifyEach = false;
#endif

const Pass* FindPass(const std::string& name) {
  const auto& passes = AllPasses();
  auto pass = std::find_if(passes.begin(), passes.end(),
                           [&](const Pass& candidate) { return candidate.name == name; });
  return pass == passes.end() ? nullptr : &*pass;
}

bool ReportUnknownPass(const std::string& name, Diagnostics& diagnostics) {
  diagnostics.Error(
      DiagnosticKind::CommandLine, {},
      fmt::format("no pass is called `{}`; `etc opt --list-passes` lists them", name));
  return false;
}

/// The module's printed form is what the reader of the messages can look at, so they point into it.
[[noreturn]] void Refuse(const std::string& who, const Module& module,
                         const Diagnostics& diagnostics) {
  SourceFile printed("after-passes.etir", Print(module));
  Diagnostics again;
  auto reparsed = Parse(printed, again);
  if (reparsed) {
    (void)VerifyBehindPass(*reparsed, true, again);
  }
  InternalError(__FILE__, __LINE__,
                fmt::format("{} left an invalid module behind\n{}", who,
                            again.HasErrors() ? RenderText(again, &printed)
                                              : RenderText(diagnostics, nullptr)));
}

/// `verified` is the module as it was verified last: of what `who` left alone nothing is asked.
bool VerifyAfter(const std::string& who, const Module& module, const Module& verified) {
  Diagnostics diagnostics;
  if (!VerifyBehindPass(module, !AreDevicesEqual(verified, module), diagnostics)) {
    Refuse(who, module, diagnostics);
  }
  return true;
}

bool IsUnchanged(const Module& before, const Module& module) {
  return AreDevicesEqual(before, module) && AreProgramsEqual(before, module);
}

std::string Quoted(const Pass& pass) { return fmt::format("pass `{}`", pass.name); }

/// Whether the events of every graph that the pass takes put its calls in order.
bool InOrderFor(const Pass& pass, const Module& module, const ScheduleOptions& options,
                Diagnostics& diagnostics) {
  bool ok = true;
  for (const Item& item : module.items) {
    const auto* graph = std::get_if<GraphId>(&item);
    if (graph != nullptr && pass.needs_order != nullptr &&
        pass.needs_order(module, module.graphs[*graph], options)) {
      ok &= VerifyDependences(module, module.graphs[*graph], diagnostics);
    }
  }
  return ok;
}

}  // namespace

bool IsScheduled(const Module& module) {
  return std::none_of(module.items.begin(), module.items.end(),
                      [](const Item& item) { return std::holds_alternative<GraphId>(item); });
}

std::vector<Pass> PassesFor(const Module& module, const ScheduleOptions& options) {
  return IsScheduled(module) ? KernelPipeline(options) : StaticPipeline(options);
}

bool FindPasses(const std::vector<std::string>& names, std::vector<Pass>& passes,
                Diagnostics& diagnostics) {
  bool ok = true;
  for (const std::string& name : names) {
    if (const Pass* pass = FindPass(name)) {
      passes.push_back(*pass);
    } else {
      ok = ReportUnknownPass(name, diagnostics);
    }
  }
  return ok;
}

bool DeriveEventsFirst(Module& module, bool remarks, Diagnostics& diagnostics,
                       DerivedBodies* bodies) {
  std::vector<GraphId> derived;
  for (const Item& item : module.items) {
    const auto* graph = std::get_if<GraphId>(&item);
    if (graph != nullptr && !HasEvents(module, module.graphs[*graph])) {
      derived.push_back(*graph);
    }
  }
  const Pass& pass = *FindPass("derive-events");
  ScheduleOptions options;
  options.remarks = remarks;
  options.bodies = bodies;
  if (derived.empty() || !pass.run(module, options, diagnostics)) {
    return derived.empty();
  }
  Diagnostics found;
  bool right = !kVerifyEach || (VerifyAllButDependences(module, found) &&
                                std::all_of(derived.begin(), derived.end(), [&](GraphId graph) {
                                  return VerifyDependences(module, module.graphs[graph], found);
                                }));
  if (!right) {
    Refuse(Quoted(pass), module, found);
  }
  return true;
}

bool RunPasses(Module& module, const std::vector<Pass>& passes, const LoweringOptions& options,
               PhaseTimer& timer, Session& session) {
  bool print_all = false;
  for (const std::string& name : options.print_after) {
    print_all |= name == "all";
    if (name != "all" && FindPass(name) == nullptr) {
      return ReportUnknownPass(name, session.diagnostics());
    }
  }
  ScheduleOptions schedule = options.schedule;
  schedule.tuned = session.schedules();
  bool each = kVerifyEach || options.verify_each;
  Module verified = module;
  for (const Pass& pass : passes) {
    bool ok = timer.Time(std::string(pass.name), [&] {
      return InOrderFor(pass, module, schedule, session.diagnostics()) &&
             pass.run(module, schedule, session.diagnostics());
    });
    if (!ok) {
      return false;
    }
    if (each && !IsUnchanged(verified, module)) {
      timer.Time("verify after passes", [&] {
        bool right = VerifyAfter(Quoted(pass), module, verified);
        verified = module;
        return right;
      });
    }
    const auto& names = options.print_after;
    if (print_all || std::find(names.begin(), names.end(), pass.name) != names.end()) {
      PrintToStderr("// after {}\n{}\n", pass.name, Print(module));
    }
  }
  if (!each && !IsUnchanged(verified, module)) {
    timer.Time("verify after passes", [&] {
      return VerifyAfter("one of the passes (`--verify-each` says which)", module, verified);
    });
  }
  timer.Time("names", [&] {
    MakeNamesUnique(module);
    return true;
  });
  return true;
}

}  // namespace etc
