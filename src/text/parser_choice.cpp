// What an operator leaves open: choices and alternatives, and how a call pins them.
#include "text/parser_impl.h"

namespace etc {

std::vector<ChoiceValues> Parser::ChosenValues() {
  std::vector<ChoiceValues> all;
  if (!ExpectWord("choose")) {
    return all;
  }
  Expect(TokenKind::LeftParen);
  do {
    ChoiceValues& values = all.emplace_back();
    values.lo = BracketedExpression();
    if (Accept(TokenKind::DotDot)) {
      values.hi = BracketedExpression();
      values.multiple = Accept(TokenKind::KeywordMultiple) ? BracketedExpression() : ExprId{};
    }
  } while (Accept(TokenKind::Comma));
  Expect(TokenKind::RightParen);
  return all;
}

Choice Parser::ChoiceOf() {
  std::vector<ChoiceValues> values = ChosenValues();
  return {std::move(values), OptionalCondition("when")};
}

ExprId Parser::OptionalCondition(std::string_view word) {
  if (!AtWord(word)) {
    return {};
  }
  Take();
  return Expression();
}

void Parser::AlternativeNode(Graph& graph) {
  Take();
  Scope scope(*this);
  Alternative alternative;
  Token name = ExpectAnyName();
  alternative.name = name.text;
  alternative.range = name.range;
  alternative.condition = OptionalCondition("when");
  alternative.preference = OptionalCondition("prefer");
  alternative.braces = BlockAfterHeader([&] { GraphNode(alternative.body); });
  for (const Alternative& other : graph.alternatives) {
    if (other.name == alternative.name) {
      Duplicate("", name, other.range);
    }
  }
  graph.alternatives.push_back(std::move(alternative));
}

std::vector<Pin> Parser::OptionalPins() {
  std::vector<Pin> pins;
  if (!Accept(TokenKind::LeftBracket)) {
    return pins;
  }
  do {
    Pin& pin = pins.emplace_back();
    Token name = Expect(TokenKind::Name);
    pin.name = name.text;
    pin.range = name.range;
    Expect(TokenKind::Equal);
    if (pin.name == "alternative") {
      pin.alternative = ExpectAnyName().text;
    } else {
      pin.value = BracketedExpression();
    }
  } while (Accept(TokenKind::Comma));
  Expect(TokenKind::RightBracket);
  return pins;
}

}  // namespace etc
