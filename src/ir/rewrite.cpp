#include "ir/rewrite.h"

#include <algorithm>
#include <optional>

#include "ir/checked.h"
#include "ir/evaluate.h"
#include "ir/walk.h"

namespace etc {
namespace {

class Cloner {
 public:
  Cloner(Module& module, const Substitution& symbols, const TensorSubstitution& tensors)
      : module_(module), symbols_(symbols), tensors_(tensors) {}

  ExprId Copy(ExprId id) {
    if (!id) {
      return id;
    }
    const Expr expr = module_.exprs[id];  // a copy: cloning grows the table
    if (const auto* ref = std::get_if<SymbolRef>(&expr)) {
      auto found = symbols_.find(ref->symbol);
      if (found != symbols_.end()) {
        return PutAt(module_.RangeOf(id), found->second);
      }
    }
    if (ExprId end = EndOf(expr)) {
      return end;
    }
    SourceRange range = module_.RangeOf(id);
    return module_.AddExpr(std::visit([this](const auto& e) { return Expr(CopyOf(e)); }, expr),
                           range);
  }

  std::vector<Axis> Copy(const std::vector<Axis>& axes) {
    std::vector<Axis> copies;
    for (const Axis& axis : axes) {
      copies.push_back({CopyBinder(axis.var), Copy(axis.lo), Copy(axis.hi)});
    }
    return copies;
  }

 private:
  /// What a pass has made, and so has no place, stands where it is put, for messages.
  ExprId PutAt(SourceRange range, ExprId id) {
    if (module_.RangeOf(id).IsValid() || !range.IsValid()) {
      return id;
    }
    Expr expr = module_.exprs[id];  // a copy: the table grows
    return module_.AddExpr(std::move(expr), range);
  }

  /// An end of the range of what a symbol stands for: a constant itself, and of what grows with
  /// every dimension in it the value at their ends. Absent for a dimension, whose ends have no
  /// other name.
  ExprId EndOf(const Expr& expr) {
    const auto* call = std::get_if<Call>(&expr);
    if (call == nullptr || KindOf(call->op) != IntrinsicKind::Limit || call->args.size() != 1) {
      return {};
    }
    const auto* ref = std::get_if<SymbolRef>(&module_.exprs[call->args[0]]);
    auto found = ref != nullptr ? symbols_.find(ref->symbol) : symbols_.end();
    if (found == symbols_.end()) {
      return {};
    }
    if (EvaluateInt(module_, found->second, {})) {
      return found->second;
    }
    const bool is_name = std::holds_alternative<SymbolRef>(module_.exprs[found->second]);
    return !is_name && Grows(found->second) ? AtEnds(call->op, found->second) : ExprId{};
  }

  /// Whether the value never falls when a dimension grows, which is not negative.
  bool Grows(ExprId id) const {
    const Expr& expr = module_.exprs[id];
    if (const auto* ref = std::get_if<SymbolRef>(&expr)) {
      const SymbolKind kind = module_.symbols[ref->symbol].kind;
      return kind == SymbolKind::Dim || kind == SymbolKind::Const;
    }
    if (std::holds_alternative<IntLiteral>(expr)) {
      return true;
    }
    auto is_constant = [this](ExprId operand, int64_t least) {
      return EvaluateInt(module_, operand, {}).value_or(least - 1) >= least;
    };
    if (const auto* binary = std::get_if<Binary>(&expr)) {
      const ExprId left = binary->left, right = binary->right;
      switch (binary->op) {
        case BinaryOp::Add:
          return Grows(left) && Grows(right);
        case BinaryOp::Sub:
          return Grows(left) && EvaluateInt(module_, right, {}).has_value();
        case BinaryOp::Mul:
          return Grows(left) && Grows(right) && IsNotNegative(left) && IsNotNegative(right);
        case BinaryOp::Div:
          return Grows(left) && is_constant(right, 1);
        default:
          return false;
      }
    }
    const auto* call = std::get_if<Call>(&expr);
    if (call == nullptr || call->args.size() != 2) {
      return false;
    }
    const bool picks = call->op == Intrinsic::Min || call->op == Intrinsic::Max;
    const bool divides = KindOf(call->op) == IntrinsicKind::Quotient;
    return Grows(call->args[0]) &&
           ((picks && Grows(call->args[1])) || (divides && is_constant(call->args[1], 1)));
  }

  bool IsNotNegative(ExprId id) const {
    std::optional<Interval> values = Bounds(module_, id, {}, {});
    return values && values->lo >= 0;
  }

  /// The value where each dimension is at that end of its range.
  ExprId AtEnds(Intrinsic end, ExprId value) {
    Substitution ends;
    VisitExprs(module_, value, [&](ExprId id) {
      const auto* ref = std::get_if<SymbolRef>(&module_.exprs[id]);
      if (ref != nullptr && module_.symbols[ref->symbol].kind == SymbolKind::Dim) {
        ends[ref->symbol] = id;
      }
    });
    for (auto& [dim, id] : ends) {
      id = module_.AddExpr(Call{end, {id}}, module_.RangeOf(id));
    }
    return Cloner(module_, ends, {}).Copy(value);
  }

