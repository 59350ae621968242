// The manifest's schema as types: what the runtime reads, and the tools that look into artifacts.
// docs/runtime.md has the JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "etc/runtime.h"

namespace etc::manifest {

inline constexpr int64_t kVersion = 2;

enum class Op : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  CeilDiv,
  Align,
  Min,
  Max,
  Select,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  And,
  Or,
  BitOr,
  BitXor,
  BitAnd,
  ShiftLeft,
  ShiftRight,
};

/// An integer expression over the dims of one graph.
struct Expr {
  enum class Kind : uint8_t { Int, Dim, Apply };
  Kind kind = Kind::Int;
  Op op = Op::Add;         // of Apply
  int64_t value = 0;       // Int: the number; Dim: index into Graph::dims
  std::vector<Expr> args;  // of Apply
};

struct Dim {
  std::string name;
  int64_t min = 0;  // both included
  int64_t max = 0;
  int64_t multiple = 1;
};

struct ValueRange {
  Expr min;  // both included
  Expr max;
};

/// The last two axes are stored tile by tile: [..., n / rows, k / columns, n % rows, k % columns].
struct Tile {
  int64_t rows = 1;
  int64_t columns = 1;
  bool swizzle = false;  // a row of 2, 4 or 8 pieces of 16 bytes has them in another order

  bool operator==(const Tile&) const = default;
};

/// Tensors of a checkpoint. Their name has places, `{l}`, for the indices of the leading axes of
/// the parameter.
struct Source {
  struct Range {
    int64_t first = 0;
    int64_t end = 0;         // behind the last
    int64_t extent = 0;      // of the whole axis
    bool is_padded = false;  // the parameter has zeros behind them

    bool operator==(const Range&) const = default;
  };
  std::string name;
  /// What is taken of the first axes of each; absent, and of others: all.
  std::vector<std::optional<Range>> ranges;

  bool operator==(const Source&) const = default;
};

struct Param {
  std::string name;
  etc_access access = ETC_IN;
  etc_dtype dtype = ETC_F32;
  std::vector<Expr> shape;
  int64_t alignment = 1;
  std::optional<ValueRange> values;
  bool distinct = false;         // no two elements are equal
  bool monotone = false;         // along the last axis, no element is less than the one before
  std::optional<Tile> tile;      // row-major without
  bool array = false;            // each element of the first axis has an address of its own
  std::optional<int64_t> shard;  // the axis of which each rank has a part
  std::optional<Expr> parts;     // of that axis, where ranks share them; else one for each rank
  std::vector<Source> sources;   // of which the first that a checkpoint has counts
};

/// The kernel holds for values of the dim from min to max, both included.
struct Where {
  int64_t dim = 0;  // index into Graph::dims
  int64_t min = 0;
  int64_t max = 0;
};

/// A launch of an entry with at most one CTA for each SM, or launches that are repeated.
struct Launch {
  bool is_repeat = false;
  std::string entry;             // of a launch
  Expr tasks;                    // of a launch: without any, it is left out
  Expr begin;                    // of a repeat: the first iteration,
  Expr end;                      // and the one behind the last
  std::vector<Launch> launches;  // of a repeat
};

/// A relation between dims that launches must fulfil.
struct Requirement {
  std::string text;  // as the program says it: `m <= n`
  Expr holds;        // 0 where it does not
};

/// What a record of a profile may say.
struct Span {
  enum class Kind : uint8_t { Task, Wait, Signal };
  /// A number in the record: the first one has the lowest bits.
  struct Field {
    std::string name;
    int64_t bits = 0;
  };
  Kind kind = Kind::Task;
  std::string call;  // whose it is: `@final_sum`
  std::string text;  // with `{}` for each field
  std::vector<Field> fields;
  std::string source;  // where it is said: `row_sum.etir:18`, or nothing
};

/// What launches of a kernel leave behind.
struct Profile {
  std::string kernel;  // `@row_sum`
  Expr records;        // of a role of an SM at most; the number of SMs is one more dim, the last
  std::vector<Span> spans;
};

/// What tensor copies know of a tensor: `slices` of `rows` by `columns`, row-major, and a box.
struct TensorMap {
  enum class Place : uint8_t { Param, Workspace, Symmetric };
  Place place = Place::Param;
  size_t param = 0;  // its place among the parameters
  Expr offset;       // elsewhere: in bytes
  etc_dtype dtype = ETC_F32;
  std::vector<Expr> shape;  // of three
  int64_t box_rows = 0;
  int64_t box_columns = 0;
};

struct Kernel {
  std::string entry;             // of a persistent kernel; else it is a list of launches
  std::vector<Launch> launches;  // in order
  std::string schedule;
  std::vector<Where> where;
  std::vector<Requirement> requirements;  // that depend on the ranges in `where`
  int64_t threads = 0;
  int64_t shared_bytes = 0;
  Expr workspace_bytes;
  Expr event_counters;
  Expr symmetric_bytes;  // of a graph with a mesh
  std::optional<Profile> profile;
  std::vector<TensorMap> tensor_maps;  // at the beginning of its launch block
};

/// For how many ranks a graph is.
struct Mesh {
  int64_t size = 0;             // index into Graph::dims
  std::vector<int64_t> values;  // ascending
};

struct Graph {
  std::string name;
  std::vector<Dim> dims;
  std::vector<Requirement> requirements;
  std::vector<Param> params;
  std::vector<Kernel> kernels;
  std::optional<Mesh> mesh;  // absent: it runs alone
};

struct Constant {
  std::string name;
  std::variant<bool, int64_t, double> value;
};

struct Binary {
  std::string file;  // beside the manifest
  int64_t bytes = 0;
  std::string xxh3_128;         // hexadecimal
  std::vector<int64_t> images;  // where each image in it begins; empty: it is one
};

struct Producer {
  std::string etc;
  std::string toolchain;
  std::vector<std::string> flags;
};

/// What was proved of one property.
struct Proof {
  std::string property;  // "bounds", "counts", ...
  int64_t proved = 0;
  int64_t not_proved = 0;
};

struct Proofs {
  std::vector<Proof> tallies;
  std::vector<std::string> assumptions;
  std::vector<std::string> not_proved;  // what, one by one
};

struct Manifest {
  std::string hash;                   // of its own text
  std::vector<std::string> features;  // that a reader must know
  std::string target;                 // "host" or an arch, for example "sm_90a"
  Binary binary;
  Producer producer;
  std::vector<Constant> constants;
  std::vector<Graph> graphs;
  /// What the debug checks say, by number, with `{}` for each value; absent without such checks.
  std::optional<std::vector<std::string>> debug_checks;
  /// The same of waits that the watchdog may end; absent without one.
  std::optional<std::vector<std::string>> watchdog;
  std::optional<Proofs> proofs;         // of the source; absent when they were skipped
  std::optional<Proofs> kernel_proofs;  // of what was made of its graphs
};

}  // namespace etc::manifest
