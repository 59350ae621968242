#include "emit/cxx_body.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/raise/pending_reads.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

class BodyWriter {
 public:
  BodyWriter(TextWriter& out, const DeviceScope& scope, const Device& device, BodyStyle style)
      : out_(out),
        scope_(scope),
        module_(scope.module()),
        style_(style),
        pending_(scope.module(), device) {}

  void WriteTask(const std::vector<StmtId>& body) {
    if (style_ == BodyStyle::Parallel) {
      WriteShared(body);
      if (pending_.HasLocals()) {
        Barrier();
      }
    } else {
      WriteSerial(body);
    }
  }

  /// Scratch that the locals take which all threads share, in bytes.
  int64_t ScratchBytes(const std::vector<StmtId>& body) const {
    int64_t bytes = 0;
    for (StmtId id : body) {
      bytes += std::visit(
          Overloaded{
              [&](const LocalDecl& local) { return AlignedBytes(local.tensor); },
              [&](const If& branch) {
                return ScratchBytes(branch.body) + ScratchBytes(branch.otherwise);
              },
              [&](const For& loop) { return IsShared(loop) ? ScratchBytes(loop.body) : 0; },
              [](const OneOf<Let, LetPair, Assign, TopK> auto&) { return int64_t{0}; },
          },
          module_.stmts[id]);
    }
    return bytes;
  }

 private:
  int64_t Elements(TensorId id) const {
    int64_t count = 1;
    for (ExprId extent : module_.tensors[id].shape) {
      auto value = EvaluateInt(module_, extent, {}, scope_.ranges());
      ETC_CHECK(value);
      count *= *value;
    }
    return count;
  }

  int64_t AlignedBytes(TensorId id) const {
    return (Elements(id) * SizeInBytes(module_.tensors[id].type) + 15) / 16 * 16;
  }

  /// Whether a scan has something to share among threads; else one of them runs all of it.
  bool IsShared(const For& loop) const { return loop.sequential && HasParallel(loop.body); }

  bool HasParallel(const std::vector<StmtId>& body) const {
    return std::any_of(body.begin(), body.end(), [&](StmtId id) {
      return std::visit(
          Overloaded{
              [&](const For& loop) { return !loop.sequential || HasParallel(loop.body); },
              [&](const If& branch) {
                return HasParallel(branch.body) || HasParallel(branch.otherwise);
              },
              [](const OneOf<Let, LetPair, LocalDecl, Assign, TopK> auto&) { return false; },
          },
          module_.stmts[id]);
    });
  }

  // One thread runs everything.

  void WriteSerial(const std::vector<StmtId>& body) {
    for (StmtId id : body) {
      std::visit([&](const auto& stmt) { Serial(stmt); }, module_.stmts[id]);
    }
  }

  void Serial(const For& stmt) {
    std::string head;
    for (const Axis& axis : stmt.axes) {
      head += CxxFor(scope_, axis);
    }
    out_.Open(head + "{");
    WriteSerial(stmt.body);
    out_.Close();
  }

  void Serial(const If& stmt) {
    out_.Open(fmt::format("if ({}) {{", CxxExpr(scope_, stmt.condition)));
    WriteSerial(stmt.body);
    if (!stmt.otherwise.empty()) {
      out_.Reopen("} else {");
      WriteSerial(stmt.otherwise);
    }
    out_.Close();
  }

  void Serial(const Let& stmt) {
    out_.Line(fmt::format("const auto {} = {};", CxxName(module_, stmt.symbol),
                          CxxExpr(scope_, stmt.value)));
  }

  void Serial(const LetPair& stmt) {
    const auto& reduce = std::get<Reduce>(module_.exprs[stmt.reduction]);
    const Axis& axis = reduce.axes[0];
    std::string_view type = CxxType(KindOf(module_, reduce.body));
    std::string value = CxxName(module_, stmt.value), index = CxxName(module_, stmt.index);
    out_.Line(fmt::format("[[maybe_unused]] {} {}; [[maybe_unused]] i64 {};", type, value, index));
    out_.Open("{");
    bool largest = reduce.op == Reduction::ArgMax;
    out_.Line(fmt::format("{0} top = {1}<{0}>(); i64 best = {2}; bool any = false;", type,
                          largest ? "Lowest" : "Highest",
                          axis.lo ? CxxExpr(scope_, axis.lo) : "0LL"));
    out_.Open(CxxFor(scope_, axis) + "{");
    out_.Line(fmt::format("const {} value = {};", type, CxxExpr(scope_, reduce.body)));
    out_.Line(fmt::format("if (!any || value {} top) {{ any = true; top = value; best = {}; }}",
                          largest ? ">" : "<", CxxName(module_, axis.var)));
    out_.Close();
    out_.Line(fmt::format("{} = top; {} = best;", value, index));
    out_.Close();
  }

