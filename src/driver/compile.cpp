// `etc compile`: load → schedule → emit → toolchain → write. The proofs run beside all that follows
// the load, and end before anything is written.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <list>
#include <memory>

#include "analysis/proofs/graph_proofs.h"
#include "compile/backend.h"
#include "compile/depfile.h"
#include "compile/front.h"
#include "compile/manifest_place.h"
#include "compile/pipeline.h"
#include "compile/proof_beside.h"
#include "compile/resource_report.h"
#include "driver/commands.h"
#include "driver/output_files.h"
#include "emit/raise/unchecked.h"
#include "ir/printer.h"
#include "support/files.h"
#include "support/stderr.h"
#include "verify/verify.h"

namespace etc {
namespace {

class CompileJob {
 public:
  explicit CompileJob(const CompileOptions& options)
      : options_(options), session_(options.source.diagnostics) {}

  ExitCode Run() {
    (void)(OptionsFit() && Phases());
    if (options_.time_passes) {
      PrintToStderr("{}", timer_.Report());
    }
    return session_.Finish();
  }

 private:
  bool Phases() {
    module_ = timer_.Time("parse", [&] { return ParseSource(options_.source, session_); });
    if (!module_ || options_.stop_after == StopAfter::Parse) {
      return module_ && WriteModule(*module_);
    }
    ProofOptions proving = options_.proofs;
    proving.skip = proving.skip || options_.stop_after == StopAfter::Verify;
    std::shared_ptr<DerivedBodies> bodies = MakeDerivedBodies();
    bool prepared = timer_.Time("verify", [&] {
      return PrepareModule(*module_, options_.source, proving, session_, *bodies);
    });
    if (!prepared) {
      return false;
    }
    if (!proving.skip) {
      graph_proofs_ = MakeGraphProofs(module_, std::move(bodies));
      auto prove = [this](Diagnostics& diagnostics) {
        return ProveGraphs(*graph_proofs_, options_.proofs.remarks, diagnostics, SpareCores());
      };
      source_proof_.emplace("prove", std::move(prove), session_, in_vain_);
      // The passes change a copy meanwhile.
      module_ = std::make_shared<Module>(*module_);
    }
    bool made = Make(*module_, proving);
    return Proved() && made && Write(*module_);
  }

  /// The files to write, in memory. None of them may appear before the proofs have ended.
  bool Make(Module& module, const ProofOptions& proving) {
    bool ordered =
        timer_.Time("verify", [&] { return VerifyDependences(module, session_.diagnostics()); });
    if (!ordered || options_.stop_after == StopAfter::Verify) {
      return ordered;
    }
    if (!HasProgram(module, session_)) {
      return false;
    }
    LoweringOptions lowering = options_.lowering;
    std::erase_if(lowering.print_after, IsRaisePass);
    lowering.schedule.flag_in_data = !options_.target.IsHost();
    lowering.schedule.remarks = options_.proofs.remarks && proving.skip;
    if (!lowering.print_after.empty() && !SourceIsProved()) {
      return false;
    }
    bool from_kernels = IsScheduled(module);
    bool scheduled =
        RunPasses(module, PassesFor(module, lowering.schedule), lowering, timer_, session_);
    if (!scheduled || options_.stop_after == StopAfter::Schedule) {
      return scheduled;
    }
    if (source_proof_ && !from_kernels) {
      auto prove = [this, &module](Diagnostics& diagnostics) {
        auto graphs = [this]() -> const ProofReport* {
          const auto& report = source_proof_->Report();
          return report ? &*report : nullptr;
        };
        return ProveKernels(module, *graph_proofs_, graphs, options_.proofs.remarks, diagnostics,
                            SpareCores());
      };
      kernel_proof_.emplace("prove-kernels", prove, session_, in_vain_, &*source_proof_);
    }
    if (lowering.schedule.debug_checks) {
      WarnOfUnchecked(module, options_.target.arch, session_.diagnostics());
    }
    emitted_ = timer_.Time("emit", [&] {
      return Emit(module, options_.target, include_path_, session_, options_.lowering.print_after);
    });
    if (!emitted_ || options_.stop_after == StopAfter::Emit) {
      return emitted_.has_value();
    }
    if (!ToolchainStops() && !SourceIsProved()) {
      return false;
    }
    compiled_ = timer_.Time(
        "toolchain", [&] { return Assemble(*emitted_, options_.target, session_, &in_vain_); });
    return compiled_.has_value();
  }

