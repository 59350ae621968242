#include "analysis/preloaded.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/evaluate.h"

namespace etc {

namespace {

/// Whether a read and a write of one tensor are of different elements, whichever tasks of two calls
/// they are of.
class Apart {
 public:
  /// Nothing in the launch writes the tensors `constant`.
  Apart(const Module& module, const ProgramCall& reader, const ElementAccess& read,
        const ProgramCall& writer, const ElementAccess& write, const std::set<TensorId>& constant)
      : module_(module),
        reader_(reader),
        read_(read),
        writer_(writer),
        write_(write),
        constant_(constant) {}

  bool Proven() {
    for (size_t i = 0; i < read_.indices.size(); ++i) {
      Assume(read_.indices[i], write_.indices[i]);
    }
    for (size_t i = 0; i < equal_.size(); ++i) {
      CombineQuotient(equal_[i]);
    }
    return std::any_of(equal_.begin(), equal_.end(),
                       [&](const Equality& equality) { return Contradicts(equality); });
  }

 private:
  /// An expression of the read, and one of the write that has the same value.
  using Equality = std::pair<ExprId, ExprId>;

  void Assume(ExprId read, ExprId write) {
    read = Value(read_, read);
    write = Value(write_, write);
    equal_.push_back({read, write});
    const auto* a = std::get_if<Load>(&module_.exprs[read]);
    const auto* b = std::get_if<Load>(&module_.exprs[write]);
    if (a == nullptr || b == nullptr) {
      return;
    }
    std::optional<TensorId> tensor = Constant(read_, a->tensor);
    if (tensor && tensor == Constant(write_, b->tensor) && module_.tensors[*tensor].distinct) {
      for (size_t i = 0; i < a->indices.size(); ++i) {
        Assume(a->indices[i], b->indices[i]);
      }
    }
  }

  /// x = y follows from x / c = y / c and x % c = y % c.
  void CombineQuotient(Equality equality) {
    const Binary* read_quotient = Operation(equality.first, BinaryOp::Div);
    const Binary* write_quotient = Operation(equality.second, BinaryOp::Div);
    if (read_quotient == nullptr || write_quotient == nullptr) {
      return;
    }
    auto divisor = EvaluateInt(module_, read_quotient->right, {});
    if (!divisor || *divisor <= 0 || EvaluateInt(module_, write_quotient->right, {}) != divisor) {
      return;
    }
    bool found = std::any_of(equal_.begin(), equal_.end(), [&](const Equality& other) {
      const Binary* a = Operation(other.first, BinaryOp::Mod);
      const Binary* b = Operation(other.second, BinaryOp::Mod);
      return a != nullptr && b != nullptr && EvaluateInt(module_, a->right, {}) == divisor &&
             EvaluateInt(module_, b->right, {}) == divisor &&
             Same(read_, read_quotient->left, read_, a->left) &&
             Same(write_, write_quotient->left, write_, b->left);
    });
    if (found) {
      Assume(read_quotient->left, write_quotient->left);
    }
  }

  const Binary* Operation(ExprId id, BinaryOp op) const {
    const auto* binary = std::get_if<Binary>(&module_.exprs[id]);
    return binary != nullptr && binary->op == op ? binary : nullptr;
  }

  /// Whether the equality cannot hold: the read's side is a loop variable, below the write's side.
  bool Contradicts(const Equality& equality) const {
    const auto* ref = std::get_if<SymbolRef>(&module_.exprs[equality.first]);
    const BodyVariable* variable = ref == nullptr ? nullptr : Find(read_, ref->symbol);
    return variable != nullptr && variable->hi && AtMost(variable->hi, equality.second);
  }

  /// Whether `bound`, of the read, is at most `limit`, of the write.
  bool AtMost(ExprId bound, ExprId limit) const {
    bound = Value(read_, bound);
    limit = Value(write_, limit);
    if (Same(read_, bound, write_, limit)) {
      return true;
    }
    const Binary* sum = Operation(limit, BinaryOp::Add);
    if (sum != nullptr && ((IsNatural(sum->right) && AtMost(bound, sum->left)) ||
                           (IsNatural(sum->left) && AtMost(bound, sum->right)))) {
      return true;
    }
    const auto* call = std::get_if<Call>(&module_.exprs[bound]);
    return call != nullptr && call->op == Intrinsic::Min &&
           std::any_of(call->args.begin(), call->args.end(),
                       [&](ExprId arg) { return AtMost(arg, limit); });
  }

  /// Whether a value of the write is certainly 0 or more.
  bool IsNatural(ExprId id) const {
    id = Value(write_, id);
    if (std::optional<int64_t> value = EvaluateInt(module_, id, {})) {
      return *value >= 0;
    }
    if (const BodyVariable* variable = VariableOf(id)) {
      return !variable->lo || IsNatural(variable->lo);
    }
    const auto* binary = std::get_if<Binary>(&module_.exprs[id]);
    if (binary == nullptr) {
      return false;
    }
    return binary->op == BinaryOp::Sub
               ? AtLeast(binary->left, binary->right)
               : (binary->op == BinaryOp::Add || binary->op == BinaryOp::Mul) &&
                     IsNatural(binary->left) && IsNatural(binary->right);
  }

