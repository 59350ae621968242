#include "verify/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/shapes.h"
#include "ir/printer.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "verify/arrays.h"
#include "verify/wording.h"

namespace etc {
namespace {

class ArgumentChecks {
 public:
  ArgumentChecks(const Module& module, const Iterations& around, const DimRanges& ranges,
                 ExprChecker& exprs, Diagnostics& diagnostics)
      : module_(module),
        around_(around),
        ranges_(ranges),
        exprs_(exprs),
        diagnostics_(diagnostics) {}

  void Match(SourceRange call, const Device& callee, const Argument& arg, const Tensor& param) {
    const Tensor& tensor = module_.tensors[arg.tensor];
    SourceRange range = arg.range.IsValid() ? arg.range : call;
    for (ExprId index : arg.indices) {
      if (index) {
        exprs_.ExpectInt(index, fmt::format("an index of `%{}`", tensor.name));
      }
    }
    Note declared{param.range, fmt::format("parameter `%{}` of `@{}` is declared here", param.name,
                                           callee.name)};
    if (tensor.type != param.type) {
      diagnostics_
          .Error(DiagnosticKind::Argument, range,
                 fmt::format("`%{}` is {}, but parameter `%{}` of `@{}` is {}", tensor.name,
                             Spelling(tensor.type), param.name, callee.name, Spelling(param.type)))
          .notes.push_back(declared);
    }
    if (arg.indices.size() > tensor.shape.size()) {
      diagnostics_.Error(
          DiagnosticKind::Rank, range,
          fmt::format("`%{}` has {}, but the slice gives {} indices", tensor.name,
                      Counted(tensor.shape.size(), "dimension"), arg.indices.size()));
      return;
    }
    if (!tensor.tile.empty() && arg.indices.size() + 2 > tensor.shape.size()) {
      diagnostics_
          .Error(
              DiagnosticKind::Layout, range,
              fmt::format("the slice of `%{}` gives {} ind{}, but its last two axes are stored "
                          "in tiles and stay whole",
                          tensor.name, arg.indices.size(), arg.indices.size() == 1 ? "ex" : "ices"))
          .notes.push_back(DeclaredHere(tensor));
      return;
    }
    if (!CheckArraySlice(module_, arg, range, diagnostics_)) {
      return;
    }
    std::vector<size_t> axes = FreeAxes(arg, tensor);
    if (HasFreeAxes(arg)) {
      NeedsCopy(range, callee, arg, param);
    }
    size_t rank = axes.size();
    if (rank != param.shape.size()) {
      diagnostics_
          .Error(
              DiagnosticKind::Rank, range,
              fmt::format("{} has {}, but parameter `%{}` of `@{}` has {}",
                          arg.indices.empty() ? fmt::format("`%{}`", tensor.name)
                                              : fmt::format("the slice of `%{}`", tensor.name),
                          Counted(rank, "dimension"), param.name, callee.name, param.shape.size()))
          .notes.push_back(declared);
      return;
    }
    for (size_t i = 0; i < rank; ++i) {
      ExprId mine = tensor.shape[axes[i]];
      if (SameSize(module_, mine, param.shape[i], ranges_)) {
        continue;
      }
      Diagnostic& error = diagnostics_.Error(
          DiagnosticKind::Shape, range,
          fmt::format("dimension {} of `%{}` is `{}`{}, but parameter `%{}` of `@{}` has `{}`{}",
                      axes[i], tensor.name, Print(module_, mine), Value(mine), param.name,
                      callee.name, Print(module_, param.shape[i]), Value(param.shape[i])));
      error.notes.push_back(DeclaredHere(tensor));
      error.notes.push_back(declared);
    }
    if (!SameLayout(tensor, param)) {
      Diagnostic& error = diagnostics_.Error(
          DiagnosticKind::Layout, range,
          fmt::format("`%{}` is {}, but parameter `%{}` of `@{}` is {}", tensor.name,
                      Layout(tensor), param.name, callee.name, Layout(param)));
      error.notes.push_back(DeclaredHere(tensor));
      error.notes.push_back(declared);
    }
    SliceInside(arg, tensor);
  }

 private:
  /// The axes that the slice leaves.
  static std::vector<size_t> FreeAxes(const Argument& arg, const Tensor& tensor) {
    std::vector<size_t> axes;
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      if (i >= arg.indices.size() || !arg.indices[i]) {
        axes.push_back(i);
      }
    }
    return axes;
  }

  /// What a slice with a free axis in front of an index is given to: its elements lie apart.
  void NeedsCopy(SourceRange range, const Device& callee, const Argument& arg,
                 const Tensor& param) {
    const std::string& name = module_.tensors[arg.tensor].name;
    if (!callee.impls.empty()) {
      diagnostics_
          .Error(DiagnosticKind::Argument, range,
                 fmt::format("an implementation of `@{}` takes `%{}` as one piece of memory, but "
                             "the slice of `%{}` has a free axis in front of an index",
                             callee.name, param.name, name))
          .notes.push_back({callee.impls.front().range, "the implementation is here"});
    }
    if (param.distinct || param.monotone || param.counts || !IsUniform(module_, param) ||
        IsReadInHead(callee, param)) {
      diagnostics_
          .Error(DiagnosticKind::Argument, range,
                 fmt::format("the head of `@{}` says more of `%{}` than one range of its values, "
                             "but the slice of `%{}` has a free axis in front of an index",
                             callee.name, param.name, name))
          .notes.push_back(DeclaredHere(param));
    }
  }

