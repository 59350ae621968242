#include "ir/printer.h"

#include <fmt/format.h>

#include <optional>

#include "ir/printer_impl.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

class Printer {
 public:
  explicit Printer(const Module& module)
      : module_(module), names_(module), text_(module, names_), layout_(module) {}

  std::string Run() {
    names_.Declare(module_.sms);
    layout_.Before(module_.header);
    layout_.Line("etir 1;");
    layout_.After(module_.header);
    for (const Item& item : module_.items) {
      std::visit([this](const auto& part) { Top(part); }, item);
    }
    layout_.BeforeTheEnd();
    return layout_.Take();
  }

 private:
  // The top level.
  void Top(SymbolId id) {
    const Symbol& symbol = module_.symbols[id];
    StartItem(symbol.range, false);
    if (symbol.kind == SymbolKind::Const) {
      std::string value = text_.Expr(symbol.value);
      names_.Declare(id);
      layout_.Line(fmt::format("const {} = {};", names_.Of(id), value));
      layout_.After(module_.RangeOf(symbol.value));
    } else {
      std::string interval = text_.Interval(symbol.lo, symbol.hi);
      std::string multiple = symbol.multiple ? " multiple " + text_.Expr(symbol.multiple) : "";
      names_.Declare(id);
      layout_.Line(fmt::format("dim {} in {}{};", names_.Of(id), interval, multiple));
      layout_.After(module_.RangeOf(symbol.multiple ? symbol.multiple : symbol.hi));
    }
  }

  void Top(const Require& require) {
    StartItem(module_.RangeOf(require.condition), false);
    layout_.Line(fmt::format("require {};", text_.Expr(require.condition)));
    layout_.After(module_.RangeOf(require.condition));
  }

  void Top(DeviceId id) {
    const Device& device = module_.devices[id];
    StartItem(device.range, true);
    PrintNames::State state = names_.Save();
    Head(fmt::format("device @{}", device.name), device.params, device.braces,
         [&] { return " tasks " + text_.Axes(device.tasks); });
    for (const Impl& impl : device.impls) {
      Print(impl);
    }
    Statements(device.body);
    Close(device.braces);
    names_.Restore(std::move(state));
  }

  void Top(GraphId id) {
    const Graph& graph = module_.graphs[id];
    StartItem(graph.range, true);
    PrintNames::State state = names_.Save();
    Head(fmt::format("graph @{}", graph.name), graph.params, graph.braces, [&] {
      std::string tail = Schedule(graph.schedule);
      if (graph.specialisation) {
        std::string ranges;
        for (const DimRange& range : graph.specialisation->ranges) {
          ranges += (ranges.empty() ? "" : ", ") + text_.Interval(range.lo, range.hi);
        }
        tail += fmt::format(" specialise ({}: {})", names_.Of(graph.specialisation->dim), ranges);
      }
      return tail;
    });
    Nodes(graph.body);
    Close(graph.braces);
    names_.Restore(std::move(state));
  }

  void Top(KernelId id) {
    const Kernel& kernel = module_.kernels[id];
    StartItem(kernel.range, true);
    PrintNames::State state = names_.Save();
    Head(fmt::format("kernel @{}", kernel.name), kernel.params, kernel.braces, [&] {
      std::string ranges;
      for (const Where& where : kernel.where) {
        ranges += ranges.empty() ? "" : ", ";
        ranges += names_.Of(where.dim) + " in " + text_.Interval(where.lo, where.hi);
      }
      return fmt::format(" of @{} {}{}", kernel.graph, Spelling(kernel.schedule),
                         ranges.empty() ? "" : " where (" + ranges + ")");
    });
    layout_.Line(
        fmt::format("launch consumers {} shared {};", kernel.consumer_warps, kernel.shared_bytes));
    if (kernel.pace) {
      Print(*kernel.pace, kernel.depth ? fmt::format("depth {} ", *kernel.depth) : "");
    }
    for (const Check& check : kernel.checks) {
      layout_.Before(check.range);
      layout_.Line(CheckText(check));
      layout_.After(check.range);
    }
    if (kernel.check_accesses) {
      layout_.Before(*kernel.check_accesses);
      layout_.Line("check accesses;");
      layout_.After(*kernel.check_accesses);
    }
    Nodes(kernel.declarations);
    layout_.Before(kernel.sm_braces);
    launches_ = kernel.schedule == ScheduleKind::Kernels;
    Open(launches_ ? "on stream" : "on sm");
    Nodes(kernel.body);
    Close(kernel.sm_braces);
    Close(kernel.braces);
    names_.Restore(std::move(state));
  }

