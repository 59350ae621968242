// Functions over expressions, and where they are used: the body is put there.
#include <fmt/format.h>

#include <algorithm>

#include "ir/rewrite.h"
#include "ir/walk.h"
#include "text/parser_impl.h"
#include "text/words.h"

namespace etc {

void Parser::FunctionItem() {
  Take();
  Token name = Expect(TokenKind::Name);
  Function function;
  function.name = name.text;
  function.range = name.range;
  {
    Scope scope(*this);
    Expect(TokenKind::LeftParen);
    List(TokenKind::RightParen, [&] {
      if (At(TokenKind::Tensor)) {
        Token param = Take();
        function.params.emplace_back(Declare(param, Tensor{std::string(param.text),
                                                           TensorKind::Local,
                                                           Access::In,
                                                           DType::F32,
                                                           {},
                                                           {},
                                                           {},
                                                           {},
                                                           param.range}));
      } else {
        function.params.emplace_back(Declare(Expect(TokenKind::Name), SymbolKind::Generic));
      }
    });
    Expect(TokenKind::Equal);
    function.body = Expression();
  }
  ExpectSemicolon();
  if (IsFunctionWord(name.text)) {
    Duplicate("", name, {});
    return;
  }
  FunctionId id = module_->functions.Add(std::move(function));
  module_->items.emplace_back(id);
  if (!name.text.empty()) {
    if (const auto* first = names_.functions.Declare(name.text, id, name.range)) {
      Duplicate("", name, first->range);
    }
  }
}

ExprId Parser::Apply(FunctionId id, uint32_t begin) {
  const Function function = module_->functions[id];
  Application application{id, {}};
  Substitution symbols;
  TensorSubstitution tensors;
  ExprSize size = SizeOf(function.body);
  Expect(TokenKind::LeftParen);
  List(TokenKind::RightParen, [&] {
    size_t next = application.args.size();
    bool tensor =
        next < function.params.size() && std::holds_alternative<TensorId>(function.params[next]);
    if (tensor) {
      Argument slice = OneArgument();
      tensors[std::get<TensorId>(function.params[next])] = slice;
      application.args.emplace_back(std::move(slice));
      return;
    }
    ExprId value = BracketedExpression();
    size.height = std::max(size.height, SizeOf(function.body).height + SizeOf(value).height);
    if (next < function.params.size()) {
      symbols[std::get<SymbolId>(function.params[next])] = value;
    }
    application.args.emplace_back(value);
  });
  if (panicking_) {
    return Add(IntLiteral{0}, begin);
  }
  if (application.args.size() != function.params.size()) {
    diagnostics_
        .Error(
            DiagnosticKind::Syntax, RangeFrom(begin),
            fmt::format("`{}` takes {} argument{}, found {}", function.name, function.params.size(),
                        function.params.size() == 1 ? "" : "s", application.args.size()))
        .notes.push_back({function.range, "it is defined here"});
    return Add(IntLiteral{0}, begin);
  }
  VisitExprs(*module_, function.body, [&](ExprId inner) {
    const auto* ref = std::get_if<SymbolRef>(&module_->exprs[inner]);
    auto arg = ref != nullptr ? symbols.find(ref->symbol) : symbols.end();
    size.parts += arg != symbols.end() ? SizeOf(arg->second).parts - 1 : 0;
  });
  if (IsTooLarge(size, begin)) {
    return Add(IntLiteral{0}, begin);
  }
  // Each use has variables of its own, so that one may stand in an argument of another.
  VisitExprs(*module_, function.body, [&](ExprId inner) {
    if (const auto* reduce = std::get_if<Reduce>(&module_->exprs[inner])) {
      std::vector<SymbolId> bound;
      for (const Axis& axis : reduce->axes) {
        bound.push_back(axis.var);
      }
      symbols.merge(CopyIndices(*module_, bound));
    }
  });
  ExprId copy = Clone(*module_, function.body, symbols, tensors);
  Expr top = module_->exprs[copy];  // in a place of its own, also where it is an argument
  ExprId result = Add(std::move(top), begin, size);
  module_->applications[result] = std::move(application);
  SourceRange text{function.range.begin, module_->RangeOf(function.body).end};
  module_->expansions.push_back({text, RangeFrom(begin), fmt::format("{}(…)", function.name)});
  return result;
}

ExprId Parser::ApplyAssumed(const Token& name, uint32_t begin) {
  Function function;
  function.name = name.text;
  Application application{module_->functions.Add(std::move(function)), {}};
  Expect(TokenKind::LeftParen);
  List(TokenKind::RightParen, [&] {
    TokenKind behind = TokenKind::End;
    if (At(TokenKind::Tensor)) {  // a slice, or an element that an expression begins with
      size_t next = pos_ + 1;
      behind =
          tokens_[tokens_[next].kind == TokenKind::LeftBracket ? BehindBracket(next) : next].kind;
    }
    if (behind == TokenKind::Comma || behind == TokenKind::RightParen) {
      application.args.emplace_back(OneArgument());
    } else {
      application.args.emplace_back(BracketedExpression());
    }
  });
  ExprId result = Add(IntLiteral{0}, begin);
  module_->applications[result] = std::move(application);
  return result;
}

}  // namespace etc
