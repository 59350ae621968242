#include "tune/apart.h"

#include <vector>

#include "ir/walk.h"

namespace etc {
namespace {

/// What the ranks have to do with a body.
class RankUse {
 public:
  RankUse(const Module& module, const Device& device, int64_t ranks)
      : module_(module), ranks_(ranks) {
    FindAll(device.tasks);
    FindPeers(device.body);
    FindStores(device.body);
  }

  /// Whether what a task stores without sending it to all may depend on its rank.
  bool asks_for_rank() const { return asks_for_rank_; }
  /// What a task stores for its own rank, or sends to some.
  const std::set<TensorId>& kept() const { return kept_; }
  /// What it sends to some ranks and not to all.
  const std::set<TensorId>& sent() const { return sent_; }

 private:
  /// Variables that go over all ranks.
  void FindAll(const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) {
      const bool from_first = !axis.lo || EvaluateInt(module_, axis.lo, {}) == 0;
      if (from_first && EvaluateInt(module_, axis.hi, {}) == ranks_) {
        all_.insert(axis.var);
      }
    }
  }

  /// Takes from these what means more than whose element is stored to.
  void FindPeers(const std::vector<StmtId>& body) {
    for (StmtId id : body) {
      const Stmt& stmt = module_.stmts[id];
      if (const auto* loop = std::get_if<For>(&stmt)) {
        FindAll(loop->axes);
      }
      const auto* assign = std::get_if<Assign>(&stmt);
      VisitOwnExprs(module_, stmt, [&](ExprId expr) {
        const auto* ref = std::get_if<SymbolRef>(&module_.exprs[expr]);
        if (ref != nullptr && !(assign != nullptr && assign->peer == expr)) {
          named_.insert(ref->symbol);
        }
      });
      VisitBlocks(stmt, [&](const std::vector<StmtId>& inside) { FindPeers(inside); });
    }
  }

  bool IsToAll(const Assign& assign) const {
    const auto* peer = assign.peer ? std::get_if<SymbolRef>(&module_.exprs[assign.peer]) : nullptr;
    return peer != nullptr && all_.contains(peer->symbol) && !named_.contains(peer->symbol);
  }

  void FindStores(const std::vector<StmtId>& body) {
    for (StmtId id : body) {
      const Stmt& stmt = module_.stmts[id];
      const auto* assign = std::get_if<Assign>(&stmt);
      if (assign == nullptr || !IsToAll(*assign)) {
        VisitStored(stmt, [&](TensorId tensor) { kept_.insert(tensor); });
        VisitOwnExprs(module_, stmt, [&](ExprId expr) {
          asks_for_rank_ = asks_for_rank_ || IsSymbol(module_, expr, module_.rank);
        });
      }
      if (assign != nullptr && assign->peer && !IsToAll(*assign)) {
        sent_.insert(assign->tensor);
      }
      VisitBlocks(stmt, [&](const std::vector<StmtId>& inside) { FindStores(inside); });
    }
  }

  const Module& module_;
  const int64_t ranks_;
  std::set<SymbolId> all_;
  std::set<SymbolId> named_;
  std::set<TensorId> kept_;
  std::set<TensorId> sent_;
  bool asks_for_rank_ = false;
};

}  // namespace

void AddSharded(const Module& module, const Graph& graph, std::set<TensorId>& apart) {
  for (TensorId param : graph.params) {
    if (module.tensors[param].shard) {
      apart.insert(param);
    }
  }
}

void AddApart(const Module& module, const Graph& graph, const DimRanges& range, int64_t ranks,
              std::set<TensorId>& apart) {
  size_t before = 0;
  do {  // a later call may write what an earlier one in a repeat reads
    before = apart.size();
    VisitNodes(module, graph.body, [&](NodeId id) {
      const auto* call = std::get_if<CallNode>(&module.nodes[id]);
      if (call == nullptr || !MayHaveTasks(module, module.devices[call->callee].tasks, range)) {
        return;
      }
      const Device& device = module.devices[call->callee];
      const RankUse use(module, device, ranks);
      bool differs = use.asks_for_rank();
      for (size_t i = 0; i < call->args.size(); ++i) {
        differs = differs || (module.tensors[device.params[i]].access != Access::Out &&
                              apart.contains(call->args[i].tensor));
      }
      for (size_t i = 0; i < call->args.size(); ++i) {
        const TensorId param = device.params[i];
        if (use.sent().contains(param) || (differs && use.kept().contains(param))) {
          apart.insert(call->args[i].tensor);
        }
      }
    });
  } while (apart.size() > before);
}

}  // namespace etc