  /// Functions stand apart; constants and dimensions as the source has them.
  void StartItem(SourceRange range, bool function) {
    if (function || after_function_) {
      layout_.Separate();
    }
    layout_.Before(range);
    after_function_ = function;
  }

  /// `kind @name(params)tail {`, with a line for each parameter where one line is too short. The
  /// tail may use the parameters.
  template <class Tail>
  void Head(const std::string& name, const std::vector<TensorId>& params, SourceRange braces,
            Tail tail) {
    std::vector<std::string> texts;
    std::string list;
    for (TensorId id : params) {
      texts.push_back(Param(id));
      list += (list.empty() ? "" : ", ") + texts.back();
    }
    std::string end = ")" + tail();
    std::string line = fmt::format("{}({}{} {{", name, list, end);
    bool commented = layout_.HasCommentBefore(braces.begin);
    if (layout_.Fits(line) && !commented) {
      layout_.Verbatim(line);
      layout_.After({0, braces.begin});
      layout_.Indent();
      return;
    }
    layout_.Verbatim(name + "(");
    layout_.Indent();
    for (size_t i = 0; i < params.size(); ++i) {
      layout_.Before(module_.tensors[params[i]].range);
      layout_.Line(texts[i] + (i + 1 < params.size() ? "," : ""));
    }
    layout_.Before(braces);
    layout_.Outdent();
    Open(end);
  }

  std::string Param(TensorId id) {
    const Tensor& tensor = module_.tensors[id];
    std::string_view access = tensor.access == Access::Out     ? "out "
                              : tensor.access == Access::InOut ? "inout "
                                                               : "";
    PrintNames::State state = names_.Save();
    std::string type = text_.Type(tensor);
    std::string promise = Promise(tensor);
    names_.Restore(std::move(state));
    names_.Declare(id);
    return fmt::format("{}: {}{}{}", names_.Of(id), access, type, promise);
  }

  /// ` in 0..n distinct monotone counts %x`: of a parameter or a check.
  template <class Promised>
  std::string Promise(const Promised& of) const {
    std::string text = of.value_lo ? " in " + text_.Interval(of.value_lo, of.value_hi) : "";
    text += of.distinct ? " distinct" : "";
    text += of.monotone ? " monotone" : "";
    text += of.counts ? " counts " + names_.Of(of.counts) : "";
    return text;
  }

  std::string CheckText(const Check& check) {
    PrintNames::State state = names_.Save();
    std::string axes;
    for (size_t axis = 0; axis < check.leading; ++axis) {
      axes += axis == 0 ? "*" : ", *";
    }
    for (SymbolId index : check.indices) {
      names_.Declare(index);
      axes += (axes.empty() ? "" : ", ") + names_.Of(index);
    }
    std::string text = fmt::format("check {}{}{};", names_.Of(check.tensor),
                                   axes.empty() ? "" : "[" + axes + "]", Promise(check));
    names_.Restore(std::move(state));
    return text;
  }

