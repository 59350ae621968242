#include "emit/cxx_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "emit/cxx_checks.h"
#include "ir/checked.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "support/diagnostics.h"

namespace etc {

KernelScope::KernelScope(const Module& module, const DimRanges& ranges, const Kernel& kernel,
                         CheckTexts& texts)
    : CxxScope(module, ranges), checks_accesses_(kernel.check_accesses.has_value()), texts_(texts) {
  LearnRepeats(kernel.body);
}

void KernelScope::LearnRepeats(const std::vector<NodeId>& nodes) {
  for (NodeId id : nodes) {
    if (const auto* repeat = std::get_if<Repeat>(&module().nodes[id])) {
      auto lo = Bounds(module(), repeat->lo, intervals_, ranges());
      auto hi = Bounds(module(), repeat->hi, intervals_, ranges());
      if (lo && hi && lo->lo < hi->hi) {
        intervals_[repeat->var] = {lo->lo, hi->hi - 1};
      }
      LearnRepeats(repeat->body);
    }
  }
}

std::string KernelScope::Pointer(TensorId id) const {
  const Tensor& tensor = module().tensors[id];
  return tensor.kind == TensorKind::Param ? "params.t_" + tensor.name : "b_" + tensor.name;
}

std::string KernelScope::Extent(TensorId id, size_t axis) const {
  return CxxExpr(*this, module().tensors[id].shape[axis]);
}

std::string EntryName(const Kernel& kernel) { return "etc_" + kernel.name; }

namespace {

void CollectDevices(const Module& module, const std::vector<NodeId>& nodes,
                    std::vector<DeviceId>& devices) {
  for (NodeId id : nodes) {
    if (const auto* share = std::get_if<Share>(&module.nodes[id])) {
      if (std::find(devices.begin(), devices.end(), share->callee) == devices.end()) {
        devices.push_back(share->callee);
      }
    } else if (const auto* repeat = std::get_if<Repeat>(&module.nodes[id])) {
      CollectDevices(module, repeat->body, devices);
    }
  }
}

/// The dims of a module, in the order in which they were declared.
std::vector<SymbolId> Dims(const Module& module) {
  std::vector<SymbolId> dims;
  for (const Item& item : module.items) {
    const auto* symbol = std::get_if<SymbolId>(&item);
    if (symbol != nullptr && module.symbols[*symbol].kind == SymbolKind::Dim) {
      dims.push_back(*symbol);
    }
  }
  return dims;
}

}  // namespace

namespace {

void CollectLaunches(const Module& module, const std::vector<NodeId>& nodes,
                     std::vector<const Repeat*>& repeats, std::vector<LaunchSite>& sites) {
  for (NodeId id : nodes) {
    if (const auto* share = std::get_if<Share>(&module.nodes[id])) {
      sites.push_back({share, repeats});
    } else if (const auto* repeat = std::get_if<Repeat>(&module.nodes[id])) {
      repeats.push_back(repeat);
      CollectLaunches(module, repeat->body, repeats, sites);
      repeats.pop_back();
    }
  }
}

}  // namespace

std::vector<LaunchSite> LaunchesOf(const Module& module, const Kernel& kernel) {
  std::vector<LaunchSite> sites;
  std::vector<const Repeat*> repeats;
  if (kernel.schedule == ScheduleKind::Kernels) {
    CollectLaunches(module, kernel.body, repeats, sites);
  }
  return sites;
}

namespace {

size_t NumberOf(const Module& module, const Kernel& kernel) {
  size_t number = 0;
  for (const Kernel& other : module.kernels) {
    if (&other == &kernel) {
      break;
    }
    ++number;
  }
  return number;
}

}  // namespace

std::string LaunchName(const Module& module, const Kernel& kernel, size_t index) {
  const Share& share = *LaunchesOf(module, kernel)[index].share;
  return fmt::format("etc{}_{}_{}", NumberOf(module, kernel), index,
                     module.devices[share.callee].name);
}

std::string CheckName(const Module& module, const Kernel& kernel) {
  return fmt::format("etc{}_check", NumberOf(module, kernel));
}

std::vector<DeviceId> DevicesOf(const Module& module, const Kernel& kernel) {
  std::vector<DeviceId> devices;
  CollectDevices(module, kernel.body, devices);
  return devices;
}

namespace {

void CollectTagged(const Module& module, const std::vector<NodeId>& nodes,
                   std::set<TensorId>& params) {
  for (NodeId id : nodes) {
    if (const auto* share = std::get_if<Share>(&module.nodes[id])) {
      for (size_t i = 0; i < share->args.size(); ++i) {
        if (module.tensors[share->args[i].tensor].tagged) {
          params.insert(module.devices[share->callee].params[i]);
        }
      }
    } else if (const auto* repeat = std::get_if<Repeat>(&module.nodes[id])) {
      CollectTagged(module, repeat->body, params);
    }
  }
}

}  // namespace

std::set<TensorId> TaggedParams(const Module& module, const Kernel& kernel) {
  std::set<TensorId> params;
  CollectTagged(module, kernel.body, params);
  return params;
}

void WriteConstants(TextWriter& out, const Module& module, const DimRanges& ranges) {
  for (const Item& item : module.items) {
    const auto* id = std::get_if<SymbolId>(&item);
    if (id == nullptr || module.symbols[*id].kind != SymbolKind::Const) {
      continue;
    }
    ExprId value = module.symbols[*id].value;
    std::string name = CxxName(module, *id);
    switch (KindOf(module, value)) {
      case ValueKind::Int:
        out.Line(fmt::format("[[maybe_unused]] constexpr i64 {} = {}LL;", name,
                             EvaluateInt(module, value, {}, ranges).value()));
        break;
      case ValueKind::Bool:
        out.Line(fmt::format("[[maybe_unused]] constexpr bool {} = {};", name,
                             EvaluateBool(module, value, {}, ranges).value()));
        break;
      default:
        out.Line(fmt::format("[[maybe_unused]] constexpr float {} = float({});", name,
                             EvaluateFloat(module, value, {}, ranges).value()));
    }
  }
}

void WriteParams(TextWriter& out, const Module& module, const Kernel& kernel) {
  std::vector<SymbolId> dims = Dims(module);
  std::string fields, values;
  out.Open("struct Dims {");
  for (SymbolId dim : dims) {
    out.Line(fmt::format("i64 {};", CxxIdentifier(module.symbols[dim].name)));
  }
  out.Close("};");
  out.Open("struct Params {");
  for (TensorId id : kernel.params) {
    const Tensor& tensor = module.tensors[id];
    out.Line(fmt::format("{}{}* t_{};", tensor.access == Access::In ? "const " : "",
                         CxxType(tensor.type), tensor.name));
  }
  for (SymbolId dim : dims) {
    out.Line(fmt::format("i64 d_{};", module.symbols[dim].name));
    values += (values.empty() ? "d_" : ", d_") + module.symbols[dim].name;
  }
  out.Line("char* workspace;");
  out.Line("void* event_memory;");
  out.Line("i64 event_capacity;");
  size_t depth = 0;
  for (const LaunchSite& site : LaunchesOf(module, kernel)) {
    for (; depth < site.repeats.size(); ++depth) {
      out.Line(fmt::format("i64 iteration_{};", depth));
    }
  }
  out.Line(fmt::format("ETC_DEVICE Dims dims() const {{ return Dims{{{}}}; }}", values));
  out.Close("};");
}

void WriteDeclarations(TextWriter& out, const KernelScope& scope, const Kernel& kernel) {
  const Module& module = scope.module();
  out.Line("[[maybe_unused]] const Dims dims = params.dims();");
  std::string next_counter = "0LL";
  for (NodeId id : kernel.declarations) {
    if (const auto* buffer = std::get_if<BufferDecl>(&module.nodes[id])) {
      const Tensor& tensor = module.tensors[buffer->tensor];
      out.Line(fmt::format(
          "[[maybe_unused]] {0}* const b_{1} = reinterpret_cast<{0}*>(params.workspace + {2});",
          tensor.tagged ? "char" : CxxType(tensor.type), tensor.name,
          CxxExpr(scope, tensor.offset)));
    } else if (const auto* declaration = std::get_if<EventDecl>(&module.nodes[id])) {
      const Event& event = module.events[declaration->event];
      std::string name = "e_" + event.name;
      out.Line(fmt::format("[[maybe_unused]] const i64 {} = {};", name, next_counter));
      std::string count = "1LL";
      for (const EventDim& dim : event.dims) {
        count += " * " + CxxExpr(scope, dim.extent);
      }
      next_counter = name + " + " + count;
    }
  }
}

namespace {

class WalkWriter {
 public:
  WalkWriter(TextWriter& out, const KernelScope& scope, const Kernel& kernel, Role role,
             const std::string& arch, bool launch = false)
      : out_(out),
        scope_(scope),
        module_(scope.module()),
        kernel_(kernel),
        role_(role),
        arch_(arch),
        launch_(launch) {
    if (scope.ChecksAccesses()) {
      CollectDecided(kernel.body);
    }
  }