  /// Whether the toolchain can be stopped. One that cannot starts only after the proofs.
  bool ToolchainStops() const {
    return !options_.target.IsHost() && options_.target.compiler == Compiler::Nvrtc;
  }

  /// For the proofs. Where a toolchain runs beside them, one is left to it, and to all before it.
  size_t SpareCores() const {
    bool beside = options_.stop_after == StopAfter::Write && ToolchainStops();
    return beside ? std::max<size_t>(1, Cores() - 1) : Cores();
  }

  bool SourceIsProved() {
    return !source_proof_ ||
           timer_.Time("wait for proofs", [&] { return source_proof_->Report().has_value(); });
  }

  /// Waits for the proofs. What they find counts before all that was made meanwhile. That a kernel
  /// is wrong whose graph is proved is an internal error.
  bool Proved() {
    bool right = SourceIsProved();
    if (kernel_proof_) {
      kernel_proof_->Finish(timer_);
    }
    if (source_proof_) {
      source_proof_->Finish(timer_);
    }
    bool kernels_right = !kernel_proof_ || kernel_proof_->Report();
    if (right && !kernels_right && source_proof_->Report()->NotProved() == 0) {
      InternalError(__FILE__, __LINE__,
                    fmt::format("a kernel is wrong whose graph is proved\n{}",
                                RenderText(session_.diagnostics(), session_.source())));
    }
    return right && kernels_right;
  }

  bool Write(const Module& module) {
    if (options_.stop_after == StopAfter::Emit) {
      return WriteText(options_.output, emitted_->text, session_.diagnostics());
    }
    if (options_.stop_after != StopAfter::Write) {
      return WriteModule(module);
    }
    return ResourcesFit(module, *compiled_) &&
           timer_.Time("write", [&] { return WriteArtifact(module, *emitted_, *compiled_); });
  }

  static std::optional<ProofReport> ReportOf(const std::optional<ProofBeside>& proof) {
    return proof ? proof->Report() : std::nullopt;
  }

  bool ResourcesFit(const Module& module, const CompileOutput& compiled) {
    if (options_.target.resource_usage == ResourceUsage::Off) {
      return true;
    }
    std::vector<KernelResources> kernels = ReadResources(compiled.log, ImagesOf(compiled));
    if (options_.target.resource_usage == ResourceUsage::Strict &&
        !CheckSpills(kernels, session_.diagnostics())) {
      return false;
    }
    PrintToStderr("{}", ResourceText(module, kernels));
    return true;
  }

  bool WriteModule(const Module& module) {
    return WriteText(options_.output, Print(module), session_.diagnostics());
  }

  bool WriteArtifact(const Module& module, const Emitted& emitted, CompileOutput& compiled) {
    if (options_.output == "-") {
      return WriteStdout(compiled.binary, session_.diagnostics());
    }
    std::string binary = BinaryPath();
    auto files = MakeArtifact(module, binary, emitted, std::move(compiled), options_.target,
                              {ReportOf(source_proof_), ReportOf(kernel_proof_)}, session_);
    if (options_.save_temps) {
      files.push_back({WithExtension(binary, TextExtension(options_.target)), emitted.text});
    }
    if (options_.depfile.write) {
      files.push_back({DepfilePath(), Depfile({binary}, Inputs(), options_.depfile.phony)});
    }
    return WriteFiles(files, session_.diagnostics());
  }

  std::string BinaryPath() const {
    return options_.output.empty()
               ? std::filesystem::path(
                     WithExtension(options_.source.file, BinaryExtension(options_.target)))
                     .filename()
                     .string()
               : options_.output;
  }

  std::string DepfilePath() const {
    return options_.depfile.file.empty() ? WithExtension(BinaryPath(), ".d")
                                         : options_.depfile.file;
  }

