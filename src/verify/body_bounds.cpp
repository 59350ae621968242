#include <fmt/format.h>

#include <algorithm>

#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/rewrite.h"
#include "verify/checks.h"
#include "verify/samples.h"
#include "verify/walk.h"

namespace etc {
namespace {

/// With more variables than this the corners of the iteration space are too many to try.
constexpr size_t kMaxCornerVariables = 8;

/// A variable in scope: of an axis, or of a `let` (then `lo` is its value and `hi` is absent).
struct Variable {
  SymbolId symbol;
  ExprId lo;
  ExprId hi;
  bool is_let = false;
};

/// A condition under which an access happens.
struct Guard {
  ExprId condition;
  bool wanted;
};

/// An element that the body reads or writes, with all that surrounds it.
struct ElementAccess {
  TensorId tensor;
  std::vector<ExprId> indices;
  std::vector<Variable> variables;
  std::vector<Guard> guards;
};

class Collector {
 public:
  Collector(const Module& module, const Device& device) : module_(module) {
    AddAxes(device.tasks);
    Block(device.body);
  }

  std::vector<ElementAccess> accesses;

 private:
  void Block(const std::vector<StmtId>& stmts) {
    size_t variables = variables_.size();
    for (StmtId id : stmts) {
      std::visit([&](const auto& stmt) { Visit(stmt); }, module_.stmts[id]);
    }
    variables_.resize(variables);
  }

  void Visit(const For& loop) {
    size_t variables = variables_.size();
    AddAxes(loop.axes);
    Block(loop.body);
    variables_.resize(variables);
  }

  void Visit(const If& branch) {
    VisitExpr(branch.condition);
    guards_.push_back({branch.condition, true});
    Block(branch.body);
    guards_.pop_back();
  }

  void Visit(const Let& let) {
    VisitExpr(let.value);
    variables_.push_back({let.symbol, let.value, {}, true});
  }

  void Visit(const LocalDecl&) {}

  void Visit(const Assign& assign) {
    Element(assign.tensor, assign.indices);
    VisitExpr(assign.value);
  }

  void Visit(const TopK& topk) {
    size_t variables = variables_.size();
    AddAxes({topk.rank});
    Element(topk.values, topk.value_indices);
    Element(topk.positions, topk.position_indices);
    variables_.resize(variables);
    AddAxes({topk.axis});
    VisitExpr(topk.body);
    variables_.resize(variables);
  }

  void AddAxes(const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) {
      VisitExpr(axis.lo);
      VisitExpr(axis.hi);
      variables_.push_back({axis.var, axis.lo, axis.hi});
    }
  }

  void Element(TensorId tensor, const std::vector<ExprId>& indices) {
    for (ExprId index : indices) {
      VisitExpr(index);
    }
    accesses.push_back({tensor, indices, variables_, guards_});
  }

  void VisitExpr(ExprId id) {
    if (id) {
      std::visit([&](const auto& expr) { Visit(expr); }, module_.exprs[id]);
    }
  }

  void Visit(const IntLiteral&) {}
  void Visit(const FloatLiteral&) {}
  void Visit(const BoolLiteral&) {}
  void Visit(const SymbolRef&) {}
  void Visit(const Load& load) { Element(load.tensor, load.indices); }
  void Visit(const Cast& cast) { VisitExpr(cast.operand); }
  void Visit(const Unary& unary) { VisitExpr(unary.operand); }

  void Visit(const Binary& binary) {
    VisitExpr(binary.left);
    bool lazy = binary.op == BinaryOp::And || binary.op == BinaryOp::Or;
    if (lazy) {
      guards_.push_back({binary.left, binary.op == BinaryOp::And});
    }
    VisitExpr(binary.right);
    if (lazy) {
      guards_.pop_back();
    }
  }

  void Visit(const Call& call) {
    if (call.op != Intrinsic::Select) {
      for (ExprId arg : call.args) {
        VisitExpr(arg);
      }
      return;
    }
    VisitExpr(call.args[0]);
    for (bool side : {true, false}) {
      guards_.push_back({call.args[0], side});
      VisitExpr(call.args[side ? 1 : 2]);
      guards_.pop_back();
    }
  }

  void Visit(const Reduce& reduce) {
    size_t variables = variables_.size();
    AddAxes(reduce.axes);
    VisitExpr(reduce.body);
    variables_.resize(variables);
  }

  const Module& module_;
  std::vector<Variable> variables_;
  std::vector<Guard> guards_;
};

/// Looks for an index that leaves its extent at one choice of sizes.
class BoundsCheck {
 public:
  BoundsCheck(const Module& module, const Sizes& sizes, Diagnostics& diagnostics)
      : module_(module), sizes_(sizes), diagnostics_(diagnostics) {}

  /// Whether the access was reported.
  bool Check(const ElementAccess& access) {
    const Tensor& tensor = module_.tensors[access.tensor];
    for (size_t i = 0; i < access.indices.size(); ++i) {
      auto extent = EvaluateInt(module_, tensor.shape[i], sizes_.dims, sizes_.ranges);
      if (extent && !Proven(access, access.indices[i], *extent) && Witness(access, i, *extent)) {
        return true;
      }
    }
    return false;
  }

