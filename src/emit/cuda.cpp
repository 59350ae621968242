// CUDA C++ for sm_90a: for each kernel a namespace with its arguments, implementations and walks,
// and an entry, or one for each launch, that splits a CTA into a loader warp and consumer warps.

#include <fmt/format.h>

#include <tuple>

#include "emit/cuda_entries.h"
#include "emit/cxx_body.h"
#include "emit/cxx_checks.h"
#include "emit/cxx_walk.h"
#include "emit/emit.h"
#include "emit/raise/can_emit.h"
#include "emit/raise/gather_headers.h"
#include "emit/raise/raise.h"
#include "emit/raise/shared_memory.h"
#include "support/parallel.h"

namespace etc {
namespace {

class CudaWriter {
 public:
  explicit CudaWriter(const RaisedModule& raised)
      : raised_(raised), module_(raised.module), arch_(raised.arch) {}

  /// `headers` is the text of the headers.
  Emitted Run(const std::string& headers) {
    std::string text = fmt::format("#define ETC_CONSUMER_WARPS {}\n", raised_.consumer_warps);
    if (raised_.has_checks) {
      text += "#define ETC_DEBUG_CHECKS\n";
    }
    if (raised_.has_watchdog) {
      text += "#define ETC_WATCHED\n";
    }
    if (module_.mesh) {
      text += "#define ETC_WORD_SCOPE \"sys\"\n";  // peers write words of symmetric buffers
    }
    return Join(text + headers);
  }

 private:
  /// The headers are common to all kernels; nothing else is.
  Emitted Join(const std::string& headers) {
    const std::string begin = headers + "\nnamespace etc {\n\n";
    const std::string end = "}  // namespace etc\n";
    struct Text {
      std::string space;
      std::string entry;
    };
    std::vector<Text> texts(raised_.kernels.size());
    ForEachInParallel(texts.size(), [&](size_t i) {
      TextWriter space;
      TextWriter entry;
      WriteKernel(space, raised_.kernels[i]);
      WriteEntries(entry, raised_.kernels[i]);
      texts[i] = {space.Take(), entry.Take()};
    });
    std::string spaces;
    std::string entries;
    Emitted emitted;
    for (const Text& own : texts) {
      spaces += own.space;
      entries += own.entry;
      if (texts.size() > 1) {
        emitted.units.push_back(begin + own.space + end + own.entry);
      }
    }
    emitted.text = begin + spaces + end + entries;
    emitted.templates = Templates();
    if (raised_.has_checks) {
      emitted.checks = raised_.check_texts;
    }
    if (raised_.has_watchdog) {
      emitted.waits = raised_.wait_texts;
    }
    return emitted;
  }

  std::vector<ImplTemplate> Templates() const {
    std::vector<ImplTemplate> templates;
    for (const RaisedKernel& kernel : raised_.kernels) {
      for (const RaisedDevice& each : kernel.devices) {
        if (const Impl* impl = each.impl; impl != nullptr && !impl->header.empty()) {
          templates.push_back({each.device.name, impl->header, impl->name, impl->range});
        }
      }
    }
    return templates;
  }

  void WriteKernel(TextWriter& out, const RaisedKernel& raised) {
    const Kernel& kernel = raised.kernel;
    KernelScope kernel_scope(raised);
    out.Line("");
    out.Line(fmt::format("namespace kernel_{} {{", kernel.name));
    WriteConstants(out, raised);
    WriteParams(out, raised);
    std::string slots = "0", scratch = "0", partials = "0",
                registers = "HelperRegisters<void>::value";
    for (const RaisedDevice& each : raised.devices) {
      const Device& device = each.device;
      out.Line("");
      ArgsNames names(each.impl != nullptr);
      if (kernel.check_accesses) {
        WriteDevice(out, CheckedScope(raised, names, each), each, true);
      } else {
        WriteDevice(out, DeviceScope(raised, names), each, false);
      }
      slots = fmt::format("LargerOf({}, Impl_{}::kSlotBytes)", slots, device.name);
      scratch = fmt::format("LargerOf({}, Impl_{}::kScratchBytes)", scratch, device.name);
      partials =
          fmt::format("LargerOf({}, ReductionOf<Impl_{}>::kPartialsBytes)", partials, device.name);
      registers =
          fmt::format("SmallerOf({}, HelperRegisters<Impl_{}>::value)", registers, device.name);
    }
    if (HasChecks(kernel)) {
      WriteParamChecks(out, kernel_scope);
    }
    out.Line("");
    if (kernel.schedule == ScheduleKind::Kernels) {
      WriteLaunches(out, kernel_scope);
    } else {
      // Boxes of tensor copies begin at multiples of 1024 bytes, in whatever slot they come.
      if (!raised.maps.empty()) {
        slots = fmt::format("({} + 1023) / 1024 * 1024", slots);
      }
      out.Line(fmt::format("constexpr int kSlotBytes = {};", slots));
      out.Line(fmt::format("constexpr int kScratchBytes = {};", scratch));
      out.Line(fmt::format("constexpr int kPartialsBytes = {};", partials));
      out.Line(fmt::format("constexpr int kHelperRegisters = {};", registers));
      std::string shared = fmt::format("{}", raised.block_bytes);
      if (raised.most_ahead > 0) {
        out.Line(fmt::format("constexpr int kTicketsBegin = TicketsBegin({}, {});", shared,
                             raised.most_ahead));
        out.Line(
            fmt::format("using CtaTickets = TicketRing<kTicketsBegin, {}>;", raised.most_ahead));
        shared = "kTicketsBegin";
      }
      out.Line(
          fmt::format("using CtaMemory = Block<kSlotBytes, kScratchBytes, kPartialsBytes, {}>;",
                      LimitsText(kernel, shared, "kHelperRegisters")));
      out.Line("");
      WriteFlags(out, kernel_scope);
      WriteRoles(out, kernel_scope);
    }
    out.Line(fmt::format("}}  // namespace kernel_{}", kernel.name));
    out.Line("");
  }

