// CUDA C++ for sm_90a: for each kernel a namespace with its arguments, implementations and walks,
// and an entry, or one for each launch, that splits a CTA into a loader warp and consumer warps.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>

#include "emit/cuda_entries.h"
#include "emit/cxx_body.h"
#include "emit/cxx_checks.h"
#include "emit/cxx_walk.h"
#include "emit/emit.h"
#include "emit/entries.h"
#include "emit/header_text.h"
#include "emit/raise/can_emit.h"
#include "emit/raise/raise.h"

namespace etc {
namespace {

/// Whether `name` stands in `text` as a whole word.
bool HasWord(const std::string& text, const std::string& name) {
  auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) {
      return true;
    }
  }
  return false;
}

class CudaWriter {
 public:
  CudaWriter(const RaisedModule& raised, const HeaderReader& headers, Diagnostics& diagnostics)
      : raised_(raised),
        module_(raised.module),
        arch_(raised.arch),
        diagnostics_(diagnostics),
        headers_(headers, diagnostics) {}

  std::optional<Emitted> Run() {
    bool ok = true;
    int64_t warps = 8;
    for (const Kernel& kernel : module_.kernels) {
      warps = kernel.consumer_warps;
    }
    bool checks = std::any_of(module_.kernels.begin(), module_.kernels.end(), HasChecks);
    text_ = fmt::format("#define ETC_CONSUMER_WARPS {}\n", warps);
    if (checks) {
      text_ += "#define ETC_DEBUG_CHECKS\n";
    }
    for (const char* name : {"arch/sm90/launch.cuh", "engine/roles.cuh", "engine/events.cuh",
                             "tile/pointwise/scalar.cuh"}) {
      ok &= headers_.Append(name, {}, text_);
    }
    if (checks) {
      ok &= headers_.Append("engine/checks.cuh", {}, text_);
    }
    for (const RaisedKernel& kernel : raised_.kernels) {
      for (DeviceId id : kernel.devices) {
        ok &= AppendImplHeader(module_.devices[id]);
      }
    }
    if (!ok) {
      return std::nullopt;
    }
    TextWriter out;
    out.Line("");
    out.Line("namespace etc {");
    out.Line("");
    for (const RaisedKernel& kernel : raised_.kernels) {
      WriteKernel(out, kernel);
    }
    out.Line("}  // namespace etc");
    for (const Kernel& kernel : module_.kernels) {
      WriteEntries(out, module_, kernel);
    }
    return Emitted{text_ + out.Take(),
                   checks ? std::optional(std::move(check_texts_)) : std::nullopt};
  }

 private:
  bool AppendImplHeader(const Device& device) {
    const Impl* impl = FindImpl(device, Spelling(arch_));
    if (impl == nullptr || impl->header.empty()) {
      return true;
    }
    if (!headers_.Append(impl->header, impl->range, text_)) {
      return false;
    }
    if (!HasWord(text_, impl->name)) {
      diagnostics_.Error(DiagnosticKind::Impl, impl->range,
                         fmt::format("header `{}` does not define `{}`", impl->header, impl->name));
      return false;
    }
    return true;
  }

  void WriteKernel(TextWriter& out, const RaisedKernel& raised) {
    const Kernel& kernel = raised.kernel;
    KernelScope kernel_scope(raised, check_texts_);
    out.Line("");
    out.Line(fmt::format("namespace kernel_{} {{", kernel.name));
    WriteConstants(out, module_, raised.ranges);
    WriteParams(out, module_, kernel);
    std::string slots = "0", scratch = "0", partials = "0";
    for (DeviceId id : raised.devices) {
      const Device& device = module_.devices[id];
      out.Line("");
      ArgsNames names(FindImpl(device, Spelling(arch_)) != nullptr);
      if (kernel.check_accesses) {
        WriteDevice(out, CheckedScope(raised, names, device, check_texts_), device, true);
      } else {
        WriteDevice(out, DeviceScope(raised, names), device, false);
      }
      slots = fmt::format("LargerOf({}, Impl_{}::kSlotBytes)", slots, device.name);
      scratch = fmt::format("LargerOf({}, Impl_{}::kScratchBytes)", scratch, device.name);
      partials =
          fmt::format("LargerOf({}, ReductionOf<Impl_{}>::kPartialsBytes)", partials, device.name);
    }
    if (HasChecks(kernel)) {
      WriteParamChecks(out, kernel_scope, kernel);
    }
    out.Line("");
    std::vector<ShareSite> launches = LaunchesOf(module_, kernel);
    if (kernel.schedule == ScheduleKind::Kernels) {
      WriteLaunches(out, kernel_scope, kernel, launches);
    } else {
      out.Line(fmt::format("constexpr int kSlotBytes = {};", slots));
      out.Line(fmt::format("constexpr int kScratchBytes = {};", scratch));
      out.Line(fmt::format("constexpr int kPartialsBytes = {};", partials));
      out.Line(
          fmt::format("using CtaMemory = Block<kSlotBytes, kScratchBytes, kPartialsBytes, {}>;",
                      SharedText(kernel)));
      out.Line("");
      WriteFlags(out, kernel_scope, kernel);
      WriteRoles(out, kernel_scope);
    }
    out.Line(fmt::format("}}  // namespace kernel_{}", kernel.name));
    out.Line("");
  }