  void Serial(const LocalDecl& stmt) {
    const Tensor& tensor = module_.tensors[stmt.tensor];
    out_.Line(fmt::format("{} {}[{}];", CxxType(tensor.type), scope_.Pointer(stmt.tensor),
                          Elements(stmt.tensor)));
  }

  void Serial(const Assign& stmt) {
    ValueKind element = KindOf(module_.tensors[stmt.tensor].type);
    if (!stmt.adds) {
      std::string value = element == ValueKind::Double
                              ? CxxExprAs(scope_, ValueKind::Double, stmt.value)
                              : CxxExpr(scope_, stmt.value);
      out_.Line(Store(stmt.tensor, stmt.indices, value, KindOf(module_, stmt.value)));
      return;
    }
    // What is added to a float may be a double.
    ValueKind kind = KindOf(module_, stmt.value) == ValueKind::Double ? ValueKind::Double : element;
    out_.Line(Store(stmt.tensor, stmt.indices,
                    fmt::format("{} + {}", CxxElement(scope_, stmt.tensor, stmt.indices),
                                CxxExprAs(scope_, kind, stmt.value)),
                    kind));
  }

  /// Each rank takes the largest candidate that comes after the one of the rank before it. Where
  /// there is none any more, the value is the least and the index the lower bound.
  void Serial(const TopK& stmt) {
    ValueKind kind = KindOf(module_, stmt.body);
    std::string_view type = CxxType(kind);
    std::string index = CxxName(module_, stmt.axis.var);
    out_.Open("{");
    if (std::string check = scope_.RankCheck(stmt); !check.empty()) {
      out_.Line(check);
    }
    out_.Line(
        fmt::format("{0} last = Lowest<{0}>(); i64 last_index = 0; bool first = true;", type));
    out_.Open(CxxFor(scope_, stmt.rank) + "{");
    out_.Line(fmt::format("{0} top = Lowest<{0}>(); i64 top_index = {1}; bool found = false;", type,
                          stmt.axis.lo ? CxxExpr(scope_, stmt.axis.lo) : "0LL"));
    out_.Open(CxxFor(scope_, stmt.axis) + "{");
    out_.Line(fmt::format("const {} value = {};", type, CxxExpr(scope_, stmt.body)));
    out_.Line(fmt::format(
        "const bool later = first || value < last || (value == last && {} > last_index);", index));
    out_.Line(
        fmt::format("if (later && (!found || value > top)) {{ found = true; top = value; top_index "
                    "= {}; }}",
                    index));
    out_.Close();
    out_.Line(Store(stmt.values, stmt.value_indices, "top", kind));
    out_.Line(Store(stmt.positions, stmt.position_indices, "top_index", ValueKind::Int));
    out_.Line("if (found) { first = false; last = top; last_index = top_index; }");
    out_.Close();
    out_.Close();
  }

  std::string Store(TensorId id, const std::vector<ExprId>& indices, const std::string& value,
                    ValueKind kind) {
    const Tensor& tensor = module_.tensors[id];
    std::string target = fmt::format("{}[{}]", scope_.Pointer(id), CxxOffset(scope_, id, indices));
    std::string guard = scope_.Guard(id, indices);
    std::string head = guard.empty() ? "" : fmt::format("if ({}) ", guard);
    std::string element = KindOf(tensor.type) == ValueKind::Float
                              ? CxxNarrow(tensor.type, kind, value)
                              : fmt::format("{}({})", CxxType(tensor.type), value);
    return fmt::format("{}{} = {};", head, target, element);
  }

  // All consumer threads of a block run the task together.

  void WriteShared(const std::vector<StmtId>& body) {
    for (StmtId id : body) {
      bool looks_itself =  // at each statement in it
          std::visit(
              Overloaded{
                  [](const If&) { return true; },
                  [&](const For& loop) { return IsShared(loop); },
                  [](const OneOf<Let, LetPair, LocalDecl, Assign, TopK> auto&) { return false; },
              },
              module_.stmts[id]);
      if (!looks_itself) {
        BarrierBeforeStores(id);
      }
      std::visit([&](const auto& stmt) { Shared(stmt); }, module_.stmts[id]);
    }
  }

  void Barrier() {
    out_.Line("consumer.Sync();");
    pending_.Clear();
  }

  void BarrierBeforeStores(StmtId id) {
    if (pending_.MeetStores(id)) {
      Barrier();
    }
  }

  void Shared(const For& stmt) {
    if (IsShared(stmt)) {
      Scan(stmt);
    } else if (stmt.sequential) {
      OneThread(stmt);
    } else {
      Distribute(stmt);
    }
  }

  /// All threads walk through the iterations together.
  void Scan(const For& stmt) {
    std::string head;
    for (const Axis& axis : stmt.axes) {
      head += CxxFor(scope_, axis);
    }
    pending_.Add(stmt.axes);
    PendingReads without = pending_;
    out_.Open(head + "{");
    WriteShared(stmt.body);
    pending_.Add(stmt.axes);  // the bounds of inner axes, once more
    if (pending_.MeetStores(stmt.body)) {
      Barrier();  // in front of the next iteration
    }
    out_.Close();
    pending_.Add(without);  // there may be no iteration
  }