  /// The files from which the binary was made, each once, the source first.
  std::vector<std::string> Inputs() const {
    std::vector<std::string> inputs = {options_.source.file};
    inputs.insert(inputs.end(), session_.imports().begin(), session_.imports().end());
    inputs.insert(inputs.end(), options_.source.configs.begin(), options_.source.configs.end());
    if (std::filesystem::exists(options_.source.tuning)) {  // else it is one that is built into etc
      inputs.push_back(options_.source.tuning);
    }
    inputs.insert(inputs.end(), include_path_.used().begin(), include_path_.used().end());
    std::erase(inputs, "-");
    return WithoutSameFiles(inputs);
  }

  /// Checks combinations of options, before any work.
  bool OptionsFit() {
    bool writes_binary = options_.stop_after == StopAfter::Write;
    bool to_stdout = options_.output == "-";
    if (writes_binary && options_.output.empty() && options_.source.file == "-") {
      return Refuse("a source from standard input needs `-o FILE`");
    }
    if (writes_binary && to_stdout && isatty(STDOUT_FILENO) != 0) {
      return Refuse("standard output is a terminal; a binary is not written to it");
    }
    if (to_stdout && options_.save_temps) {
      return Refuse("`--save-temps` needs a file as output");
    }
    if (options_.depfile.write && (to_stdout || !writes_binary)) {
      return Refuse("`-MD` needs a binary written to a file");
    }
    if (options_.depfile.write && options_.source.file.find('\n') != std::string::npos) {
      return Refuse("`-MD`: make has no way to write a name with a line break");
    }
    if (options_.target.IsHost() && options_.target.resource_usage != ResourceUsage::Off) {
      return Refuse("`--resource-usage` has no meaning for `--arch host`");
    }
    if (!CheckCompiler(options_.target, options_.target.IsHost(), session_.diagnostics())) {
      return false;
    }
    if (!writes_binary) {
      // A module may be rewritten where it stands.
      const bool writes_module = options_.stop_after != StopAfter::Emit;
      return CheckOutputs({options_.output},
                          writes_module ? SettingsOf(options_.source) : FilesOf(options_.source),
                          session_);
    }
    return to_stdout ||
           (OutputsDiffer() && CheckDestination(BinaryPath(), session_.diagnostics()) &&
            (IsContainerPath(BinaryPath()) ||
             CheckManifestPlace(WithExtension(BinaryPath(), ".json"), BinaryPath(),
                                session_.diagnostics())));
  }

  bool OutputsDiffer() {
    std::vector<std::string> outputs{BinaryPath()};
    if (!IsContainerPath(BinaryPath())) {
      outputs.push_back(WithExtension(BinaryPath(), ".json"));
    }
    if (options_.save_temps) {
      outputs.push_back(WithExtension(BinaryPath(), TextExtension(options_.target)));
    }
    if (options_.depfile.write) {
      outputs.push_back(DepfilePath());
    }
    return CheckOutputs(outputs, Inputs(), session_);
  }

  bool Refuse(std::string message) {
    session_.diagnostics().Error(DiagnosticKind::CommandLine, {}, std::move(message));
    return false;
  }

  const CompileOptions& options_;
  Session session_;
  PhaseTimer timer_;
  IncludePath include_path_{options_.source.include_dirs};
  std::shared_ptr<Module> module_;
  std::optional<Emitted> emitted_;
  std::optional<CompileOutput> compiled_;
  std::atomic<bool> in_vain_ = false;          // a proof has found something wrong
  std::shared_ptr<GraphProofs> graph_proofs_;  // what they say, for those of the kernels
  std::optional<ProofBeside> source_proof_;    // of the graphs
  std::optional<ProofBeside> kernel_proof_;    // of what the passes make of them
};

}  // namespace

ExitCode Execute(const CompileOptions& options) {
  // What a job holds is left to the end of the process: to take it apart takes longer.
  static auto* const jobs = new std::list<CompileJob>;
  return jobs->emplace_back(options).Run();
}

}  // namespace etc
