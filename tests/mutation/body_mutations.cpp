// Damage to bodies: other elements, and iterations that depend on each other.
#include <algorithm>

#include "ir/evaluate.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "mutation_collector.h"

namespace etc::mutation {
namespace {

class BodyMutations {
 public:
  explicit BodyMutations(MutationCollector& collector)
      : out_(collector), module_(collector.module()) {}

  void AddBody(const std::vector<StmtId>& body, const In<std::vector<StmtId>*>& block) {
    for (size_t i = 0; i < body.size(); ++i) {
      StmtId id = body[i];
      const Stmt& stmt = module_.stmts[id];
      bool stores = std::holds_alternative<Assign>(stmt) || std::holds_alternative<TopK>(stmt);
      if (stores || std::holds_alternative<For>(stmt)) {
        AddLoopAround(block, i);
      }
      if (i + 1 < body.size()) {
        out_.Add("swap two statements",
                 [block, i](Module& m) { std::swap((*block(m))[i], (*block(m))[i + 1]); });
      }
      if (const auto* loop = std::get_if<For>(&stmt)) {
        for (const Axis& axis : loop->axes) {
          out_.AddAxis("a loop", axis);
          around_.push_back(axis.var);
        }
        AddOtherOrder(id, *loop);
        AddSharedLocals(block, i, *loop);
        AddStagedLoop(block, i, *loop);
        AddBody(loop->body, [id](Module& m) { return &std::get<For>(m.stmts[id]).body; });
        around_.resize(around_.size() - loop->axes.size());
      } else if (const auto* branch = std::get_if<If>(&stmt)) {
        out_.Add("drop a guard of a body", [id](Module& m) {
          m.exprs[std::get<If>(m.stmts[id]).condition] = BoolLiteral{true};
        });
        out_.AddInside("a guard of a body", branch->condition);
        if (!branch->otherwise.empty()) {
          out_.Add("drop an `else`",
                   [id](Module& m) { std::get<If>(m.stmts[id]).otherwise.clear(); });
          out_.Add("swap the sides of an `else`", [id](Module& m) {
            If& sides = std::get<If>(m.stmts[id]);
            std::swap(sides.body, sides.otherwise);
          });
        }
        AddBody(branch->body, [id](Module& m) { return &std::get<If>(m.stmts[id]).body; });
        AddBody(branch->otherwise,
                [id](Module& m) { return &std::get<If>(m.stmts[id]).otherwise; });
      } else if (const auto* let = std::get_if<Let>(&stmt)) {
        out_.AddInside("a value", let->value);
      } else if (const auto* assign = std::get_if<Assign>(&stmt)) {
        out_.AddElement("a write", assign->indices);
        out_.AddInside("a value", assign->value);
        AddDependence(id, *assign);
        AddStore(block, i, id);
      } else if (const auto* topk = std::get_if<TopK>(&stmt)) {
        out_.AddElement("a write", topk->value_indices);
        out_.AddElement("a write", topk->position_indices);
      }
    }
  }

 private:
  /// A `scan` whose iterations are no longer in order, or a `for` whose are: the first loses what
  /// one iteration hands to the next.
  void AddOtherOrder(StmtId id, const For& loop) {
    out_.Add(loop.sequential ? "run a scan side by side" : "run a loop in order", [id](Module& m) {
      For& other = std::get<For>(m.stmts[id]);
      other.sequential = !other.sequential;
    });
  }

  /// A store is lost, such as the one that a sum starts from, or it adds to what is there.
  void AddStore(const In<std::vector<StmtId>*>& block, size_t i, StmtId id) {
    out_.Add("drop a store", [block, i](Module& m) {
      block(m)->erase(block(m)->begin() + static_cast<std::ptrdiff_t>(i));
    });
    const auto& store = std::get<Assign>(module_.stmts[id]);
    if (store.adds || KindOf(module_, store.value) != ValueKind::Bool) {
      out_.Add(store.adds ? "store what is to be added" : "add what is to be stored",
               [id](Module& m) {
                 auto& other = std::get<Assign>(m.stmts[id]);
                 other.adds = !other.adds;
               });
    }
  }

  /// Iterations that do the same.
  void AddLoopAround(const In<std::vector<StmtId>*>& block, size_t i) {
    out_.Add("run a statement in each iteration of a loop", [block, i](Module& m) {
      Symbol symbol{"again", SymbolKind::Index, {}, {}, {}, {}, {}};
      Axis axis{m.symbols.Add(std::move(symbol)), {}, MakeInt(m, 2)};
      StmtId inner = (*block(m))[i];
      StmtId loop = m.AddStmt(For{{axis}, {inner}});
      (*block(m))[i] = loop;
    });
  }