  void WriteNodes(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      if (const auto* share = std::get_if<Share>(&module_.nodes[id])) {
        WriteShare(*share);
      } else if (const auto* repeat = std::get_if<Repeat>(&module_.nodes[id])) {
        if (role_ != Role::Loader || Streams(repeat->body)) {
          OpenLoop(CxxFor(scope_, {repeat->var, repeat->lo, repeat->hi}) + "{");
          WriteNodes(repeat->body);
          out_.Close();
        }
      }
    }
  }

  void WriteShare(const Share& share) {
    if (role_ == Role::Loader && !Streams(share)) {
      return;
    }
    const Device& device = module_.devices[share.callee];
    std::string guard =
        role_ == Role::Reducer ? fmt::format("if constexpr ({}::kExists) ", Reduction(device)) : "";
    out_.Open(fmt::format("{}{{  // @{}", guard, device.name));
    if (arch_ != "host") {
      out_.Line("const i64 sms = GridSize();");  // not the one value that is there all along
    }
    if (ReadsTensor(module_, share.axes)) {
      if (launch_ && role_ == Role::Prefetch) {
        out_.Close();
        return;  // the ranges are not known yet
      }
      if (launch_ && role_ == Role::Loader) {
        out_.Line("AwaitEarlierLaunches();");
      }
      if (!share.range_waits.empty()) {
        WriteWaits(share.range_waits);
        out_.Line(fmt::format("{}.Sync();", RoleName()));
      }
      WriteChecks(share, share.range_checks);
    }
    WriteCount(share);
    out_.Line(fmt::format("i64 task = sm - {}({}, sms);",
                          FitsU32(scope_, share.first, 0) ? "SmallMod" : "FloorMod",
                          CxxExpr(scope_, share.first)));
    out_.Line("task += task < 0 ? sms : 0;");
    out_.Open("if (task < tasks) {");
    WriteArguments(share, device);
    if (role_ == Role::Loader) {
      WritePace(share);
      OpenTasks(share, "task += sms");
      out_.Line(fmt::format("Impl_{}::Load(loader, args{});", device.name, Coordinates(share)));
      CloseTasks(share);
    } else if (role_ == Role::Reducer) {
      WriteReductions(share, device);
    } else if (role_ == Role::Prefetch) {
      WritePrefetch(share, device);
    } else {
      WriteTasks(share, device);
    }
    out_.Close();
    out_.Close();
  }

