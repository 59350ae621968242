// Sums over ranks that get the same from each: a page that divides nothing among its ranks has each
// of them send the whole of every sum.
#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

#include "ir/walk.h"
#include "verify/checks.h"

namespace etc {
namespace {

/// What a device function does at peers, and whether ranks differ by its body alone.
struct SentBy {
  bool names_rank = false;    // a value, a condition or what is read depends on it
  std::set<TensorId> slots;   // params that have a place for each sender
  std::set<TensorId> to_all;  // of which each rank gets the same
};

/// Follows a graph's calls for several ranks: what may differ from rank to rank.
class Spreading {
 public:
  Spreading(const Module& module, Diagnostics& diagnostics)
      : module_(module), diagnostics_(diagnostics) {}

  void Run(const Graph& graph) {
    for (TensorId param : graph.params) {
      if (module_.tensors[param].shard) {
        differing_.insert(param);
      }
    }
    // A repeat may hand on to its next iteration what it makes behind where it is read.
    size_t before = 0;
    do {
      before = differing_.size();
      ForEachCall(graph, [&](NodeId, const CallNode& call) { Spread(call); });
    } while (differing_.size() != before);
    ForEachCall(graph, [&](NodeId id, const CallNode& call) { Report(id, call); });
  }

 private:
  template <class F>
  void ForEachCall(const Graph& graph, const F& visit) const {
    VisitNodes(module_, graph.body, [&](NodeId id) {
      if (const auto* call = std::get_if<CallNode>(&module_.nodes[id])) {
        visit(id, *call);
      }
    });
  }

  /// Whether what the call makes may differ.
  bool Differs(const CallNode& call) {
    const Device& callee = module_.devices[call.callee];
    if (SentOf(call.callee).names_rank) {
      return true;
    }
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (module_.tensors[callee.params[i]].access != Access::Out &&
          differing_.contains(call.args[i].tensor)) {
        return true;
      }
    }
    return false;
  }

  void Spread(const CallNode& call) {
    if (!Differs(call)) {
      return;
    }
    const Device& callee = module_.devices[call.callee];
    const SentBy& sent = SentOf(call.callee);
    for (size_t i = 0; i < call.args.size(); ++i) {
      bool is_same = !sent.names_rank && sent.to_all.contains(callee.params[i]);
      if (module_.tensors[callee.params[i]].access != Access::In && !is_same) {
        differing_.insert(call.args[i].tensor);
      }
    }
  }

  void Report(NodeId id, const CallNode& call) {
    const SentBy& sent = SentOf(call.callee);
    if (sent.slots.empty() || Differs(call)) {
      return;
    }
    const Device& callee = module_.devices[call.callee];
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (sent.slots.contains(callee.params[i]) && reported_.insert(call.args[i].tensor).second) {
        diagnostics_
            .Warning(DiagnosticKind::SameOnRanks, module_.RangeOf(id),
                     fmt::format("all ranks send the same to `%{}`: nothing that `@{}` reads is "
                                 "divided among them",
                                 module_.tensors[call.args[i].tensor].name, callee.name))
            .notes.push_back(
                {{}, "`shard` divides a parameter; a program for one rank has a `require`"});
      }
    }
  }

  const SentBy& SentOf(DeviceId id) {
    auto [found, is_new] = sent_.try_emplace(id);
    if (is_new) {
      Look(module_.devices[id].body, found->second);
    }
    return found->second;
  }

  void Look(const std::vector<StmtId>& body, SentBy& sent) {
    for (StmtId id : body) {
      const Stmt& stmt = module_.stmts[id];
      const auto* assign = std::get_if<Assign>(&stmt);
      if (assign != nullptr && assign->peer) {
        LookAtSend(*assign, sent);
      } else {
        VisitOwnExprs(module_, stmt, [&](ExprId expr) {
          sent.names_rank |= IsSymbol(module_, expr, module_.rank);
        });
      }
      VisitBlocks(stmt, [&](const std::vector<StmtId>& inside) { Look(inside, sent); });
    }
  }

  void LookAtSend(const Assign& assign, SentBy& sent) {
    const auto* peer = std::get_if<SymbolRef>(&module_.exprs[assign.peer]);
    bool names_peer = peer == nullptr || Names(assign.value, peer->symbol);
    for (ExprId index : assign.indices) {
      names_peer = names_peer || Names(index, peer->symbol);
      if (Names(index, module_.rank)) {
        sent.slots.insert(assign.tensor);
      }
    }
    if (!names_peer) {
      sent.to_all.insert(assign.tensor);
    }
    sent.names_rank |= Names(assign.value, module_.rank);
  }

  bool Names(ExprId id, SymbolId symbol) const { return Mentions(module_, id, {symbol}); }

  const Module& module_;
  Diagnostics& diagnostics_;
  std::set<TensorId> differing_;
  std::set<TensorId> reported_;
  std::map<DeviceId, SentBy> sent_;
};

}  // namespace

void CheckSameOnRanks(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  Spreading(module, diagnostics).Run(graph);
}

}  // namespace etc
