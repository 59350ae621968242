// The parts of the printer: names, expressions, and the layout of lines.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"

namespace etc {

constexpr size_t kPrintColumns = 100;

/// The texts of the items with commas between them.
template <class Items, class Text>
std::string Listed(const Items& items, Text text) {
  std::string list;
  for (const auto& item : items) {
    list += (list.empty() ? "" : ", ") + text(item);
  }
  return list;
}

/// The names under which things print. Inside a scope they are made unique, since a pass may leave
/// two of one name in one kernel; without any declaration they are the names of the module.
class PrintNames {
 public:
  explicit PrintNames(const Module& module) : module_(module) {}

  void Declare(SymbolId id);
  void Declare(TensorId id);
  void Declare(EventId id);
  std::string Of(SymbolId id) const;
  std::string Of(TensorId id) const;  // with its `%`
  std::string Of(EventId id) const;

  struct State {
    std::set<std::string> scalars;
    std::set<std::string> tensors;
  };
  State Save() const { return taken_; }
  void Restore(State state) { taken_ = std::move(state); }

 private:
  const Module& module_;
  State taken_;
  std::map<SymbolId, std::string> symbols_;
  std::map<TensorId, std::string> tensors_;
  std::map<EventId, std::string> events_;
};

/// Text of expressions, references and what else stands within one line. Axes declare their
/// variables as they are printed, so what uses them is printed after them.
class ExprPrinter {
 public:
  ExprPrinter(const Module& module, PrintNames& names) : module_(module), names_(names) {}

  std::string Expr(ExprId id) const { return Print(id, {}); }
  /// With parentheses round a `>`, for use between `<` and `>`.
  std::string ExprWithoutGreater(ExprId id) const { return Print(id, {.no_greater = true}); }
  std::string List(const std::vector<ExprId>& exprs) const;
  /// `lo..hi`, with blanks round the dots unless both sides are short words.
  std::string Interval(ExprId lo, ExprId hi) const;
  std::string OneAxis(const Axis& axis) const;
  std::string Axes(const std::vector<Axis>& axes) const;
  /// `%x[i]`, or `%x@(r)[i]` of a peer.
  std::string Element(TensorId tensor, const std::vector<ExprId>& indices, ExprId peer = {}) const;
  std::string Arguments(const std::vector<Argument>& args,
                        const std::vector<ExprId>& scalars) const;
  /// `%w` or `%w[l]`.
  std::string Text(const Argument& arg) const;
  /// `<N = 64>`, or nothing.
  std::string Generics(const std::vector<GenericArg>& generics) const;
  /// `[rows = 64, alternative = split]`, or nothing.
  std::string Pins(const std::vector<Pin>& pins) const;
  /// `choose (8, 16..48 multiple 8) when rows < K`.
  std::string Choose(const Choice& choice) const;
  std::string Type(const Tensor& tensor) const;
  std::string Ref(const EventRef& ref) const;
  std::string EventHead(const Event& event) const;
  std::string Check(const etc::Check& check) const;
  /// ` in 0..n distinct monotone counts %x`: of a parameter or a check.
  template <class Promised>
  std::string Precondition(const Promised& of) const {
    std::string text = of.value_lo ? " in " + Interval(of.value_lo, of.value_hi) : "";
    text += of.distinct ? " distinct" : "";
    text += of.monotone ? " monotone" : "";
    text += of.counts ? " counts " + names_.Of(of.counts) : "";
    return text;
  }

 private:
  struct Context {
    int least_precedence = 0;  // what binds weaker needs parentheses
    bool followed = false;     // an operator of a product follows: a reduction would swallow it
    bool no_greater = false;
  };
  std::string Print(ExprId id, Context context) const;
  std::string PrintBinary(const Binary& binary, Context context) const;
  std::string PrintReduce(const Reduce& reduce, Context context) const;
  std::string Print(const Application& application) const;
  /// `@(r)`, or nothing.
  std::string Peer(ExprId peer) const { return peer ? "@(" + Expr(peer) + ")" : ""; }

  const Module& module_;
  PrintNames& names_;
};

/// The shortest text of a float that reads back as the same value and looks like a float.
std::string FloatText(double value);

/// The lines of `line`, each as long as a line may be where that can be. What stands in a bracket
/// goes on under what the bracket holds; what stands in none, at `indent`.
std::vector<std::string> BreakLine(std::string line, size_t indent);

/// Lines with indentation, and the comments and empty lines of the source between them. What is
/// printed is announced by its place in the source, and what stands before that place comes first.
/// A comment behind a line that is full stands in front of it, or where the line opens something,
/// first in there.
class PrintLayout {
 public:
  explicit PrintLayout(const Module& module) : module_(module) {}

  /// Prints the comments that stand before `range`, and at most one empty line.
  void Before(SourceRange range) { Before(range, range.begin); }
  /// The same for what stands before the last byte of `range`, its closing brace.
  void BeforeEnd(SourceRange range) { Before(range, range.end == 0 ? 0 : range.end - 1); }
  void BeforeTheEnd() { Flush(0xffffffff); }
  /// Forgets the empty lines inside of what has just been printed.
  void After(SourceRange range);
  bool HasCommentBefore(uint32_t offset) const;
  /// Whether comments stay behind lines that are full: of a kernel, some lines have no place in the
  /// source.
  void KeepBehind(bool keep) { keep_behind_ = keep; }
  /// An empty line stands before what comes next.
  void Separate() { blank_ = true; }

  /// One line of text at the current depth, broken where it is too long.
  void Line(std::string_view text);
  /// A line that is not broken.
  void Verbatim(std::string_view text);
  void Indent() {
    ++depth_;
    after_open_ = true;
  }
  void Outdent() {
    --depth_;
    blank_ = false;
  }
  /// A block; `range` ends in its closing brace.
  void Open(std::string_view head) {
    Line(std::string(head) + " {");
    Indent();
  }
  void Close(SourceRange range) {
    BeforeEnd(range);
    Outdent();
    Verbatim("}");
  }
  bool Fits(std::string_view text) const { return 2 * depth_ + text.size() <= kPrintColumns; }
  std::string Take();

 private:
  void Before(SourceRange range, uint32_t offset) {
    if (range.IsValid()) {
      Flush(offset);
    }
  }
  void Flush(uint32_t offset);
  void Behind(const std::string& comment);
  void DropBlanks(uint32_t offset, bool keep);
  void Push(std::string line);

  const Module& module_;
  std::vector<std::string> lines_;
  size_t depth_ = 0;
  size_t first_of_last_ = 0;  // among the lines: where the last `Line` begins
  size_t depth_of_last_ = 0;
  bool last_is_line_ = false;  // and no closing brace
  bool keep_behind_ = false;
  size_t next_comment_ = 0;
  size_t next_blank_ = 0;
  bool blank_ = false;
  bool after_open_ = true;
  bool commented_ = true;  // the last line takes no comment at its end
};

}  // namespace etc