  /// A variable that the expression itself binds; a substitution may rename it.
  SymbolId CopyBinder(SymbolId var) const {
    auto found = symbols_.find(var);
    if (found != symbols_.end()) {
      if (const auto* ref = std::get_if<SymbolRef>(&module_.exprs[found->second])) {
        return ref->symbol;
      }
    }
    return var;
  }

  std::vector<ExprId> Copy(const std::vector<ExprId>& ids) {
    std::vector<ExprId> copies;
    for (ExprId id : ids) {
      copies.push_back(Copy(id));
    }
    return copies;
  }

  IntLiteral CopyOf(const IntLiteral& literal) { return literal; }
  FloatLiteral CopyOf(const FloatLiteral& literal) { return literal; }
  BoolLiteral CopyOf(const BoolLiteral& literal) { return literal; }
  SymbolRef CopyOf(const SymbolRef& ref) { return ref; }
  Load CopyOf(const Load& load) {
    auto found = tensors_.find(load.tensor);
    if (found == tensors_.end()) {
      return {load.tensor, Copy(load.indices)};
    }
    return {found->second.tensor, Behind(found->second.indices, Copy(load.indices))};
  }
  Cast CopyOf(const Cast& cast) { return {cast.type, Copy(cast.operand)}; }
  Unary CopyOf(const Unary& unary) { return {unary.op, Copy(unary.operand)}; }
  Binary CopyOf(const Binary& binary) { return {binary.op, Copy(binary.left), Copy(binary.right)}; }
  Call CopyOf(const Call& call) { return {call.op, Copy(call.args)}; }
  Reduce CopyOf(const Reduce& reduce) { return {reduce.op, Copy(reduce.axes), Copy(reduce.body)}; }

  Module& module_;
  const Substitution& symbols_;
  const TensorSubstitution& tensors_;
};

std::optional<int64_t> Literal(const Module& module, ExprId id) {
  const auto* literal = std::get_if<IntLiteral>(&module.exprs[id]);
  return literal != nullptr ? std::optional(literal->value) : std::nullopt;
}

/// Looks for symbols in an expression.
struct Mention {
  const Module& module;
  const std::vector<SymbolId>& symbols;

  bool In(ExprId id) const { return id && std::visit(*this, module.exprs[id]); }
  bool In(const std::vector<Axis>& axes) const {
    return std::any_of(axes.begin(), axes.end(),
                       [this](const Axis& axis) { return In(axis.lo) || In(axis.hi); });
  }
  bool In(const std::vector<ExprId>& ids) const {
    return std::any_of(ids.begin(), ids.end(), [this](ExprId id) { return In(id); });
  }

