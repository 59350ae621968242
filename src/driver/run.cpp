// `etc run`: build or load an artifact → make tensors → launch → compare → write.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "analysis/ranks.h"
#include "bench/statistics.h"
#include "compile/front.h"
#include "compile/pipeline.h"
#include "compile/program_builder.h"
#include "driver/commands.h"
#include "driver/output_files.h"
#include "driver/run_arguments.h"
#include "emit/raise/unchecked.h"
#include "support/files.h"
#include "support/progress.h"
#include "tensor/compare.h"
#include "tensor/execution.h"
#include "tensor/group_execution.h"
#include "tensor/program_view.h"
#include "tensor/run_tensors.h"

namespace etc {
namespace {

constexpr double kGpuTolerance = 0.03;  // bf16 keeps 8 bits, and layers add up their roundings
// What the workspace holds when a checked launch starts: in the reference not a number, which
// equals nothing, and in the program other integers.
constexpr unsigned char kReferencePoison = 0xff;
constexpr unsigned char kPoison = 0x80;

class RunJob {
 public:
  explicit RunJob(const RunOptions& options)
      : options_(options), session_(options.source.diagnostics) {}

  ExitCode Run() {
    ReportFailures([&] { PhasesOfRank(); }, session_.diagnostics(),
                   [&](etc_status status, Diagnostic& report) { NoteDrawn(status, report); });
    return session_.Finish(checks_passed_ ? ExitCode::Ok : ExitCode::InputWrong);
  }

 private:
  bool Phases() {
    auto dims = ParseIntAssignments(options_.dims, "--dim", session_.diagnostics());
    auto inputs = ParseAssignments(options_.inputs, "--input", session_.diagnostics());
    auto outputs = ParseAssignments(options_.outputs, "--output", session_.diagnostics());
    if (!dims || !inputs || !outputs) {
      return false;
    }
    for (const auto& [name, file] : *outputs) {
      if (file == "-") {
        Refuse(fmt::format("`--output {}=-`: an output is written to a file", name));
        return false;
      }
      if (!CheckFolder(file, session_.diagnostics())) {
        return false;
      }
    }
    if (!OutputsDiffer(*inputs, *outputs)) {
      return false;
    }
    if (!CheckFolder(options_.profile, session_.diagnostics())) {
      return false;
    }
    auto program = Load({options_.graph, *dims, *inputs, *outputs});
    if (!program) {
      return false;
    }
    auto graph = SelectGraph(*program, options_.graph, session_.diagnostics());
    if (!graph || !CheckNames(*outputs, "--output", "parameter that is written",
                              graph->OutputNames(), session_.diagnostics())) {
      return false;
    }
    std::unique_ptr<Launcher> launcher = MakeLauncher(*program, *graph, *dims, options_.sms);
    if (launcher == nullptr) {
      return false;
    }
    TensorSources sources{*dims, *inputs, options_.seed, options_.scale};
    sources.checked_by_launch = program->Describe().debug_checks != 0;
    auto run = MakeTensors(*launcher, *graph, sources, session_.diagnostics());
    if (!run) {
      return false;
    }
    for (const etc_param_info& param : graph->params) {
      if (param.access != ETC_OUT && !IsFloat(param.dtype) && !inputs->contains(param.name)) {
        drawn_.push_back(fmt::format("`%{}`", param.name));
      }
    }
    std::optional<Results> reference;
    if (options_.check) {
      reference = RunReference(*program, *graph, *run);
      if (!reference) {
        return false;
      }
      launcher->PoisonWorkspace(kPoison);
    }
    Results results = Launch(*launcher, *run, reference);
    CheckAlike(*launcher, *run, results);
    // Where each rank has a process, all know the same, and rank 0 tells it.
    return own_rank_.value_or(0) != 0 ||
           (Write(*outputs, *run, *launcher, results) && WriteProfile(*launcher));
  }

  bool OutputsDiffer(const Assignments& inputs, const Assignments& outputs) {
    std::vector<std::string> read = FilesOf(options_.source);
    for (const auto& [name, file] : inputs) {
      read.push_back(file);
    }
    std::vector<std::string> written = {options_.profile};
    for (const auto& [name, file] : outputs) {
      written.push_back(file);
    }
    return CheckOutputs(written, read, session_);
  }

