// Evaluation of integer and float expressions under given values of symbols.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace etc {

/// Values of dimensions and index variables. Constants need no entry: their own value is used.
using Env = std::map<SymbolId, int64_t>;

/// Inclusive bounds of dimensions, as a specialisation narrows them.
struct Interval {
  int64_t lo;
  int64_t hi;

  bool operator==(const Interval&) const = default;
};
using DimRanges = std::map<SymbolId, Interval>;

/// The value of an integer expression, or nothing where it reads a tensor, a symbol without a
/// value, divides by zero, shifts by less than 0 or more than 63 places, or overflows.
/// `lower`/`upper` use `ranges`, else the declared range.
std::optional<int64_t> EvaluateInt(const Module& module, ExprId expr, const Env& env,
                                   const DimRanges& ranges = {});
std::optional<double> EvaluateFloat(const Module& module, ExprId expr, const Env& env,
                                    const DimRanges& ranges = {});
std::optional<bool> EvaluateBool(const Module& module, ExprId expr, const Env& env,
                                 const DimRanges& ranges = {});

/// The value of an operator of ints; nothing where it gives no int, divides by zero or overflows.
std::optional<int64_t> Apply(BinaryOp op, int64_t a, int64_t b);
/// What a comparison of ints says; nothing of another operator.
std::optional<bool> Compare(BinaryOp op, int64_t a, int64_t b);
/// The value of an intrinsic of ints, of which one with a single operand takes the first: nothing
/// where it is none of ints, divides by zero or overflows.
std::optional<int64_t> Apply(Intrinsic op, int64_t a, int64_t b);

/// Inclusive bounds of an integer expression over the ranges of its dimensions and the given
/// intervals of other symbols, by interval arithmetic (sound, not always tight).
std::optional<Interval> Bounds(const Module& module, ExprId expr,
                               const std::map<SymbolId, Interval>& intervals,
                               const DimRanges& ranges = {});

/// The values of an integer element type; nothing for one of 64 bits and for other types.
std::optional<Interval> RangeOfType(DType type);

/// The value of a condition where it is the same for all of these values, by interval arithmetic:
/// nothing where it is not, or not seen to be.
std::optional<bool> Decide(const Module& module, ExprId condition,
                           const std::map<SymbolId, Interval>& intervals, const DimRanges& ranges);

/// What each kernel of the graph is for: the combinations of the ranges that it is specialised for,
/// the first dimension slowest, without those at whose sizes no launch can be. One, of nothing
/// narrowed, where the graph is not specialised; that of a graph which is for one range.
std::vector<std::vector<Where>> WheresOf(const Module& module, const Graph& graph);
/// What the source calls the graph: many may be made of it.
const std::string& SourceName(const Graph& graph);
/// Makes of a specialised graph that of one of these combinations, with a name of its own.
void Narrow(const Module& module, Graph& graph, const std::vector<Where>& where);
/// The same as ranges.
std::vector<DimRanges> RangesOf(const Module& module, const Graph& graph);
DimRanges RangesOf(const Module& module, const std::vector<Where>& where);
/// What the sizes of a kernel are narrowed to.
DimRanges RangesOf(const Module& module, const Kernel& kernel);
/// The graph that a source's one was specialised to for these sizes: where they leave the number of
/// ranks open, that for most ranks. An absent id where there is none.
GraphId FindGraph(const Module& module, const std::string& source_name, const DimRanges& sizes);

/// False where some axis is empty at all sizes in `ranges`: a grid of no tasks.
bool MayHaveTasks(const Module& module, const std::vector<Axis>& axes, const DimRanges& ranges);

/// The declared range of a dimension, or of `ranges` where it has one.
std::optional<Interval> RangeOfDim(const Module& module, SymbolId dim,
                                   const DimRanges& ranges = {});

/// The value kind of an expression. Mixed int and float operands give Float, with a double Double.
ValueKind KindOf(const Module& module, ExprId expr);

}  // namespace etc
