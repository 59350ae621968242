#include <fmt/format.h>

#include <set>
#include <utility>

#include "analysis/samples.h"
#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/walk.h"
#include "verify/checks.h"
#include "verify/expr_checker.h"
#include "verify/tensors.h"
#include "verify/wording.h"

namespace etc {
namespace {

class DeviceChecks {
 public:
  DeviceChecks(const Module& module, const Device& device, Diagnostics& diagnostics)
      : module_(module), device_(device), diagnostics_(diagnostics), exprs_(module, diagnostics) {
    exprs_.RefuseSms();
  }

  void Run() {
    for (TensorId param : device_.params) {
      CheckTensor(module_, module_.tensors[param], exprs_, diagnostics_);
    }
    Scalars();
    Tasks();
    Block(device_.body);
    for (TensorId param : device_.params) {
      const Tensor& tensor = module_.tensors[param];
      if (tensor.access == Access::Out && !written_.contains(param)) {
        diagnostics_.Error(
            DiagnosticKind::Access, tensor.range,
            fmt::format("`%{}` is an `out` parameter, but the body never writes it", tensor.name));
      }
    }
  }

 private:
  void Scalars() {
    for (SymbolId id : device_.scalars) {
      const Symbol& scalar = module_.symbols[id];
      for (ExprId bound : {scalar.lo, scalar.hi}) {
        std::string what = fmt::format("a bound of `{}`", scalar.name);
        if (bound && exprs_.CheckClosed(bound, true, what, DiagnosticKind::Type)) {
          exprs_.ExpectInt(bound, what);
        }
      }
    }
  }

  void Tasks() {
    size_t before = diagnostics_.error_count();
    exprs_.CheckAxes(device_.tasks);
    for (const Axis& axis : device_.tasks) {
      for (ExprId bound : {axis.lo, axis.hi}) {
        ExprId scalar = FindExpr(module_, bound, [&](const Expr& expr) {
          const auto* ref = std::get_if<SymbolRef>(&expr);
          return ref != nullptr && module_.symbols[ref->symbol].kind == SymbolKind::Scalar;
        });
        if (scalar) {
          std::string name = Print(module_, scalar);
          diagnostics_
              .Error(DiagnosticKind::Tasks, module_.RangeOf(scalar),
                     fmt::format(
                         "the range of `{}` may not depend on a scalar parameter, but `{}` is one",
                         module_.symbols[axis.var].name, name))
              .notes.push_back(
                  {device_.range, fmt::format("a generic parameter, `@{}<{}>`, may be in it: each "
                                              "call gives it a constant or a size",
                                              device_.name, name)});
        }
        ExprId load = !bound ? ExprId{} : FindExpr(module_, bound, [&](const Expr& expr) {
          const auto* read = std::get_if<Load>(&expr);
          return read != nullptr && module_.tensors[read->tensor].access != Access::In;
        });
        if (load) {
          diagnostics_.Error(
              DiagnosticKind::Tasks, module_.RangeOf(load),
              fmt::format("the range of `{}` may only be read from an `in` parameter, but `{}` "
                          "reads one that the task writes",
                          module_.symbols[axis.var].name, Print(module_, load)));
        }
      }
    }
    if (diagnostics_.error_count() != before) {
      return;
    }
    for (const Axis& axis : device_.tasks) {
      TaskRange(axis);
    }
  }

  void TaskRange(const Axis& axis) {
    for (const Sizes& sizes : SampleSizes(module_)) {
      auto lo = axis.lo ? EvaluateInt(module_, axis.lo, sizes.dims, sizes.ranges)
                        : std::optional<int64_t>(0);
      auto hi = EvaluateInt(module_, axis.hi, sizes.dims, sizes.ranges);
      if (lo && hi && *hi < *lo) {
        diagnostics_.Error(
            DiagnosticKind::Tasks, module_.RangeOf(axis.hi),
            fmt::format("the number of tasks along `{}` is negative: its range is "
                        "{} .. {}{}",
                        module_.symbols[axis.var].name, *lo, *hi, Describe(module_, sizes)));
        return;
      }
    }
  }

  void Block(const std::vector<StmtId>& stmts) {
    for (StmtId id : stmts) {
      std::visit([&](const auto& stmt) { Check(id, stmt); }, module_.stmts[id]);
    }
  }