  /// What is promised of integers does not hold for all that may be drawn.
  void NoteDrawn(etc_status status, Diagnostic& report) const {
    if (status == ETC_ERROR_VALUE && !drawn_.empty()) {
      report.notes.push_back(
          {{},
           fmt::format("{} {} drawn at random; `--input NAME=FILE` gives elements",
                       fmt::join(drawn_, ", "), drawn_.size() == 1 ? "was" : "were")});
    }
  }

  /// Says of a failure whose it is, where each rank has a process.
  void PhasesOfRank() {
    try {
      (void)Phases();
    } catch (const Error& error) {
      if (!own_rank_ || std::string_view(error.what()).starts_with("rank ")) {
        throw;
      }
      throw Error(error.status(), fmt::format("rank {}: {}", *own_rank_, error.what()));
    }
  }

  /// Nothing after an error.
  std::unique_ptr<Launcher> MakeLauncher(const Program& program, const GraphView& graph,
                                         const std::map<std::string, int64_t>& dims, int32_t sms) {
    if (graph.mesh.empty()) {
      if (!options_.devices.empty()) {
        Refuse(fmt::format("`--devices`: `@{}` has no ranks", graph.name));
        return nullptr;
      }
      if (options_.join) {
        Refuse(fmt::format("`--join`: `@{}` has no ranks", graph.name));
        return nullptr;
      }
      return std::make_unique<Execution>(program, graph.name, sms);
    }
    if (options_.join) {
      Group group = Group::Join(program, nullptr, graph.name.c_str());
      own_rank_ = group.Describe().own_rank;
      return std::make_unique<GroupExecution>(program, graph, std::move(group), sms);
    }
    auto ranks = RanksOf(graph, dims, session_.diagnostics());
    if (!ranks) {
      return nullptr;
    }
    if (!options_.devices.empty() && IsForHost(program)) {
      Refuse("`--devices`: the program runs on the host, so its ranks have no devices");
      return nullptr;
    }
    if (!options_.devices.empty() && options_.devices.size() != static_cast<size_t>(*ranks)) {
      Refuse(fmt::format("`--devices` has {} for {} ranks", options_.devices.size(), *ranks));
      return nullptr;
    }
    return std::make_unique<GroupExecution>(program, graph, *ranks, sms,
                                            DevicesOf(program, *ranks));
  }

  /// Of the ranks, where they are on GPUs.
  std::vector<int32_t> DevicesOf(const Program& program, int32_t ranks) const {
    std::vector<int32_t> devices = options_.devices;
    if (devices.empty() && !IsForHost(program)) {
      devices.resize(static_cast<size_t>(ranks));
      std::iota(devices.begin(), devices.end(), 0);
    }
    return devices;
  }

  /// The artifact itself, or one built from the source for the device.
  std::optional<Program> Load(const RunArguments& arguments) {
    if (!IsArtifact(options_.source.file)) {
      RunDevice device = options_.device.value_or(RunDevice::Host);
      LoweringOptions lowering = options_.lowering;
      if (!CheckCompiler(options_.target, device == RunDevice::Host, session_.diagnostics())) {
        return std::nullopt;
      }
      if (device == RunDevice::Host) {
        lowering.schedule.debug_checks = true;
        lowering.schedule.watchdog = true;
      }
      module_ = LoadModule(options_.source, session_, arguments.dims);
      if (module_ && module_->mesh) {
        written_ = std::make_unique<Module>(*module_);
      }
      if (!module_ || !HasProgram(*module_, session_) ||
          !CheckRunArguments(*module_, arguments, session_.diagnostics()) ||
          !RunPasses(*module_, PassesFor(*module_, lowering.schedule), lowering, timer_,
                     session_)) {
        return std::nullopt;
      }
      return Build(device);
    }
    if (!options_.of_sources.empty()) {
      Refuse(fmt::format("`{}` needs a source; `{}` is compiled already",
                         options_.of_sources.front(), options_.source.file));
      return std::nullopt;
    }
    Program program(options_.source.file);
    if (options_.lowering.schedule.debug_checks && program.Describe().debug_checks == 0) {
      Refuse(fmt::format("`{}` was compiled without `--debug-checks`", options_.source.file));
      return std::nullopt;
    }
    if (options_.lowering.schedule.watchdog_seconds && program.Describe().watchdog == 0) {
      Refuse(fmt::format("`{}` was compiled without `--watchdog`", options_.source.file));
      return std::nullopt;
    }
    if (!options_.profile.empty() && program.Describe().profile == 0) {
      Refuse(fmt::format("`{}` was compiled without `--profile`", options_.source.file));
      return std::nullopt;
    }
    bool on_host = IsForHost(program);
    if (options_.device && (*options_.device == RunDevice::Host) != on_host) {
      Refuse(fmt::format("`{}` is for {}; it cannot run on the {}", options_.source.file,
                         on_host ? "the host" : program.Describe().target,
                         on_host ? "GPU" : "host"));
      return std::nullopt;
    }
    if (options_.check && !on_host) {
      Refuse("`--check` of a GPU program needs its source, to build the host's");
      return std::nullopt;
    }
    return program;
  }