  /// Whether of two values of the write the first is certainly no less: a variable begins there, or
  /// what is added is natural.
  bool AtLeast(ExprId id, ExprId limit) const {
    id = Value(write_, id);
    if (Same(write_, id, write_, limit)) {
      return true;
    }
    if (const BodyVariable* variable = VariableOf(id)) {
      return variable->lo && AtLeast(variable->lo, limit);
    }
    const Binary* sum = Operation(id, BinaryOp::Add);
    return sum != nullptr && ((IsNatural(sum->right) && AtLeast(sum->left, limit)) ||
                              (IsNatural(sum->left) && AtLeast(sum->right, limit)));
  }

  /// The variable of the write that an expression is, if it has a range.
  const BodyVariable* VariableOf(ExprId id) const {
    const auto* ref = std::get_if<SymbolRef>(&module_.exprs[id]);
    const BodyVariable* variable = ref == nullptr ? nullptr : Find(write_, ref->symbol);
    return variable != nullptr && variable->hi ? variable : nullptr;
  }

  static const BodyVariable* Find(const ElementAccess& access, SymbolId symbol) {
    auto it = std::find_if(access.variables.begin(), access.variables.end(),
                           [&](const BodyVariable& v) { return v.symbol == symbol; });
    return it == access.variables.end() ? nullptr : &*it;
  }

  /// What a name stands for where it is a `let`.
  ExprId Value(const ElementAccess& access, ExprId id) const {
    while (const auto* ref = std::get_if<SymbolRef>(&module_.exprs[id])) {
      const BodyVariable* variable = Find(access, ref->symbol);
      if (variable == nullptr || !variable->is_let) {
        break;
      }
      id = variable->lo;
    }
    return id;
  }

  /// Whether two expressions always have the same value. Variables do that are the same access's,
  /// or that were found to be equal.
  bool Same(const ElementAccess& a_access, ExprId a, const ElementAccess& b_access,
            ExprId b) const {
    a = Value(a_access, a);
    b = Value(b_access, b);
    auto same = [&](ExprId x, ExprId y) { return Same(a_access, x, b_access, y); };
    auto all = [&](const std::vector<ExprId>& x, const std::vector<ExprId>& y) {
      return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
    };
    const Expr& x = module_.exprs[a];
    const Expr& y = module_.exprs[b];
    if (x.index() != y.index()) {
      return false;
    }
    if (const auto* literal = std::get_if<IntLiteral>(&x)) {
      return literal->value == std::get<IntLiteral>(y).value;
    }
    if (const auto* ref = std::get_if<SymbolRef>(&x)) {
      SymbolId other = std::get<SymbolRef>(y).symbol;
      bool varies = Find(a_access, ref->symbol) != nullptr;
      return varies && &a_access != &b_access ? EqualVariables(ref->symbol, other)
                                              : ref->symbol == other;
    }
    if (const auto* load = std::get_if<Load>(&x)) {
      const auto& other = std::get<Load>(y);
      std::optional<TensorId> tensor = Constant(a_access, load->tensor);
      return tensor && tensor == Constant(b_access, other.tensor) &&
             all(load->indices, other.indices);
    }
    if (const auto* unary = std::get_if<Unary>(&x)) {
      const auto& other = std::get<Unary>(y);
      return unary->op == other.op && same(unary->operand, other.operand);
    }
    if (const auto* binary = std::get_if<Binary>(&x)) {
      const auto& other = std::get<Binary>(y);
      return binary->op == other.op && same(binary->left, other.left) &&
             same(binary->right, other.right);
    }
    if (const auto* call = std::get_if<Call>(&x)) {
      const auto& other = std::get<Call>(y);
      return call->op == other.op && all(call->args, other.args);
    }
    return false;
  }

  /// The constant tensor that a parameter is all of.
  std::optional<TensorId> Constant(const ElementAccess& access, TensorId param) const {
    const Argument* argument = ArgumentOf(&access == &read_ ? reader_ : writer_, param);
    bool constant =
        argument != nullptr && argument->indices.empty() && constant_.contains(argument->tensor);
    return constant ? std::optional(argument->tensor) : std::nullopt;
  }

  bool EqualVariables(SymbolId read, SymbolId write) const {
    return std::any_of(equal_.begin(), equal_.end(), [&](const Equality& equality) {
      const auto* a = std::get_if<SymbolRef>(&module_.exprs[equality.first]);
      const auto* b = std::get_if<SymbolRef>(&module_.exprs[equality.second]);
      return a != nullptr && b != nullptr && a->symbol == read && b->symbol == write;
    });
  }

  const Module& module_;
  const ProgramCall& reader_;
  const ElementAccess& read_;
  const ProgramCall& writer_;
  const ElementAccess& write_;
  const std::set<TensorId>& constant_;
  std::vector<Equality> equal_;
};

}  // namespace

bool AreApart(const Module& module, const ProgramCall& reader, const ElementAccess& read,
              const ProgramCall& writer, const ElementAccess& write,
              const std::set<TensorId>& constant) {
  return Apart(module, reader, read, writer, write, constant).Proven();
}

}  // namespace etc
