#include <fmt/format.h>

#include "ir/overloaded.h"
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
    names_.Restore(state);
    if (const auto* branch = std::get_if<If>(&module_.stmts[id])) {
      Otherwise(*branch);
    }
    layout_.Close(range);
    names_.Restore(std::move(state));
  }
  layout_.After(range);
}

/// `} else if (c) {` and `} else {` with their bodies, up to the last brace.
void BodyPrinter::Otherwise(const If& branch) {
  if (branch.otherwise.empty()) {
    return;
  }
  layout_.Before(branch.else_range);
  layout_.Outdent();
  StmtId first = branch.otherwise.front();
  const auto* next = std::get_if<If>(&module_.stmts[first]);
  if (next != nullptr && branch.otherwise.size() == 1 &&
      !layout_.HasCommentBefore(module_.RangeOf(first).begin)) {
    PrintNames::State state = names_.Save();
    layout_.Open("} else " + *BlockHead(first));
    Statements(next->body);
    names_.Restore(std::move(state));
    Otherwise(*next);
    return;
  }
  layout_.Open("} else");
  Statements(branch.otherwise);
}

bool BodyPrinter::IsAssignment(StmtId id) const {
  return std::visit(Overloaded{
                        [](const OneOf<Assign, TopK> auto&) { return true; },
                        [](const OneOf<For, If, Let, LetPair, LocalDecl> auto&) { return false; },
                    },
                    module_.stmts[id]);
}

const std::vector<StmtId>* BodyPrinter::BlockBody(StmtId id) const {
  using Body = const std::vector<StmtId>*;
  return std::visit(
      Overloaded{
          [](const OneOf<For, If> auto& around) -> Body { return &around.body; },
          [](const OneOf<Let, LetPair, LocalDecl, Assign, TopK> auto&) -> Body { return nullptr; },
      },
      module_.stmts[id]);
}

/// What stands before the `{`; declares the variables of a loop.
std::optional<std::string> BodyPrinter::BlockHead(StmtId id) {
  using Head = std::optional<std::string>;
  return std::visit(
      Overloaded{
          [&](const For& loop) -> Head {
            return (loop.sequential ? "scan " : "for ") + text_.Axes(loop.axes);
          },
          [&](const If& branch) -> Head { return "if (" + text_.Expr(branch.condition) + ")"; },
          [](const OneOf<Let, LetPair, LocalDecl, Assign, TopK> auto&) -> Head {
            return std::nullopt;
          },
      },
      module_.stmts[id]);
}

/// What a `let` or a `local` adds to its block.
void BodyPrinter::DeclareOf(StmtId id) {
  std::visit(Overloaded{
                 [&](const Let& let) { names_.Declare(let.symbol); },
                 [&](const LetPair& pair) {
                   names_.Declare(pair.value);
                   names_.Declare(pair.index);
                 },
                 [&](const LocalDecl& local) { names_.Declare(local.tensor); },
                 [](const OneOf<For, If, Assign, TopK> auto&) {},
             },
             module_.stmts[id]);
}

/// The statement on one line, or nothing where it needs a block: `for (i: n) %x[i] = 0.0;`.
std::optional<std::string> BodyPrinter::Flat(StmtId id) {
  if (const auto* body = BlockBody(id)) {
    const auto* branch = std::get_if<If>(&module_.stmts[id]);
    bool has_else = branch != nullptr && !branch->otherwise.empty();
    if (has_else || body->size() != 1 || !IsAssignment(body->front())) {
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
    std::string operator()(const LetPair& pair) const {
      std::string reduction = printer.text_.Expr(pair.reduction);
      printer.names_.Declare(pair.value);
      printer.names_.Declare(pair.index);
      return fmt::format("let ({}, {}) = {};", printer.names_.Of(pair.value),
                         printer.names_.Of(pair.index), reduction);
    }
    std::string operator()(const LocalDecl& local) const {
      std::string type = printer.text_.Type(printer.module_.tensors[local.tensor]);
      printer.names_.Declare(local.tensor);
      return fmt::format("local {}: {};", printer.names_.Of(local.tensor), type);
    }
    std::string operator()(const Assign& assign) const {
      return fmt::format("{} {} {};",
                         printer.text_.Element(assign.tensor, assign.indices, assign.peer),
                         assign.adds ? "+=" : "=", printer.text_.Expr(assign.value));
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
