// `etc explain`: load → schedule → what the simulator says of each kernel, as text or as JSON.
#include <fmt/format.h>

#include <set>

#include "compile/front.h"
#include "driver/commands.h"
#include "driver/kernel_selection.h"
#include "driver/scheduled_program.h"
#include "expand/expand.h"
#include "expand/kernel_options.h"
#include "report/choices_report.h"
#include "report/explain_report.h"
#include "schedule/choice_cost.h"
#include "schedule/lower.h"
#include "schedule/schedule_cost.h"
#include "support/files.h"

namespace etc {
namespace {

class Explanation {
 public:
  Explanation(Module& module, const KernelSelection& selection,
              const std::map<std::string, int64_t>& values, const ExplainOptions& options)
      : module_(module), selection_(selection), values_(values), options_(options) {}

  ExplainedKernel Explain(KernelId id) {
    const Kernel& kernel = module_.kernels[id];
    const Target& target = *options_.lowering.schedule.target;
    ExplainedKernel explained{
        id, selection_.SizesOf(id), {}, ChooseThrottles(module_, kernel, target), {}};
    explained.cost = CostOf(module_, kernel, explained.sizes, target, values_);
    for (const CallCost& call : explained.cost.calls) {
      std::vector<std::string>& reasons = explained.reasons.emplace_back();
      for (const EdgeCost& edge : call.edges) {
        reasons.push_back(ReasonOf(id, edge));
      }
    }
    return explained;
  }

 private:
  std::string ReasonOf(KernelId kernel, const EdgeCost& edge) {
    switch (edge.mechanism) {
      case Mechanism::None:
        return module_.kernels[kernel].schedule == ScheduleKind::Kernels
                   ? "the launch that writes it has ended"
                   : "no event orders it: each SM runs its own tasks in order";
      case Mechanism::FlagInData:
        return "little of it is read, and all that use it take it flagged";
      case Mechanism::Words:
        return "peers write it in turns, and all that use it take it phased";
      default:
        return WhyNotFlagged(module_, kernel, edge.tensor, options_.lowering.schedule);
    }
  }

  Module& module_;
  const KernelSelection& selection_;
  const std::map<std::string, int64_t>& values_;
  const ExplainOptions& options_;
};

/// What the schedule is, and not that somebody left it to the simulator.
ExplainedChoice ExplainSchedule(const Decision& decision, const ScheduleCosts& costs,
                                const ExplainOptions& options) {
  Decision resolved = decision;
  const std::optional<ScheduleKind> asked = options.lowering.schedule.schedule;
  const std::string by_rule(Spelling(ScheduleKind::Auto));
  if (asked && *asked != ScheduleKind::Auto) {
    resolved.answer = {std::string(Spelling(*asked)), Decider::Pin, {}};
  } else if (asked && decision.answer.by == Decider::Pin) {
    resolved.answer = decision.passed_over.value_or(Answer{by_rule, Decider::Formula, {}});
  }
  resolved.answer = costs.Resolved(resolved);
  std::erase_if(resolved.question.options,
                [](const Option& option) { return !ScheduleOption(option); });
  std::vector<double> us = costs.Of(resolved);
  return {std::move(resolved), std::move(us)};
}

/// Whether there is a graph of that name that becomes kernels, if one is named.
bool HasGraph(const Module& open, const std::string& name, Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const Item& item : open.items) {
    const auto* id = std::get_if<GraphId>(&item);
    if (id != nullptr && BecomesKernels(open.graphs[*id])) {
      names.push_back(open.graphs[*id].name);
    }
  }
  return name.empty() || CheckName(name, "--graph", "graph", names, diagnostics);
}

/// What operators leave open, in place of what the kernels take.
ExitCode ExplainChoices(const ExplainOptions& options, Session& session) {
  auto open = LoadOpen(options.source, session);
  auto decisions = open ? DecisionsOf(*open, options.source, session) : std::nullopt;
  if (!decisions || !HasGraph(*open, options.graph, session.diagnostics())) {
    return session.Finish();
  }
  ChoiceCosts costs(*open, *options.source.target, Decided(*decisions));
  ScheduleCosts schedules(*open, *options.source.target, Decided(*decisions));
  std::vector<ExplainedChoice> choices;
  std::set<std::string> seen;  // calls that do not differ ask once
  for (const Decision& decision : *decisions) {
    const Question& question = decision.question;
    // The text of a kernel's schedule has its loader, with reasons.
    bool wanted =
        question.parameter != kLoader && (options.graph.empty() || decision.graph == options.graph);
    if (!wanted ||
        !seen.insert(question.function + "." + question.parameter + " " + Describe(question))
             .second) {
      continue;
    }
    if (question.parameter == kSchedule) {
      choices.push_back(ExplainSchedule(decision, schedules, options));
    } else {
      choices.push_back({decision, costs.Of(question)});
    }
  }
  (void)WriteStdout(options.json ? ChoicesJson(choices, *options.source.target)
                                 : ChoicesText(choices, *options.source.target),
                    session.diagnostics());
  return session.Finish();
}

}  // namespace

ExitCode Execute(const ExplainOptions& options) {
  Session session(options.source.diagnostics);
  if (options.choices) {
    return ExplainChoices(options, session);
  }
  auto program = LoadScheduled(options, session);
  if (!program) {
    return session.Finish();
  }
  const auto& [module, sizes, values, routing] = *program;
  KernelSelection selection(*module, {options.graph, sizes, values}, session.diagnostics());
  Explanation explanation(*module, selection, values, options);
  ExplainReport report{*module, *options.lowering.schedule.target, sizes, values, {}};
  for (KernelId id : selection.Select()) {
    ExplainedKernel& explained = report.kernels.emplace_back(explanation.Explain(id));
    std::string mismatch;
    if (routing &&
        !(explained.routing = CostOfRouting(*module, module->kernels[id], explained.cost.calls,
                                            explained.sizes, *routing, &mismatch))) {
      ReportMismatch(options, mismatch, session);
      return session.Finish();
    }
  }
  report.routing = options.routing;
  if (!report.kernels.empty()) {
    (void)WriteStdout(options.json ? ExplainJson(report) : ExplainText(report),
                      session.diagnostics());
  }
  return session.Finish();
}

}  // namespace etc