 private:
  bool Streams(const Share& share) const {
    const Impl* impl = FindImpl(module_.devices[share.callee], arch_);
    return impl != nullptr && !impl->streams.empty();
  }

  bool Streams(const std::vector<NodeId>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
      if (const auto* share = std::get_if<Share>(&module_.nodes[id])) {
        return Streams(*share);
      }
      const auto* repeat = std::get_if<Repeat>(&module_.nodes[id]);
      return repeat != nullptr && Streams(repeat->body);
    });
  }

  /// The events of which data decide what notifies them, or how often: one of them may never be
  /// complete once a check has failed.
  void CollectDecided(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      if (const auto* repeat = std::get_if<Repeat>(&module_.nodes[id])) {
        CollectDecided(repeat->body);
      } else if (const auto* share = std::get_if<Share>(&module_.nodes[id])) {
        for (const auto* refs : {&share->notifies, &share->leave_notifies}) {
          for (const EventRef& ref : *refs) {
            if (ReadsTensor(module_, ref) || ReadsTensor(module_, share->axes) ||
                ReadsTensor(module_, module_.events[ref.event].count)) {
              decided_.insert(ref.event);
            }
          }
        }
      }
    }
  }

  /// By the consumers of each SM, of all elements: others may be as far as their tasks.
  void WriteChecks(const Share& share, const std::vector<Check>& checks) {
    if (role_ != Role::Consumer || checks.empty()) {
      return;
    }
    const char* threads = arch_ == "host" ? "1" : "Consumer::kThreads";
    out_.Open("{");
    out_.Line("const Checks checks = OpenChecks(params.event_memory);");
    for (const Check& check : checks) {
      WriteCheck(out_, scope_, check, "@" + module_.devices[share.callee].name + ": ",
                 "consumer.thread", threads);
    }
    out_.Close();
  }

  void WriteArguments(const Share& share, const Device& device) {
    out_.Line(fmt::format("Args_{} args;", device.name));
    for (size_t i = 0; i < share.args.size(); ++i) {
      const Tensor& param = module_.tensors[device.params[i]];
      const Argument& argument = share.args[i];
      std::string pointer = scope_.Pointer(argument.tensor);
      if (module_.tensors[argument.tensor].tagged) {
        // A loader reads nothing that the launch writes, so any set will do.
        pointer = fmt::format("Tagged<{}>{{{}, {}}}", CxxType(param.type), pointer,
                              role_ == Role::Loader ? "0" : "set");
      }
      if (!argument.indices.empty()) {
        pointer += " + " + CxxOffset(scope_, argument.tensor, argument.indices);
      }
      out_.Line(fmt::format("args.{} = {};", CxxIdentifier(param.name), pointer));
      for (size_t axis = 0; axis < param.shape.size(); ++axis) {
        if (!EvaluateInt(module_, param.shape[axis], {}, scope_.ranges())) {
          out_.Line(fmt::format("args.{}_{} = {};", param.name, axis,
                                CxxExpr(scope_, param.shape[axis])));
        }
      }
    }
    out_.Line("args.dims = dims;");
    if (scope_.ChecksAccesses()) {
      out_.Line("args.checks = OpenChecks(params.event_memory);");
    }
  }

  /// Opens a loop that stays one: its body holds whole tile kernels.
  void OpenLoop(const std::string& loop) {
    if (arch_ != "host") {
      out_.Line("#pragma unroll 1");
    }
    out_.Open(loop);
  }

  /// How many axes, from the first on, others' ranges depend on. The rest is a box for each of
  /// their values.
  size_t Outer(const Share& share) const {
    size_t outer = 0;
    for (size_t i = 0; i < share.axes.size(); ++i) {
      if (Mentions(module_, share.axes, {share.axes[i].var})) {
        outer = i + 1;
      }
    }
    return outer;
  }

  void OpenOuter(const Share& share) {
    for (size_t i = 0; i < Outer(share); ++i) {
      OpenLoop(CxxFor(scope_, share.axes[i]) + "{");
    }
  }

  void CloseOuter(const Share& share) {
    for (size_t i = 0; i < Outer(share); ++i) {
      out_.Close();
    }
  }

  /// The box of the inner axes and, as `name`, its number of tasks.
  void WriteBox(const Share& share, std::string_view name) {
    std::string total = "1LL";
    for (size_t i = Outer(share); i < share.axes.size(); ++i) {
      const Axis& axis = share.axes[i];
      out_.Line(fmt::format("const i64 lo{0} = {1}, n{0} = Max(0LL, {2} - lo{0});", i,
                            axis.lo ? CxxExpr(scope_, axis.lo) : "0LL", CxxExpr(scope_, axis.hi)));
      total += fmt::format(" * n{}", i);
    }
    out_.Line(fmt::format("const i64 {} = {};", name, total));
  }

  /// The number of all tasks of the share.
  void WriteCount(const Share& share) {
    if (Outer(share) == 0) {
      WriteBox(share, "tasks");
      return;
    }
    out_.Line("i64 tasks = 0;");
    OpenOuter(share);
    WriteBox(share, "box");
    out_.Line("tasks += box;");
    CloseOuter(share);
  }

  /// Opens what stands around the loop over the SM's tasks. In a nest, `task` counts from the box
  /// on. Gives the name of the number of tasks to go through.
  std::string_view OpenBox(const Share& share) {
    if (Outer(share) == 0) {
      return "tasks";
    }
    OpenOuter(share);
    WriteBox(share, "box");
    return "box";
  }

  /// Opens the loop over the SM's tasks, with their coordinates.
  void OpenTasks(const Share& share, std::string_view step) {
    std::string_view count = OpenBox(share);
    OpenLoop(fmt::format("for (; task < {}; {}) {{", count, step));
    WriteCoordinates(share);
  }

  void CloseTasks(const Share& share) {
    out_.Close();
    if (Outer(share) > 0) {
      out_.Line("task -= box;");
      CloseOuter(share);
    }
  }

  /// The coordinates of the task whose number in its box is the variable `task`.
  void WriteCoordinates(const Share& share, std::string_view task = "task") {
    out_.Line(fmt::format("i64 rest = {};", task));
    bool small = IsSmall(share);
    size_t outer = Outer(share);
    for (size_t i = share.axes.size(); i-- > outer;) {
      std::string name = CxxName(module_, share.axes[i].var);
      out_.Line(i == outer ? fmt::format("const i64 {} = lo{} + rest;", name, i)
                           : fmt::format("const i64 {0} = lo{1} + {2}Mod(rest, n{1}); rest = "
                                         "{2}Div(rest, n{1});",
                                         name, i, small ? "Small" : "Floor"));
    }
  }

  /// Whether a share has less than 2^31 tasks whatever the sizes. There is one where it matters.
  bool IsSmall(const Share& share) const {
    int64_t tasks = 1;
    for (const Axis& axis : share.axes) {
      auto hi = Bounds(module_, axis.hi, scope_.intervals(), scope_.ranges());
      auto lo =
          axis.lo ? Bounds(module_, axis.lo, scope_.intervals(), scope_.ranges()) : Interval{0, 0};
      auto extent = hi && lo ? CheckedSub(hi->hi, lo->lo) : std::nullopt;
      auto product = extent ? CheckedMul(tasks, std::max<int64_t>(*extent, 1)) : std::nullopt;
      if (!product || *product > std::numeric_limits<int32_t>::max()) {
        return false;
      }
      tasks = *product;
    }
    return true;
  }

  std::string Coordinates(const Share& share) const {
    std::string text;
    for (const Axis& axis : share.axes) {
      text += ", " + CxxName(module_, axis.var);
    }
    return text;
  }

  void WritePace(const Share& share) {
    const std::optional<Pace>& pace = share.pace ? share.pace : kernel_.pace;
    std::string ahead = pace && pace->ahead ? fmt::format(", {}", *pace->ahead) : "";
    out_.Line(pace ? fmt::format("loader.SetPace({}, {}{});", pace->cap, pace->gap, ahead)
                   : "loader.SetPace(Loader::kNoCap, 0);");
  }

  /// For the first task.
  void WritePrefetch(const Share& share, const Device& device) {
    if (Outer(share) > 0) {
      return;  // which it is takes a walk to find out
    }
    out_.Open("{");
    WriteCoordinates(share);
    out_.Line(fmt::format("PrefetchTask<Impl_{}>(0, consumer, args{});", device.name,
                          Coordinates(share)));
    out_.Close();
  }

  void WriteTasks(const Share& share, const Device& device) {
    std::string make = fmt::format("Impl_{} impl(consumer, args);", device.name);
    if (!launch_) {
      if (arch_ != "host") {
        WritePrefetch(share, device);
      }
      // Waits that hold for all tasks come first, so that one object can serve all of them.
      WriteWaits(share.enter_waits);
      bool scratch_only = arch_ != "host" && share.enter_waits.empty();
      out_.Line(fmt::format(
          "{}consumer.Sync();",
          scratch_only ? fmt::format("if constexpr (Impl_{}::kScratchBytes > 0) ", device.name)
                       : ""));
    }
    WriteChecks(share, share.enter_checks);
    bool once = share.waits.empty();
    if (once) {
      out_.Line(make);
    }
    out_.Line("u32 done = 0;");
    OpenTasks(share, "task += sms, ++done");
    if (!once) {
      WriteWaits(share.waits);
      out_.Line("consumer.Sync();");
      out_.Line(make);
    }
    out_.Line(fmt::format("impl.Run(consumer, args{});", Coordinates(share)));
    WriteNotifies(share.notifies, device, "1");
    CloseTasks(share);
    WriteNotifies(share.leave_notifies, device, "done");
  }

  /// The reducer's side of the tasks: what it is made for follows the consumers' objects.
  void WriteReductions(const Share& share, const Device& device) {
    std::string make = fmt::format("{} reduction(reducer, args);", Reduction(device));
    bool once = share.waits.empty();
    if (once) {
      out_.Line(make);
    }
    out_.Line("u32 done = 0;");
    std::string_view count = OpenBox(share);
    out_.Line("i64 ahead = task;");
    OpenLoop(fmt::format("for (; task < {}; task += sms, ++done) {{", count));
    if (!once) {
      out_.Line(make);
    }
    // What the waits in front of the share hold for may be prepared one task ahead.
    out_.Open(fmt::format("if constexpr (PreparesTasks<{}>::value) {{", Reduction(device)));
    OpenLoop(fmt::format("for (; ahead < {} && ahead <= task{}; ahead += sms) {{", count,
                         once ? " + sms" : ""));
    WriteCoordinates(share, "ahead");
    out_.Line(fmt::format("PrepareTask(reduction, reducer, args{});", Coordinates(share)));
    out_.Close();
    out_.Close();
    WriteCoordinates(share, "task");
    out_.Line(fmt::format("reduction.Run(reducer, args{});", Coordinates(share)));
    WriteNotifies(share.notifies, device, "1");
    CloseTasks(share);
    WriteNotifies(share.leave_notifies, device, "done");
  }

  static std::string Reduction(const Device& device) {
    return fmt::format("ReductionOf<Impl_{}>", device.name);
  }

  /// By the role that stores a kernel's results.
  void WriteNotifies(const std::vector<EventRef>& refs, const Device& device,
                     const std::string& amount) {
    if (refs.empty()) {
      return;
    }
    bool guarded = arch_ != "host" && role_ == Role::Consumer;
    if (guarded) {
      out_.Open(fmt::format("if constexpr (!{}::kExists) {{", Reduction(device)));
    }
    out_.Line(fmt::format("{}.Sync();", RoleName()));
    WriteSignals(refs, "NotifyOne", amount);
    if (guarded) {
      out_.Close();
    }
  }

  const char* RoleName() const {
    return role_ == Role::Reducer ? "reducer" : role_ == Role::Loader ? "loader" : "consumer";
  }

  void WriteWaits(const std::vector<EventRef>& refs) { WriteSignals(refs, "WaitOne", ""); }

  /// One call of `method` for each element of each reference; an empty `amount` means its count.
  void WriteSignals(const std::vector<EventRef>& refs, std::string_view method,
                    const std::string& amount) {
    for (const EventRef& ref : refs) {
      const Event& event = module_.events[ref.event];
      ETC_CHECK(event.realisation == Realisation::Counter);
      // Only the thread that waited for a tensor may read it.
      bool reads = ReadsTensor(module_, ref) || ReadsTensor(module_, event.count);
      std::string loops, flat = "0LL", names, values;
      std::vector<std::string> indices;
      if (reads) {
        loops = fmt::format("if ({}.thread == 0) ", RoleName());
      }
      for (const Axis& axis : ref.axes) {
        loops += CxxFor(scope_, axis);
      }
      if (ref.guard) {
        loops += fmt::format("if ({}) ", CxxExpr(scope_, ref.guard));
      }
      for (size_t i = 0; i < ref.indices.size(); ++i) {
        const EventIndex& index = ref.indices[i];
        std::string extent = CxxExpr(scope_, event.dims[i].extent);
        std::string value =
            index.all || index.hi ? fmt::format("x{}", i) : CxxExpr(scope_, index.lo);
        if (index.all || index.hi) {
          loops += fmt::format("for (i64 {0} = {1}; {0} < {2}; ++{0}) ", value,
                               index.all ? "0LL" : CxxExpr(scope_, index.lo),
                               index.all ? extent : CxxExpr(scope_, index.hi));
        }
        indices.push_back(value);
        flat = i == 0 ? value : fmt::format("({}) * {} + {}", flat, extent, value);
        if (event.dims[i].var) {
          names += fmt::format("{}i64 {}", names.empty() ? "" : ", ",
                               CxxName(module_, event.dims[i].var));
          values += (values.empty() ? "" : ", ") + value;
        }
      }
      std::string count = amount;
      if (count.empty()) {
        count = CxxExpr(scope_, event.count);
        if (!names.empty()) {
          count = fmt::format("[&]({}) {{ return {}; }}({})", names, count, values);
        }
      }
      std::string record;
      if (decided_.contains(ref.event)) {
        loops += "if (" + InsideOf(event, indices) + ") ";
        if (amount.empty()) {
          record = "OpenChecks(params.event_memory), ";
          count = CountChecked(event, count);
        }
      }
      out_.Line(fmt::format("{}events.{}({}, {}e_{} + {}, u32({}));", loops, method, RoleName(),
                            record, event.name, flat, count));
    }
  }

  /// Whether an element that data may decide is one of the event.
  std::string InsideOf(const Event& event, const std::vector<std::string>& indices) const {
    std::string inside = indices.empty() ? "true" : "";
    for (size_t i = 0; i < indices.size(); ++i) {
      size_t number = CheckNumber(
          scope_.Texts(),
          fmt::format("index {} of event %{} is {{}}, outside of 0..{{}}", i, event.name));
      inside +=
          fmt::format("{}OpenChecks(params.event_memory).Inside({}, {}, {})", i == 0 ? "" : " && ",
                      number, indices[i], CxxExpr(scope_, event.dims[i].extent));
    }
    return inside;
  }

  /// No event counts less than nothing, or more than its counter holds.
  std::string CountChecked(const Event& event, const std::string& count) const {
    size_t number = CheckNumber(
        scope_.Texts(),
        fmt::format("event %{} counts {{}} notifies, outside of {{}}..{{}}", event.name));
    return fmt::format("OpenChecks(params.event_memory).InRange({}, {}, 0, 1LL << 32)", number,
                       count);
  }

  TextWriter& out_;
  const KernelScope& scope_;
  const Module& module_;
  const Kernel& kernel_;
  std::set<EventId> decided_;
  Role role_;
  const std::string& arch_;
  bool launch_;  // what comes before this launch has ended
};

}  // namespace

void WriteWalk(TextWriter& out, const KernelScope& scope, const Kernel& kernel, Role role,
               const std::string& arch) {
  WalkWriter(out, scope, kernel, role, arch).WriteNodes(kernel.body);
}

void WriteLaunch(TextWriter& out, const KernelScope& scope, const Kernel& kernel,
                 const LaunchSite& site, Role role, const std::string& arch) {
  for (size_t i = 0; i < site.repeats.size(); ++i) {
    out.Line(fmt::format("[[maybe_unused]] const i64 {} = params.iteration_{};",
                         CxxName(scope.module(), site.repeats[i]->var), i));
  }
  WalkWriter(out, scope, kernel, role, arch, true).WriteShare(*site.share);
}

}  // namespace etc