  bool operator()(const IntLiteral&) const { return false; }
  bool operator()(const FloatLiteral&) const { return false; }
  bool operator()(const BoolLiteral&) const { return false; }
  bool operator()(const SymbolRef& ref) const {
    return std::find(symbols.begin(), symbols.end(), ref.symbol) != symbols.end();
  }
  bool operator()(const Load& load) const { return In(load.indices); }
  bool operator()(const Cast& cast) const { return In(cast.operand); }
  bool operator()(const Unary& unary) const { return In(unary.operand); }
  bool operator()(const Binary& binary) const { return In(binary.left) || In(binary.right); }
  bool operator()(const Call& call) const { return In(call.args); }
  bool operator()(const Reduce& reduce) const { return In(reduce.body) || In(reduce.axes); }
};

}  // namespace

std::vector<ExprId> Behind(const std::vector<ExprId>& slice, const std::vector<ExprId>& indices) {
  std::vector<ExprId> all;
  size_t next = 0;
  for (ExprId index : slice) {
    all.push_back(index ? index : indices[next++]);
  }
  all.insert(all.end(), indices.begin() + static_cast<std::ptrdiff_t>(next), indices.end());
  return all;
}

ExprId Clone(Module& module, ExprId expr, const Substitution& symbols,
             const TensorSubstitution& tensors) {
  return Cloner(module, symbols, tensors).Copy(expr);
}

EventRef Clone(Module& module, const EventRef& ref, const Substitution& symbols,
               const TensorSubstitution& tensors) {
  Cloner cloner(module, symbols, tensors);
  EventRef copy;
  copy.event = ref.event;
  for (const EventIndex& index : ref.indices) {
    copy.indices.push_back({cloner.Copy(index.lo), cloner.Copy(index.hi), index.all});
  }
  copy.axes = cloner.Copy(ref.axes);
  copy.guard = cloner.Copy(ref.guard);
  copy.peer = cloner.Copy(ref.peer);
  return copy;
}

Substitution CopyIndices(Module& module, std::vector<SymbolId>& indices) {
  Substitution names;
  for (SymbolId& index : indices) {
    if (index) {
      SymbolId copy = module.symbols.Add(module.symbols[index]);
      names[index] = MakeRef(module, copy);
      index = copy;
    }
  }
  return names;
}

ExprId MakeInt(Module& module, int64_t value) { return module.AddExpr(IntLiteral{value}); }

ExprId MakeRef(Module& module, SymbolId symbol) { return module.AddExpr(SymbolRef{symbol}); }

ExprId MakeAdd(Module& module, ExprId left, ExprId right) {
  std::optional<int64_t> a = Literal(module, left);
  std::optional<int64_t> b = Literal(module, right);
  if (a == 0) {
    return right;
  }
  if (b == 0) {
    return left;
  }
  if (a && b) {
    if (std::optional<int64_t> sum = CheckedAdd(*a, *b)) {
      return MakeInt(module, *sum);
    }
  }
  return module.AddExpr(Binary{BinaryOp::Add, left, right});
}

ExprId MakeSub(Module& module, ExprId left, ExprId right) {
  if (std::optional<int64_t> number = EvaluateInt(module, right, {})) {
    return *number == 0 ? left : MakeOffset(module, left, -*number);
  }
  return module.AddExpr(Binary{BinaryOp::Sub, left, right});
}

ExprId MakeMul(Module& module, ExprId left, ExprId right) {
  std::optional<int64_t> a = Literal(module, left);
  std::optional<int64_t> b = Literal(module, right);
  if (a == 1) {
    return right;
  }
  if (b == 1) {
    return left;
  }
  if (a == 0 || b == 0) {
    return MakeInt(module, 0);
  }
  if (a && b) {
    if (std::optional<int64_t> product = CheckedMul(*a, *b)) {
      return MakeInt(module, *product);
    }
  }
  return module.AddExpr(Binary{BinaryOp::Mul, left, right});
}

ExprId MakeOffset(Module& module, ExprId value, int64_t offset) {
  if (const auto* literal = std::get_if<IntLiteral>(&module.exprs[value])) {
    return MakeInt(module, literal->value + offset);
  }
  const auto* call = std::get_if<Call>(&module.exprs[value]);
  if (call != nullptr && (call->op == Intrinsic::Min || call->op == Intrinsic::Max)) {
    Call moved = *call;
    for (ExprId& arg : moved.args) {
      arg = MakeOffset(module, arg, offset);
    }
    return module.AddExpr(std::move(moved));
  }
  const auto* sum = std::get_if<Binary>(&module.exprs[value]);
  if (sum != nullptr && (sum->op == BinaryOp::Add || sum->op == BinaryOp::Sub)) {
    if (const auto* literal = std::get_if<IntLiteral>(&module.exprs[sum->right])) {
      int64_t mine = sum->op == BinaryOp::Add ? literal->value : -literal->value;
      return MakeOffset(module, sum->left, mine + offset);
    }
  }
  if (offset < 0) {
    return module.AddExpr(Binary{BinaryOp::Sub, value, MakeInt(module, -offset)});
  }
  return MakeAdd(module, value, MakeInt(module, offset));
}

ExprId MakeAlign(Module& module, ExprId value, int64_t alignment) {
  if (std::optional<int64_t> literal = Literal(module, value)) {
    if (std::optional<int64_t> aligned = CheckedAlign(*literal, alignment)) {
      return MakeInt(module, *aligned);
    }
  }
  return module.AddExpr(Call{Intrinsic::Align, {value, MakeInt(module, alignment)}});
}

bool Mentions(const Module& module, ExprId expr, const std::vector<SymbolId>& symbols) {
  return Mention{module, symbols}.In(expr);
}

bool Mentions(const Module& module, const std::vector<Axis>& axes,
              const std::vector<SymbolId>& symbols) {
  return Mention{module, symbols}.In(axes);
}

bool Mentions(const Module& module, const EventRef& ref, const std::vector<SymbolId>& symbols) {
  Mention mention{module, symbols};
  return std::any_of(ref.indices.begin(), ref.indices.end(),
                     [&](const EventIndex& i) { return mention.In(i.lo) || mention.In(i.hi); }) ||
         mention.In(ref.axes) || mention.In(ref.guard) || mention.In(ref.peer);
}

namespace {

std::vector<SymbolId> CoordinatesOf(const Share& share) {
  std::vector<SymbolId> coordinates;
  for (const Axis& axis : share.axes) {
    coordinates.push_back(axis.var);
  }
  return coordinates;
}

}  // namespace

bool ReadsCoordinates(const Module& module, const EventRef& ref, const Share& share) {
  return Mentions(module, ref, CoordinatesOf(share));
}

bool ReadsCoordinates(const Module& module, const Check& check, const Share& share) {
  const std::vector<SymbolId> coordinates = CoordinatesOf(share);
  Mention mention{module, coordinates};
  auto any = [&](const std::vector<ExprId>& exprs) {
    return std::any_of(exprs.begin(), exprs.end(), [&](ExprId id) { return mention.In(id); });
  };
  return any(check.slice) || any(check.counts_slice) || mention.In(check.value_lo) ||
         mention.In(check.value_hi);
}

}  // namespace etc
