#include "analysis/most_tasks.h"

#include <algorithm>

#include "analysis/shapes.h"
#include "ir/rewrite.h"
#include "ir/task_count.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// The values of a tensor: from `lo` on, and below `hi`.
struct Values {
  ExprId lo;
  ExprId hi;
  bool monotone = false;
};

class Bounding {
 public:
  Bounding(Module& module, const Share& share, const DimRanges& ranges)
      : module_(module), share_(share), ranges_(ranges) {}

  std::optional<ExprId> Run() {
    ExprId most = MakeInt(module_, 1);
    std::vector<size_t> counted;  // by a later axis, together with it
    for (size_t i = share_.axes.size(); i-- > 0;) {
      if (std::find(counted.begin(), counted.end(), i) != counted.end()) {
        continue;
      }
      std::optional<ExprId> extent;
      if (auto [together, of] = Neighbours(i); together) {
        extent = together;
        counted.push_back(of);
      } else {
        extent = Extent(share_.axes[i]);
      }
      if (!extent) {
        return std::nullopt;
      }
      most = MakeMul(module_, *extent, most);
    }
    return most;
  }

 private:
  /// How many points an axis has at most.
  std::optional<ExprId> Extent(const Axis& axis) {
    auto hi = Extreme(axis.hi, true);
    auto lo = axis.lo ? Extreme(axis.lo, false) : std::optional(MakeInt(module_, 0));
    return hi && lo ? AtLeastZero(MakeSub(module_, *hi, *lo)) : std::nullopt;
  }

  std::optional<ExprId> AtLeastZero(ExprId extent) {
    auto bounds = Bounds(module_, extent, {}, ranges_);
    if (bounds && bounds->lo >= 0) {
      return extent;
    }
    return module_.AddExpr(Call{Intrinsic::Max, {extent, MakeInt(module_, 0)}});
  }

  /// Of an axis that goes from one element of a monotone tensor to the next, whose place is the
  /// value of an axis in front: how many points there are of all of that axis together, and which
  /// one it is. No third axis may depend on either.
  std::pair<std::optional<ExprId>, size_t> Neighbours(size_t at) {
    const Axis& axis = share_.axes[at];
    if (!axis.lo || !std::holds_alternative<Load>(module_.exprs[axis.lo]) ||
        !std::holds_alternative<Load>(module_.exprs[axis.hi])) {
      return {};
    }
    const Load lo = std::get<Load>(module_.exprs[axis.lo]);  // copies: the expressions grow
    const Load hi = std::get<Load>(module_.exprs[axis.hi]);
    size_t of = 0;
    while (of < at &&
           (lo.indices.empty() || !IsSymbol(module_, lo.indices.back(), share_.axes[of].var))) {
      ++of;
    }
    bool same = of < at && lo.tensor == hi.tensor;
    for (size_t i = 0; same && i < lo.indices.size(); ++i) {
      ExprId mine = i + 1 < lo.indices.size()
                        ? lo.indices[i]
                        : MakeAdd(module_, lo.indices[i], MakeInt(module_, 1));
      same = SameSize(module_, mine, hi.indices[i], ranges_);
    }
    auto values = same ? ValuesOf(lo.tensor) : std::nullopt;
    if (!values || !values->monotone || Depends(of, at)) {
      return {};
    }
    ExprId last = MakeSub(module_, values->hi, MakeInt(module_, 1));
    return {AtLeastZero(MakeSub(module_, last, values->lo)), of};
  }

  /// Whether an axis but `except` depends on the axis, or the axis on data or on another one.
  bool Depends(size_t at, size_t except) const {
    std::vector<SymbolId> all;
    for (size_t i = 0; i < share_.axes.size(); ++i) {
      all.push_back(share_.axes[i].var);
      bool on_it = Mentions(module_, std::vector<Axis>{share_.axes[i]}, {share_.axes[at].var});
      if (i != at && i != except && on_it) {
        return true;
      }
    }
    const std::vector<Axis> own{share_.axes[at]};
    return ReadsTensor(module_, own) || Mentions(module_, own, all);
  }

