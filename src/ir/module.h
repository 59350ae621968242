// The module: everything one `.etir` text says. It owns all tables; ids index them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/expr.h"
#include "ir/ids.h"
#include "ir/node.h"
#include "ir/stmt.h"
#include "ir/types.h"
#include "support/source.h"

namespace etc {

enum class SymbolKind : uint8_t {
  Const,      // `const`
  Dim,        // `dim`
  Index,      // a task coordinate, a `for` or reduction variable, an edge's coordinate name
  RepeatVar,  // the variable of a `repeat`
  Let,        // a scalar of a body
  Scalar,     // a scalar parameter of a device function
  Value,      // a `let` of a kernel
  Sms,        // `sms`: the number of SMs the kernel runs on, known at launch
  Rank,       // `rank`: which of the ranks of the mesh runs the program
  Generic,    // a compile-time parameter of a device function or a graph, or one of a `fn`
};

/// A named scalar. The fields after `range` belong to the kinds named there.
struct Symbol {
  std::string name;
  SymbolKind kind;
  SourceRange range;
  ExprId
      value;  // Const; Value; a `let` of the top level; Generic: what it is where nothing says it
  ExprId lo;  // Dim: inclusive; Scalar: inclusive, absent when there is no range
  ExprId hi;  // Dim: inclusive; Scalar: not included
  ExprId multiple;                  // Dim: absent when none
  ValueKind type = ValueKind::Int;  // Scalar
  ExprId present = {};              // Scalar: `if`, the condition under which there is one
};

/// Whether the symbol is a name for an expression: `const`, and a `let` that is not of a body.
inline bool NamesExpr(const Symbol& symbol) {
  return symbol.kind == SymbolKind::Const || symbol.kind == SymbolKind::Value ||
         (symbol.kind == SymbolKind::Let && symbol.value);
}

enum class TensorKind : uint8_t { Param, Buffer, Local };
enum class Access : uint8_t { In, Out, InOut };

/// What is taken of an axis: `lo..hi of extent`; without `lo` and `hi` `extent padded`, all of it
/// and behind that zeros; absent: `*`, all of it.
struct AxisRange {
  ExprId lo;
  ExprId hi;
  ExprId extent;
};
/// `"a.{l}.qkv.weight"[0..8 of 24, *]`: tensors of a checkpoint, by name. `{l}` stands for the
/// index of a leading axis of the parameter.
struct WeightSource {
  std::string name;
  std::vector<AxisRange> ranges;  // what is taken of the first axes of each; of others all
  SourceRange range;
};

/// A tensor: dense, and row-major unless it has a tile. With a tile of A x B its last two axes are
/// stored tile by tile: [..., n / A, k / B, n % A, k % B]. In a swizzled tile, whose rows have 32,
/// 64 or 128 bytes, what has the byte a in the tile by rows stands at a ^ ((a >> 7 & m) << 4),
/// where m is one less than the row's pieces of 16 bytes: as the tensor cores read shared memory
/// (Swizzle<log2(m + 1), 4, 3> of CUTLASS).
struct Tensor {
  std::string name;  // without `%`
  TensorKind kind;
  Access access = Access::In;  // Param
  DType type;
  std::vector<ExprId> shape;
  ExprId value_lo;  // Param of integers: `in lo..hi`, what the caller promises of each element
  ExprId value_hi;  // of element [indices], by other parameters before it
  ExprId offset;    // Buffer of a kernel: byte offset in the workspace
  SourceRange range;
  std::vector<ExprId> tile = {};     // `layout tile(A, B)`: both; else empty
  bool swizzled = false;             // `layout tile(A, B, swizzle)`
  bool flagged = false;              // Buffer of a kernel: words of data that are their own flag
  bool phased = false;               // Buffer of a kernel: words that say in which turn of several
                                     // they were written, of events `via words`
  bool symmetric = false;            // Buffer, or Param of a device: peers may write it
  std::optional<size_t> shard = {};  // Param of a graph: the axis of which each rank has a part,
                                     // and whose extent is a quotient by the number of parts
  bool in_parts = false;  // of that: `shard n in p`, so many, which ranks share; else one for each
  // Param of integers, what the caller promises of its elements:
  bool distinct = false;               // no two are equal
  bool monotone = false;               // along the last axis, none is less than the one before
  TensorId counts = {};                // element e is how many elements of this parameter are e
  std::vector<SymbolId> indices = {};  // names of an element's indices in the value range; else
                                       // absent ids, or empty where no axis has a name
  ExprId present = {};                 // Param: `if`, the condition under which there is one
  /// Param of a graph: `from`, of which the first that a checkpoint has counts.
  std::vector<WeightSource> sources = {};
  /// Param of a graph or a kernel: `array[n] of`, which makes each element of the first axis a
  /// tensor with an address of its own. In all else it is one tensor, stacked.
  bool array = false;
};

/// Whether the words of a buffer say by themselves that they are there.
inline bool HasFlags(const Tensor& tensor) { return tensor.flagged || tensor.phased; }

/// What a kernel keeps in the workspace before its first buffer with flags.
constexpr int64_t kFlagHeaderBytes = 256;

/// Bytes that an element takes in memory: a word with a flag has 8 for 4 bytes of data.
int64_t BytesPerElement(const Tensor& tensor);

/// How an event is realised; Unset before scheduling.
enum class Realisation : uint8_t {
  Unset,
  Counter,  // counters in global memory: tasks of any SM notify and wait
  Shared,  // counters in the shared memory of each CTA: whoever notifies an element or waits for it
           // is on one SM
  None,    // that SM's own order of tasks, and a barrier of the threads that run them
  Words,   // words of a phased buffer, which whoever notifies writes and whoever waits looks at
};

constexpr bool HasCounters(Realisation realisation) {
  return realisation == Realisation::Counter || realisation == Realisation::Shared;
}
/// `counter`, `shared`, `none`, `words`: the word behind `via`.
std::string_view Spelling(Realisation realisation);

struct EventDim {
  SymbolId var;  // named when the count depends on it
  ExprId extent;
};

/// `event %e[n] count 4;`, or `trigger %due[n] count 4;` in a kernel: what counts the tasks that
/// SMs have been given, not those that are done, and pushes tasks of a queue.
struct Event {
  std::string name;  // without `%`
  std::vector<EventDim> dims;
  ExprId count;
  Realisation realisation = Realisation::Unset;
  SourceRange range;
  ExprId first = {};  // of a kernel: the number of its first counter, among those of its memory
  bool trigger = false;
  bool symmetric = false;  // peers may notify it
};

/// How many places of a queue fit in the memory of one counter, which has a line for itself.
constexpr int64_t kPlacesPerCounter = 32;

/// One `name = value` of an impl's `<…>`: a scalar expression, or a bare word (an enumerator or
/// type of the kernel's C++).
struct ImplArg {
  std::string name;
  ExprId value;
  std::string word;
};

/// `%x[128, 64]` of `boxes (…)`: one tensor copy brings so many of the operand's last two axes.
struct Box {
  TensorId tensor;
  ExprId rows;
  ExprId columns;
};

/// `impl sm_90a "gemm.cuh" Gemm<rows = 16> preloaded (%w) fetched (%x) boxes (%x[128, 64]);` or
/// `impl sm_90a cuda """…""";`
struct Impl {
  std::string arch;
  std::string header;  // empty for inline CUDA text
  std::string name;    // the class template
  std::vector<ImplArg> args;
  std::vector<TensorId> preloaded;  // operands its loader copies ahead of every wait,
  std::vector<TensorId> fetched;    // and behind the waits of each task
  std::vector<TensorId> flagged;    // operands that may be flagged buffers,
  ExprId flagged_if = {};           // where this holds in the kernel; absent: everywhere
  std::vector<TensorId> phased;     // operands that may be phased buffers
  std::vector<Box> boxes;           // of operands that tensor copies bring
  std::string text;                 // inline CUDA
  SourceRange range;
};

struct Device {
  std::string name;
  std::vector<SymbolId> generics;  // `<N, K, eps = 1e-6>`: none behind expansion
  std::vector<TensorId> params;
  std::vector<SymbolId> scalars;  // `l: int in 0..layers`, behind the tensors
  std::vector<Axis> tasks;
  std::vector<Impl> impls;
  std::vector<StmtId> body;
  SourceRange range;        // of the name
  SourceRange braces = {};  // from the body's `{` to its `}`
};

/// The device's implementation for a target, or null.
const Impl* FindImpl(const Device& device, std::string_view arch);

/// Of `specialise (batch: 1..8, 9..16; rows: 1..64, 65..128)` the ranges of one dimension.
struct DimRange {
  ExprId lo;
  ExprId hi;
};
struct Specialisation {
  SymbolId dim;
  std::vector<DimRange> ranges;
  SourceRange range = {};  // of the dimension's name
};

/// `where (batch in 1..8)`: the sizes that a graph or a kernel is for.
struct Where {
  SymbolId dim;
  ExprId lo;
  ExprId hi;
};

/// Of the values that a choice may have, some: one (`8`), or with both ends those of a range
/// (`16..48 multiple 8`).
struct ChoiceValues {
  ExprId lo;
  ExprId hi;        // absent where there is one
  ExprId multiple;  // absent where it is 1
};

/// `rows: choose (8, 16..48 multiple 8) when rows <= K = f(N)`: a generic parameter that says how a
/// function is tiled, and not what it means. `const most: choose (8, 16) = 8;` says it of a whole
/// program. The symbol's value says what it is where nobody else does.
struct Choice {
  std::vector<ChoiceValues> values;
  ExprId condition;  // of those that may be used, over this and the other parameters; absent: all
  bool pinned = false;  // a constant that the command line or a configuration sets
};

/// `alternative split when H > 1 prefer B < 4 { … }`: one of the bodies of a graph. All mean the
/// same, and the first says what.
struct Alternative {
  std::string name;
  ExprId condition;   // where it may be used; absent: everywhere
  ExprId preference;  // where it is taken unless somebody says otherwise; absent: nowhere
  std::vector<NodeId> body;
  SourceRange range;  // of the name
  SourceRange braces;
};

struct Graph {
  std::string name;
  std::vector<SymbolId> generics;  // as those of a device function
  std::string of = {};             // the graph of the source that it is a range of; else empty
  std::vector<Where> where = {};
  std::vector<TensorId> params;
  std::optional<ScheduleKind> schedule;
  std::vector<Specialisation> specialisations;  // a kernel for each combination of their ranges
  std::vector<NodeId> body;
  std::vector<Alternative> alternatives = {};  // in the place of the body; none behind expansion
  SourceRange range;
  SourceRange braces = {};
};

/// `watchdog 5;`: a launch in which tasks wait for events and nothing happens ends after so long.
struct Watchdog {
  int64_t seconds = 0;
  SourceRange range = {};
};

/// `profile ceildiv(n, sms) * 3 + 2;`: each role of an SM writes down when it did what, so many
/// spans of a launch at most.
struct Profile {
  ExprId spans;  // over dimensions and `sms`
  SourceRange range = {};
};

/// What scheduling makes of a graph: one persistent kernel, or (`kernels`) a list of launches.
struct Kernel {
  std::string name;
  std::string graph;  // the graph function it comes from: `of @graph`
  ScheduleKind schedule = ScheduleKind::Static;
  std::vector<TensorId> params;
  std::vector<Where> where;
  int64_t consumer_warps = 8;  // `launch consumers 8 shared 225280;`
  int64_t shared_bytes = 0;
  std::optional<int64_t> depth;      // slots of the ring; absent: as many as shared memory holds
  std::optional<Throttle> throttle;  // of shares without their own; absent: nothing holds it back
  std::vector<SymbolId> values;  // `let first = batch * 8;`: what shares and places use, in order
  std::vector<Check> checks;
  std::optional<SourceRange> check_accesses;  // `check accesses;`: generated bodies check indices
  std::optional<Watchdog> watchdog;           // absent: tasks wait for events without end
  std::optional<Profile> profile;             // absent: launches leave nothing behind
  std::vector<NodeId> declarations;           // BufferDecl, EventDecl
  std::vector<NodeId> body;  // `on sm { … }`, `on stream { … }`: Share, Dispatch, Repeat
  SourceRange range;
  SourceRange braces = {};
  SourceRange launch = {};     // `launch consumers 8 shared 225280;`, of a text
  SourceRange sm_braces = {};  // those of `on sm { … }` or `on stream { … }`
};

/// Whether launches of the kernel have debug checks of any kind.
bool HasChecks(const Kernel& kernel);

/// `require hidden_size % 64 == 0;`, decided when the program is compiled, or `require m <= n;`
/// between dimensions, which every launch must fulfil.
struct Require {
  ExprId condition;
};

/// `config model_type "llama" or "mistral";`: what a configuration that has the member says there.
struct ConfigMember {
  std::string name;
  std::vector<std::string> values;  // one of these
  SourceRange range;
};

/// `fn scale(%x, n, eps) = rsqrt(…);`: an expression with parameters. Tensors stand for slices.
struct Function {
  std::string name;
  std::vector<std::variant<SymbolId, TensorId>> params;
  ExprId body;
  SourceRange range;
};

/// Where a `fn` was put in the place of its name: how to print that as it was written.
struct Application {
  FunctionId function;
  std::vector<std::variant<ExprId, Argument>> args;
};

/// `import "operators/linear.etir";`. The `items` items that follow it are those of the file.
struct Import {
  std::string path;
  SourceRange range;
  size_t items = 0;
};

/// The top level, in source order.
using Item = std::variant<ImportId, SymbolId, Require, ConfigMemberId, FunctionId, DeviceId,
                          GraphId, KernelId>;

/// A text that was copied for a call, so that what is wrong in the copy is wrong for that call.
struct Expansion {
  SourceRange text;
  SourceRange call;
  std::string callee;  // `@linear<N = 4, K = 8>`
};

/// `mesh tp = 1, 2, 4, 8;`: how many ranks run the program side by side.
struct Mesh {
  SymbolId size;                // a dimension from the least of the values to the largest
  std::vector<int64_t> values;  // ascending
  SourceRange range = {};       // of the values
};

/// A comment, for the formatter. `own_line`: nothing but blanks stands before it on its line.
struct Comment {
  SourceRange range;
  std::string text;  // with its `//`
  bool own_line = false;
};

/// The throttle that a tuning gives the kernel of a graph of the source, for a range of sizes.
struct LoaderAdvice {
  std::string graph;
  std::vector<Where> where;
  Throttle throttle;
};

class Module {
 public:
  Table<ExprId, Expr> exprs;
  Table<SymbolId, Symbol> symbols;
  Table<TensorId, Tensor> tensors;
  Table<EventId, Event> events;
  Table<StmtId, Stmt> stmts;
  Table<NodeId, Node> nodes;
  Table<DeviceId, Device> devices;
  Table<GraphId, Graph> graphs;
  Table<KernelId, Kernel> kernels;
  Table<FunctionId, Function> functions;
  Table<ImportId, Import> imports;
  Table<ConfigMemberId, ConfigMember> config_members;
  std::vector<Item> items;
  std::map<SymbolId, Choice> choices;  // of the generic parameters and constants that are choices
  std::map<ExprId, Application> applications;  // none behind expansion
  std::vector<Expansion> expansions;
  std::vector<LoaderAdvice> loader_advice;  // for kernels that graphs become
  std::vector<Comment> comments;            // in source order
  std::vector<uint32_t> blank_lines;        // offsets of what follows an empty line, ascending
  SourceRange header;                       // of `etir 1;`
  std::optional<Mesh> mesh;                 // absent: one rank runs the program
  SymbolId sms;                             // the one symbol of kind Sms
  SymbolId rank;                            // the one symbol of kind Rank
  SymbolId target_sms;           // predefined constants: the SMs of the machine that schedules
  SymbolId target_shared_bytes;  // are chosen for, and the most bytes of shared memory of a CTA
                                 // of it; expansion puts their values

