// What a program with a mesh may say: where `rank` and peers stand, and what they reach.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ir/peers.h"
#include "ir/printer.h"
#include "ir/shard.h"
#include "ir/walk.h"
#include "verify/checks.h"
#include "verify/wording.h"

namespace etc {
namespace {

constexpr int64_t kMostRanks = 64;

class MeshChecks {
 public:
  MeshChecks(const Module& module, Diagnostics& diagnostics)
      : module_(module), mesh_(*module.mesh), diagnostics_(diagnostics) {}

  void Run() {
    Values();
    for (const Item& item : module_.items) {
      std::visit([&](const auto& part) { Check(part); }, item);
    }
  }

  void Values() {
    for (size_t i = 0; i < mesh_.values.size(); ++i) {
      int64_t value = mesh_.values[i];
      if (value < 1 || value > kMostRanks) {
        Error(mesh_.range,
              fmt::format("a mesh has from 1 to {} ranks, but one of its numbers is {}", kMostRanks,
                          value));
        return;
      }
      if (i > 0 && value <= mesh_.values[i - 1]) {
        Error(mesh_.range, fmt::format("the numbers of ranks of a mesh ascend, but {} stands "
                                       "behind {}",
                                       value, mesh_.values[i - 1]));
        return;
      }
    }
  }

 private:
  void Check(ImportId) {}
  void Check(FunctionId) {}
  void Check(const Require& require) { SameOnAll(require.condition, "a requirement"); }
  void Check(ConfigMemberId) {}

  void Check(SymbolId id) {
    const Symbol& symbol = module_.symbols[id];
    if (symbol.kind == SymbolKind::Const) {
      std::string what = fmt::format("the constant `{}`", symbol.name);
      SameOnAll(symbol.value, what);
      SameInAll(symbol.value, what);
    }
  }

  void Check(DeviceId id) {
    const Device& device = module_.devices[id];
    for (TensorId param : device.params) {
      const Tensor& tensor = module_.tensors[param];
      CheckTensor(tensor);
      if (tensor.shard) {
        Error(tensor.range, fmt::format("`shard` stands on a parameter of a graph; a device "
                                        "function has the part of its rank, `{}`",
                                        Print(module_, tensor.shape[*tensor.shard])));
      }
      if (tensor.symmetric && tensor.access == Access::In) {
        PeerError(tensor.range,
                  fmt::format("a task reads what its own rank has, so `%{}`, {}, is not symmetric",
                              tensor.name, Describe(tensor)));
      }
    }
    for (const Axis& axis : device.tasks) {
      std::string what = fmt::format("the range of `{}`", module_.symbols[axis.var].name);
      SameOnAll(axis.lo, what);
      SameOnAll(axis.hi, what);
    }
    Body(device.body);
  }

  void Check(GraphId id) {
    const Graph& graph = module_.graphs[id];
    Params(graph.params);
    bool launches = false;
    auto take = [&](std::optional<ScheduleKind> kind) {
      launches = launches || (kind && !FitsMesh(*kind));
    };
    take(graph.schedule);
    for (const Specialisation& one : graph.specialisations) {
      if (one.dim == mesh_.size) {
        Error(one.range, fmt::format("a graph has a kernel for each number of ranks by itself, and "
                                     "is not specialised over `{}`",
                                     module_.symbols[one.dim].name));
      }
    }
    VisitNodes(module_, graph.body, [&](NodeId node) {
      if (const auto* call = std::get_if<CallNode>(&module_.nodes[node])) {
        take(call->schedule);
      } else if (const auto* region = std::get_if<Region>(&module_.nodes[node])) {
        take(region->schedule);
      }
    });
    if (launches) {
      NoLaunches(graph.range,
                 fmt::format("a graph of a program with a mesh becomes one kernel, and `@{}` has "
                             "the schedule `kernels`",
                             graph.name));
    }
    Nodes(graph.body);
  }

  void Check(KernelId id) {
    const Kernel& kernel = module_.kernels[id];
    if (kernel.schedule == ScheduleKind::Kernels) {
      NoLaunches(kernel.range,
                 fmt::format("a kernel of a program with a mesh is `static` or `dynamic`, and "
                             "`@{}` is `kernels`",
                             kernel.name));
    }
    Params(kernel.params);
    for (SymbolId value : kernel.values) {
      SameOnAll(module_.symbols[value].value, "a value of a kernel");
    }
    Nodes(kernel.declarations);
    Nodes(kernel.body);
  }

  void Params(const std::vector<TensorId>& params) {
    for (TensorId param : params) {
      const Tensor& tensor = module_.tensors[param];
      CheckTensor(tensor);
      Parts(tensor);
      if (tensor.symmetric) {
        PeerError(tensor.range, fmt::format("`%{}` is {}, of which peers know nothing; a buffer "
                                            "may be symmetric",
                                            tensor.name, Describe(tensor)));
      }
    }
  }

