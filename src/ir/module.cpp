#include "ir/module.h"

#include <algorithm>
#include <utility>

#include "ir/walk.h"
#include "support/diagnostics.h"

namespace etc {

std::string_view Spelling(Realisation realisation) {
  switch (realisation) {
    case Realisation::Unset:
      break;
    case Realisation::Counter:
      return "counter";
    case Realisation::Shared:
      return "shared";
    case Realisation::None:
      return "none";
    case Realisation::Words:
      return "words";
  }
  ETC_CHECK(!"an event that is not realised");
}

Module::Module() {
  sms = symbols.Add({"sms", SymbolKind::Sms, {}, {}, {}, {}, {}});
  rank = symbols.Add({"rank", SymbolKind::Rank, {}, {}, {}, {}, {}});
  target_sms = symbols.Add({"target_sms", SymbolKind::Const, {}, {}, {}, {}, {}});
  target_shared_bytes = symbols.Add({"target_shared_bytes", SymbolKind::Const, {}, {}, {}, {}, {}});
}

ExprId Module::AddExpr(Expr expr, SourceRange range) {
  expr_ranges_.push_back(range);
  return exprs.Add(std::move(expr));
}

StmtId Module::AddStmt(Stmt stmt, SourceRange range) {
  stmt_ranges_.push_back(range);
  return stmts.Add(std::move(stmt));
}

NodeId Module::AddNode(Node node, SourceRange range) {
  node_ranges_.push_back(range);
  return nodes.Add(std::move(node));
}

int64_t BytesPerElement(const Tensor& tensor) {
  int64_t bytes = SizeInBytes(tensor.type);
  return HasFlags(tensor) ? 8 / (4 / bytes) : bytes;
}

namespace {

void CollectShares(const Module& module, const std::vector<NodeId>& nodes, NodeId dispatch,
                   std::vector<NodeId>& repeats, std::vector<ShareSite>& sites) {
  for (NodeId id : nodes) {
    std::visit(Overloaded{
                   [&](const Share&) {
                     sites.push_back({id, repeats, dispatch});
                   },
                   [&](const Repeat& repeat) {
                     repeats.push_back(id);
                     CollectShares(module, repeat.body, {}, repeats, sites);
                     repeats.pop_back();
                   },
                   [&](const Dispatch& around) {
                     CollectShares(module, around.cases, id, repeats, sites);
                   },
                   [](const OneOf<BufferDecl, EventDecl> auto&) {},
                   [](const OneOf<CallNode, Region> auto&) { ETC_CHECK(!"a graph's node"); },
               },
               module.nodes[id]);
  }
}

}  // namespace

bool HasFreeAxes(const Argument& argument) {
  return std::any_of(argument.indices.begin(), argument.indices.end(),
                     [](ExprId index) { return !index; });
}

const Impl* FindImpl(const Device& device, std::string_view arch) {
  auto it = std::find_if(device.impls.begin(), device.impls.end(),
                         [&](const Impl& impl) { return impl.arch == arch; });
  return it == device.impls.end() ? nullptr : &*it;
}

std::vector<ShareSite> SharesOf(const Module& module, const Kernel& kernel) {
  std::vector<ShareSite> sites;
  std::vector<NodeId> repeats;
  CollectShares(module, kernel.body, {}, repeats, sites);
  return sites;
}

std::vector<ShareSite> DispatchesOf(const Module& module, const Kernel& kernel) {
  std::vector<ShareSite> sites = SharesOf(module, kernel);
  std::erase_if(sites, [&](const ShareSite& site) {
    return !site.dispatch ||
           std::get<Dispatch>(module.nodes[site.dispatch]).cases.front() != site.share;
  });
  return sites;
}

std::vector<Axis> IterationsOf(const Module& module, const ShareSite& site) {
  std::vector<Axis> iterations;
  for (NodeId id : site.repeats) {
    const auto& repeat = std::get<Repeat>(module.nodes[id]);
    iterations.push_back({repeat.var, repeat.lo, repeat.hi});
  }
  return iterations;
}

bool HasChecks(const Kernel& kernel) { return !kernel.checks.empty() || kernel.check_accesses; }

bool HasEvents(const Module& module, const Graph& graph) {
  bool found = false;
  VisitNodes(module, graph.body,
             [&](NodeId id) { found |= std::holds_alternative<EventDecl>(module.nodes[id]); });
  return found;
}

std::string_view Spelling(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::Static:
      return "static";
    case ScheduleKind::Drain:
      return "drain";
    case ScheduleKind::Dynamic:
      return "dynamic";
    case ScheduleKind::Kernels:
      return "kernels";
    case ScheduleKind::Auto:
      return "auto";
  }
  InternalError(__FILE__, __LINE__, "a schedule without a spelling");
}

}  // namespace etc
