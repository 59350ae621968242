// The width of divisions, and what else an expression's text takes that its bounds decide.

#include "emit/raise/known_values.h"
#include "emit/raise/passes.h"
#include "emit/raise/texts.h"
#include "ir/walk.h"

namespace etc {
namespace {

class Chooser {
 public:
  explicit Chooser(RaisedKernel& raised)
      : raised_(raised), module_(raised.module), known_(raised) {}

  void Choose(ExprId id) {
    std::visit(Overloaded{
                   [](const OneOf<IntLiteral, FloatLiteral, BoolLiteral, SymbolRef, Load, Unary,
                                  Reduce> auto&) {},
                   [&](const Cast& cast) {
                     if (KindOf(cast.type) == ValueKind::Double) {
                       Widen(cast.operand);
                     }
                   },
                   [&](const Binary& binary) { Choose(id, binary); },
                   [&](const Call& call) { Choose(id, call); },
               },
               module_.exprs[id]);
  }

  /// A float without a variable is a literal of 64 bits where one is asked for.
  void Widen(ExprId id) {
    if (KindOf(module_, id) == ValueKind::Float) {
      if (auto value = EvaluateFloat(module_, id, {}, known_.Sizes())) {
        raised_.doubles[id] = *value;
      }
    }
  }

 private:
  /// The value of the expression that its text is, where a name stands for one of the kernel.
  const Binary* BinaryOf(ExprId id) const {
    const auto* ref = std::get_if<SymbolRef>(&module_.exprs[id]);
    bool named = ref != nullptr && module_.symbols[ref->symbol].kind == SymbolKind::Value;
    return std::get_if<Binary>(&module_.exprs[named ? module_.symbols[ref->symbol].value : id]);
  }

  /// A sum as the left side of a longer one, or a conjunction, goes on without parentheses:
  /// compilers take thousands of terms, but not of parentheses. What is converted keeps them.
  bool Chains(ExprId id, const Binary& binary) const {
    auto is_sum = [](BinaryOp op) { return op == BinaryOp::Add || op == BinaryOp::Sub; };
    bool logical = binary.op == BinaryOp::And || binary.op == BinaryOp::Or;
    const Binary* left = BinaryOf(binary.left);
    return left != nullptr && KindOf(module_, id) == KindOf(module_, binary.left) &&
           ((is_sum(binary.op) && is_sum(left->op)) || (logical && left->op == binary.op));
  }

  void Choose(ExprId id, const Binary& binary) {
    if (Chains(id, binary)) {
      raised_.chained.insert(id);
    }
    if (IsShift(binary.op)) {
      auto places = known_.Of(binary.right);
      if (!places || places->lo < 0 || places->hi > 63) {
        raised_.open_shifts.insert(id);
      }
      return;
    }
    bool divides = binary.op == BinaryOp::Div || binary.op == BinaryOp::Mod;
    if (divides && KindOf(module_, id) == ValueKind::Int) {
      bool small = known_.FitsU32(binary.left, 0) && known_.FitsU32(binary.right, 1);
      raised_.divisions[id] = small ? Division::Small : By(binary.right);
    } else if (KindOf(module_, binary.left) == ValueKind::Double ||
               KindOf(module_, binary.right) == ValueKind::Double) {
      Widen(binary.left);
      Widen(binary.right);
    }
  }

  void Choose(ExprId id, const Call& call) {
    switch (KindOf(call.op)) {
      case IntrinsicKind::Limit:
        raised_.limits[id] = EvaluateInt(module_, id, {}, known_.Sizes()).value();
        break;
      case IntrinsicKind::Quotient:
        raised_.divisions[id] = By(call.args[1]);
        break;
      case IntrinsicKind::Choice:
      case IntrinsicKind::Number:
      case IntrinsicKind::Float:
        if (KindOf(module_, id) == ValueKind::Double) {
          std::for_each(call.args.begin(), call.args.end(), [&](ExprId arg) { Widen(arg); });
        }
        break;
    }
  }

  Division By(ExprId divisor) const {
    auto bounds = known_.Of(divisor);
    return bounds && bounds->lo >= 1 ? Division::Floor : Division::Total;
  }

  RaisedKernel& raised_;
  const Module& module_;
  KnownValues known_;
};

}  // namespace

void ChooseDivisions(RaisedModule& raised) {
  for (RaisedKernel& kernel : raised.kernels) {
    Chooser chooser(kernel);
    VisitTexts(kernel, [&](ExprId id) { chooser.Choose(id); });
    for (const RaisedDevice& device : kernel.devices) {
      VisitStmts(raised.module, device.device.body, [&](StmtId id) {
        const auto* assign = std::get_if<Assign>(&raised.module.stmts[id]);
        if (assign != nullptr &&
            KindOf(raised.module.tensors[assign->tensor].type) == ValueKind::Double) {
          chooser.Widen(assign->value);
        }
      });
    }
  }
}

}  // namespace etc