  void Print(const Impl& impl) {
    layout_.Before(impl.range);
    if (impl.header.empty()) {
      layout_.Verbatim(fmt::format("impl {} cuda \"\"\"{}\"\"\";", impl.arch, impl.text));
      layout_.After(impl.range);
      return;
    }
    std::string args;
    for (const ImplArg& arg : impl.args) {
      args += args.empty() ? "" : ", ";
      args += arg.name + " = " + (arg.value ? text_.ExprWithoutGreater(arg.value) : "'" + arg.word);
    }
    layout_.Line(fmt::format("impl {} \"{}\" {}{}{}{};", impl.arch, impl.header, impl.name,
                             args.empty() ? "" : "<" + args + ">",
                             Operands(" streams", impl.streams), Operands(" tags", impl.tags)));
    layout_.After(impl.range);
  }

  std::string Operands(const char* word, const std::vector<TensorId>& tensors) const {
    std::string names;
    for (TensorId tensor : tensors) {
      names += (names.empty() ? "" : ", ") + names_.Of(tensor);
    }
    return names.empty() ? "" : fmt::format("{} ({})", word, names);
  }

  // Blocks.
  void Open(std::string_view head) {
    layout_.Line(std::string(head) + " {");
    layout_.Indent();
  }

  void Close(SourceRange range) {
    layout_.BeforeEnd(range);
    layout_.Outdent();
    layout_.Verbatim("}");
  }

  // Bodies.
  void Statements(const std::vector<StmtId>& body) {
    for (StmtId id : body) {
      Statement(id);
    }
  }

  void Statement(StmtId id) {
    SourceRange range = module_.RangeOf(id);
    layout_.Before(range);
    PrintNames::State state = names_.Save();
    std::optional<std::string> flat = Flat(id);
    if (flat && (!IsBlock(id) || (layout_.Fits(*flat) && !layout_.HasCommentBefore(range.end)))) {
      names_.Restore(std::move(state));
      DeclareOf(id);
      layout_.Line(*flat);
    } else {
      names_.Restore(state);
      Open(*BlockHead(id));
      Statements(*BlockBody(id));
      Close(range);
      names_.Restore(std::move(state));
    }
    layout_.After(range);
  }

  bool IsBlock(StmtId id) const { return BlockBody(id) != nullptr; }

  bool IsAssignment(StmtId id) const {
    const Stmt& stmt = module_.stmts[id];
    return std::holds_alternative<Assign>(stmt) || std::holds_alternative<TopK>(stmt);
  }

  const std::vector<StmtId>* BlockBody(StmtId id) const {
    const Stmt& stmt = module_.stmts[id];
    if (const auto* loop = std::get_if<For>(&stmt)) {
      return &loop->body;
    }
    const auto* branch = std::get_if<If>(&stmt);
    return branch == nullptr ? nullptr : &branch->body;
  }

  /// What stands before the `{`; declares the variables of a loop.
  std::optional<std::string> BlockHead(StmtId id) {
    const Stmt& stmt = module_.stmts[id];
    if (const auto* loop = std::get_if<For>(&stmt)) {
      return "for " + text_.Axes(loop->axes);
    }
    if (const auto* branch = std::get_if<If>(&stmt)) {
      return "if (" + text_.Expr(branch->condition) + ")";
    }
    return std::nullopt;
  }

  /// What a `let` or a `local` adds to its block.
  void DeclareOf(StmtId id) {
    const Stmt& stmt = module_.stmts[id];
    if (const auto* let = std::get_if<Let>(&stmt)) {
      names_.Declare(let->symbol);
    } else if (const auto* local = std::get_if<LocalDecl>(&stmt)) {
      names_.Declare(local->tensor);
    }
  }

