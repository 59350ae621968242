// Decides what calls leave open, for each range of sizes of the graph that they stand in.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "expand/callee.h"
#include "expand/decisions.h"
#include "ir/rewrite.h"
#include "support/diagnostics.h"

namespace etc {

class Choosing {
 public:
  /// Adds to `made` what is decided.
  Choosing(Module& module, Advise advise, std::vector<Decision>& made, Diagnostics& diagnostics)
      : module_(module), advise_(std::move(advise)), made_(made), diagnostics_(diagnostics) {}

  /// What follows is about the calls of this graph.
  void Enter(const Graph& graph);

  /// Decides the schedules of the graph's kernels, and how far their loaders run ahead, of which
  /// the module gets what a tuning says. All calls of the graph are at hand.
  void DecideKernels(const Graph& graph);

  /// The value of a constant that the program leaves open, for the kernels of the graph: that of
  /// its formula, another number, or an expression over the ends of the ranges. An absent id after
  /// an error.
  ExprId Constant(const Graph& graph, SymbolId constant);
  /// Reports a value of it that may not be used, where no one graph decides.
  void CheckConstant(SymbolId constant);

  /// The value of a choice of the callee: one number, or an expression over the ends of the range.
  /// `values` has the parameters before it. An absent id after an error.
  ExprId Value(const Callee& callee, const CallNode& call, SymbolId choice,
               const Substitution& values, SourceRange range);

  /// For each range at hand the number of the alternative of a called graph; empty after an error.
  std::vector<size_t> Alternatives(const Callee& callee, const std::vector<Alternative>& all,
                                   const CallNode& call, const Substitution& values,
                                   SourceRange range);

  /// Reports pins of what the callee does not leave open.
  void CheckPins(const Callee& callee, bool has_alternatives, const CallNode& call);

  /// During its life only the ranges for which `taken` is `number` are at hand.
  class Narrowed {
   public:
    Narrowed(Choosing& choosing, const std::vector<size_t>& taken, size_t number);
    ~Narrowed() { choosing_.at_hand_ = std::move(before_); }
    Narrowed(const Narrowed&) = delete;
    Narrowed& operator=(const Narrowed&) = delete;

   private:
    Choosing& choosing_;
    std::vector<size_t> before_;
  };

  /// How much was decided so far.
  size_t Decided() const { return made_.size(); }
  /// What was decided since.
  std::vector<Decision> Since(size_t decided) const {
    return {made_.begin() + static_cast<std::ptrdiff_t>(decided), made_.end()};
  }

  /// Each alternative that is taken in a range at hand once, in the order of the ranges.
  std::vector<size_t> EachOf(const std::vector<size_t>& taken) const;

  /// The condition over the ends of the range that holds in those at hand and in no other; absent
  /// where all are.
  ExprId Guard();

 private:
  struct Range {
    std::vector<Where> where;
    DimRanges ends;
  };

  /// What was decided for some ranges that follow each other.
  struct Piece {
    size_t last;                   // of the ranges
    std::optional<int64_t> value;  // absent: what the formula says
  };

  /// Decides a choice of values in one range, and adds it to the pieces; false after an error.
  bool AddPiece(std::vector<Piece>& pieces, size_t number, const Callee& callee, SymbolId choice,
                const Substitution& values, ExprId formula, std::optional<Answer> pinned,
                Question question, SourceRange range);
  /// One number, the formula, or an expression over the ends of the ranges.
  ExprId ByRange(const std::vector<Piece>& pieces, ExprId formula);
  Question Ask(const Callee& callee, const Substitution& values, const Range& range) const;
  void DecideSchedule(const Callee& callee, const Graph& graph, const Range& range);
  std::optional<Answer> Pinned(const Callee& callee, const CallNode& call, const Range& range,
                               const Question& question);
  /// The answer, which is one of the options; reports one that is not.
  const Option* Settle(const Callee& callee, const CallNode& call, const Range& range,
                       Question question, SourceRange call_range);
  const Option* Settle(const Callee& callee, std::optional<Answer> pinned, const Range& range,
                       Question question, SourceRange call_range);
  /// The values that a choice may have (choice_values.cpp); nothing after an error.
  std::optional<std::vector<int64_t>> Legal(SymbolId choice, const Substitution& values,
                                            const Range& range);
  /// Over the upper ends, for the ranges of these numbers.
  ExprId Among(const std::vector<size_t>& numbers);
  std::string TextOf(const Range& range) const;

  Module& module_;
  const Advise advise_;
  std::vector<Decision>& made_;
  Diagnostics& diagnostics_;
  std::string graph_;
  std::vector<Range> ranges_;
  std::vector<size_t> at_hand_;  // ascending
  std::set<uint32_t> reported_;  // places of ends that are not among their values
};

}  // namespace etc
