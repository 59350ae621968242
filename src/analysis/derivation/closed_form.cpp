#include "analysis/derivation/closed_form.h"

#include <string>
#include <vector>

#include "analysis/regions.h"

namespace etc {

namespace {

/// Whether isl joins the pieces to no more than their union. Its functions for expressions do join
/// them, and may join too much where there are strides (see `Coalesce`).
bool JoinsRightly(const Set& set) {
  Set joined(isl_set_coalesce(set.copy()));
  return isl_set_n_basic_set(joined.get()) == isl_set_n_basic_set(set.get()) ||
         IsSubset(joined, set);
}

bool JoinsRightly(const PwAff& value) {
  if (isl_pw_aff_isa_aff(value.get()) == isl_bool_true) {
    return true;
  }
  PwAff joined(isl_pw_aff_coalesce(value.copy()));
  std::vector<Set> pieces;
  isl_pw_aff_foreach_piece(
      joined.get(),
      [](isl_set* where, isl_aff* part, void* all) {
        isl_aff_free(part);
        static_cast<std::vector<Set>*>(all)->emplace_back(where);
        return isl_stat_ok;
      },
      &pieces);
  Set rest(isl_pw_aff_domain(value.copy()));
  for (const Set& piece : pieces) {
    if (!IsSubset(piece, rest)) {
      return false;  // it has points of another piece, or of none
    }
    rest = rest - piece;
  }
  return true;
}

class Conversion {
 public:
  Conversion(const Unknowns& unknowns, const Set& context, int instance)
      : unknowns_(unknowns),
        context_(context),
        instance_(instance),
        build_(isl_ast_build_from_context(context.copy())) {}

  std::optional<TaskExpr> Of(const PwAff& value) const {
    PwAff simple(isl_pw_aff_gist_params(Coalesce(value).copy(), context_.copy()));
    if (!JoinsRightly(simple)) {
      return std::nullopt;
    }
    AstExpr expr(isl_ast_build_expr_from_pw_aff(build_.get(), simple.copy()));
    return Of(expr);
  }

  std::optional<TaskExpr> Of(const Set& set) const {
    Set simple(isl_set_gist_params(Coalesce(set).copy(), context_.copy()));
    if (!JoinsRightly(simple)) {
      return std::nullopt;
    }
    AstExpr expr(isl_ast_build_expr_from_set(build_.get(), simple.copy()));
    return Of(expr);
  }

 private:
  std::optional<TaskExpr> Of(const AstExpr& expr) const {
    switch (isl_ast_expr_get_type(expr.get())) {
      case isl_ast_expr_int: {
        auto value = ToInt(Val(isl_ast_expr_get_val(expr.get())));
        return value ? std::optional(TaskExpr{TaskExpr::Kind::Number, *value}) : std::nullopt;
      }
      case isl_ast_expr_id: {
        isl_id* id = isl_ast_expr_get_id(expr.get());
        std::string name = isl_id_get_name(id);
        isl_id_free(id);
        return OfName(name);
      }
      case isl_ast_expr_op:
        return OfOperation(expr);
      default:
        return std::nullopt;
    }
  }

  std::optional<TaskExpr> OfName(const std::string& name) const {
    for (SymbolId dim : unknowns_.dims()) {
      if (unknowns_.DimName(dim) == name) {
        return TaskExpr{TaskExpr::Kind::Dim, 0, dim};
      }
    }
    if (const Term* term = unknowns_.Find(name)) {
      return OfTerm(*term);
    }
    for (size_t axis = 0; axis < kMostAxes; ++axis) {
      if (name == CoordinateName(axis, instance_)) {
        return TaskExpr{TaskExpr::Kind::Coordinate, static_cast<int64_t>(axis)};
      }
      if (name == IterationName(axis, instance_)) {
        return TaskExpr{TaskExpr::Kind::Iteration, static_cast<int64_t>(axis)};
      }
    }
    return std::nullopt;
  }

  std::optional<TaskExpr> OfTerm(const Term& term) const {
    bool is_element = term.kind == Term::Kind::Element && term.stable;
    if (term.kind == Term::Kind::Any || (term.kind == Term::Kind::Element && !is_element)) {
      return std::nullopt;
    }
    std::vector<TaskExpr> args;
    for (const PwAff& each : term.args) {
      auto arg = Of(each);
      if (!arg) {
        return std::nullopt;
      }
      args.push_back(std::move(*arg));
    }
    TaskExpr result{TaskExpr::Kind::Binary, 0, {}, BinaryOp::Mul, std::move(args)};
    if (is_element) {
      result.kind = TaskExpr::Kind::Element;
      result.tensor = term.tensor;
    }
    if (term.kind == Term::Kind::Quotient) {
      result.op = BinaryOp::Div;
    } else if (term.kind == Term::Kind::CeilQuotient) {
      result.kind = TaskExpr::Kind::CeilDiv;
    }
    return result;
  }

