#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ir/walk.h"
#include "report/explain_report.h"
#include "report/sizes_text.h"

namespace etc {
namespace {

double Percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

class TextWriter {
 public:
  explicit TextWriter(const ExplainReport& report) : report_(report) {}

  std::string Text(const ExplainedKernel& explained) const {
    const Kernel& kernel = report_.module.kernels[explained.id];
    const KernelCost& cost = explained.cost;
    double us = cost.times.Sum();
    std::string text = fmt::format("kernel @{} of @{}", kernel.name, kernel.graph);
    text += SizesText(report_.module, kernel, explained.sizes, report_.sizes);
    for (const auto& [name, value] : report_.values) {
      text += fmt::format(", %{} = {}", name, value);
    }
    text += fmt::format(", on {} SMs of an {}{}\n", report_.target.sms, report_.target.product,
                        report_.target.measured ? "" : " (published figures, not measured)");
    text += fmt::format(
        "  floor      {:.1f} us: {:.1f} MB read once at {:.2f} TB/s; {:.3f} GFLOP\n", cost.floor_us,
        cost.bytes / 1e6, report_.target.stream_bytes / 1e6, cost.flops / 1e9);
    text += fmt::format("  predicted  {:.1f} us, {:.0f} % of it the floor; {}\n", us,
                        Percent(cost.floor_us, us), LimitsText(cost.times));
    text += LoaderText(kernel, explained.throttles);
    size_t width = 4;
    for (const CallCost& call : cost.calls) {
      width = std::max(width, report_.CalleeOf(call.share).size() + 1);
    }
    text += fmt::format(
        "  {:<{}} {:>6} {:>7} {:>6} {:>7} {:>9} {:>8} {:>8} {:>9} {:>8} {:>8} {:>8} {:>6}  {}\n",
        "call", width, "times", "tasks", "per SM", "balance", "stream MB", "read MB", "L2 MB",
        "MFLOP", "floor us", "chain us", "us", "share", "limit");
    for (size_t i = 0; i < cost.calls.size(); ++i) {
      const CallCost& call = cost.calls[i];
      double call_us = call.times.Sum();
      text += fmt::format(
          "  {:<{}} {:>6} {:>7} {:>6} {:>6.0f}% {:>9.3f} {:>8.3f} {:>8.3f} {:>9.2f} {:>8.2f} "
          "{:>8.2f} {:>8.2f} {:>5.0f}%  {}\n",
          "@" + report_.CalleeOf(call.share), width, call.iterations, call.tasks, call.tasks_per_sm,
          100 * call.balance, call.streamed_bytes / 1e6, call.read_bytes / 1e6,
          call.fetched_bytes / 1e6, call.flops / 1e6, call.floor_us, call.latency_us, call_us,
          Percent(static_cast<double>(call.iterations) * call_us, us),
          Spelling(call.times.Longest()));
      if (call.generated) {
        text += "    has no implementation: predicted as if tuned, which a generated body is not\n";
      }
      if (call.tasks == 0 && DataSayTasks(call.share)) {
        text += "    data say how many tasks it has, so nothing of it is predicted\n";
      }
      text += PushText(kernel, call.share);
      for (size_t e = 0; e < call.edges.size(); ++e) {
        const EdgeCost& edge = call.edges[e];
        text += fmt::format("    %{} by {}: {}\n", report_.module.tensors[edge.tensor].name,
                            Spelling(edge.mechanism), explained.reasons[i][e]);
      }
    }
    return text + (explained.routing ? RoutingText(explained) : "");
  }

 private:
  bool DataSayTasks(NodeId id) const {
    return ReadsTensor(report_.module, std::get<Share>(report_.module.nodes[id]).axes);
  }

  /// Of a case that is pushed where data decide what its tasks wait for: how precisely.
  std::string PushText(const Kernel& kernel, NodeId id) const {
    const Module& module = report_.module;
    const auto& share = std::get<Share>(module.nodes[id]);
    if (!share.pushed_by) {
      return "";
    }
    const std::string trigger = module.events[share.pushed_by->event].name;
    std::set<EventId> chosen;  // events of which data choose elements
    bool updated = false;
    auto choose = [&](const std::vector<EventRef>& refs) {
      for (const EventRef& ref : refs) {
        if (ReadsTensor(module, ref)) {
          chosen.insert(ref.event);
        }
      }
    };
    for (const ShareSite& site : SharesOf(module, kernel)) {
      const auto& other = std::get<Share>(module.nodes[site.share]);
      choose(other.notifies);
      choose(other.leave_notifies);
      updated |=
          std::any_of(other.after_arrivals.begin(), other.after_arrivals.end(),
                      [&](const EventRef& ref) { return ref.event == share.pushed_by->event; });
    }
    choose(share.waits);
    if (updated) {
      return fmt::format("    pushed by %{}: a task arrives at the elements that data say\n",
                         trigger);
    }
    for (const auto* waits : {&share.range_waits, &share.enter_waits, &share.waits}) {
      for (const EventRef& wait : *waits) {
        if (chosen.contains(wait.event)) {
          return fmt::format(
              "    pushed by %{}, later than need be: it counts all tasks in front, but data "
              "decide which of them a task waits for by %{}\n",
              trigger, module.events[wait.event].name);
        }
      }
    }
    return "";
  }