  void Check(StmtId, const For& loop) {
    exprs_.CheckAxes(loop.axes);
    for (const Axis& axis : loop.axes) {
      Reads(axis.lo);
      Reads(axis.hi);
    }
    bool guarded = guarded_;
    guarded_ = guarded_ || Mentions(module_, loop.axes, scanned_);
    if (loop.sequential) {
      Scan(loop);
    } else {
      Block(loop.body);
    }
    guarded_ = guarded;
  }

  /// An iteration may read what one before it has written further down in the text: where the read
  /// has a condition, or a range that may be empty in the first iteration.
  void Scan(const For& scan) {
    size_t outside = scanned_.size();
    for (const Axis& axis : scan.axes) {
      scanned_.push_back(axis.var);
    }
    std::set<TensorId> carried = carried_;
    CollectWritten(scan.body);
    guarded_ = guarded_ && outside > 0;
    Block(scan.body);
    carried_ = std::move(carried);
    scanned_.resize(outside);
  }

  void CollectWritten(const std::vector<StmtId>& body) {
    for (StmtId id : body) {
      VisitStored(module_.stmts[id], [&](TensorId tensor) { carried_.insert(tensor); });
      VisitBlocks(module_.stmts[id],
                  [&](const std::vector<StmtId>& inside) { CollectWritten(inside); });
    }
  }

  void Check(StmtId, const If& branch) {
    exprs_.ExpectBool(branch.condition, "the condition of `if`");
    Reads(branch.condition);
    bool guarded = std::exchange(guarded_, true);
    std::set<TensorId> before = written_;
    Block(branch.body);
    std::swap(before, written_);  // the other branch sees nothing of this one
    Block(branch.otherwise);
    written_.merge(before);
    guarded_ = guarded;
  }

  void Check(StmtId, const Let& let) {
    exprs_.DeclareLet(let.symbol, exprs_.Check(let.value));
    Reads(let.value);
  }

  void Check(StmtId id, const LetPair& pair) {
    exprs_.DeclareLet(pair.index, exprs_.Check(pair.reduction));
    const auto* reduce = std::get_if<Reduce>(&module_.exprs[pair.reduction]);
    if (reduce == nullptr || !IsArg(reduce->op)) {
      diagnostics_.Error(
          DiagnosticKind::Type, module_.RangeOf(id),
          fmt::format("a pair of names takes an `argmax` or `argmin` alone, but `{}` is none",
                      Print(module_, pair.reduction)));
      exprs_.DeclareLet(pair.value, ValueKind::Error);
      return;
    }
    exprs_.DeclareLet(pair.value, KindOf(module_, reduce->body));
    Reads(pair.reduction);
  }

  void Check(StmtId, const LocalDecl& local) {
    CheckTensor(module_, module_.tensors[local.tensor], exprs_, diagnostics_);
  }

  void Check(StmtId id, const Assign& assign) {
    exprs_.CheckElement(assign.tensor, assign.indices, module_.RangeOf(id));
    for (ExprId index : assign.indices) {
      Reads(index);
    }
    const Tensor& tensor = module_.tensors[assign.tensor];
    exprs_.ExpectStored(
        assign.value, KindOf(tensor.type),
        fmt::format("a value {} `%{}`, which is {},", assign.adds ? "added to" : "stored in",
                    tensor.name, Spelling(tensor.type)));
    if (assign.adds) {
      ReadOf(assign.tensor, module_.RangeOf(id), false);
      if (KindOf(tensor.type) == ValueKind::Bool) {
        diagnostics_.Error(
            DiagnosticKind::Type, module_.RangeOf(id),
            fmt::format("`+=` adds numbers, but the elements of `%{}` are booleans", tensor.name));
      }
    }
    Reads(assign.value);
    Writes(assign.tensor, module_.RangeOf(id));
  }

