// The recursive-descent parser. Its parts stand in parser.cpp (tokens, errors), parser_names.cpp,
// parser_import.cpp, parser_item.cpp (the top level), parser_function.cpp (`fn`),
// parser_choice.cpp, parser_mesh.cpp, parser_expr.cpp, parser_body.cpp, parser_graph.cpp and
// parser_kernel.cpp.
//
// An error in the syntax starts a panic: from then on every look at the tokens sees the end of the
// file, so all open productions finish without a word, until a statement's or an item's loop calls
// Recover and goes on behind the error.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/module.h"
#include "support/diagnostics.h"
#include "text/lexer.h"
#include "text/names.h"
#include "text/parser.h"

namespace etc {

/// Levels, and operations and operands, of an expression with what its `let`s and `fn`s stand for;
/// each `let` is one level.
struct ExprSize {
  int height = 1;
  int64_t parts = 1;
};

class Parser {
 public:
  /// Adds imported texts to `growing`; without it there are none.
  Parser(const SourceFile& source, SourceFile* growing, const ImportReader* reader,
         AbsentImports absent, Diagnostics& diagnostics);
  std::unique_ptr<Module> Run();

 private:
  using TensorOrEvent = std::variant<TensorId, EventId>;
  using Callable = std::variant<DeviceId, GraphId>;
  using StatementParser = std::function<void()>;

  /// Names declared during its life go out of scope with it.
  class Scope {
   public:
    explicit Scope(Parser& parser)
        : parser_(parser),
          scalars_(parser.names_.scalars.Mark()),
          tensors_(parser.names_.tensors.Mark()) {}
    ~Scope() {
      parser_.names_.scalars.Release(scalars_);
      parser_.names_.tensors.Release(tensors_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Parser& parser_;
    size_t scalars_;
    size_t tensors_;
  };

  /// One level of nesting; `ok` is false, and the parser panics, where there are too many.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser), ok(parser.Enter()) {}
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;

   public:
    const bool ok;
  };

  // Tokens.
  const Token& Peek(size_t ahead = 0) const;
  bool At(TokenKind kind) const { return Peek().kind == kind; }
  const Token& Take();
  bool Accept(TokenKind kind);
  /// Takes a token of this kind, or panics and returns one with an empty text.
  Token Expect(TokenKind kind);
  /// A name, keywords included: where no scalar of the program is meant.
  Token ExpectAnyName();
  /// The `;` of a statement. Where it is missing at the end of a line, the next line is read as
  /// usual.
  void ExpectSemicolon();
  /// The range from the byte `begin` to the last token taken.
  SourceRange RangeFrom(uint32_t begin) const;
  uint32_t Here() const { return Peek().range.begin; }
  /// The index of the token behind the bracket that closes the one at `index`.
  size_t BehindBracket(size_t index) const;
  template <class Parse>
  void List(TokenKind close, Parse parse) {
    if (!Accept(close)) {
      do {
        parse();
      } while (Accept(TokenKind::Comma));
      if (!Accept(close)) {
        Unexpected("`,` or " + std::string(Describe(close)));
      }
    }
  }

  // Errors.
  void Unexpected(std::string_view expected);
  void Panic(DiagnosticKind kind, SourceRange range, std::string message,
             std::vector<Note> notes = {});
  /// Ends a panic: goes behind the end of the statement that began at token `start`.
  void Recover(size_t start);
  /// Ends a panic in a header: goes to the header's `{`; false where there is none.
  bool RecoverAtBrace();
  bool Enter();
  bool AtBlockEnd() const;
  /// `{ … }`, one `statement` at a time; returns the range of the braces.
  SourceRange Block(const StatementParser& statement);
  /// What follows a header: the block, also where the header is wrong. Then its names may be
  /// missing, and unknown names are not reported.
  SourceRange BlockAfterHeader(const StatementParser& statement);

  // Names.
  void Duplicate(std::string_view sigil, const Token& name, SourceRange first);
  /// Of a name that an imported file has imported, but not this one.
  std::optional<Note> DefinedElsewhere(std::string_view sigil, std::string_view name) const;
  /// Of a name that the rest of the text defines, in the block that it is used in or around that.
  std::optional<Note> DefinedBelow(std::string_view sigil, std::string_view name) const;
  /// Either of both.
  std::optional<Note> DefinedOutOfReach(std::string_view sigil, std::string_view name) const;
  void Unknown(std::string_view sigil, const Token& name, const std::string& nearest,
               SourceRange nearest_range, std::string_view what);
  SymbolId Declare(const Token& name, SymbolKind kind);
  SymbolId DeclareSymbol(const Token& name, Symbol symbol);
  TensorId Declare(const Token& name, Tensor tensor);
  EventId Declare(const Token& name, Event event);
  SymbolId FindScalar(const Token& name);
  TensorId FindTensor(const Token& name);
  EventId FindEvent(const Token& name);
  DeviceId FindDevice(const Token& name);
  std::optional<Callable> FindCallable(const Token& name);
  SymbolId ExpectScalar();