  std::optional<Program> Build(RunDevice device) {
    TargetOptions target = options_.target;
    target.arch = device == RunDevice::Host ? Arch::Host : options_.lowering.schedule.target->arch;
    if (options_.lowering.schedule.debug_checks) {
      WarnOfUnchecked(*module_, target.arch, session_.diagnostics());
    }
    return builder_.Build(*module_, target, std::string(Spelling(target.arch)));
  }

  void Refuse(std::string message) {
    session_.diagnostics().Error(DiagnosticKind::CommandLine, {}, std::move(message));
  }

  /// The same tensors through the host target, where nothing runs at the same time: on one SM, and
  /// for several ranks as the program of all of them, one call after the other.
  std::optional<Results> RunReference(const Program& program, const GraphView& graph,
                                      const RunTensors& run) {
    if (!graph.mesh.empty()) {
      return RunJoined(program, graph, run);
    }
    std::optional<Program> host;
    if (!IsForHost(program)) {
      host = Build(RunDevice::Host);
      if (!host) {
        return std::nullopt;
      }
    }
    Progress progress("the reference runs");
    Execution execution(host ? *host : program, graph.name, 1);
    for (const auto& [name, value] : run.dims) {
      execution.instance().SetDim(name, value);
    }
    for (const TensorData& tensor : run.tensors) {
      execution.Bind(tensor);
    }
    execution.PoisonWorkspace(kReferencePoison);
    execution.Launch();
    return execution.Fetch();
  }

  std::optional<Results> RunJoined(const Program& program, const GraphView& graph,
                                   const RunTensors& run) {
    if (written_ == nullptr) {
      Refuse("`--check` of a program with a mesh needs its source");
      return std::nullopt;
    }
    const int64_t ranks = run.dims.at(graph.mesh);
    module_ = std::make_unique<Module>(JoinRanks(AtRanks(*written_, ranks), ranks));
    LoweringOptions lowering = options_.lowering;
    lowering.schedule.schedule = ScheduleKind::Kernels;
    if (!RunPasses(*module_, StaticPipeline(lowering.schedule), lowering, timer_, session_)) {
      return std::nullopt;
    }
    auto joined = Build(RunDevice::Host);
    if (!joined) {
      return std::nullopt;
    }
    Progress progress("the reference runs");
    const Shards shards(program, graph, static_cast<int32_t>(ranks));
    std::vector<TensorData> tensors;
    for (const TensorData& tensor : run.tensors) {
      tensors.push_back(shards.Parts(tensor));
    }
    Execution execution(*joined, graph.name, 1);
    auto view = SelectGraph(*joined, graph.name, session_.diagnostics());
    for (const etc_dim_info& dim : view->dims) {
      execution.SetDim(dim.name, run.dims.at(dim.name));
    }
    for (const TensorData& tensor : tensors) {
      execution.Bind(tensor);
    }
    execution.PoisonWorkspace(kReferencePoison);
    execution.Launch();
    return execution.Fetch();
  }