  /// The largest value of an expression, or the least, over sizes.
  std::optional<ExprId> Extreme(ExprId id, bool largest) {
    const Expr expr = module_.exprs[id];  // a copy: the expressions grow
    if (const auto* load = std::get_if<Load>(&expr)) {
      auto values = ValuesOf(load->tensor);
      return !values   ? std::nullopt
             : largest ? std::optional(MakeSub(module_, values->hi, MakeInt(module_, 1)))
                       : std::optional(values->lo);
    }
    if (const auto* ref = std::get_if<SymbolRef>(&expr)) {
      auto axis = std::find_if(share_.axes.begin(), share_.axes.end(),
                               [&](const Axis& each) { return each.var == ref->symbol; });
      if (axis == share_.axes.end()) {
        return id;
      }
      if (!largest) {
        return axis->lo ? Extreme(axis->lo, false) : std::optional(MakeInt(module_, 0));
      }
      auto hi = Extreme(axis->hi, true);
      return hi ? std::optional(MakeSub(module_, *hi, MakeInt(module_, 1))) : std::nullopt;
    }
    if (const auto* binary = std::get_if<Binary>(&expr)) {
      return ExtremeOf(*binary, id, largest);
    }
    if (const auto* call = std::get_if<Call>(&expr)) {
      return ExtremeOf(*call, id, largest);
    }
    return IsFixed(id) ? std::optional(id) : std::nullopt;
  }

  std::optional<ExprId> ExtremeOf(const Binary& binary, ExprId id, bool largest) {
    if (IsFixed(id)) {
      return id;
    }
    bool sum = binary.op == BinaryOp::Add || binary.op == BinaryOp::Sub;
    bool turns = binary.op == BinaryOp::Sub;
    bool scaled =
        (binary.op == BinaryOp::Mul && (IsPositive(binary.left) || IsPositive(binary.right))) ||
        (binary.op == BinaryOp::Div && IsPositive(binary.right));
    if (!sum && !scaled) {
      return std::nullopt;
    }
    auto left = Extreme(binary.left, largest);
    auto right = Extreme(binary.right, largest != turns);
    return left && right ? std::optional(module_.AddExpr(Binary{binary.op, *left, *right}))
                         : std::nullopt;
  }

  std::optional<ExprId> ExtremeOf(const Call& call, ExprId id, bool largest) {
    if (IsFixed(id)) {
      return id;
    }
    bool grows = call.op == Intrinsic::Min || call.op == Intrinsic::Max ||
                 ((call.op == Intrinsic::CeilDiv || call.op == Intrinsic::Align) &&
                  IsPositive(call.args[1]));
    if (!grows) {
      return std::nullopt;
    }
    Call extreme = call;
    for (ExprId& arg : extreme.args) {
      auto mine = Extreme(arg, largest);
      if (!mine) {
        return std::nullopt;
      }
      arg = *mine;
    }
    return module_.AddExpr(std::move(extreme));
  }

  /// Whether sizes alone decide the value.
  bool IsFixed(ExprId id) const {
    std::vector<SymbolId> vars;
    for (const Axis& axis : share_.axes) {
      vars.push_back(axis.var);
    }
    return !ReadsTensor(module_, id) && !Mentions(module_, id, vars);
  }

  bool IsPositive(ExprId id) const {
    auto bounds = IsFixed(id) ? Bounds(module_, id, {}, ranges_) : std::nullopt;
    return bounds && bounds->lo >= 1;
  }

  /// By the tensor itself, or by what the device function asks of the one argument that it is.
  std::optional<Values> ValuesOf(TensorId id) {
    const Tensor& tensor = module_.tensors[id];
    bool input = tensor.kind == TensorKind::Param && tensor.access == Access::In;
    TensorId asked;
    const Device& device = module_.devices[share_.callee];
    for (size_t i = 0; i < share_.args.size(); ++i) {
      if (share_.args[i].tensor == id) {
        if (asked) {
          return std::nullopt;
        }
        asked = device.params[i];
      }
    }
    const Tensor* param = asked ? &module_.tensors[asked] : nullptr;
    const Tensor* said = input && tensor.value_lo ? &tensor : param;
    if (said == nullptr || !said->value_lo || !said->value_hi || !IsUniform(module_, *said)) {
      return std::nullopt;
    }
    bool monotone = (input && tensor.monotone) || (param != nullptr && param->monotone);
    return Values{said->value_lo, said->value_hi, monotone};
  }

  Module& module_;
  const Share& share_;
  const DimRanges& ranges_;
};

}  // namespace

std::optional<ExprId> MostTasksOf(Module& module, const Share& share, const DimRanges& ranges) {
  if (IsBox(module, share.axes)) {
    return TaskCount(module, share.axes);
  }
  return Bounding(module, share, ranges).Run();
}

}  // namespace etc