  /// A local of each iteration becomes one of all.
  void AddSharedLocals(const In<std::vector<StmtId>*>& block, size_t i, const For& loop) {
    StmtId id = (loop.body.empty() ? StmtId{} : loop.body[0]);
    if (id && std::holds_alternative<LocalDecl>(module_.stmts[id])) {
      out_.Add("share a local between iterations", [block, i, id](Module& m) {
        std::vector<StmtId>& around = *block(m);
        std::vector<StmtId>& body = std::get<For>(m.stmts[around[i]]).body;
        body.erase(body.begin());
        around.insert(around.begin() + static_cast<std::ptrdiff_t>(i), id);
      });
    }
  }

  /// What a loop stores passes through a local, of which one iteration more may be read.
  void AddStagedLoop(const In<std::vector<StmtId>*>& block, size_t i, const For& loop) {
    const auto* store =
        loop.body.size() == 1 ? std::get_if<Assign>(&module_.stmts[loop.body[0]]) : nullptr;
    ValueKind kind = store == nullptr ? ValueKind::Error : KindOf(module_, store->value);
    bool stored = kind == ValueKind::Float || kind == ValueKind::Int;
    if (loop.sequential || loop.axes.size() != 1 || !stored || store->adds) {
      return;
    }
    for (int64_t missing : {0, 1}) {
      out_.Add("pass what a loop stores through a local", [block, i, kind, missing](Module& m) {
        StmtId id = (*block(m))[i];
        For reads = std::get<For>(m.stmts[id]);
        const Axis axis = reads.axes[0];
        Assign store = std::get<Assign>(m.stmts[reads.body[0]]);
        Tensor tensor;
        tensor.name = "staged";
        tensor.kind = TensorKind::Local;
        tensor.type = kind == ValueKind::Float ? DType::F32 : DType::I64;
        tensor.shape = {MakeInt(m, 8)};
        TensorId local = m.tensors.Add(std::move(tensor));
        ExprId at = MakeRef(m, axis.var);
        at = axis.lo ? m.AddExpr(Binary{BinaryOp::Sub, at, axis.lo}) : at;
        at = m.AddExpr(Binary{BinaryOp::Mod, at, MakeInt(m, 8)});
        For writes = reads;
        writes.sequential = true;
        writes.axes[0].hi = m.AddExpr(Binary{BinaryOp::Sub, axis.hi, MakeInt(m, missing)});
        writes.body = {m.AddStmt(Assign{local, {at}, store.value})};
        store.value = m.AddExpr(Load{local, {at}});
        reads.body = {m.AddStmt(std::move(store))};
        StmtId first = m.AddStmt(LocalDecl{local});
        StmtId second = m.AddStmt(std::move(writes));
        m.stmts[id] = std::move(reads);
        (*block(m)).insert((*block(m)).begin() + static_cast<std::ptrdiff_t>(i), {first, second});
      });
    }
  }

  /// What lets iterations of the loops around a store depend on each other.
  void AddDependence(StmtId id, const Assign& assign) {
    if (around_.empty()) {
      return;
    }
    for (ExprId index : assign.indices) {
      VisitExprs(module_, index, [&](ExprId part) {
        const auto* ref = std::get_if<SymbolRef>(&module_.exprs[part]);
        if (ref != nullptr &&
            std::find(around_.begin(), around_.end(), ref->symbol) != around_.end()) {
          out_.Add("take a loop's variable from a write",
                   [part](Module& m) { m.exprs[part] = IntLiteral{0}; });
        }
      });
      for (BinaryOp op : {BinaryOp::Div, BinaryOp::Mod}) {
        out_.Add("divide an index of a write", [index, op](Module& m) {
          Replace(m, index, [&](ExprId copy) { return Expr(Binary{op, copy, MakeInt(m, 2)}); });
        });
      }
    }
    for (int64_t shift : {0, 1}) {
      out_.Add("read what a loop writes", [id, shift](Module& m) {
        const auto& old = std::get<Assign>(m.stmts[id]);
        Load load{old.tensor, old.indices};
        ExprId value = old.value;
        if (!load.indices.empty()) {
          ExprId before = m.AddExpr(Binary{BinaryOp::Sub, load.indices.back(), MakeInt(m, shift)});
          load.indices.back() = m.AddExpr(Call{Intrinsic::Max, {before, MakeInt(m, 0)}});
        }
        Tensor& tensor = m.tensors[load.tensor];
        tensor.access = tensor.kind == TensorKind::Param ? Access::InOut : tensor.access;
        ExprId read = m.AddExpr(std::move(load));
        ExprId sum = m.AddExpr(Binary{BinaryOp::Add, value, read});
        std::get<Assign>(m.stmts[id]).value = sum;
      });
    }
  }

  MutationCollector& out_;
  const Module& module_;
  std::vector<SymbolId> around_;  // variables of the loops around a statement
};

}  // namespace

void AddBodyMutations(MutationCollector& collector, DeviceId device) {
  BodyMutations(collector).AddBody(collector.module().devices[device].body,
                                   [device](Module& m) { return &m.devices[device].body; });
}

}  // namespace etc::mutation
