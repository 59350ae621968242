#include "runtime/expr_reader.h"

#include "runtime/manifest_expr.h"

namespace etc::runtime {
namespace {

using manifest::Expr;
using Kind = JsonValue::Kind;

constexpr int kMaxDepth = 256;  // deeper than any expression of a source

Status ReadNode(const JsonValue& value, const manifest::Graph& graph, Expr* expr, int depth);

Status ReadApply(const JsonValue& value, const manifest::Graph& graph, Expr* expr, int depth) {
  if (depth == 0) {
    return Bad(value, "is nested too deeply");
  }
  if (value.size == 0 || value.first->kind != Kind::String) {
    return Bad(value, "is an array that does not begin with an operator");
  }
  const std::string_view spelling = value.first->text;
  const OpInfo* info = FindOp(spelling);
  if (info == nullptr) {
    return Bad(value, Cat("has the unknown operator `", Shown(spelling), "`"));
  }
  const int given = static_cast<int>(value.size) - 1;
  if (given != info->arity) {
    return Bad(value,
               Cat("gives `", spelling, "` ", given, " arguments, but it takes ", info->arity));
  }
  expr->kind = Expr::Kind::Apply;
  expr->op = info->op;
  expr->args.resize(static_cast<size_t>(given));
  const JsonValue* arg = value.first;
  for (Expr& out : expr->args) {
    arg = arg->next;
    ETC_RETURN_IF_BAD(ReadNode(*arg, graph, &out, depth - 1));
  }
  return {};
}

Status ReadNode(const JsonValue& value, const manifest::Graph& graph, Expr* expr, int depth) {
  switch (value.kind) {
    case Kind::Integer:
    case Kind::Large:
    case Kind::Float:
      expr->kind = Expr::Kind::Int;
      return Read(value, &expr->value);
    case Kind::String:
      expr->kind = Expr::Kind::Dim;
      return FindDim(value, graph, &expr->value);
    case Kind::Array:
      return ReadApply(value, graph, expr, depth);
    default:
      return WrongKind(value, "an expression");
  }
}

}  // namespace

Status FindDim(const JsonValue& name, const manifest::Graph& graph, int64_t* index) {
  if (name.kind != Kind::String) {
    return WrongKind(name, "a string");
  }
  for (size_t i = 0; i < graph.dims.size(); ++i) {
    if (graph.dims[i].name == name.text) {
      *index = static_cast<int64_t>(i);
      return {};
    }
  }
  return Bad(name, Cat("names `", Shown(name.text), "`, which is no dim of graph `",
                       Shown(graph.name), "`"));
}

Status ReadExpr(const JsonValue& value, const manifest::Graph& graph, int64_t min, int64_t max,
                Expr* expr) {
  ETC_RETURN_IF_BAD(ReadNode(value, graph, expr, kMaxDepth));
  if (NamesDim(*expr)) {
    return {};
  }
  int64_t constant = 0;
  if (Status status = Evaluate(*expr, {}, &constant); !status.Ok()) {
    return Bad(value, status.message);
  }
  return constant >= min && constant <= max
             ? Status{}
             : Bad(value, Cat("is ", constant, ", but must be in ", min, "..", max));
}

}  // namespace etc::runtime
