#include "compile/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "compile/impl_templates.h"
#include "ir/printer.h"
#include "ir/schedules.h"
#include "runtime/container.h"
#include "runtime/hash.h"
#include "runtime/launches.h"
#include "runtime/manifest_seal.h"
#include "support/progress.h"
#include "support/stderr.h"
#include "toolchain/resources.h"

namespace etc {
namespace {

static_assert(kMostLaunches == runtime::kMaxLaunches, "what is compiled can be loaded");

std::string NameOf(const TargetOptions& target) {
  if (target.IsHost()) {
    return "the host compiler";
  }
  return target.compiler == Compiler::Nvcc ? "nvcc" : "NVRTC";
}

CompileOutput Compile(const Emitted& emitted, const TargetOptions& target,
                      const std::atomic<bool>* in_vain) {
  Progress progress(fmt::format("{} compiles", NameOf(target)));
  if (target.IsHost()) {
    return CompileHost(emitted.text, {});
  }
  CudaOptions options{target.arch, target.resource_usage != ResourceUsage::Off, {}, in_vain};
  auto compile = [&](const std::string& text) {
    return target.compiler == Compiler::Nvcc ? CompileWithNvcc(text, options)
                                             : CompileWithNvrtc(text, options);
  };
  return emitted.units.empty() ? compile(emitted.text) : CompileUnits(emitted.units, compile);
}

}  // namespace

std::optional<Emitted> Emit(const Module& module, const TargetOptions& target,
                            IncludePath& include_path, Session& session,
                            const std::vector<std::string>& print_after) {
  auto print = [&](std::string_view name, const RaisedModule& raised) {
    bool asked = std::any_of(print_after.begin(), print_after.end(), [&](const std::string& each) {
      return each == name || (each == "all" && name == "raise");
    });
    if (asked) {
      PrintToStderr("// after {}\n{}\n{}", name, Print(module), Describe(raised));
    }
  };
  if (target.IsHost()) {
    return EmitHost(module, session.diagnostics(), print);
  }
  return EmitCuda(module, target.arch, include_path.Reader(), session.diagnostics(), print);
}

bool IsRaisePass(const std::string& name) {
  const auto& passes = RaisePasses();
  return name == "raise" || std::any_of(passes.begin(), passes.end(),
                                        [&](const RaisePass& pass) { return pass.name == name; });
}

std::optional<CompileOutput> Assemble(const Emitted& emitted, const TargetOptions& target,
                                      Session& session, const std::atomic<bool>* in_vain) {
  CompileOutput output = Compile(emitted, target, in_vain);
  output.log.erase(output.log.find_last_not_of('\n') + 1);
  if (output.lacks_file) {
    session.diagnostics().Error(DiagnosticKind::File, {}, output.log);
    return std::nullopt;
  }
  if (!output.ok) {
    Diagnostic& error = session.diagnostics().Error(
        DiagnosticKind::Toolchain, {}, fmt::format("{} made no binary", NameOf(target)));
    error.notes = NotesOnTemplates(output.log, emitted.templates);
    for (Note& note : NotesOnAssertions(output.log, emitted.templates)) {
      error.notes.push_back(std::move(note));
    }
    error.notes.push_back({{}, "it said:\n" + output.log});
    error.notes.push_back({{}, "`--stop-after=emit` prints the text that it compiled"});
    return std::nullopt;
  }
  std::string warnings = WithoutReport(output.log);
  warnings.erase(warnings.find_last_not_of('\n') + 1);
  if (!warnings.empty()) {
    session.diagnostics()
        .Warning(DiagnosticKind::Toolchain, {}, fmt::format("{} warned", NameOf(target)))
        .notes.push_back({{}, "it said:\n" + output.log});
  }
  return output;
}

namespace {

ManifestProofs RecordOf(const ProofReport& report) {
  ManifestProofs record;
  for (const ProofGroup& group : kProofGroups) {
    const ProofTally& tally = report.*group.tally;
    record.groups.push_back({group.name, tally.proved, tally.not_proved});
  }
  record.assumptions = report.assumptions;
  record.not_proved = report.not_proved;
  return record;
}

}  // namespace

namespace {

/// Without the folder, which says nothing where the artifact runs.
std::string PlaceOf(const Session& session, SourceRange range) {
  const SourceFile* source = session.source();
  if (source == nullptr || !range.IsValid()) {
    return "";
  }
  return fmt::format("{}:{}",
                     std::filesystem::path(source->NameAt(range.begin)).filename().string(),
                     source->Locate(range.begin).line);
}

}  // namespace

std::vector<OutputFile> MakeArtifact(const Module& module, const std::string& path,
                                     const Emitted& emitted, CompileOutput compiled,
                                     const TargetOptions& target, const ModuleProofs& proofs,
                                     const Session& session) {
  ManifestInfo info;
  info.locate = [&](SourceRange range) { return PlaceOf(session, range); };
  info.arch = target.arch;
  const std::string binary_path =
      IsContainerPath(path) ? WithExtension(path, BinaryExtension(target)) : path;
  info.binary_file = std::filesystem::path(binary_path).filename().string();
  info.binary_bytes = compiled.binary.size();
  info.binary_xxh3_128 = runtime::HashText(compiled.binary);
  info.binary_images = compiled.images;
  info.toolchain = compiled.toolchain;
  info.flags = compiled.flags;
  if (target.resource_usage != ResourceUsage::Off) {
    for (const KernelResources& kernel : ReadResources(compiled.log, ImagesOf(compiled))) {
      info.resources.push_back(
          {kernel.entry,
           {{"registers", kernel.registers},
            {"barriers", kernel.barriers},
            {"stack_bytes", kernel.stack_bytes},
            {"spill_store_bytes", kernel.spill_store_bytes},
            {"spill_load_bytes", kernel.spill_load_bytes},
            {"local_accesses", kernel.local_accesses.all},
            {"local_accesses_in_inner_loops", kernel.local_accesses.in_inner_loops},
            {"ring_slots", kernel.ring_slots},
            {"ring_slot_bytes", kernel.ring_slot_bytes}}});
    }
  }
  info.debug_checks = emitted.checks;
  info.watchdog = emitted.waits;
  if (proofs.source) {
    info.proofs = RecordOf(*proofs.source);
  }
  if (proofs.kernels) {
    info.kernel_proofs = RecordOf(*proofs.kernels);
  }
  std::string manifest = runtime::SealManifest(EmitManifest(module, info));
  if (IsContainerPath(path)) {
    return {{path, runtime::WriteContainer(manifest, compiled.binary)}};
  }
  return {{path, std::move(compiled.binary)}, {WithExtension(path, ".json"), std::move(manifest)}};
}

bool IsContainerPath(const std::string& path) {
  return path.ends_with(runtime::kContainerExtension);
}

std::string WithExtension(const std::string& path, const std::string& extension) {
  return std::filesystem::path(path).replace_extension(extension).string();
}

std::string BinaryExtension(const TargetOptions& target) {
  return target.IsHost() ? ".so" : ".cubin";
}

std::string TextExtension(const TargetOptions& target) { return target.IsHost() ? ".cpp" : ".cu"; }

}  // namespace etc