  /// The limits that set the time, the longest first, down to half a percent.
  static std::string LimitsText(const Times& times) {
    std::vector<std::string> parts;
    Times left = times;
    for (Limit limit = left.Longest(); Percent(left[limit], times.Sum()) >= 0.5;
         limit = left.Longest()) {
      parts.push_back(
          fmt::format("{} {:.0f} %", Spelling(limit), Percent(times[limit], times.Sum())));
      left[limit] = 0;
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  /// What the routing touches, which the numbers above do not know of.
  std::string RoutingText(const ExplainedKernel& explained) const {
    const RoutingCost& routing = *explained.routing;
    const std::vector<CallCost>& calls = explained.cost.calls;
    std::string text = fmt::format("  routing    {}: @{} sends {} token{} to {} of {} experts{}\n",
                                   report_.routing, report_.CalleeOf(calls[routing.router].share),
                                   routing.tokens, routing.tokens == 1 ? "" : "s", routing.chosen,
                                   routing.experts, routing.tokens == 1 ? "" : " each");
    text += fmt::format("             {:.1f} distinct experts on average, by layer {}\n",
                        routing.mean_distinct, fmt::join(routing.distinct, " "));
    text += fmt::format("             {:.1f} MB of experts, {:.1f} us at {:.2f} TB/s\n",
                        routing.bytes / 1e6, routing.bytes / report_.target.stream_bytes,
                        report_.target.stream_bytes / 1e6);
    for (const RoutedCall& routed : routing.calls) {
      const CallCost& call = calls[routed.call];
      std::vector<std::string> tensors;
      for (TensorId tensor : routed.tensors) {
        tensors.push_back("%" + report_.module.tensors[tensor].name);
      }
      text += fmt::format(
          "             @{}: {:.3f} MB of each expert from {}; {}\n", report_.CalleeOf(call.share),
          routed.expert_bytes / 1e6, fmt::join(tensors, ", "),
          routed.tasks ? fmt::format("{:.0f} of {} tasks have one", *routed.tasks, call.tasks)
                       : "the values say how many tasks");
    }
    return text;
  }

  std::string LoaderText(const Kernel& kernel, const std::vector<ThrottleChoice>& choices) const {
    if (choices.empty()) {
      return "  loader     streams nothing\n";
    }
    std::string text = fmt::format(
        "  loader     {}\n",
        kernel.depth ? fmt::format("at most {} slots, and no more than {} bytes hold",
                                   *kernel.depth, kernel.shared_bytes)
                     : fmt::format("as many slots as {} bytes hold", kernel.shared_bytes));
    for (const ThrottleChoice& choice : choices) {
      text += fmt::format("             {}: {}\n", RunText(choice), ThrottleText(kernel, choice));
    }
    return text;
  }

  std::string RunText(const ThrottleChoice& choice) const {
    return choice.repeat
               ? fmt::format("in each {}",
                             report_.module
                                 .symbols[std::get<Repeat>(report_.module.nodes[choice.repeat]).var]
                                 .name)
               : "outside of repeats";
  }

  /// The throttle of a run of shares, which may have been changed by hand, and the model's reason.
  std::string ThrottleText(const Kernel& kernel, const ThrottleChoice& choice) const {
    std::vector<std::string> here, model;
    for (NodeId share : choice.shares) {
      here.push_back(ThrottleText(report_.ThrottleOf(kernel, share)));
    }
    for (const Throttle& throttle : ThrottlesOf(report_.module, choice)) {
      model.push_back(ThrottleText(throttle));
    }
    return fmt::format(
        "{}\n               {}: {}", Alternatives(here),
        here == model ? "chosen at the least sizes" : "the model would have " + Alternatives(model),
        choice.reason);
  }

  /// `A or B`, each once.
  static std::string Alternatives(const std::vector<std::string>& texts) {
    std::vector<std::string> different;
    for (const std::string& text : texts) {
      if (std::find(different.begin(), different.end(), text) == different.end()) {
        different.push_back(text);
      }
    }
    return fmt::format("{}", fmt::join(different, " or "));
  }

  static std::string ThrottleText(const std::optional<Throttle>& throttle) {
    if (!throttle) {
      return "nothing holds it back";
    }
    std::string text = fmt::format("at most {} on their way, {} cycles between two",
                                   throttle->in_flight, throttle->interval);
    text += throttle->ahead ? fmt::format(", {} ahead of a share", *throttle->ahead) : "";
    text += throttle->prefetch
                ? fmt::format(", a prefetch each {} cycles of waiting", *throttle->prefetch)
                : "";
    return text;
  }

  const ExplainReport& report_;
};

}  // namespace

std::string ExplainText(const ExplainReport& report) {
  std::string text;
  for (const ExplainedKernel& kernel : report.kernels) {
    text += (text.empty() ? "" : "\n") + TextWriter(report).Text(kernel);
  }
  return text;
}

}  // namespace etc