  void WriteDevice(TextWriter& out, const DeviceScope& scope, const Device& device, bool checks) {
    WriteArgs(out, scope, device, checks);
    WriteImpl(out, scope, device);
  }

  /// A function for each role of a persistent kernel.
  void WriteRoles(TextWriter& out, const KernelScope& scope) {
    const std::pair<Role, const char*> roles[] = {
        {Role::Loader,
         "Load(const Params& params, [[maybe_unused]] const Events& events, Loader& loader"},
        {Role::EpilogueWarp,
         "Reduce(const Params& params, const Events& events, [[maybe_unused]] u32 set, "
         "EpilogueWarp& "
         "epilogue_warp"},
        {Role::Consumer,
         "Consume(const Params& params, const Events& events, [[maybe_unused]] u32 set, Consumer& "
         "consumer"}};
    for (const auto& [role, head] : roles) {
      out.Line("");
      out.Open(fmt::format("ETC_DEVICE void {}, i64 sm, i64 sms) {{", head));
      WriteDeclarations(out, scope);
      WriteWalk(out, scope, role, arch_);
      out.Close();
    }
  }

  /// Functions for each launch: what its loader does, what its consumers do before the launches in
  /// front have ended, and what they and the epilogue warp do then.
  void WriteLaunches(TextWriter& out, const KernelScope& scope, const Kernel& kernel,
                     const std::vector<ShareSite>& launches) {
    for (size_t i = 0; i < launches.size(); ++i) {
      const std::string& device =
          module_.devices[std::get<Share>(module_.nodes[launches[i].share]).callee].name;
      out.Line(fmt::format(
          "using CtaMemory{0} = Block<Impl_{1}::kSlotBytes, Impl_{1}::kScratchBytes,", i, device));
      out.Line(fmt::format("    ReductionOf<Impl_{}>::kPartialsBytes, {}>;", device,
                           SharedText(kernel)));
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
        WriteLaunch(out, scope, launches[i], role, arch_);
        out.Close();
      }
    }
  }

  void WriteImpl(TextWriter& out, const DeviceScope& scope, const Device& device) {
    const Impl* impl = FindImpl(device, Spelling(arch_));
    if (impl == nullptr) {
      WriteBody(out, scope, device, BodyStyle::Parallel);
      out.Line(fmt::format("using Impl_{0} = Body_{0};", device.name));
      return;
    }
    if (impl->header.empty()) {
      WriteInline(out, device, *impl);
      return;
    }
    out.Open(fmt::format("struct Config_{} {{", device.name));
    for (const ImplArg& arg : impl->args) {
      std::string name = CxxIdentifier(arg.name);
      if (!arg.value) {
        out.Line(fmt::format("using {} = etc::{};", name, arg.word));
        continue;
      }
      out.Line("static " + CxxConstant(module_, name, arg.value, scope.ranges()));
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
  void WriteFlags(TextWriter& out, const KernelScope& scope, const Kernel& kernel) {
    std::string end = "0LL";
    std::optional<int64_t> begin;
    for (NodeId id : kernel.declarations) {
      const auto* buffer = std::get_if<BufferDecl>(&module_.nodes[id]);
      if (buffer == nullptr || !module_.tensors[buffer->tensor].flagged) {
        continue;
      }
      const Tensor& tensor = module_.tensors[buffer->tensor];
      std::string bytes = fmt::format("{}LL", BytesPerElement(tensor));
      for (ExprId extent : tensor.shape) {
        bytes += fmt::format(" * {}", CxxExpr(scope, extent));
      }
      end = fmt::format("Max({}, {} + {})", end, CxxExpr(scope, tensor.offset), bytes);
      if (auto offset = EvaluateInt(module_, tensor.offset, {})) {
        begin = std::min(begin.value_or(*offset), *offset);
      }
    }
    out.Open("ETC_DEVICE auto OpenFlags([[maybe_unused]] const Params& params) {");
    out.Line(
        begin ? fmt::format("return FlagState(params.workspace + {}LL - FlagState::kHeaderBytes);",
                            *begin)
              : "return NoFlags{};");
    out.Close();
    out.Open("ETC_DEVICE i64 FlaggedBytes(const Params& params) {");
    out.Line("[[maybe_unused]] const Dims dims = params.dims();");
    out.Line(fmt::format("return {} - {}LL;", end, begin.value_or(0)));
    out.Close();
  }

  /// The bytes of shared memory, and how many slots of the ring to make of them at most.
  static std::string SharedText(const Kernel& kernel) {
    std::string bytes = fmt::format("{}", kernel.shared_bytes);
    return kernel.depth ? fmt::format("{}, {}", bytes, *kernel.depth) : bytes;
  }

  const RaisedModule& raised_;
  const Module& module_;
  Arch arch_;
  Diagnostics& diagnostics_;
  HeaderText headers_;
  std::string text_;
  CheckTexts check_texts_;
};

}  // namespace

std::optional<Emitted> EmitCuda(const Module& module, Arch arch, const HeaderReader& headers,
                                Diagnostics& diagnostics, const RaiseObserver& after) {
  if (!CanEmit(module, arch, diagnostics)) {
    return std::nullopt;
  }
  return CudaWriter(Raise(module, arch, after), headers, diagnostics).Run();
}

}  // namespace etc