 private:
  bool Proven(const ElementAccess& access, ExprId index, int64_t extent) {
    std::map<SymbolId, Interval> intervals;
    for (const auto& [dim, value] : sizes_.dims) {
      intervals[dim] = {value, value};
    }
    for (const Variable& variable : access.variables) {
      auto lo = variable.lo ? Bounds(module_, variable.lo, intervals, sizes_.ranges)
                            : std::optional(Interval{0, 0});
      auto hi = variable.is_let ? lo : Bounds(module_, variable.hi, intervals, sizes_.ranges);
      if (!lo || !hi) {
        continue;
      }
      int64_t last = variable.is_let ? hi->hi : hi->hi - 1;
      if (last < lo->lo) {
        return true;  // the loop is empty
      }
      intervals[variable.symbol] = {lo->lo, last};
    }
    auto bounds = Bounds(module_, index, intervals, sizes_.ranges);
    return bounds && bounds->lo >= 0 && bounds->hi < extent;
  }

  /// Tries the corners of the iteration space.
  bool Witness(const ElementAccess& access, size_t axis, int64_t extent) {
    ExprId index = access.indices[axis];
    std::vector<bool> moves = Moving(access, index);
    size_t moving = std::count(moves.begin(), moves.end(), true);
    if (ReadsTensor(module_, index) || moving > kMaxCornerVariables) {
      return false;
    }
    for (uint32_t corner = 0; corner < (1u << moving); ++corner) {
      auto env = Corner(access, moves, corner);
      auto value = env ? EvaluateInt(module_, index, *env, sizes_.ranges) : std::nullopt;
      if (value && (*value < 0 || *value >= extent)) {
        Report(access, axis, *value, extent, *env);
        return true;
      }
    }
    return false;
  }

  /// The variables on which the index or a guard depends, also through other variables.
  std::vector<bool> Moving(const ElementAccess& access, ExprId index) const {
    std::vector<bool> moves(access.variables.size());
    for (size_t i = moves.size(); i-- > 0;) {
      std::vector<SymbolId> symbol{access.variables[i].symbol};
      bool used = Mentions(module_, index, symbol);
      for (const Guard& guard : access.guards) {
        used = used || Mentions(module_, guard.condition, symbol);
      }
      for (size_t j = i + 1; j < moves.size() && !used; ++j) {
        used = Mentions(module_, access.variables[j].lo, symbol) ||
               Mentions(module_, access.variables[j].hi, symbol);
      }
      moves[i] = used && !access.variables[i].is_let;
    }
    return moves;
  }

  /// The values of all variables at a corner where the access happens, else nothing.
  std::optional<Env> Corner(const ElementAccess& access, const std::vector<bool>& moves,
                            uint32_t corner) const {
    Env env = sizes_.dims;
    for (size_t i = 0; i < access.variables.size(); ++i) {
      const Variable& variable = access.variables[i];
      auto lo = variable.lo ? EvaluateInt(module_, variable.lo, env, sizes_.ranges)
                            : std::optional<int64_t>(0);
      if (variable.is_let) {
        if (lo) {
          env[variable.symbol] = *lo;
        }
        continue;
      }
      auto hi = EvaluateInt(module_, variable.hi, env, sizes_.ranges);
      if (!lo || !hi || *lo >= *hi) {
        return std::nullopt;
      }
      bool high = moves[i] && (corner & 1) != 0;
      corner = moves[i] ? corner >> 1 : corner;
      env[variable.symbol] = high ? *hi - 1 : *lo;
    }
    for (const Guard& guard : access.guards) {
      if (EvaluateBool(module_, guard.condition, env, sizes_.ranges) != guard.wanted) {
        return std::nullopt;
      }
    }
    return env;
  }

  void Report(const ElementAccess& access, size_t axis, int64_t value, int64_t extent,
              const Env& env) {
    const Tensor& tensor = module_.tensors[access.tensor];
    ExprId index = access.indices[axis];
    std::string variables;
    for (const Variable& variable : access.variables) {
      auto found = env.find(variable.symbol);
      if (found != env.end() && Mentions(module_, index, {variable.symbol})) {
        variables += fmt::format("{}{} = {}", variables.empty() ? "" : ", ",
                                 module_.symbols[variable.symbol].name, found->second);
      }
    }
    bool constant = EvaluateInt(module_, index, {}) && EvaluateInt(module_, tensor.shape[axis], {});
    diagnostics_
        .Error(DiagnosticKind::Bounds, module_.RangeOf(index),
               fmt::format("index {} of `%{}` is {}, outside of 0 .. {}{}", axis, tensor.name,
                           value, extent, constant ? "" : Describe(module_, sizes_, variables)))
        .notes.push_back({tensor.range, fmt::format("`%{}` is declared here", tensor.name)});
  }

  const Module& module_;
  const Sizes& sizes_;
  Diagnostics& diagnostics_;
};

}  // namespace

void CheckBodyBounds(const Module& module, const Device& device, Diagnostics& diagnostics) {
  std::vector<ElementAccess> open = Collector(module, device).accesses;
  for (const Sizes& sizes : SampleSizes(module)) {
    BoundsCheck check(module, sizes, diagnostics);
    std::erase_if(open, [&](const ElementAccess& access) { return check.Check(access); });
  }
}

}  // namespace etc
