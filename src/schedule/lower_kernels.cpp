#include <fmt/format.h>

#include "ir/overloaded.h"
#include "ir/schedules.h"
#include "schedule/kernel_builder.h"
#include "schedule/lower.h"

namespace etc {
namespace {

/// Builds one kernel from one graph. Events are left out: a launch follows all before it.
class Lowering : KernelBuilder {
 public:
  using KernelBuilder::KernelBuilder;

  std::optional<Kernel> Run() {
    if (LaunchesOf(module_, graph_.body, RangesOf(module_, graph_.where)) > kMostLaunches) {
      diagnostics_.Error(DiagnosticKind::Unsupported, graph_.range,
                         fmt::format("`@{}` has more than {} launches and rounds of `repeat`, the "
                                     "most under the schedule `kernels`",
                                     SourceName(graph_), kMostLaunches));
      return std::nullopt;
    }
    Kernel kernel = Begin();
    kernel.schedule = ScheduleKind::Kernels;
    kernel.shared_bytes = options_.shared_bytes.value_or(options_.target->shared_bytes);
    LowerBlock(graph_.body, kernel.declarations, kernel.body);
    return kernel;
  }

 private:
  void LowerBlock(const std::vector<NodeId>& nodes, std::vector<NodeId>& declarations,
                  std::vector<NodeId>& body) {
    for (NodeId id : nodes) {
      const Node node = module_.nodes[id];  // a copy: lowering grows the table
      SourceRange range = module_.RangeOf(id);
      std::visit(
          Overloaded{
              [&](const BufferDecl& buffer) { declarations.push_back(CopyBuffer(buffer, range)); },
              [](const EventDecl&) {},  // launches follow each other
              [&](const CallNode& call) {
                Share launch = CopyCall(call);
                launch.first = MakeInt(module_, 0);
                body.push_back(module_.AddNode(std::move(launch), range));
              },
              [&](const Repeat& repeat) {
                Repeat lowered = CopyHead(repeat);
                LowerBlock(repeat.body, declarations, lowered.body);
                body.push_back(module_.AddNode(std::move(lowered), range));
              },
              [&](const Region& region) { LowerBlock(region.body, declarations, body); },
              [](const OneOf<Share, Dispatch> auto&) { ETC_CHECK(!"a share inside a graph"); },
          },
          node);
    }
  }
};

}  // namespace

bool LowerKernels(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics) {
  if (!AskedFitsMesh(module, options, diagnostics)) {
    return false;
  }
  return ReplaceGraphs(
      module, [&](const Graph& graph) { return IsForLaunches(module, graph, options); },
      [&](const Graph& graph) { return Lowering(module, graph, options, diagnostics).Run(); },
      diagnostics);
}

}  // namespace etc
