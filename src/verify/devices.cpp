#include <fmt/format.h>

#include <set>

#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/walk.h"
#include "verify/checks.h"
#include "verify/expr_checker.h"
#include "verify/samples.h"
#include "verify/tensors.h"
#include "verify/wording.h"

namespace etc {
namespace {

class DeviceChecks {
 public:
  DeviceChecks(const Module& module, const Device& device, Diagnostics& diagnostics)
      : module_(module), device_(device), diagnostics_(diagnostics), exprs_(module, diagnostics) {}

  void Run() {
    for (TensorId param : device_.params) {
      CheckTensor(module_, module_.tensors[param], exprs_, diagnostics_);
    }
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
  void Tasks() {
    size_t before = diagnostics_.error_count();
    exprs_.CheckAxes(device_.tasks);
    for (const Axis& axis : device_.tasks) {
      for (ExprId bound : {axis.lo, axis.hi}) {
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
    Block(loop.body);
  }

  void Check(StmtId, const If& branch) {
    exprs_.ExpectBool(branch.condition, "the condition of `if`");
    Reads(branch.condition);
    Block(branch.body);
  }

  void Check(StmtId, const Let& let) {
    exprs_.DeclareLet(let.symbol, exprs_.Check(let.value));
    Reads(let.value);
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
    exprs_.Expect(
        assign.value, KindOf(tensor.type),
        fmt::format("a value stored in `%{}`, which is {},", tensor.name, Spelling(tensor.type)));
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
    exprs_.Expect(
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
      const auto* load = std::get_if<Load>(&module_.exprs[inner]);
      if (load == nullptr || written_.contains(load->tensor)) {
        return;
      }
      const Tensor& tensor = module_.tensors[load->tensor];
      bool undefined = tensor.kind == TensorKind::Local ||
                       (tensor.kind == TensorKind::Param && tensor.access == Access::Out);
      if (undefined) {
        diagnostics_.Error(DiagnosticKind::Access, module_.RangeOf(inner),
                           fmt::format("`%{}` is {}, and it is read before anything is written to "
                                       "it",
                                       tensor.name, Describe(tensor)));
      }
    });
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
};

}  // namespace

void CheckDevice(const Module& module, const Device& device, Diagnostics& diagnostics) {
  DeviceChecks(module, device, diagnostics).Run();
}

}  // namespace etc