  /// Declares what every file knows.
  void Predefine();

  // Imports.
  void ImportItem();
  /// Parses the text that begins at `begin` with names of its own.
  void ParseImported(uint32_t begin, const std::string& path);
  void Adopt(const std::string& path, const Token& at);

  // The top level.
  void Items();
  SourceRange Header();
  void Item();
  void Const();
  void LetItem();
  void FunctionItem();
  void Dim();
  void MeshItem();
  void RequireItem();
  void ConfigItem();
  std::vector<std::string> Strings();
  void DeviceItem();
  void GraphItem();
  void KernelItem();
  /// With `scalars`, those may follow the tensors.
  std::vector<TensorId> Params(std::vector<SymbolId>* scalars = nullptr, bool conditional = true,
                               bool of_launch = false);
  /// A `conditional` one may end in `if biased`. One `of_launch`, which a launch binds, may end in
  /// `from "embed.weight"` and begin with `array[n] of`.
  TensorId Param(bool conditional, bool of_launch);
  ExprId OptionalArray(const Token& name, std::vector<Token>& names, bool of_launch);
  void Sources(Tensor& tensor);
  WeightSource OneSource();
  SymbolId ScalarParam();
  /// With `names`, axes may have them, as in `[t: n]`.
  Tensor Type(const Token& name, TensorKind kind, std::vector<Token>* names = nullptr);
  std::vector<ExprId> Extents(std::vector<Token>& names, Tensor& tensor);
  bool MayShard(SourceRange word, const Tensor& tensor);
  Token OptionalIndexName();
  /// `in lo..hi distinct monotone counts %x`, of a parameter or a check; the names of its indices
  /// are known in the range.
  template <class Promised>
  void Preconditions(Promised& of, const std::vector<Token>& names);
  void OptionalLayout(Tensor& tensor);
  bool ExpectWord(std::string_view word);
  bool AcceptSymmetric();
  void ReachPeers(SourceRange range);
  Impl ImplLine();
  /// Behind the word that says what they are, or nothing: `(%w, %x)`.
  std::vector<TensorId> Operands(bool word);
  /// `boxes (%x[128, 64])`, or nothing.
  std::vector<Box> OptionalBoxes();
  /// `<N, K, eps = 1e-6>`, or nothing.
  std::vector<SymbolId> OptionalGenerics();
  SymbolId Generic();

  // Choices and alternatives.
  bool AtWord(std::string_view word) const { return At(TokenKind::Name) && Peek().text == word; }
  bool AcceptWord(std::string_view word) { return AtWord(word) && Accept(TokenKind::Name); }
  /// Behind `rows:`, up to the `=`: `choose (8, 16..48 multiple 8) when rows < K`.
  std::vector<ChoiceValues> ChosenValues();
  Choice ChoiceOf();
  void AlternativeNode(Graph& graph);
  /// `when` or `prefer` and a condition, or nothing.
  ExprId OptionalCondition(std::string_view word);
  /// `[rows = 64, alternative = split]`, or nothing.
  std::vector<Pin> OptionalPins();
  ImplArg OneImplArg();

  // Expressions.
  ExprId Add(Expr expr, uint32_t begin);
  ExprId Add(Expr expr, uint32_t begin, ExprSize size);
  /// Says so where it is; 0 takes the place of what is.
  bool IsTooLarge(ExprSize size, uint32_t begin);
  ExprId Expression(int least_precedence = 1);
  ExprId BracketedExpression();
  ExprId Operand();
  ExprId Primary();
  ExprId NamedOperand();
  /// Built in, and declared with `fn` so far.
  std::vector<std::string_view> KnownFunctions() const;
  ExprId Reducing(Reduction op, uint32_t begin);
  ExprId IntrinsicCall(Intrinsic op, uint32_t begin);
  ExprId Apply(FunctionId function, uint32_t begin);
  /// The use of a function that an absent file may define.
  ExprId ApplyAssumed(const Token& name, uint32_t begin);
  std::vector<ExprId> Indices();
  std::optional<BinaryOp> OperatorHere() const;
  ExprSize SizeOf(ExprId id) const { return id ? sizes_[id.value] : ExprSize{0, 0}; }
  Axis OneAxis();
  std::vector<Axis> Axes();
  std::pair<ExprId, ExprId> Interval();

  // Bodies.
  void Statement(std::vector<StmtId>& body);
  void ForStatement(std::vector<StmtId>& body);
  void IfStatement(std::vector<StmtId>& body);
  void LetStatement(std::vector<StmtId>& body);
  void LetPairStatement(std::vector<StmtId>& body, uint32_t begin);
  void LocalStatement(std::vector<StmtId>& body);
  void AssignStatement(std::vector<StmtId>& body);
  void TopKStatement(std::vector<StmtId>& body);
  std::vector<StmtId> Body();
  std::pair<TensorId, std::vector<ExprId>> Element();
  /// `@(r)`, or nothing.
  ExprId OptionalPeer();

