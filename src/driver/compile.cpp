// `etc compile`: load → prove → schedule → emit → toolchain → write, and a second proof beside the
// last three.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "driver/backend.h"
#include "driver/commands.h"
#include "driver/depfile.h"
#include "driver/files.h"
#include "driver/front.h"
#include "driver/pipeline.h"
#include "driver/resource_report.h"
#include "ir/printer.h"
#include "support/stderr.h"

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
    auto module = timer_.Time("parse", [&] { return ParseSource(options_.source.file, session_); });
    if (!module || options_.stop_after == StopAfter::Parse) {
      return module && WriteModule(*module);
    }
    ProofOptions proving = options_.proofs;
    proving.skip = proving.skip || options_.stop_after == StopAfter::Verify;
    bool verified = timer_.Time("verify", [&] {
      return CheckModule(*module, options_.source, proving, session_, proofs_);
    });
    if (!verified || options_.stop_after == StopAfter::Verify) {
      return verified && WriteModule(*module);
    }
    LoweringOptions lowering = options_.lowering;
    lowering.schedule.tag_data = !options_.target.IsHost();
    lowering.schedule.remarks = options_.proofs.remarks && proving.skip;
    bool from_kernels = IsScheduled(*module);
    bool scheduled = from_kernels || RunPasses(*module, StaticPipeline(lowering.schedule), lowering,
                                               timer_, session_);
    if (!scheduled || options_.stop_after == StopAfter::Schedule) {
      return scheduled && WriteModule(*module);
    }
    if (proofs_ && !from_kernels) {
      kernel_proof_.emplace(*module, options_.proofs.remarks, *proofs_, session_);
    }
    if (lowering.schedule.debug_checks) {
      WarnOfUnchecked(*module, options_.target.arch, session_.diagnostics());
    }
    auto emitted = timer_.Time(
        "emit", [&] { return Emit(*module, options_.target, include_path_, session_); });
    bool to_binary = emitted && options_.stop_after != StopAfter::Emit;
    std::optional<CompileOutput> compiled;
    if (to_binary) {
      compiled = timer_.Time("toolchain",
                             [&] { return Assemble(emitted->text, options_.target, session_); });
    }
    if (!KernelsAreProved() || !emitted) {
      return false;
    }
    if (!to_binary) {
      return WriteText(options_.output, emitted->text, session_.diagnostics());
    }
    return compiled && ResourcesFit(*module, *compiled) &&
           timer_.Time("write", [&] { return WriteArtifact(*module, *emitted, *compiled); });
  }

  bool KernelsAreProved() {
    if (kernel_proof_) {
      kernel_proofs_ = kernel_proof_->Finish(timer_);
    }
    return !kernel_proof_ || kernel_proofs_;
  }

  bool ResourcesFit(const Module& module, const CompileOutput& compiled) {
    if (options_.target.resource_usage == ResourceUsage::Off) {
      return true;
    }
    std::vector<KernelResources> kernels = ReadResources(compiled.log, compiled.binary);
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
                              {proofs_, kernel_proofs_});
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

  /// What the binary was made from, the source first.
  std::vector<std::string> Inputs() const {
    std::vector<std::string> inputs;
    if (options_.source.file != "-") {
      inputs.push_back(options_.source.file);
    }
    inputs.insert(inputs.end(), options_.source.configs.begin(), options_.source.configs.end());
    inputs.insert(inputs.end(), include_path_.used().begin(), include_path_.used().end());
    return inputs;
  }

  /// What options say together, before any work.
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
    if (options_.target.IsHost() && options_.target.resource_usage != ResourceUsage::Off) {
      return Refuse("`--resource-usage` has no meaning for `--arch host`");
    }
    return !writes_binary || to_stdout ||
           (OutputsDiffer() && CheckDestination(BinaryPath(), session_.diagnostics()));
  }

  /// No output may take the place of another or of an input: `--config model.json -o model.cubin`
  /// would put the manifest over the configuration.
  bool OutputsDiffer() {
    std::vector<std::string> outputs{BinaryPath(), WithExtension(BinaryPath(), ".json")};
    if (options_.save_temps) {
      outputs.push_back(WithExtension(BinaryPath(), TextExtension(options_.target)));
    }
    if (options_.depfile.write) {
      outputs.push_back(DepfilePath());
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      for (const std::string& input : Inputs()) {
        if (IsSameFile(outputs[i], input)) {
          return Refuse(
              fmt::format("the output `{}` would replace the input `{}`; choose another "
                          "`-o`",
                          outputs[i], input));
        }
      }
      for (size_t earlier = 0; earlier < i; ++earlier) {
        if (IsSameFile(outputs[i], outputs[earlier])) {
          return Refuse(
              fmt::format("two outputs are called `{}`; choose another `-o`", outputs[i]));
        }
      }
    }
    return true;
  }

  bool Refuse(std::string message) {
    session_.diagnostics().Error(DiagnosticKind::CommandLine, {}, std::move(message));
    return false;
  }

  const CompileOptions& options_;
  Session session_;
  PhaseTimer timer_;
  std::optional<ProofReport> proofs_;        // of the source
  std::optional<KernelProof> kernel_proof_;  // of what the passes make of its graphs
  std::optional<ProofReport> kernel_proofs_;
  IncludePath include_path_{options_.target.include_dirs};
};

}  // namespace

ExitCode Execute(const CompileOptions& options) { return CompileJob(options).Run(); }

}  // namespace etc
