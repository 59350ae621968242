#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "analysis/order/order.h"
#include "ir/evaluate.h"
#include "verify/checks.h"

namespace etc {
namespace {

/// What reads or writes a tensor: the tasks, their range, or what they wait for or notify.
using Reader = Conflicts::Use;

/// Reports what is in no order in a graph, of each two calls once.
class Report {
 public:
  Report(const Module& module, Diagnostics& diagnostics)
      : module_(module), diagnostics_(diagnostics) {}

  /// The two may touch elements that differ, of which only the bodies tell: `conflicts`.
  void Add(const CallProgram& program, const Unjoined& unjoined, Conflicts& conflicts) {
    const auto& [earlier, later, carrier, unsaid] = unjoined;
    const ProgramCall& first = program.calls[earlier.call];
    const ProgramCall& second = program.calls[later.call];
    std::pair pair{first.node, second.node};
    if (reported_.contains(pair) ||
        (earlier.reader == Reader::Body && !unsaid &&
         !conflicts.MayMeet(PairOf(first, second, carrier), earlier.arg.tensor, later.reader))) {
      return;
    }
    reported_.insert(pair);
    bool writes = earlier.access != Access::In;
    bool reads = later.access != Access::Out;
    const std::string& first_name = first.device->name;
    const std::string& second_name = second.device->name;
    SourceRange range = later.arg.range.IsValid() ? later.arg.range : second.range;
    std::string message =
        unsaid ? fmt::format(
                     "`@{}` {}, from which `@{}` reads its task range; an SM without a "
                     "task may do so at any time",
                     second_name, Describe(later, false), first_name)
               : fmt::format("`@{}` {}, which `@{}` {}{}, but no event puts {} after that",
                             second_name, Describe(later, writes && reads), first_name,
                             writes ? "writes" : "reads", carrier ? " in the iteration before" : "",
                             later.reader == Reader::Range ? "all of its tasks" : "it");
    Diagnostic& report = diagnostics_.Error(DiagnosticKind::EventOrder, range, std::move(message));
    report.notes.push_back(
        {earlier.arg.range.IsValid() ? earlier.arg.range : first.range,
         fmt::format("`@{}` {} it here", first_name, writes ? "writes" : "reads")});
  }

 private:
  static Conflicts::Pair PairOf(const ProgramCall& first, const ProgramCall& second,
                                const std::optional<Carrier>& carrier) {
    size_t repeats = CommonRepeats(first, second);
    for (size_t i = 0; carrier && i < first.repeats.size(); ++i) {
      repeats = first.repeats[i].var == carrier->repeat ? i : repeats;
    }
    return {first.node, second.node, repeats, carrier.has_value()};
  }

  /// "reads `%x`"
  std::string Describe(const CallUse& use, bool reads) const {
    std::string name = fmt::format("`%{}`", module_.tensors[use.arg.tensor].name);
    switch (use.reader) {
      case Reader::Range:
        return "reads its task range from " + name;
      case Reader::Edges:
        return "reads what it waits for or notifies from " + name;
      case Reader::Body:
        break;
    }
    return (reads ? "reads " : "writes ") + name;
  }

  const Module& module_;
  Diagnostics& diagnostics_;
  std::set<std::pair<NodeId, NodeId>> reported_;
};

}  // namespace

void CheckDependences(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  Report report(module, diagnostics);
  for (const CallProgram& program : MakeCallPrograms(module, graph)) {
    std::optional<Conflicts> conflicts;
    auto on_unjoined = [&](const Unjoined& unjoined) {
      if (!conflicts) {
        conflicts.emplace(module, program);
      }
      report.Add(program, unjoined, *conflicts);
    };
    Order(module, program).FindUnjoined(NeedOrder::Reads, on_unjoined);
  }
}

}  // namespace etc
