#include <fmt/format.h>

#include "ir/printer_blocks.h"

namespace etc {

void BodyPrinter::Statements(const std::vector<StmtId>& body) {
  for (StmtId id : body) {
    Statement(id);
  }
}

void BodyPrinter::Statement(StmtId id) {
  SourceRange range = module_.RangeOf(id);
  layout_.Before(range);
  PrintNames::State state = names_.Save();
  std::optional<std::string> flat = Flat(id);
  if (flat &&
      (BlockBody(id) == nullptr || (layout_.Fits(*flat) && !layout_.HasCommentBefore(range.end)))) {
    names_.Restore(std::move(state));
    DeclareOf(id);
    layout_.Line(*flat);
  } else {
    names_.Restore(state);
    layout_.Open(*BlockHead(id));
    Statements(*BlockBody(id));
    layout_.Close(range);
    names_.Restore(std::move(state));
  }
  layout_.After(range);
}

bool BodyPrinter::IsAssignment(StmtId id) const {
  const Stmt& stmt = module_.stmts[id];
  return std::holds_alternative<Assign>(stmt) || std::holds_alternative<TopK>(stmt);
}

const std::vector<StmtId>* BodyPrinter::BlockBody(StmtId id) const {
  const Stmt& stmt = module_.stmts[id];
  if (const auto* loop = std::get_if<For>(&stmt)) {
    return &loop->body;
  }
  const auto* branch = std::get_if<If>(&stmt);
  return branch == nullptr ? nullptr : &branch->body;
}

/// What stands before the `{`; declares the variables of a loop.
std::optional<std::string> BodyPrinter::BlockHead(StmtId id) {
  const Stmt& stmt = module_.stmts[id];
  if (const auto* loop = std::get_if<For>(&stmt)) {
    return "for " + text_.Axes(loop->axes);
  }
  if (const auto* branch = std::get_if<If>(&stmt)) {
    return "if (" + text_.Expr(branch->condition) + ")";
  }
  return std::nullopt;
}

/// What a `let` or a `local` adds to its block.
void BodyPrinter::DeclareOf(StmtId id) {
  const Stmt& stmt = module_.stmts[id];
  if (const auto* let = std::get_if<Let>(&stmt)) {
    names_.Declare(let->symbol);
  } else if (const auto* local = std::get_if<LocalDecl>(&stmt)) {
    names_.Declare(local->tensor);
  }
}

/// The statement on one line, or nothing where it needs a block: `for (i: n) %x[i] = 0.0;`.
std::optional<std::string> BodyPrinter::Flat(StmtId id) {
  if (const auto* body = BlockBody(id)) {
    if (body->size() != 1 || !IsAssignment(body->front())) {
      return std::nullopt;
    }
    std::string head = *BlockHead(id);
    return head + " " + *Flat(body->front());
  }
  struct Visitor {
    BodyPrinter& printer;
    std::string operator()(const Let& let) const {
      std::string value = printer.text_.Expr(let.value);
      printer.names_.Declare(let.symbol);
      return fmt::format("let {} = {};", printer.names_.Of(let.symbol), value);
    }
    std::string operator()(const LocalDecl& local) const {
      std::string type = printer.text_.Type(printer.module_.tensors[local.tensor]);
      printer.names_.Declare(local.tensor);
      return fmt::format("local {}: {};", printer.names_.Of(local.tensor), type);
    }
    std::string operator()(const Assign& assign) const {
      return fmt::format("{} = {};", printer.text_.Element(assign.tensor, assign.indices),
                         printer.text_.Expr(assign.value));
    }
    std::string operator()(const TopK& topk) const { return printer.FlatTopK(topk); }
    std::string operator()(const For&) const { return {}; }
    std::string operator()(const If&) const { return {}; }
  };
  return std::visit(Visitor{*this}, module_.stmts[id]);
}

std::string BodyPrinter::FlatTopK(const TopK& topk) {
  PrintNames::State state = names_.Save();
  std::string rank = text_.OneAxis(topk.rank);
  std::string values = text_.Element(topk.values, topk.value_indices);
  std::string positions = text_.Element(topk.positions, topk.position_indices);
  names_.Restore(state);
  std::string axis = text_.OneAxis(topk.axis);
  std::string body = text_.Expr(topk.body);
  names_.Restore(std::move(state));
  return fmt::format("({}, {}) = topk({}; {}) {};", values, positions, rank, axis, body);
}

}  // namespace etc
