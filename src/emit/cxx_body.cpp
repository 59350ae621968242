#include "emit/cxx_body.h"

#include <fmt/format.h>

#include "ir/evaluate.h"

namespace etc {
namespace {

class BodyWriter {
 public:
  BodyWriter(TextWriter& out, const DeviceScope& scope)
      : out_(out), scope_(scope), module_(scope.module()) {}

  void WriteTask(const RaisedDevice& device) {
    if (device.steps) {
      WriteSteps(*device.steps);
    } else {
      WriteSerial(device.device.body);
    }
  }

 private:
  // One thread runs everything.

  void WriteSerial(const std::vector<StmtId>& body) {
    for (StmtId id : body) {
      WriteKept(id);
      std::visit([&](const auto& stmt) { Serial(stmt); }, module_.stmts[id]);
    }
  }

  /// The reductions that the statement has several times.
  void WriteKept(StmtId id) {
    const RaisedKernel& raised = scope_.raised();
    if (auto keeping = raised.keeping.find(id); keeping != raised.keeping.end()) {
      for (ExprId reduce : keeping->second) {
        out_.Line(fmt::format("const {} {} = {};", CxxType(KindOf(module_, reduce)),
                              CxxKeptName(raised.kept_reductions.at(reduce)),
                              CxxReduction(scope_, reduce)));
      }
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
    out_.Line(fmt::format("[[maybe_unused]] const auto {} = {};", CxxName(module_, stmt.symbol),
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
    const DType type = module_.tensors[stmt.tensor].type;
    const std::string name = scope_.Pointer(stmt.tensor);
    const int64_t elements = scope_.raised().tensors.at(stmt.tensor).Elements();
    // On the host, whose threads' stacks may be small.
    if (elements <= kMostStackBytes / SizeInBytes(type)) {
      out_.Line(fmt::format("[[maybe_unused]] {} {}[{}];", CxxType(type), name, elements));
      return;
    }
    out_.Line(fmt::format("const HeapArray<{0}> {1}_memory({2});", CxxType(type), name, elements));
    out_.Line(
        fmt::format("[[maybe_unused]] {}* const {} = {}_memory.get();", CxxType(type), name, name));
  }

  void Serial(const Assign& stmt) {
    ValueKind element = KindOf(module_.tensors[stmt.tensor].type);
    if (!stmt.adds) {
      std::string value = element == ValueKind::Double
                              ? CxxExprAs(scope_, ValueKind::Double, stmt.value)
                              : CxxExpr(scope_, stmt.value);
      out_.Line(Store(stmt.tensor, stmt.indices, value, KindOf(module_, stmt.value), stmt.peer));
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
                    ValueKind kind, ExprId peer = {}) {
    const Tensor& tensor = module_.tensors[id];
    std::string base = scope_.Pointer(id);
    if (peer) {
      base = fmt::format("dims.peers.At({}, {})", base, CxxExpr(scope_, peer));
    }
    std::string target = fmt::format("{}[{}]", base, CxxOffset(scope_, id, indices));
    std::string guard = scope_.Guard(id, indices, peer);
    std::string head = guard.empty() ? "" : fmt::format("if ({}) ", guard);
    std::string element = KindOf(tensor.type) == ValueKind::Float
                              ? CxxNarrow(tensor.type, kind, value)
                              : fmt::format("{}({})", CxxType(tensor.type), value);
    return fmt::format("{}{} = {};", head, target, element);
  }

  // All consumer threads of a block run the task together.

  void WriteSteps(const Steps& steps) {
    for (const Step& step : steps) {
      std::visit([&](const auto& each) { Write(each); }, step.AsVariant());
    }
  }

  void Write(const BarrierStep&) { out_.Line("consumer.Sync();"); }

  void Write(const EachThread& each) { WriteSerial({each.stmt}); }

  void Write(const OneThread& one) {
    out_.Open("if (consumer.thread == 0) {");
    WriteSerial({one.stmt});
    out_.Close();
  }

  void Write(const Together& together) {
    const For& loop = std::get<For>(module_.stmts[together.loop]);
    std::string head;
    for (const Axis& axis : loop.axes) {
      head += CxxFor(scope_, axis);
    }
    out_.Open(head + "{");
    WriteSteps(together.body);
    out_.Close();
  }

  void Write(const Divided& divided) {
    const auto& [axes, body, sequential] = std::get<For>(module_.stmts[divided.loop]);
    Divide(axes, divided.flat, divided.barrier, [&, &body = body] { WriteSerial(body); });
  }

  void Write(const SharedReduction& shared) {
    const Reduce& reduce = std::get<Reduce>(module_.exprs[shared.reduce]);
    std::string_view type = CxxType(KindOf(module_, shared.reduce));
    std::string name = CxxReductionName(shared.number);
    Accumulation parts = AccumulationOf(reduce.op, type);
    out_.Line(fmt::format("{} {} = {};", type, name, parts.start));
    Divide(reduce.axes, shared.flat, false, [&] {
      out_.Line(fmt::format("{}& acc = {};", type, name));
      out_.Line(
          fmt::format("acc = {}{}{};", parts.before, CxxExpr(scope_, reduce.body), parts.behind));
    });
    out_.Line(
        fmt::format("{0} = ReduceTogether(consumer, consumer.scratch + {1}, {0}, []({2} acc, "
                    "{2} value) {{ return {3}value{4}; }});",
                    name, shared.offset, type, parts.before, parts.behind));
  }

  /// Runs `inside` for the points of a loop, divided among the threads along the first axes.
  template <class Inside>
  void Divide(const std::vector<Axis>& axes, size_t flat, bool barrier, const Inside& inside) {
    out_.Open("{");
    std::string total;
    for (size_t i = 0; i < flat; ++i) {
      out_.Line(fmt::format("const i64 lo{} = {}, n{} = Max(0LL, {} - lo{});", i,
                            axes[i].lo ? CxxExpr(scope_, axes[i].lo) : "0LL", i,
                            CxxExpr(scope_, axes[i].hi), i));
      total += (total.empty() ? "n" : " * n") + std::to_string(i);
    }
    if (barrier) {
      Write(BarrierStep{});
    }
    out_.Open(fmt::format(
        "for (i64 step = consumer.thread, steps = {}; step < steps; step += Consumer::kThreads) {{",
        total));
    out_.Line("i64 rest = step;");
    for (size_t i = flat; i-- > 0;) {
      std::string name = CxxName(module_, axes[i].var);
      out_.Line(
          i == 0
              ? fmt::format("[[maybe_unused]] const i64 {} = lo0 + rest;", name)
              : fmt::format("[[maybe_unused]] const i64 {0} = lo{1} + FloorMod(rest, n{1}); rest = "
                            "FloorDiv(rest, n{1});",
                            name, i));
    }
    std::string head;
    for (size_t i = flat; i < axes.size(); ++i) {
      head += CxxFor(scope_, axes[i]);
    }
    out_.Open(head + "{");
    inside();
    out_.Close();
    out_.Close();
    out_.Close();
  }

  void Write(const SameSide& side) {
    const If& branch = std::get<If>(module_.stmts[side.branch]);
    out_.Open(fmt::format("if ({}) {{", CxxExpr(scope_, branch.condition)));
    WriteSteps(side.body);
    if (!side.otherwise.empty()) {
      out_.Reopen("} else {");
      WriteSteps(side.otherwise);
    }
    out_.Close();
  }

  void Write(const SharedLocal& local) {
    out_.Line(fmt::format(
        "[[maybe_unused]] {0}* const {1} = reinterpret_cast<{0}*>(consumer.scratch + {2});",
        CxxType(module_.tensors[local.tensor].type), scope_.Pointer(local.tensor), local.offset));
  }

  TextWriter& out_;
  const DeviceScope& scope_;
  const Module& module_;
};

}  // namespace

void WriteBody(TextWriter& out, const DeviceScope& scope, const RaisedDevice& raised) {
  const Device& device = raised.device;
  out.Open(fmt::format("struct Body_{} {{", device.name));
  out.Line("static constexpr int kSlotBytes = 0;");
  out.Line(fmt::format("static constexpr int kScratchBytes = {};", raised.scratch_bytes));
  out.Line(fmt::format("ETC_DEVICE Body_{0}(Consumer&, const Args_{0}&) {{}}", device.name));
  out.Open(fmt::format("ETC_DEVICE void Run(Consumer& consumer, const Args_{}& args{}) {{",
                       device.name, CoordinateParameters(scope.module(), device)));
  out.Line("[[maybe_unused]] const Dims& dims = args.dims;");
  BodyWriter(out, scope).WriteTask(raised);
  out.Close();
  out.Close("};");
}

}  // namespace etc