  /// Each part belongs to as many ranks as any other.
  void Parts(const Tensor& tensor) {
    if (!tensor.in_parts || Find(PartsOf(module_, tensor), module_.rank)) {
      return;
    }
    const ExprId id = PartsOf(module_, tensor);
    const bool literal = std::holds_alternative<IntLiteral>(module_.exprs[id]);
    const std::string text =
        fmt::format("the number of parts of `%{}`, `{}`", tensor.name, Print(module_, id));
    for (int64_t ranks : mesh_.values) {
      std::optional<int64_t> parts = PartsAt(module_, tensor, ranks);
      if (!parts) {
        Error(module_.RangeOf(id), fmt::format("{}, is not made of constants and `{}` alone", text,
                                               module_.symbols[mesh_.size].name));
        return;
      }
      if (*parts < 1 || ranks % *parts != 0) {
        Error(module_.RangeOf(id), fmt::format("{}{}, does not divide {} rank{}", text,
                                               literal ? "" : fmt::format(" = {}", *parts), ranks,
                                               ranks == 1 ? "" : "s"));
        return;
      }
    }
  }

  void CheckTensor(const Tensor& tensor) {
    std::string what = fmt::format("the type of `%{}`", tensor.name);
    for (ExprId extent : tensor.shape) {
      SameOnAll(extent, what);
      if (tensor.kind == TensorKind::Local) {
        SameInAll(extent, what);
      }
    }
    for (ExprId size : tensor.tile) {
      SameInAll(size, what);
    }
    SameOnAll(tensor.value_lo, what);
    SameOnAll(tensor.value_hi, what);
  }

  void Body(const std::vector<StmtId>& body) {
    for (StmtId id : body) {
      if (const auto* local = std::get_if<LocalDecl>(&module_.stmts[id])) {
        CheckTensor(module_.tensors[local->tensor]);
      } else if (const auto* assign = std::get_if<Assign>(&module_.stmts[id])) {
        Store(id, *assign);
      }
      VisitBlocks(module_.stmts[id], [&](const std::vector<StmtId>& inside) { Body(inside); });
    }
  }

  void Store(StmtId id, const Assign& assign) {
    if (!assign.peer) {
      return;
    }
    const Tensor& tensor = module_.tensors[assign.tensor];
    if (!tensor.symmetric) {
      PeerError(module_.RangeOf(id),
                fmt::format("peers have no `%{}` that a task could write, since it is {} that is "
                            "not symmetric",
                            tensor.name, Describe(tensor)))
          .notes.push_back(DeclaredHere(tensor));
    } else if (assign.adds) {
      PeerError(module_.RangeOf(id),
                "`+=` reads what it adds to, but a task reads elements of its own rank only");
    }
  }

  void Nodes(const std::vector<NodeId>& nodes) {
    VisitNodes(module_, nodes, [&](NodeId id) {
      std::visit([&](const auto& node) { Check(module_.RangeOf(id), node); }, module_.nodes[id]);
    });
  }

  void Check(SourceRange, const BufferDecl& decl) {
    const Tensor& tensor = module_.tensors[decl.tensor];
    CheckTensor(tensor);
    SameOnAll(tensor.offset, "a place in memory");
  }
  void Check(SourceRange, const EventDecl& decl) {
    const Event& event = module_.events[decl.event];
    std::string what = fmt::format("an extent of `%{}`", event.name);
    for (const EventDim& dim : event.dims) {
      SameOnAll(dim.extent, what);
    }
    SameOnAll(event.count, fmt::format("the count of `%{}`", event.name));
    if (event.trigger && event.symmetric) {
      PeerError(event.range, fmt::format("a rank pushes tasks of its own queues, so the trigger "
                                         "`%{}` is not symmetric",
                                         event.name));
    }
    SameOnAll(event.first, "a place among the counters");
  }
  void Check(SourceRange, const Repeat& repeat) {
    for (ExprId bound : {repeat.lo, repeat.hi}) {
      SameOnAll(bound, fmt::format("a bound of `repeat {}`", module_.symbols[repeat.var].name));
    }
  }
  void Check(SourceRange, const OneOf<Region, Dispatch> auto&) {}

  void Check(SourceRange range, const CallNode& call) {
    Arguments(range, module_.devices[call.callee], call.args, call.scalars);
    for (const Edge& edge : call.waits) {
      Waits(edge.refs, range);
    }
    for (const Edge& edge : call.notifies) {
      Notifies(edge.refs, range);
    }
  }

  void Check(SourceRange range, const Share& share) {
    const Device& callee = module_.devices[share.callee];
    Arguments(range, callee, share.args, share.scalars);
    SameOnAll(share.first, "where a share starts");
    for (const auto* refs :
         {&share.range_waits, &share.enter_waits, &share.waits, &share.after_waits}) {
      Waits(*refs, range);
    }
    for (const auto* refs : {&share.arrivals, &share.after_arrivals}) {
      Arrivals(*refs, range);
    }
    if (share.pushed_by && share.pushed_by->peer) {
      Pushes(*share.pushed_by, range, "a rank pushes tasks of its own queues");
    }
    for (const auto* refs : {&share.notifies, &share.leave_notifies}) {
      Notifies(*refs, range);
    }
    if (ReachesPeers(module_, share) && !share.awaits_peers) {
      PeerError(range, fmt::format("`@{}` reaches into peers, which may not have ended the launch "
                                   "before; its share lacks `enter {{ wait peers; }}`",
                                   callee.name));
    }
  }