  Module();

  ExprId AddExpr(Expr expr, SourceRange range = {});
  StmtId AddStmt(Stmt stmt, SourceRange range = {});
  NodeId AddNode(Node node, SourceRange range = {});
  SourceRange RangeOf(ExprId id) const { return expr_ranges_[id.value]; }
  SourceRange RangeOf(StmtId id) const { return stmt_ranges_[id.value]; }
  SourceRange RangeOf(NodeId id) const { return node_ranges_[id.value]; }

 private:
  std::vector<SourceRange> expr_ranges_;
  std::vector<SourceRange> stmt_ranges_;
  std::vector<SourceRange> node_ranges_;
};

/// A share of a kernel, and the repeats around it, outermost first.
struct ShareSite {
  NodeId share;
  std::vector<NodeId> repeats;
  NodeId dispatch = {};  // of which it is a case, or an absent id

  /// The innermost of the repeats, or an absent id.
  NodeId Innermost() const { return repeats.empty() ? NodeId{} : repeats.back(); }
};

/// The shares of a kernel in program order, the cases of dispatches among them.
std::vector<ShareSite> SharesOf(const Module& module, const Kernel& kernel);

/// The first case of each dispatch of a kernel, in program order.
std::vector<ShareSite> DispatchesOf(const Module& module, const Kernel& kernel);

/// The iterations of the repeats around a share, outermost first.
std::vector<Axis> IterationsOf(const Module& module, const ShareSite& site);

/// Whether the graph declares an event. One that declares none leaves its events to the compiler.
bool HasEvents(const Module& module, const Graph& graph);

}  // namespace etc