  /// The statement on one line, or nothing where it needs a block: `for (i: n) %x[i] = 0.0;`.
  std::optional<std::string> Flat(StmtId id) {
    if (const auto* body = BlockBody(id)) {
      if (body->size() != 1 || !IsAssignment(body->front())) {
        return std::nullopt;
      }
      std::string head = *BlockHead(id);
      return head + " " + *Flat(body->front());
    }
    struct Visitor {
      Printer& printer;
      std::string operator()(const Let& let) const {
        std::string value = printer.text_.Expr(let.value);
        printer.names_.Declare(let.symbol);
        return fmt::format("let {} = {};", printer.names_.Of(let.symbol), value);
      }
      std::string operator()(const LocalDecl& local) const {
        std::string type = printer.text_.Type(printer.module_.tensors[local.tensor]);
        printer.names_.Declare(local.tensor);
        return fmt::format("local {}: {};", printer.names_.Of(local.tensor), type);
      }
      std::string operator()(const Assign& assign) const {
        return fmt::format("{} = {};", printer.text_.Element(assign.tensor, assign.indices),
                           printer.text_.Expr(assign.value));
      }
      std::string operator()(const TopK& topk) const { return printer.FlatTopK(topk); }
      std::string operator()(const For&) const { return {}; }
      std::string operator()(const If&) const { return {}; }
    };
    return std::visit(Visitor{*this}, module_.stmts[id]);
  }

  std::string FlatTopK(const TopK& topk) {
    PrintNames::State state = names_.Save();
    std::string rank = text_.OneAxis(topk.rank);
    std::string values = text_.Element(topk.values, topk.value_indices);
    std::string positions = text_.Element(topk.positions, topk.position_indices);
    names_.Restore(state);
    std::string axis = text_.OneAxis(topk.axis);
    std::string body = text_.Expr(topk.body);
    names_.Restore(std::move(state));
    return fmt::format("({}, {}) = topk({}; {}) {};", values, positions, rank, axis, body);
  }

