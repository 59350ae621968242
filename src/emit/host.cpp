// C++ for the host target: one thread per SM walks the same nest over generated bodies.

#include <fmt/format.h>

#include "emit/builtin_headers.h"
#include "emit/cxx_body.h"
#include "emit/cxx_checks.h"
#include "emit/cxx_walk.h"
#include "emit/emit.h"
#include "emit/entries.h"
#include "emit/raise/can_emit.h"
#include "emit/raise/gather_headers.h"
#include "emit/raise/raise.h"

namespace etc {
namespace {

/// An entry whose body, after the parameters and the consumer, `run` writes.
template <class Run>
void WriteEntry(TextWriter& out, const Kernel& kernel, const std::string& name, Run run) {
  out.Line("");
  out.Open(fmt::format("ETC_ENTRY void {}(const uint64_t* block, int sm, int sms) {{", name));
  out.Line(fmt::format("etc::kernel_{}::Params params;", kernel.name));
  out.Line("std::memcpy(&params, block, sizeof params);");
  out.Line("ETC_LAUNCH(params.event_memory);");
  out.Line("etc::Consumer consumer;");
  run();
  out.Close();
}

/// A function and an entry for each launch; closes the kernel's namespace.
void WriteLaunches(TextWriter& out, const KernelScope& scope, const Kernel& kernel) {
  const RaisedKernel& raised = scope.raised();
  for (size_t i = 0; i < raised.launches.size(); ++i) {
    out.Line("");
    out.Open(fmt::format(
        "inline void Consume{}(const Params& params, Consumer& consumer, i64 sm, i64 sms) {{", i));
    WriteDeclarations(out, scope);
    WriteLaunch(out, scope, raised.launches[i], Role::Consumer, Arch::Host);
    out.Close();
  }
  out.Line("}");
  out.Line("}");
  if (HasChecks(kernel)) {
    WriteEntry(out, kernel, CheckName(scope.module(), kernel), [&] {
      out.Line(fmt::format(
          "etc::kernel_{}::CheckParams(params, etc::OpenChecks(params.event_memory), sm, sms);",
          kernel.name));
    });
  }
  for (size_t i = 0; i < raised.launches.size(); ++i) {
    const Share& share = raised.shares.at(raised.launches[i].share).share;
    WriteEntry(out, kernel, LaunchName(scope.module(), kernel, i, share), [&] {
      if (HasChecks(kernel)) {
        out.Open("if (etc::OpenChecks(params.event_memory).Failed()) {");
        out.Line("return;");
        out.Close();
      }
      out.Line(
          fmt::format("etc::kernel_{}::Consume{}(params, consumer, sm, sms);", kernel.name, i));
    });
  }
}

void WriteDevice(TextWriter& out, const DeviceScope& scope, const RaisedDevice& device,
                 bool checks) {
  out.Line("");
  WriteArgs(out, scope, device, checks);
  WriteBody(out, scope, device);
  out.Line(fmt::format("using Impl_{0} = Body_{0};", device.device.name));
}

void WriteKernel(TextWriter& out, const RaisedKernel& raised) {
  const Kernel& kernel = raised.kernel;
  KernelScope kernel_scope(raised);
  out.Line("");
  out.Line("namespace etc {");
  out.Line(fmt::format("namespace kernel_{} {{", kernel.name));
  WriteConstants(out, raised);
  WriteParams(out, raised);
  const ArgsNames names(false);
  for (const RaisedDevice& device : raised.devices) {
    if (kernel.check_accesses) {
      WriteDevice(out, CheckedScope(raised, names, device), device, true);
    } else {
      WriteDevice(out, DeviceScope(raised, names), device, false);
    }
  }
  if (HasChecks(kernel)) {
    WriteParamChecks(out, kernel_scope);
  }
  if (kernel.schedule == ScheduleKind::Kernels) {
    WriteLaunches(out, kernel_scope, kernel);
    return;
  }
  out.Line("");
  out.Open(
      "inline void Consume(const Params& params, const Events& events, Consumer& consumer, "
      "i64 sm, i64 sms) {");
  WriteDeclarations(out, kernel_scope);
  if (raised.cta_counters > 0) {
    out.Line(fmt::format("u32 cta_counters[{}] = {{}};", raised.cta_counters));
    out.Line("const CtaEvents cta_events{events, cta_counters};");
  }
  WriteWalk(out, kernel_scope, Role::Consumer, Arch::Host);
  out.Close();
  out.Line("}");
  out.Line("}");
  WriteEntry(out, kernel, EntryName(kernel), [&] {
    if (raised.module.mesh) {  // whatever the checks say: peers wait for it
      out.Open("if (sm == 0) {");
      out.Line("params.dims().peers.Begin(etc::u32(params.launch));");
      out.Close();
    }
    if (HasChecks(kernel)) {
      out.Line("const etc::Checks checks = etc::OpenChecks(params.event_memory);");
      out.Line(fmt::format("etc::kernel_{}::CheckParams(params, checks, sm, sms);", kernel.name));
      out.Line("checks.Meet(static_cast<etc::u32>(sms));");
      out.Open("if (checks.Stopped()) {");
      out.Line("return;");
      out.Close();
    }
    out.Line("etc::Events events(params.event_memory, sms);");
    if (raised.module.mesh) {
      out.Line("events.sleepers = params.begun + etc::Peers::kSleepers;");
      if (kernel.watchdog) {
        out.Line("events.computing = &etc::computing_threads;");
      }
    }
    if (kernel.watchdog) {
      out.Line("etc::EnterLaunch(events);");
    }
    out.Line(
        fmt::format("etc::kernel_{}::Consume(params, events, consumer, sm, sms);", kernel.name));
    if (kernel.watchdog) {
      out.Line("etc::LeaveLaunch(events);");
    }
  });
}

}  // namespace

std::optional<Emitted> EmitHost(const Module& module, Diagnostics& diagnostics,
                                const RaiseObserver& after) {
  if (!CanEmit(module, Arch::Host, diagnostics)) {
    return std::nullopt;
  }
  const RaisedModule raised = Raise(module, Arch::Host, after);
  auto headers = GatherHeaders(raised, BuiltinHeader, diagnostics);
  if (!headers) {
    return std::nullopt;
  }
  TextWriter out;
  for (const RaisedKernel& kernel : raised.kernels) {
    WriteKernel(out, kernel);
  }
  return Emitted{*headers + out.Take(),
                 raised.has_checks ? std::optional(raised.check_texts) : std::nullopt,
                 raised.has_watchdog ? std::optional(raised.wait_texts) : std::nullopt};
}

}  // namespace etc
