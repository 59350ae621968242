#include "expand/ranks.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/evaluate.h"
#include "ir/shard.h"
#include "ir/walk.h"

namespace etc {
namespace {

class Settling {
 public:
  explicit Settling(Module& module)
      : module_(module), size_(module.mesh->size), ranks_(module.mesh->values.front()) {}

  void Run() {
    const std::map<TensorId, ExprId> parts = Parts();  // of one part, no quotient is left
    for (ExprId id : module_.exprs.Ids()) {            // operands come before what is made of them
      Settle(id);
    }
    if (SettleParts(parts) && ranks_ == 1) {
      ForgetMesh();
    }
  }

 private:
  void Settle(ExprId id) {
    const Expr& expr = module_.exprs[id];
    if (const auto* ref = std::get_if<SymbolRef>(&expr)) {
      if (ref->symbol == size_) {
        Become(id, IntLiteral{ranks_});
      } else if (ref->symbol == module_.rank && ranks_ == 1) {
        Become(id, IntLiteral{0});
      } else if (ExprId named = Named(id); settled_.contains(named)) {
        Become(id, Expr(module_.exprs[named]));
      }
      return;
    }
    bool changed = false;
    VisitOperands(expr, [&](ExprId inner) { changed |= settled_.contains(inner); });
    if (!changed) {
      return;
    }
    const auto* call = std::get_if<Call>(&expr);
    if (call != nullptr && KindOf(call->op) == IntrinsicKind::Limit) {
      Become(id, IntLiteral{ranks_});
    } else if (call != nullptr && KindOf(call->op) == IntrinsicKind::Choice) {
      if (const auto* condition = std::get_if<BoolLiteral>(&module_.exprs[call->args[0]])) {
        Become(id, Expr(module_.exprs[call->args[condition->value ? 1 : 2]]));
      }
    } else if (call != nullptr && (call->op == Intrinsic::Min || call->op == Intrinsic::Max)) {
      std::optional<int64_t> value = EvaluateInt(module_, id, {});
      if (value && !AsksForLimit(id)) {
        Become(id, IntLiteral{*value});
      }
    } else if (const auto* binary = std::get_if<Binary>(&expr);
               binary != nullptr && IsComparison(binary->op)) {
      std::optional<bool> holds = EvaluateBool(module_, id, {});
      if (holds && !AsksForLimit(id)) {
        Become(id, BoolLiteral{*holds});
      }
    } else if (binary != nullptr && ranks_ == 1 && IsOne(binary->right) &&
               (binary->op == BinaryOp::Mul || binary->op == BinaryOp::Div)) {
      Become(id, Expr(module_.exprs[binary->left]));
    }
  }

  /// Of a size, which a specialisation may narrow.
  bool AsksForLimit(ExprId id) const {
    bool asks = false;
    VisitExprs(module_, id, [&](ExprId inner) {
      const auto* call = std::get_if<Call>(&module_.exprs[inner]);
      asks |= call != nullptr && KindOf(call->op) == IntrinsicKind::Limit;
    });
    return asks;
  }

  /// What names of the text stand for.
  ExprId Named(ExprId id) const {
    const auto* ref = std::get_if<SymbolRef>(&module_.exprs[id]);
    const bool named = ref != nullptr && module_.symbols[ref->symbol].kind == SymbolKind::Let &&
                       module_.symbols[ref->symbol].value;
    return named ? Named(module_.symbols[ref->symbol].value) : id;
  }

  /// Of each tensor that is divided in so many.
  std::map<TensorId, ExprId> Parts() const {
    std::map<TensorId, ExprId> parts;
    for (TensorId id : module_.tensors.Ids()) {
      if (module_.tensors[id].in_parts) {
        parts.emplace(id, PartsOf(module_, module_.tensors[id]));
      }
    }
    return parts;
  }

  /// As many parts as ranks are what a shard has without them. Whether there are no other ones.
  bool SettleParts(const std::map<TensorId, ExprId>& parts) {
    bool all = true;
    for (const auto& [tensor, number] : parts) {
      module_.tensors[tensor].in_parts = EvaluateInt(module_, Named(number), {}) != ranks_;
      all = all && !module_.tensors[tensor].in_parts;
    }
    return all;
  }

  bool IsOne(ExprId id) const {
    const auto* literal = std::get_if<IntLiteral>(&module_.exprs[id]);
    return settled_.contains(id) && literal != nullptr && literal->value == 1;
  }

  void Become(ExprId id, Expr expr) {
    module_.exprs[id] = std::move(expr);
    settled_.insert(id);
  }

  void ForgetMesh() {
    for (TensorId id : module_.tensors.Ids()) {
      Tensor& tensor = module_.tensors[id];
      tensor.shard.reset();
      tensor.symmetric = false;
    }
    for (StmtId id : module_.stmts.Ids()) {
      if (auto* assign = std::get_if<Assign>(&module_.stmts[id])) {
        assign->peer = {};
      }
    }
    for (EventId id : module_.events.Ids()) {
      module_.events[id].symmetric = false;
    }
    for (NodeId id : module_.nodes.Ids()) {
      if (auto* call = std::get_if<CallNode>(&module_.nodes[id])) {
        for (Edge& edge : call->notifies) {
          for (EventRef& ref : edge.refs) {
            ref.peer = {};
          }
        }
      }
    }
    ForgetItem();
    module_.mesh.reset();
  }

  void ForgetItem() {
    auto is_mesh = [&](const Item& item) {
      const auto* symbol = std::get_if<SymbolId>(&item);
      return symbol != nullptr && *symbol == size_;
    };
    auto mesh = std::find_if(module_.items.begin(), module_.items.end(), is_mesh);
    const auto place = static_cast<size_t>(mesh - module_.items.begin());
    for (size_t i = 0; i < place; ++i) {
      if (const auto* id = std::get_if<ImportId>(&module_.items[i])) {
        Import& import = module_.imports[*id];
        import.items -= i + import.items >= place ? 1 : 0;
      }
    }
    module_.items.erase(mesh);
  }

  Module& module_;
  const SymbolId size_;
  const int64_t ranks_;
  std::set<ExprId> settled_;
};

}  // namespace

void SettleRanks(Module& module) {
  bool scheduled = std::any_of(module.items.begin(), module.items.end(), [](const Item& item) {
    return std::holds_alternative<KernelId>(item);
  });
  if (module.mesh && module.mesh->values.size() == 1 && module.mesh->values.front() >= 1 &&
      !scheduled) {
    Settling(module).Run();
  }
}

}  // namespace etc
