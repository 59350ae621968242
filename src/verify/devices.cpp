#include <fmt/format.h>

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
    Block(loop.body);
  }

  void Check(StmtId, const If& branch) {
    exprs_.ExpectBool(branch.condition, "the condition of `if`");
    Block(branch.body);
    Block(branch.otherwise);
  }

  void Check(StmtId, const Let& let) { exprs_.DeclareLet(let.symbol, exprs_.Check(let.value)); }

  void Check(StmtId id, const LetPair& pair) {
    exprs_.DeclareLet(pair.index, exprs_.Check(pair.reduction));
    const auto* reduce = std::get_if<Reduce>(&module_.exprs[pair.reduction]);
    if (reduce == nullptr || !IsArg(reduce->op)) {
      diagnostics_.Error(
          DiagnosticKind::Type, module_.RangeOf(id),
          fmt::format("a pair of names takes an `argmax` or `argmin` alone, but `{}` is neither",
                      Print(module_, pair.reduction)));
      exprs_.DeclareLet(pair.value, ValueKind::Error);
      return;
    }
    exprs_.DeclareLet(pair.value, KindOf(module_, reduce->body));
  }

  void Check(StmtId, const LocalDecl& local) {
    CheckTensor(module_, module_.tensors[local.tensor], exprs_, diagnostics_);
  }

  void Check(StmtId id, const Assign& assign) {
    exprs_.CheckElement(assign.tensor, assign.indices, module_.RangeOf(id));
    if (assign.peer) {
      exprs_.ExpectInt(assign.peer, "the number of a peer");
    }
    const Tensor& tensor = module_.tensors[assign.tensor];
    exprs_.ExpectStored(
        assign.value, KindOf(tensor.type),
        fmt::format("a value {} `%{}`, which is {},", assign.adds ? "added to" : "stored in",
                    tensor.name, Spelling(tensor.type)));
    if (assign.adds && KindOf(tensor.type) == ValueKind::Bool) {
      diagnostics_.Error(
          DiagnosticKind::Type, module_.RangeOf(id),
          fmt::format("`+=` adds numbers, but the elements of `%{}` are booleans", tensor.name));
    }
  }

  void Check(StmtId id, const TopK& topk) {
    SourceRange range = module_.RangeOf(id);
    exprs_.CheckAxes({topk.rank, topk.axis});
    exprs_.CheckElement(topk.values, topk.value_indices, range);
    exprs_.CheckElement(topk.positions, topk.position_indices, range);
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
  }

  const Module& module_;
  const Device& device_;
  Diagnostics& diagnostics_;
  ExprChecker exprs_;
};

}  // namespace

void CheckDevice(const Module& module, const Device& device, Diagnostics& diagnostics) {
  DeviceChecks(module, device, diagnostics).Run();
}

}  // namespace etc