  void Arguments(SourceRange range, const Device& callee, const std::vector<Argument>& args,
                 const std::vector<ExprId>& scalars) {
    for (size_t i = 0; i < std::min(args.size(), callee.params.size()); ++i) {
      const Tensor& param = module_.tensors[callee.params[i]];
      const Tensor& tensor = module_.tensors[args[i].tensor];
      if (param.symmetric && !tensor.symmetric) {
        Diagnostic& error = PeerError(
            args[i].range.IsValid() ? args[i].range : range,
            fmt::format("`@{}` writes its `%{}` at peers, but `%{}` is {} that is not symmetric",
                        callee.name, param.name, tensor.name, Describe(tensor)));
        error.notes.push_back(DeclaredHere(tensor));
        error.notes.push_back(DeclaredHere(param));
      }
      for (ExprId index : args[i].indices) {
        SameOnAll(index, fmt::format("the slice of `%{}`", tensor.name));
      }
    }
    for (ExprId scalar : scalars) {
      SameOnAll(scalar, fmt::format("a scalar of `@{}`", callee.name));
    }
  }

  void Waits(const std::vector<EventRef>& refs, SourceRange range) {
    for (const EventRef& ref : refs) {
      if (ref.peer) {
        PeerError(
            ref.range.IsValid() ? ref.range : range,
            fmt::format("a task waits for events of its own rank, so it cannot wait for `%{}` "
                        "of a peer",
                        module_.events[ref.event].name));
      }
    }
  }

  /// Triggers are of the own rank: docs/multi-gpu.md says why.
  void Arrivals(const std::vector<EventRef>& refs, SourceRange range) {
    for (const EventRef& ref : refs) {
      if (ref.peer) {
        Pushes(ref, range, "a task arrives at triggers of its own rank");
      }
    }
  }
  void Pushes(const EventRef& ref, SourceRange range, std::string_view rule) {
    PeerError(
        ref.range.IsValid() ? ref.range : range,
        fmt::format("{}, and `%{}` is named as a peer's", rule, module_.events[ref.event].name));
  }

  void Notifies(const std::vector<EventRef>& refs, SourceRange range) {
    for (const EventRef& ref : refs) {
      const Event& event = module_.events[ref.event];
      if (ref.peer && !event.symmetric) {
        PeerError(ref.range.IsValid() ? ref.range : range,
                  fmt::format("peers have no `%{}` that a task could notify, since it is not "
                              "symmetric",
                              event.name))
            .notes.push_back(DeclaredHere(event));
      }
    }
  }

  /// What all ranks have in common does not depend on the rank.
  void SameOnAll(ExprId id, const std::string& what) {
    ExprId found = Find(id, module_.rank);
    if (found) {
      Error(module_.RangeOf(found),
            fmt::format("`rank` has no meaning in {}, which is the same on all ranks", what));
    }
  }

  /// What is known when the program is compiled does not depend on the number of ranks.
  void SameInAll(ExprId id, const std::string& what) {
    const std::string& size = module_.symbols[mesh_.size].name;
    ExprId found = Find(id, mesh_.size);
    if (found) {
      Error(module_.RangeOf(found),
            fmt::format("{} is made of constants, and `{}` is none; `upper({})` is one in the "
                        "kernel for each number of ranks",
                        what, size, size));
    }
  }

  /// Where a symbol stands in the expression, but in `lower` and `upper`.
  ExprId Find(ExprId id, SymbolId symbol) const {
    if (!id) {
      return {};
    }
    const Expr& expr = module_.exprs[id];
    if (const auto* ref = std::get_if<SymbolRef>(&expr)) {
      return ref->symbol == symbol ? id : ExprId{};
    }
    const auto* call = std::get_if<Call>(&expr);
    if (call != nullptr && KindOf(call->op) == IntrinsicKind::Limit) {
      return {};
    }
    ExprId found;
    VisitOperands(expr, [&](ExprId inner) { found = found ? found : Find(inner, symbol); });
    return found;
  }

  Diagnostic& Error(SourceRange range, std::string message) {
    return diagnostics_.Error(DiagnosticKind::Mesh, range, std::move(message));
  }
  Diagnostic& PeerError(SourceRange range, std::string message) {
    return diagnostics_.Error(DiagnosticKind::Peer, range, std::move(message));
  }
  void NoLaunches(SourceRange range, std::string message) {
    diagnostics_.Error(DiagnosticKind::Unsupported, range, std::move(message))
        .notes.push_back({{}, std::string(kWhyNotOverRanks)});
  }

  const Module& module_;
  const Mesh& mesh_;
  Diagnostics& diagnostics_;
};

}  // namespace

void CheckMesh(const Module& module, Diagnostics& diagnostics) {
  MeshChecks(module, diagnostics).Run();
}

void CheckMeshValues(const Module& module, Diagnostics& diagnostics) {
  MeshChecks(module, diagnostics).Values();
}

}  // namespace etc