  void Check(StmtId id, const TopK& topk) {
    SourceRange range = module_.RangeOf(id);
    exprs_.CheckAxes({topk.rank, topk.axis});
    exprs_.CheckElement(topk.values, topk.value_indices, range);
    exprs_.CheckElement(topk.positions, topk.position_indices, range);
    for (const auto* indices : {&topk.value_indices, &topk.position_indices}) {
      for (ExprId index : *indices) {
        Reads(index);
      }
    }
    const Tensor& values = module_.tensors[topk.values];
    const Tensor& positions = module_.tensors[topk.positions];
    exprs_.ExpectStored(
        topk.body, KindOf(values.type),
        fmt::format("a value stored in `%{}`, which is {},", values.name, Spelling(values.type)));
    if (KindOf(positions.type) != ValueKind::Int) {
      diagnostics_.Error(DiagnosticKind::Type, range,
                         fmt::format("`topk` stores positions in its second tensor, so `%{}` must "
                                     "be one of integers, but it is {}",
                                     positions.name, Spelling(positions.type)));
    }
    if (topk.rank.lo) {
      diagnostics_.Error(DiagnosticKind::Type, module_.RangeOf(topk.rank.lo),
                         "the first axis of `topk` starts at 0: it takes no lower bound");
    }
    Reads(topk.body);
    Writes(topk.values, range);
    Writes(topk.positions, range);
  }

  void Reads(ExprId id) {
    VisitExprs(module_, id, [&](ExprId inner) {
      if (const auto* load = std::get_if<Load>(&module_.exprs[inner])) {
        bool carried = carried_.contains(load->tensor);
        ReadOf(load->tensor, module_.RangeOf(inner), carried && MayBeSkipped(id, inner));
      }
    });
  }

  /// Whether a part of an expression may be left out: a side of `select`, `&&` or `||`, or a
  /// reduction whose range a scan changes.
  bool MayBeSkipped(ExprId whole, ExprId part) const {
    auto has_part = [&](ExprId id) {
      bool has = false;
      VisitExprs(module_, id, [&](ExprId inner) { has = has || inner == part; });
      return has;
    };
    bool skipped = false;
    VisitExprs(module_, whole, [&](ExprId id) {
      const Expr& expr = module_.exprs[id];
      const auto* call = std::get_if<Call>(&expr);
      if (call != nullptr && KindOf(call->op) == IntrinsicKind::Choice) {
        skipped = skipped || has_part(call->args[1]) || has_part(call->args[2]);
      } else if (const auto* binary = std::get_if<Binary>(&expr)) {
        bool lazy = binary->op == BinaryOp::And || binary->op == BinaryOp::Or;
        skipped = skipped || (lazy && has_part(binary->right));
      } else if (const auto* reduce = std::get_if<Reduce>(&expr)) {
        skipped = skipped || (Mentions(module_, reduce->axes, scanned_) && has_part(reduce->body));
      }
    });
    return skipped;
  }

  void ReadOf(TensorId id, SourceRange range, bool guarded) {
    const Tensor& tensor = module_.tensors[id];
    bool undefined = tensor.kind == TensorKind::Local ||
                     (tensor.kind == TensorKind::Param && tensor.access == Access::Out);
    bool carried = carried_.contains(id) && (guarded || guarded_);
    if (undefined && !carried && !written_.contains(id)) {
      diagnostics_.Error(DiagnosticKind::Access, range,
                         fmt::format("`%{}` is {}, and it is read before anything is written to it",
                                     tensor.name, Describe(tensor)));
    }
  }

  void Writes(TensorId id, SourceRange range) {
    const Tensor& tensor = module_.tensors[id];
    written_.insert(id);
    if (tensor.kind == TensorKind::Param && tensor.access == Access::In) {
      diagnostics_
          .Error(DiagnosticKind::Access, range,
                 fmt::format("`%{}` is an `in` parameter, but the body writes it", tensor.name))
          .notes.push_back({tensor.range, "declare it `out` or `inout` to write it"});
    }
  }

  const Module& module_;
  const Device& device_;
  Diagnostics& diagnostics_;
  ExprChecker exprs_;
  std::set<TensorId> written_;
  std::set<TensorId> carried_;     // what the scans around write somewhere
  std::vector<SymbolId> scanned_;  // the variables of the scans around
  bool guarded_ = false;           // what is here may not happen in a scan's first iteration
};

}  // namespace

void CheckDevice(const Module& module, const Device& device, Diagnostics& diagnostics) {
  DeviceChecks(module, device, diagnostics).Run();
}

}  // namespace etc