  // Graphs and kernels.
  void GraphNode(std::vector<NodeId>& body);
  void BufferNode(std::vector<NodeId>& body);
  Realisation RealisationWord();
  void EventNode(std::vector<NodeId>& body);
  void CallStatement(std::vector<NodeId>& body);
  void RepeatNode(std::vector<NodeId>& body, void (Parser::*node)(std::vector<NodeId>&));
  void RegionNode(std::vector<NodeId>& body);
  void KernelNode(std::vector<NodeId>& body);
  void KernelBody(Kernel& kernel);
  void LoaderLine(Kernel& kernel);
  void ValueLine(Kernel& kernel);
  Throttle OneThrottle(uint32_t begin);
  void CheckLine(Kernel& kernel);
  void WatchdogLine(Kernel& kernel);
  void ProfileLine(Kernel& kernel);
  Check OneCheck(uint32_t begin);
  void Checks(std::vector<Check>& checks);
  void WaitBlock(TokenKind keyword, std::vector<EventRef>& waits, std::vector<Check>& checks,
                 bool* peers);
  void Declaration(std::vector<NodeId>& declarations);
  void StreamNode(std::vector<NodeId>& body);
  void LaunchNode(std::vector<NodeId>& body);
  void CheckLaunch(const Share& share, uint32_t begin);
  void ShareNode(std::vector<NodeId>& body);
  void DispatchNode(std::vector<NodeId>& body);
  void OneCase(std::vector<NodeId>& cases);
  void ShareBlock(Share& share, std::string_view what);
  void ShareBody(Share& share);
  void RunLine(Share& share);
  void Arrivals(std::vector<EventRef>& refs);
  void AfterBlock(Share& share);
  std::vector<EventRef> Signals(TokenKind keyword);
  std::vector<EventRef> SignalBlock(TokenKind keyword, TokenKind signal);
  ScheduleKind ScheduleWord();
  std::optional<ScheduleKind> OptionalSchedule();
  std::vector<Specialisation> OptionalSpecialise();
  std::vector<Where> OptionalWhere();
  /// Tensors and their slices, then the values of scalars.
  std::vector<Argument> Arguments(std::vector<ExprId>& scalars);
  Argument OneArgument();
  std::vector<GenericArg> OptionalGenericArgs();
  std::vector<ExprId> SliceIndices();
  Edge OneEdge();
  EventRef Ref();
  std::vector<EventIndex> EventIndices();

  /// The names of one file.
  struct FileNames {
    Names<SymbolId> scalars;
    Names<TensorOrEvent> tensors;
    Names<Callable> callables;
    Names<FunctionId> functions;
    Names<KernelId> kernels;
    std::set<std::string> imported;  // scalars, functions and callables that are not its own
  };

  const SourceFile& source_;
  SourceFile* growing_;
  const ImportReader* reader_;
  AbsentImports absent_imports_;
  Diagnostics& diagnostics_;
  std::unique_ptr<Module> module_;
  std::vector<Token> tokens_;
  size_t pos_ = 0;
  bool panicking_ = false;
  bool no_greater_ = false;  // inside `<…>`, where `>` closes
  int depth_ = 0;
  bool too_deep_ = false;           // reported for this item
  int silent_names_ = 0;            // inside what follows a wrong header
  std::vector<ExprSize> sizes_;     // of expressions, by id
  std::set<std::string> reported_;  // unknown names, each once in an item

  FileNames names_;
  std::map<std::string, FileNames> files_;  // of the imported ones, by path
  std::vector<std::string> importing_;      // the files that are being parsed
  bool import_absent_ = false;              // it may define what nobody else does
};

template <class Promised>
void Parser::Preconditions(Promised& of, const std::vector<Token>& names) {
  {
    Scope scope(*this);
    bool named = false;
    for (const Token& name : names) {
      bool has_name = !name.text.empty();
      of.indices.push_back(has_name ? Declare(name, SymbolKind::Index) : SymbolId{});
      named = named || has_name;
    }
    if (!named) {
      of.indices.clear();
    }
    if (Accept(TokenKind::KeywordIn)) {
      std::tie(of.value_lo, of.value_hi) = Interval();
    }
  }
  of.distinct = Accept(TokenKind::KeywordDistinct);
  of.monotone = Accept(TokenKind::KeywordMonotone);
  if (Accept(TokenKind::KeywordCounts)) {
    Token counted = Expect(TokenKind::Tensor);
    of.counts = counted.text.empty() ? TensorId{} : FindTensor(counted);
  }
}

}  // namespace etc