  void WriteDevice(TextWriter& out, const DeviceScope& scope, const RaisedDevice& device,
                   bool checks) {
    WriteArgs(out, scope, device, checks);
    WriteImpl(out, scope, device);
  }

  /// A function for each role of a persistent kernel.
  void WriteRoles(TextWriter& out, const KernelScope& scope) {
    const std::pair<Role, const char*> roles[] = {
        {Role::Loader, scope.raised().loaders_read_flags
                           ? "Load(const Params& params, [[maybe_unused]] const Events& events, "
                             "u32 set, Loader& loader"
                           : "Load(const Params& params, [[maybe_unused]] const Events& events, "
                             "Loader& loader"},
        {Role::EpilogueWarp,
         "Reduce(const Params& params, const Events& events, [[maybe_unused]] u32 set, "
         "EpilogueWarp& "
         "epilogue_warp"},
        {Role::Consumer,
         "Consume(const Params& params, const Events& events, [[maybe_unused]] u32 set, Consumer& "
         "consumer"}};
    auto write = [&](Role role, const std::string& head) {
      out.Line("");
      out.Open(fmt::format("ETC_DEVICE void {}, i64 sm, i64 sms) {{", head));
      WriteDeclarations(out, scope);
      if (scope.raised().cta_counters > 0) {
        out.Line(fmt::format("[[maybe_unused]] const CtaEvents cta_events(events, {});",
                             scope.raised().block_bytes));
      }
      WriteWalk(out, scope, role, arch_);
      out.Close();
    };
    bool dispatches = scope.raised().most_ahead > 0;
    for (const auto& [role, head] : roles) {
      write(role, std::string(head) + (dispatches ? ", Tickets& tickets" : ""));
    }
    if (dispatches) {
      write(Role::Scheduler,
            "Schedule(const Params& params, const Events& events, Scheduler& scheduler");
    }
  }

  /// Functions for each launch: what its loader does, what its consumers do before the launches in
  /// front have ended, and what they and the epilogue warp do then.
  void WriteLaunches(TextWriter& out, const KernelScope& scope) {
    const RaisedKernel& raised = scope.raised();
    for (size_t i = 0; i < raised.launches.size(); ++i) {
      const RaisedShare& share = raised.shares.at(raised.launches[i].share);
      const std::string& device = raised.devices[share.device].device.name;
      out.Line(fmt::format(
          "using CtaMemory{0} = Block<Impl_{1}::kSlotBytes, Impl_{1}::kScratchBytes,", i, device));
      out.Line(fmt::format("    ReductionOf<Impl_{}>::kPartialsBytes, {}>;", device,
                           LimitsText(raised.kernel, fmt::format("{}", raised.block_bytes),
                                      fmt::format("HelperRegisters<Impl_{}>::value", device))));
      const std::tuple<Role, const char*, const char*> roles[] = {
          {Role::Loader, "Load", "Loader& loader"},
          {Role::EpilogueWarp, "Reduce", "EpilogueWarp& epilogue_warp"},
          {Role::Prefetch, "Prefetch", "Consumer& consumer"},
          {Role::Consumer, "Consume", "Consumer& consumer"}};
      for (const auto& [role, name, self] : roles) {
        out.Line("");
        out.Open(fmt::format("ETC_DEVICE void {}{}(const Params& params, {}, i64 sm, i64 sms) {{",
                             name, i, self));
        WriteDeclarations(out, scope);
        WriteLaunch(out, scope, raised.launches[i], role, arch_);
        out.Close();
      }
    }
  }

