#include <map>
#include <unordered_map>

#include "ir/evaluate.h"
#include "ir/expr_kinds.h"

namespace etc {
namespace {

/// Deeper than any expression that the parser accepts; only long chains of constants get here.
constexpr int kMaxDepth = 5000;

/// The kinds of the expressions of one query. Constants and lets are looked up once, so that a
/// chain of them, each using the one before twice, costs linear time.
class KindFinder {
 public:
  /// `found`: those of expressions, or null where they are not kept.
  explicit KindFinder(const Module& module,
                      std::unordered_map<uint32_t, ValueKind>* found = nullptr)
      : module_(module), found_(found) {}

  ValueKind Find(ExprId id) {
    if (depth_ >= kMaxDepth) {
      return ValueKind::Error;
    }
    if (found_ != nullptr) {
      if (auto known = found_->find(id.value); known != found_->end()) {
        return known->second;
      }
    }
    ++depth_;
    ValueKind kind = std::visit([this](const auto& expr) { return Of(expr); }, module_.exprs[id]);
    --depth_;
    if (found_ != nullptr) {
      (*found_)[id.value] = kind;
    }
    return kind;
  }

 private:
  static ValueKind Promote(ValueKind a, ValueKind b) {
    if (a == ValueKind::Error || b == ValueKind::Error || a == b) {
      return a == ValueKind::Error ? a : b;
    }
    if (a == ValueKind::Bool || b == ValueKind::Bool) {
      return ValueKind::Error;
    }
    bool has_double = a == ValueKind::Double || b == ValueKind::Double;
    return has_double ? ValueKind::Double : ValueKind::Float;
  }

  ValueKind Of(const IntLiteral&) { return ValueKind::Int; }
  ValueKind Of(const FloatLiteral&) { return ValueKind::Float; }
  ValueKind Of(const BoolLiteral&) { return ValueKind::Bool; }
  ValueKind Of(const Load& load) { return KindOf(module_.tensors[load.tensor].type); }
  ValueKind Of(const Cast& cast) { return KindOf(cast.type); }

  ValueKind Of(const SymbolRef& ref) {
    const Symbol& symbol = module_.symbols[ref.symbol];
    if (symbol.kind == SymbolKind::Scalar) {
      return symbol.type;
    }
    if (symbol.kind != SymbolKind::Const && symbol.kind != SymbolKind::Let) {
      return ValueKind::Int;
    }
    auto [found, is_new] = known_.emplace(ref.symbol, ValueKind::Error);
    if (!is_new) {
      return found->second;
    }
    ValueKind kind = KindOfNamed(ref.symbol);
    known_[ref.symbol] = kind;
    return kind;
  }

  ValueKind Of(const Unary& unary) {
    return unary.op == UnaryOp::Not ? ValueKind::Bool : Find(unary.operand);
  }

  ValueKind Of(const Binary& binary) {
    switch (binary.op) {
      case BinaryOp::Add:
      case BinaryOp::Sub:
      case BinaryOp::Mul:
      case BinaryOp::Div:
      case BinaryOp::Mod:
        return Promote(Find(binary.left), Find(binary.right));
      default:
        return IsBitOp(binary.op) ? ValueKind::Int : ValueKind::Bool;
    }
  }

  ValueKind Of(const Call& call) {
    if (static_cast<int>(call.args.size()) != Arity(call.op)) {
      return ValueKind::Error;
    }
    switch (KindOf(call.op)) {
      case IntrinsicKind::Choice:
        return Promote(Find(call.args[1]), Find(call.args[2]));
      case IntrinsicKind::Number:
        return Joined(Find(call.args[0]), call.args);
      case IntrinsicKind::Float:
        return Joined(ValueKind::Float, call.args);
      case IntrinsicKind::Quotient:
      case IntrinsicKind::Limit:
        break;
    }
    return ValueKind::Int;
  }

  ValueKind Joined(ValueKind kind, const std::vector<ExprId>& args) {
    for (ExprId arg : args) {
      kind = Promote(kind, Find(arg));
    }
    return kind;
  }

  ValueKind Of(const Reduce& reduce) {
    return IsArg(reduce.op)       ? ValueKind::Int
           : IsLogical(reduce.op) ? ValueKind::Bool
                                  : Find(reduce.body);
  }

  /// Of a constant or a `let`.
  ValueKind KindOfNamed(SymbolId symbol) {
    if (module_.symbols[symbol].kind == SymbolKind::Const) {
      ExprId value = module_.symbols[symbol].value;
      return value ? Find(value) : ValueKind::Int;  // of the target, which is chosen later
    }
    for (const Stmt& stmt : module_.stmts) {
      if (const auto* let = std::get_if<Let>(&stmt); let != nullptr && let->symbol == symbol) {
        return Find(let->value);
      }
      const auto* pair = std::get_if<LetPair>(&stmt);
      if (pair != nullptr && pair->index == symbol) {
        return ValueKind::Int;
      }
      if (pair != nullptr && pair->value == symbol) {
        const auto* reduce = std::get_if<Reduce>(&module_.exprs[pair->reduction]);
        return reduce == nullptr ? ValueKind::Error : Find(reduce->body);
      }
    }
    return ValueKind::Error;
  }

  const Module& module_;
  std::unordered_map<uint32_t, ValueKind>* found_;
  std::map<SymbolId, ValueKind> known_;
  int depth_ = 0;
};

}  // namespace

ValueKind KindOf(const Module& module, ExprId expr) { return KindFinder(module).Find(expr); }

ValueKind ExprKinds::Of(ExprId expr) { return KindFinder(module_, &known_).Find(expr); }

}  // namespace etc