  /// Launches as often as asked; with a reference, every launch is compared.
  Results Launch(Launcher& launcher, const RunTensors& run,
                 const std::optional<Results>& reference) {
    Progress progress("the program runs");
    std::vector<double> times;
    Results results;
    for (int64_t i = 0; i < options_.repeat; ++i) {
      times.push_back(launcher.Launch());
      bool last = i + 1 == options_.repeat;
      if (!reference && !last) {
        continue;
      }
      results = launcher.Fetch();
      if (reference) {
        CompareLaunch(i, last, run, *reference, results);
      }
    }
    if (options_.repeat > 1) {
      Spread spread = SpreadOf(times);
      report_ += fmt::format("{} launches: median {:.4f} ms, min {:.4f} ms, max {:.4f} ms\n",
                             times.size(), spread.median, spread.least, spread.greatest);
    }
    return results;
  }

  /// Reports the last launch in full, and of those before it what failed.
  void CompareLaunch(int64_t launch, bool last, const RunTensors& run, const Results& reference,
                     const Results& results) {
    double tolerance = options_.tolerance.value_or(
        options_.device.value_or(RunDevice::Host) == RunDevice::Gpu ? kGpuTolerance : 0.0);
    for (const TensorData& tensor : run.tensors) {
      if (tensor.access == ETC_IN) {
        continue;
      }
      Comparison comparison =
          Compare(tensor.dtype, reference.at(tensor.name), results.at(tensor.name), tolerance);
      checks_passed_ &= comparison.passes;
      if (last || !comparison.passes) {
        report_ +=
            (last ? "" : fmt::format("launch {}: ", launch)) + Describe(tensor.name, comparison);
      }
    }
  }

  /// Ranks that share a part have the same results.
  void CheckAlike(Launcher& launcher, const RunTensors& run, const Results& results) {
    for (const TensorData& tensor : run.tensors) {
      if (tensor.access == ETC_IN) {
        continue;
      }
      std::string unequal = launcher.Unequal(tensor, results.at(tensor.name));
      if (!unequal.empty()) {
        session_.diagnostics().Error(DiagnosticKind::Mismatch, {}, std::move(unequal));
      }
    }
  }

  bool Write(const Assignments& outputs, const RunTensors& run, Launcher& launcher,
             const Results& results) {
    std::vector<OutputFile> files;
    for (const TensorData& tensor : run.tensors) {
      if (tensor.access == ETC_IN) {
        continue;
      }
      const Bytes bytes = launcher.Whole(tensor, results.at(tensor.name));
      if (auto output = outputs.find(tensor.name); output != outputs.end()) {
        files.push_back({output->second, FileContents(output->second, tensor, bytes)});
      } else if (outputs.empty()) {
        report_ += Summarise(tensor, bytes);
      }
    }
    return WriteFiles(files, session_.diagnostics()) &&
           (TraceIsOutput() || WriteStdout(report_, session_.diagnostics()));
  }

  /// Then nothing else is, so that the trace can be read.
  bool TraceIsOutput() const { return options_.profile == "-"; }

  /// Of the last launch.
  bool WriteProfile(Launcher& launcher) {
    if (options_.profile.empty()) {
      return true;
    }
    const LaunchProfile profile = launcher.instance().Profile();
    return WriteText(options_.profile, profile.Json(), session_.diagnostics()) &&
           (TraceIsOutput() || WriteStdout(profile.Describe().summary, session_.diagnostics()));
  }

  const RunOptions& options_;
  Session session_;
  PhaseTimer timer_;
  ProgramBuilder builder_{session_, options_.source.include_dirs};
  std::unique_ptr<Module> module_;
  std::unique_ptr<Module> written_;  // of a source with a mesh: in front of the passes
  std::string report_;
  bool checks_passed_ = true;
  std::vector<std::string> drawn_;   // inputs of integers, where no file gives them
  std::optional<int32_t> own_rank_;  // where each rank has a process
};

}  // namespace

ExitCode Execute(const RunOptions& options) { return RunJob(options).Run(); }

}  // namespace etc