  void WriteImpl(TextWriter& out, const DeviceScope& scope, const RaisedDevice& raised) {
    const Device& device = raised.device;
    const Impl* impl = raised.impl;
    if (impl == nullptr) {
      WriteBody(out, scope, raised);
      out.Line(fmt::format("using Impl_{0} = Body_{0};", device.name));
      return;
    }
    if (impl->header.empty()) {
      WriteInline(out, device, *impl);
      return;
    }
    out.Open(fmt::format("struct Config_{} {{", device.name));
    for (size_t i = 0; i < impl->args.size(); ++i) {
      std::string name = CxxIdentifier(impl->args[i].name);
      const std::optional<Constant>& value = raised.impl_args[i];
      out.Line(value ? "static " + CxxConstant(name, *value)
                     : fmt::format("using {} = etc::{};", name, impl->args[i].word));
    }
    out.Close("};");
    out.Line(
        fmt::format("using Impl_{0} = etc::{1}<Config_{0}, Args_{0}>;", device.name, impl->name));
  }

  /// Inline CUDA text is the body of Run, with the task coordinates under their own names.
  void WriteInline(TextWriter& out, const Device& device, const Impl& impl) {
    std::string coordinates;
    for (const Axis& axis : device.tasks) {
      coordinates += ", int " + CxxIdentifier(module_.symbols[axis.var].name);
    }
    out.Open(fmt::format("struct Impl_{} {{", device.name));
    out.Line("static constexpr int kSlotBytes = 0;");
    out.Line("static constexpr int kScratchBytes = 0;");
    out.Line(fmt::format("ETC_DEVICE Impl_{0}(Consumer&, const Args_{0}&) {{}}", device.name));
    out.Open(fmt::format("ETC_DEVICE void Run(Consumer& consumer, const Args_{}& args{}) {{",
                         device.name, coordinates));
    out.Raw(impl.text);
    out.Line("");
    out.Close();
    out.Close("};");
  }

  /// The beginning and the end of the flagged buffers.
  void WriteFlags(TextWriter& out, const KernelScope& scope) {
    std::string end = "0LL";
    const std::optional<int64_t>& begin = scope.raised().flags_begin;
    for (const RaisedPlace& place : scope.raised().flag_buffers) {
      std::string bytes = fmt::format("{}LL", place.unit);
      for (ExprId extent : place.extents) {
        bytes += fmt::format(" * {}", CxxExpr(scope, extent));
      }
      end = fmt::format("Max({}, {} + {})", end, CxxExpr(scope, place.first), bytes);
    }
    out.Open("ETC_DEVICE auto OpenFlags([[maybe_unused]] const Params& params) {");
    out.Line(begin ? fmt::format("return FlagState(params.{} + {}LL - FlagState::kHeaderBytes);",
                                 scope.raised().symmetric_flags ? "symmetric" : "workspace", *begin)
                   : "return NoFlags{};");
    out.Close();
    out.Open("ETC_DEVICE i64 FlaggedBytes(const Params& params) {");
    out.Line("[[maybe_unused]] const Dims dims = params.dims();");
    out.Line(fmt::format("return {} - {}LL;", end, begin.value_or(0)));
    out.Close();
  }

  /// The bytes of shared memory, the registers of helpers, and how many slots of the ring to make
  /// of the bytes at most.
  static std::string LimitsText(const Kernel& kernel, const std::string& bytes,
                                const std::string& registers) {
    return fmt::format("{}, {}{}", bytes, registers,
                       kernel.depth ? fmt::format(", {}", *kernel.depth) : "");
  }

  const RaisedModule& raised_;
  const Module& module_;
  Arch arch_;
};

}  // namespace

std::optional<Emitted> EmitCuda(const Module& module, Arch arch, const HeaderReader& headers,
                                Diagnostics& diagnostics, const RaiseObserver& after) {
  if (!CanEmit(module, arch, diagnostics)) {
    return std::nullopt;
  }
  const RaisedModule raised = Raise(module, arch, after);
  if (!SharedMemoryFits(raised, diagnostics)) {
    return std::nullopt;
  }
  auto text = GatherHeaders(raised, headers, diagnostics);
  return text ? std::optional(CudaWriter(raised).Run(*text)) : std::nullopt;
}

}  // namespace etc