  void Distribute(const For& stmt) {
    // Axes whose bounds depend on an earlier axis of the same loop stay serial.
    std::vector<SymbolId> vars;
    size_t flat = 0;
    while (flat < stmt.axes.size()) {
      const Axis& axis = stmt.axes[flat];
      if ((axis.lo && Mentions(module_, axis.lo, vars)) || Mentions(module_, axis.hi, vars)) {
        break;
      }
      vars.push_back(axis.var);
      ++flat;
    }
    out_.Open("{");
    std::string total;
    for (size_t i = 0; i < flat; ++i) {
      const Axis& axis = stmt.axes[i];
      out_.Line(fmt::format("const i64 lo{} = {}, n{} = Max(0LL, {} - lo{});", i,
                            axis.lo ? CxxExpr(scope_, axis.lo) : "0LL", i, CxxExpr(scope_, axis.hi),
                            i));
      total += (total.empty() ? "n" : " * n") + std::to_string(i);
      pending_.Add(axis.lo);
      pending_.Add(axis.hi);
    }
    if (pending_.MeetStores(stmt.body)) {
      Barrier();
    }
    out_.Open(fmt::format(
        "for (i64 step = consumer.thread, steps = {}; step < steps; step += Consumer::kThreads) {{",
        total));
    out_.Line("i64 rest = step;");
    for (size_t i = flat; i-- > 0;) {
      std::string name = CxxName(module_, stmt.axes[i].var);
      out_.Line(i == 0 ? fmt::format("const i64 {} = lo0 + rest;", name)
                       : fmt::format("const i64 {0} = lo{1} + FloorMod(rest, n{1}); rest = "
                                     "FloorDiv(rest, n{1});",
                                     name, i));
    }
    std::string head;
    for (size_t i = flat; i < stmt.axes.size(); ++i) {
      head += CxxFor(scope_, stmt.axes[i]);
    }
    out_.Open(head + "{");
    WriteSerial(stmt.body);
    out_.Close();
    out_.Close();
    out_.Close();
    Barrier();
  }

  void Shared(const If& stmt) {
    pending_.Add(stmt.condition);
    PendingReads without = pending_;
    out_.Open(fmt::format("if ({}) {{", CxxExpr(scope_, stmt.condition)));
    WriteShared(stmt.body);
    pending_.Swap(without);
    if (!stmt.otherwise.empty()) {
      out_.Reopen("} else {");
      WriteShared(stmt.otherwise);
    }
    out_.Close();
    pending_.Add(without);
  }

  void Shared(const Let& stmt) {
    pending_.Add(stmt.value);
    Serial(stmt);
  }

  void Shared(const LetPair& stmt) {
    pending_.Add(stmt.reduction);
    Serial(stmt);
  }

  void Shared(const LocalDecl& stmt) {
    const Tensor& tensor = module_.tensors[stmt.tensor];
    out_.Line(fmt::format("{0}* const {1} = reinterpret_cast<{0}*>(consumer.scratch + {2});",
                          CxxType(tensor.type), scope_.Pointer(stmt.tensor), scratch_));
    scratch_ += AlignedBytes(stmt.tensor);
  }

  void Shared(const Assign& stmt) { OneThread(stmt); }
  void Shared(const TopK& stmt) { OneThread(stmt); }

  template <class S>
  void OneThread(const S& stmt) {
    out_.Open("if (consumer.thread == 0) {");
    Serial(stmt);
    out_.Close();
    Barrier();
  }

  TextWriter& out_;
  const DeviceScope& scope_;
  const Module& module_;
  BodyStyle style_;
  PendingReads pending_;
  int64_t scratch_ = 0;
};

}  // namespace

void WriteBody(TextWriter& out, const DeviceScope& scope, const Device& device, BodyStyle style) {
  BodyWriter body(out, scope, device, style);
  out.Open(fmt::format("struct Body_{} {{", device.name));
  bool parallel = style == BodyStyle::Parallel;
  out.Line("static constexpr int kSlotBytes = 0;");
  out.Line(fmt::format("static constexpr int kScratchBytes = {};",
                       parallel ? body.ScratchBytes(device.body) : 0));
  out.Line(fmt::format("ETC_DEVICE Body_{0}(Consumer&, const Args_{0}&) {{}}", device.name));
  out.Open(fmt::format("ETC_DEVICE void Run(Consumer& consumer, const Args_{}& args{}) {{",
                       device.name, CoordinateParameters(scope.module(), device)));
  out.Line("[[maybe_unused]] const Dims& dims = args.dims;");
  body.WriteTask(device.body);
  out.Close();
  out.Close("};");
}

}  // namespace etc