  /// Whether task ranges or what is said of other parameters depend on the parameter.
  bool IsReadInHead(const Device& callee, const Tensor& param) const {
    auto reads = [&](ExprId id) {
      return FindExpr(module_, id, [&](const Expr& expr) {
               const auto* load = std::get_if<Load>(&expr);
               return load != nullptr && &module_.tensors[load->tensor] == &param;
             }).value != ExprId::kNone;
    };
    auto in_precondition = [&](TensorId id) {
      const Tensor& other = module_.tensors[id];
      bool counts = other.counts && &module_.tensors[other.counts] == &param;
      return counts || reads(other.value_lo) || reads(other.value_hi);
    };
    return std::any_of(callee.params.begin(), callee.params.end(), in_precondition) ||
           std::any_of(callee.tasks.begin(), callee.tasks.end(),
                       [&](const Axis& axis) { return reads(axis.lo) || reads(axis.hi); });
  }

  bool SameLayout(const Tensor& a, const Tensor& b) const {
    return a.swizzled == b.swizzled &&
           std::equal(a.tile.begin(), a.tile.end(), b.tile.begin(), b.tile.end(),
                      [&](ExprId x, ExprId y) { return SameSize(module_, x, y, ranges_); });
  }

  /// "stored in tiles of 8 x 32", "stored in swizzled tiles of 8 x 32"
  std::string Layout(const Tensor& tensor) const {
    if (tensor.tile.empty()) {
      return "row-major";
    }
    auto size = [&](ExprId id) {
      auto value = EvaluateInt(module_, id, {}, ranges_);
      return value ? fmt::format("{}", *value) : Print(module_, id);
    };
    return fmt::format("stored in {}tiles of {} x {}", tensor.swizzled ? "swizzled " : "",
                       size(tensor.tile[0]), size(tensor.tile[1]));
  }

  /// " = 64" for a constant that is not written as a number.
  std::string Value(ExprId id) const {
    auto value = EvaluateInt(module_, id, {}, ranges_);
    bool literal = std::holds_alternative<IntLiteral>(module_.exprs[id]);
    return value && !literal ? fmt::format(" = {}", *value) : "";
  }

  void SliceInside(const Argument& arg, const Tensor& tensor) {
    for (size_t i = 0; i < arg.indices.size(); ++i) {
      auto extent = EvaluateInt(module_, tensor.shape[i], {}, ranges_);
      for (const Env* env : {&around_.first, &around_.last}) {
        if (!arg.indices[i]) {
          break;
        }
        auto index = EvaluateInt(module_, arg.indices[i], *env, ranges_);
        if (index && (*index < 0 || (extent && *index >= *extent))) {
          diagnostics_
              .Error(DiagnosticKind::Bounds, module_.RangeOf(arg.indices[i]),
                     fmt::format(
                         "index {} of `%{}` is {}, outside of 0 .. {}{}", i, tensor.name, *index,
                         extent ? fmt::format("{}", *extent) : Print(module_, tensor.shape[i]),
                         env->empty() ? "" : Iteration(arg.indices[i], *env)))
              .notes.push_back(DeclaredHere(tensor));
          break;
        }
      }
    }
  }

  /// ", where l = 28": the repeat variables of an expression.
  std::string Iteration(ExprId id, const Env& env) const {
    std::string text;
    for (const auto& [symbol, value] : env) {
      if (Mentions(module_, id, {symbol})) {
        text += fmt::format("{}{} = {}", text.empty() ? ", where " : ", ",
                            module_.symbols[symbol].name, value);
      }
    }
    return text;
  }

  const Module& module_;
  const Iterations& around_;
  const DimRanges& ranges_;
  ExprChecker& exprs_;
  Diagnostics& diagnostics_;
};

/// Whether two slices of a tensor are seen to differ in an index.
bool AreApart(const Module& module, const Argument& a, const Argument& b, const DimRanges& ranges) {
  for (size_t i = 0; i < std::min(a.indices.size(), b.indices.size()); ++i) {
    if (a.indices[i] && b.indices[i] && !SameSize(module, a.indices[i], b.indices[i], ranges)) {
      return true;
    }
  }
  return false;
}

}  // namespace

void CheckArgument(const Module& module, SourceRange call, const Device& callee,
                   const Argument& arg, const Tensor& param, const Iterations& around,
                   const DimRanges& ranges, ExprChecker& exprs, Diagnostics& diagnostics) {
  ArgumentChecks(module, around, ranges, exprs, diagnostics).Match(call, callee, arg, param);
}

void CheckWrittenApart(const Module& module, SourceRange call, const Device& callee,
                       const std::vector<Argument>& args, const DimRanges& ranges,
                       Diagnostics& diagnostics) {
  for (size_t i = 0; i < args.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Tensor& first = module.tensors[callee.params[j]];
      const Tensor& second = module.tensors[callee.params[i]];
      if (first.access == Access::In || second.access == Access::In ||
          args[i].tensor != args[j].tensor || AreApart(module, args[i], args[j], ranges)) {
        continue;
      }
      diagnostics
          .Error(DiagnosticKind::Argument, args[i].range.IsValid() ? args[i].range : call,
                 fmt::format("`@{}` writes `%{}` and `%{}`, but both are given the same elements "
                             "of `%{}`",
                             callee.name, first.name, second.name,
                             module.tensors[args[i].tensor].name))
          .notes.push_back(DeclaredHere(callee));
    }
  }
}

}  // namespace etc