  // Graphs and kernels.
  void Nodes(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      SourceRange range = module_.RangeOf(id);
      layout_.Before(range);
      std::visit([&](const auto& node) { Print(node, range); }, module_.nodes[id]);
      layout_.After(range);
    }
  }

  void Print(const BufferDecl& buffer, SourceRange) {
    const Tensor& tensor = module_.tensors[buffer.tensor];
    std::string type = text_.Type(tensor);
    std::string offset = tensor.offset ? " at " + text_.Expr(tensor.offset) : "";
    names_.Declare(buffer.tensor);
    layout_.Line(fmt::format("{} = {} {}{}{};", names_.Of(buffer.tensor),
                             tensor.offset ? "workspace" : "buffer", tensor.tagged ? "tagged " : "",
                             type, offset));
  }

  void Print(const EventDecl& decl, SourceRange) {
    const Event& event = module_.events[decl.event];
    std::string head = text_.EventHead(event);
    names_.Declare(decl.event);
    layout_.Line(fmt::format("event {}{}{};", names_.Of(decl.event), head,
                             event.realisation == Realisation::Counter ? " via counter" : ""));
  }

  void Print(const CallNode& call, SourceRange range) {
    std::string head = fmt::format("call @{}{}{}", module_.devices[call.callee].name,
                                   text_.Arguments(call.args), Schedule(call.schedule));
    std::vector<std::string> clauses;
    std::string line = head;
    for (const auto& [word, edges] : {std::pair("wait", &call.waits), {"notify", &call.notifies}}) {
      for (const Edge& edge : *edges) {
        clauses.push_back(fmt::format("{} {}", word, EdgeText(edge)));
        line += " " + clauses.back();
      }
    }
    if (clauses.empty() || (layout_.Fits(line + ";") && !layout_.HasCommentBefore(range.end))) {
      layout_.Line(line + ";");
      return;
    }
    layout_.Line(head);
    layout_.Indent();
    layout_.Indent();
    size_t next = 0;
    for (const auto* edges : {&call.waits, &call.notifies}) {
      for (const Edge& edge : *edges) {
        layout_.Before(edge.coords.empty() ? edge.refs.front().range
                                           : module_.symbols[edge.coords.front()].range);
        bool last = next + 1 == clauses.size();
        layout_.Line(clauses[next++] + (last ? ";" : ""));
      }
    }
    layout_.Outdent();
    layout_.Outdent();
  }

  void Print(const Repeat& repeat, SourceRange range) {
    PrintNames::State state = names_.Save();
    std::string interval = text_.Interval(repeat.lo, repeat.hi);
    names_.Declare(repeat.var);
    Open(fmt::format("repeat {} in {}", names_.Of(repeat.var), interval));
    Nodes(repeat.body);
    Close(range);
    names_.Restore(std::move(state));
  }

  void Print(const Region& region, SourceRange range) {
    PrintNames::State state = names_.Save();
    Open("region" + Schedule(region.schedule));
    Nodes(region.body);
    Close(range);
    names_.Restore(std::move(state));
  }

  void Print(const Share& share, SourceRange range) {
    PrintNames::State state = names_.Save();
    std::string first = text_.Expr(share.first);
    std::string axes = text_.Axes(share.axes);
    std::string coordinates;
    for (const Axis& axis : share.axes) {
      coordinates += (coordinates.empty() ? "" : ", ") + names_.Of(axis.var);
    }
    std::string run = fmt::format("run @{}[{}]{};", module_.devices[share.callee].name, coordinates,
                                  text_.Arguments(share.args));
    if (launches_) {
      layout_.Line(fmt::format("launch {} {}", axes, run));
      names_.Restore(std::move(state));
      return;
    }
    Open(fmt::format("share {} from {}", axes, first));
    if (share.pace) {
      Print(*share.pace);
    }
    Signals("ranges", "wait", share.range_waits, share.range_checks);
    Signals("enter", "wait", share.enter_waits, share.enter_checks);
    Signals("wait", share.waits);
    layout_.Line(run);
    Signals("notify", share.notifies);
    Signals("leave", "notify", share.leave_notifies);
    Close(range);
    names_.Restore(std::move(state));
  }

  void Print(const Pace& pace, const std::string& depth = "") {
    layout_.Before(pace.range);
    std::string ahead = pace.ahead ? fmt::format(" ahead {}", *pace.ahead) : "";
    layout_.Line(fmt::format("loader {}cap {} gap {}{};", depth, pace.cap, pace.gap, ahead));
    layout_.After(pace.range);
  }

  void Signals(std::string_view word, const std::vector<EventRef>& refs) {
    for (const EventRef& ref : refs) {
      layout_.Before(ref.range);
      layout_.Line(fmt::format("{} {};", word, text_.Ref(ref)));
    }
  }

  void Signals(std::string_view block, std::string_view word, const std::vector<EventRef>& refs,
               const std::vector<Check>& checks = {}) {
    if (refs.empty() && checks.empty()) {
      return;
    }
    layout_.Before(refs.empty() ? checks.front().range : refs.front().range);
    if (refs.size() == 1 && checks.empty()) {
      std::string line = fmt::format("{} {{ {} {}; }}", block, word, text_.Ref(refs.front()));
      if (layout_.Fits(line)) {
        layout_.Line(line);
        return;
      }
    }
    Open(block);
    Signals(word, refs);
    for (const Check& check : checks) {
      layout_.Line(CheckText(check));
    }
    Close({});
  }

  std::string EdgeText(const Edge& edge) {
    PrintNames::State state = names_.Save();
    std::string coords;
    for (SymbolId id : edge.coords) {
      names_.Declare(id);
      coords += (coords.empty() ? "" : ", ") + names_.Of(id);
    }
    std::string refs;
    for (const EventRef& ref : edge.refs) {
      refs += (refs.empty() ? "" : ", ") + text_.Ref(ref);
    }
    names_.Restore(std::move(state));
    return fmt::format("({}) => {}", coords, refs);
  }

  static std::string Schedule(std::optional<ScheduleKind> kind) {
    return kind ? fmt::format(" schedule({})", Spelling(*kind)) : "";
  }

  const Module& module_;
  PrintNames names_;
  ExprPrinter text_;
  PrintLayout layout_;
  bool after_function_ = false;
  bool launches_ = false;  // inside a kernel whose shares are launches
};

}  // namespace

std::string Print(const Module& module) { return Printer(module).Run(); }

}  // namespace etc