  std::optional<TaskExpr> OfOperation(const AstExpr& expr) const {
    std::vector<TaskExpr> args;
    for (int i = 0; i < isl_ast_expr_get_op_n_arg(expr.get()); ++i) {
      auto arg = Of(AstExpr(isl_ast_expr_get_op_arg(expr.get(), i)));
      if (!arg) {
        return std::nullopt;
      }
      args.push_back(std::move(*arg));
    }
    auto binary = [&](BinaryOp op) { return Fold(op, std::move(args)); };
    switch (isl_ast_expr_get_op_type(expr.get())) {
      case isl_ast_op_add:
        return binary(BinaryOp::Add);
      case isl_ast_op_sub:
        return binary(BinaryOp::Sub);
      case isl_ast_op_mul:
        return binary(BinaryOp::Mul);
      // All quotients of isl round towards minus infinity, are exact, or are of no negative number.
      case isl_ast_op_div:
      case isl_ast_op_fdiv_q:
      case isl_ast_op_pdiv_q:
        return binary(BinaryOp::Div);
      case isl_ast_op_pdiv_r:
      case isl_ast_op_zdiv_r:
        return binary(BinaryOp::Mod);
      case isl_ast_op_and:
      case isl_ast_op_and_then:
        return binary(BinaryOp::And);
      case isl_ast_op_or:
      case isl_ast_op_or_else:
        return binary(BinaryOp::Or);
      case isl_ast_op_eq:
        return binary(BinaryOp::Eq);
      case isl_ast_op_le:
        return binary(BinaryOp::Le);
      case isl_ast_op_lt:
        return binary(BinaryOp::Lt);
      case isl_ast_op_ge:
        return binary(BinaryOp::Ge);
      case isl_ast_op_gt:
        return binary(BinaryOp::Gt);
      case isl_ast_op_minus:
        args.insert(args.begin(), TaskExpr{});
        return binary(BinaryOp::Sub);
      case isl_ast_op_min:
        return Fold(TaskExpr::Kind::Min, std::move(args));
      case isl_ast_op_max:
        return Fold(TaskExpr::Kind::Max, std::move(args));
      case isl_ast_op_cond:
      case isl_ast_op_select:
        return TaskExpr{TaskExpr::Kind::Select, 0, {}, BinaryOp::Add, std::move(args)};
      default:
        return std::nullopt;
    }
  }

  static TaskExpr Fold(BinaryOp op, std::vector<TaskExpr> args) {
    if (op == BinaryOp::Add && args.size() == 2 && IsNegative(args[0])) {
      op = BinaryOp::Sub;
      args = {std::move(args[1]), args[0].args[1]};
    }
    TaskExpr result = std::move(args[0]);
    for (size_t i = 1; i < args.size(); ++i) {
      result = {TaskExpr::Kind::Binary, 0, {}, op, {std::move(result), std::move(args[i])}};
    }
    return result;
  }
  static TaskExpr Fold(TaskExpr::Kind kind, std::vector<TaskExpr> args) {
    TaskExpr result = std::move(args[0]);
    for (size_t i = 1; i < args.size(); ++i) {
      result = {kind, 0, {}, BinaryOp::Add, {std::move(result), std::move(args[i])}};
    }
    return result;
  }

  /// Whether it is `0 - x`.
  static bool IsNegative(const TaskExpr& expr) {
    return expr.kind == TaskExpr::Kind::Binary && expr.op == BinaryOp::Sub &&
           expr.args[0] == TaskExpr{};
  }

  static constexpr size_t kMostAxes = 16;

  const Unknowns& unknowns_;
  const Set& context_;
  int instance_;
  AstBuild build_;
};

}  // namespace

std::optional<TaskExpr> ClosedForm(const Unknowns& unknowns, const PwAff& value, const Set& context,
                                   int instance) {
  return Conversion(unknowns, context, instance).Of(value);
}

std::optional<TaskExpr> ClosedForm(const Unknowns& unknowns, const Set& set, const Set& context) {
  return Conversion(unknowns, context, 2).Of(set);
}

}  // namespace etc
