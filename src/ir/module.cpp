#include "ir/module.h"

#include <utility>

namespace etc {

Module::Module() { sms = symbols.Add({"sms", SymbolKind::Sms, {}, {}, {}, {}, {}}); }

ExprId Module::AddExpr(Expr expr, SourceRange range) {
  expr_ranges_.push_back(range);
  return exprs.Add(std::move(expr));
}

StmtId Module::AddStmt(Stmt stmt, SourceRange range) {
  stmt_ranges_.push_back(range);
  return stmts.Add(std::move(stmt));
}

NodeId Module::AddNode(Node node, SourceRange range) {
  node_ranges_.push_back(range);
  return nodes.Add(std::move(node));
}

int64_t BytesPerElement(const Tensor& tensor) {
  int64_t bytes = SizeInBytes(tensor.type);
  return tensor.tagged ? 8 / (4 / bytes) : bytes;
}

}  // namespace etc
