#include <algorithm>
#include <cstddef>
#include <map>
#include <unordered_map>

#include "ir/evaluate.h"
#include "ir/expr_kinds.h"

namespace etc {
namespace {

/// Deeper than any expression that the parser accepts; only long chains of constants get here.
constexpr int kMaxDepth = 5000;

bool Binds(const Stmt& stmt, SymbolId name) {
  if (const auto* let = std::get_if<Let>(&stmt)) {
    return let->symbol == name;
  }
  const auto* pair = std::get_if<LetPair>(&stmt);
  return pair != nullptr && (pair->index == name || pair->value == name);
}

/// The statement that binds the name of a `let`, which is one, or null. A name is mostly bound near
/// the one that was looked up before it, so the search goes from there to both sides.
const Stmt* BindingOf(const Module& module, SymbolId name) {
  static thread_local size_t last = 0;
  const auto first = module.stmts.begin();
  const size_t count = module.stmts.size();
  size_t below = std::min(last, count);  // those before it and those from `above` on are left
  size_t above = below;
  while (below > 0 || above < count) {
    for (size_t at : {below - 1, above}) {
      if (at < count && Binds(first[static_cast<std::ptrdiff_t>(at)], name)) {
        last = at;
        return &first[static_cast<std::ptrdiff_t>(at)];
      }
    }
    below -= below > 0 ? 1 : 0;
    above += above < count ? 1 : 0;
  }
  return nullptr;
}

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
    if (ExprId value = module_.symbols[symbol].value) {
      return Find(value);
    }
    if (module_.symbols[symbol].kind == SymbolKind::Const) {
      return ValueKind::Int;  // of the target, which is chosen later
    }
    const Stmt* binding = BindingOf(module_, symbol);
    if (binding == nullptr) {
      return ValueKind::Error;
    }
    if (const auto* let = std::get_if<Let>(binding)) {
      return Find(let->value);
    }
    const auto& pair = std::get<LetPair>(*binding);
    if (pair.index == symbol) {
      return ValueKind::Int;
    }
    const auto* reduce = std::get_if<Reduce>(&module_.exprs[pair.reduction]);
    return reduce == nullptr ? ValueKind::Error : Find(reduce->body);
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
