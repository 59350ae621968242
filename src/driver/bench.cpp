// `etc bench`: build or load the programs → make inputs → measure by turns → report.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>

#include "bench/bandwidth.h"
#include "bench/bytes_read.h"
#include "bench/measure.h"
#include "bench/report.h"
#include "bench/tensors.h"
#include "compile/front.h"
#include "compile/pipeline.h"
#include "compile/program_builder.h"
#include "driver/commands.h"
#include "driver/output_files.h"
#include "etc/device.h"
#include "support/files.h"
#include "support/progress.h"
#include "tensor/program_view.h"

namespace etc {
namespace {

/// The names of files without folder and extension. A file that shares that with another is named
/// as it was given.
std::vector<std::string> RowNames(const std::vector<std::string>& files) {
  auto stem = [](const std::string& file) { return std::filesystem::path(file).stem().string(); };
  std::vector<std::string> names;
  for (const std::string& file : files) {
    auto same = [&](const std::string& other) { return stem(other) == stem(file); };
    names.push_back(std::ranges::count_if(files, same) == 1 ? stem(file) : file);
  }
  return names;
}

class BenchJob {
 public:
  explicit BenchJob(const BenchOptions& options)
      : options_(options), session_(options.source.diagnostics) {}

  ExitCode Run() {
    ReportFailures([&] { (void)Phases(); }, session_.diagnostics());
    return session_.Finish();
  }

 private:
  using Sizes = std::map<std::string, int64_t>;

  bool Phases() {
    Diagnostics& diagnostics = session_.diagnostics();
    auto dims = ParseIntAssignments(options_.dims, "--dim", diagnostics);
    auto inputs = ParseAssignments(options_.inputs, "--input", diagnostics);
    auto values = ParseIntAssignments(options_.values, "--value", diagnostics);
    if (!dims || !inputs || !values || !FilesFit(*inputs) || !Load(*dims)) {
      return false;
    }
    auto graph = SelectGraph(programs_.front(), options_.graph, diagnostics);
    if (!graph || !CheckAlike(graph->name)) {
      return false;
    }
    BenchReport report;
    bool on_gpu = !IsForHost(programs_.front());
    if (on_gpu && !FindBandwidth(report)) {
      return false;
    }
    auto place = on_gpu ? MakeGpuPlace() : MakeHostPlace();
    Progress progress("the programs take turns");
    auto tensors =
        MakeBenchTensors(*place, programs_.front(), *graph,
                         {*dims, *inputs, *values, options_.seed, options_.scale}, diagnostics);
    if (!tensors) {
      return false;
    }
    report.place = place->Name();
    report.target = programs_.front().Describe().target;
    report.graph = graph->name;
    report.dims = tensors->dims;
    report.launches = options_.launches;
    report.bytes_read =
        module_ ? BytesRead(*module_, *tensors, graph->name, *options_.machine) : std::nullopt;
    if (module_ && !report.bytes_read) {
      return Refuse(
          fmt::format("`{}` has no graph `{}` for these sizes", options_.source.file, graph->name));
    }
    if (!MeasuresSource() && module_ && !IsSourceOf(*tensors, graph->name)) {
      return false;
    }
    std::vector<BenchProgram> named;
    for (size_t i = 0; i < programs_.size(); ++i) {
      named.push_back({names_[i], &programs_[i]});
    }
    report.rows = MeasureByTurns(*place, *tensors, graph->name, named, options_.launches);
    return WriteText(options_.output,
                     options_.format == BenchFormat::Json ? BenchJson(report) : BenchTable(report),
                     diagnostics);
  }

  bool MeasuresSource() const { return !IsArtifact(options_.files.front()); }

  /// One source, or artifacts alone; and a place for the results, before long work.
  bool FilesFit(const Assignments& inputs) {
    size_t artifacts = static_cast<size_t>(
        std::count_if(options_.files.begin(), options_.files.end(), IsArtifact));
    if (artifacts == 0 && options_.files.size() > 1) {
      return Refuse("several sources are given; one is compiled under each schedule");
    }
    if (artifacts != 0 && artifacts != options_.files.size()) {
      return Refuse("a source stands among artifacts; `--source FILE` says what they are made of");
    }
    if (artifacts == 0 && !options_.source.file.empty()) {
      return Refuse("`--source` is for artifacts");
    }
    if (artifacts != 0 && !options_.schedules.empty()) {
      return Refuse("`--schedules` needs a source; artifacts are scheduled already");
    }
    if (artifacts != 0 && options_.source.file.empty() && !options_.of_sources.empty()) {
      return Refuse(
          fmt::format("`{}` needs a source: `--source FILE`", options_.of_sources.front()));
    }
    return CheckOutputs({options_.output}, Inputs(inputs), session_) &&
           CheckFolder(options_.output, session_.diagnostics());
  }

  std::vector<std::string> Inputs(const Assignments& inputs) const {
    std::vector<std::string> read = FilesOf(options_.source);
    for (const std::string& file : options_.files) {
      std::ranges::copy(FilesOf(file), std::back_inserter(read));
    }
    for (const auto& [name, file] : inputs) {
      read.push_back(file);
    }
    return read;
  }

  bool Load(const Sizes& sizes) {
    if (MeasuresSource()) {
      return BuildSchedules(sizes);
    }
    names_ = RowNames(options_.files);
    for (const std::string& file : options_.files) {
      programs_.emplace_back(file);
      bool on_host = IsForHost(programs_.back());
      if (options_.device && (*options_.device == RunDevice::Host) != on_host) {
        return Refuse(fmt::format("`{}` is for {}; it cannot run on the {}", file,
                                  on_host ? "the host" : programs_.back().Describe().target,
                                  on_host ? "GPU" : "host"));
      }
    }
    if (options_.source.file.empty()) {
      return true;
    }
    const bool on_host = IsForHost(programs_.front());
    auto module = LoadUnscheduled(options_.source.file, sizes, on_host);
    module_ = module ? Schedule(*module, {}, on_host) : nullptr;
    return module_ != nullptr;
  }

  bool BuildSchedules(const Sizes& sizes) {
    std::vector<std::string> schedules = options_.schedules;
    if (schedules.empty()) {
      schedules = {std::string(Spelling(ScheduleKind::Static)),
                   std::string(Spelling(ScheduleKind::Kernels))};
    }
    bool on_host =
        options_.device ? *options_.device == RunDevice::Host : etc_device_available() != ETC_OK;
    TargetOptions target = GpuTarget();
    if (!CheckCompiler(target, on_host, session_.diagnostics())) {
      return false;
    }
    if (on_host) {
      target.arch = Arch::Host;
    }
    auto module = LoadUnscheduled(options_.files.front(), sizes, on_host);
    for (const std::string& name : schedules) {
      if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
        return Refuse(fmt::format("`--schedules` names `{}` twice", name));
      }
      auto scheduled = module ? Schedule(*module, KindOf(name), on_host) : nullptr;
      auto program = scheduled ? builder_.Build(*scheduled, target, name) : std::nullopt;
      if (!program) {
        return false;
      }
      programs_.push_back(std::move(*program));
      names_.push_back(name);
      if (!module_) {
        module_ = std::move(scheduled);
      }
    }
    return true;
  }

  TargetOptions GpuTarget() const {
    TargetOptions target = options_.target;
    target.arch = options_.machine->arch;
    return target;
  }

  static ScheduleKind KindOf(const std::string& name) {
    for (ScheduleKind kind :
         {ScheduleKind::Drain, ScheduleKind::Dynamic, ScheduleKind::Kernels, ScheduleKind::Auto}) {
      if (name == Spelling(kind)) {
        return kind;
      }
    }
    return ScheduleKind::Static;
  }

  std::unique_ptr<Module> LoadUnscheduled(const std::string& file, const Sizes& sizes,
                                          bool on_host) {
    SourceOptions source = options_.source;
    source.file = file;
    source.for_host = on_host;
    auto module = LoadModule(source, session_, sizes);
    if (!module || !HasProgram(*module, session_)) {
      return nullptr;
    }
    if (IsScheduled(*module)) {
      Refuse(fmt::format("`{}` is scheduled already; compile it, and measure the artifact",
                         DisplayName(file)));
      return nullptr;
    }
    return module;
  }

  std::unique_ptr<Module> Schedule(const Module& module, std::optional<ScheduleKind> kind,
                                   bool on_host) {
    LoweringOptions lowering;
    lowering.schedule.schedule = kind;
    lowering.schedule.target = options_.machine;
    lowering.schedule.flag_in_data = !on_host;
    PhaseTimer timer;
    auto scheduled = std::make_unique<Module>(module);
    bool ok = RunPasses(*scheduled, StaticPipeline(lowering.schedule), lowering, timer, session_);
    return ok ? std::move(scheduled) : nullptr;
  }

  /// Artifacts can be compared only when they take the same tensors on the same target.
  bool CheckAlike(const std::string& graph) {
    for (size_t i = 1; i < programs_.size(); ++i) {
      std::string difference = Difference(programs_.front(), programs_[i], graph);
      if (!difference.empty()) {
        session_.diagnostics().Error(
            DiagnosticKind::Mismatch, {},
            fmt::format("`{}` and `{}` cannot be compared: they differ in {}",
                        options_.files.front(), options_.files[i], difference));
        return false;
      }
    }
    return true;
  }

  /// Whether the source has the parameters of the artifacts; with other constants it has not.
  bool IsSourceOf(const BenchTensors& tensors, const std::string& graph) {
    std::string difference = Difference(*module_, tensors, graph);
    if (!difference.empty()) {
      session_.diagnostics().Error(
          DiagnosticKind::Mismatch, {},
          fmt::format("`{}` with these constants is not the source of `{}`: they differ in {}",
                      options_.source.file, options_.files.front(), difference));
    }
    return difference.empty();
  }

  bool FindBandwidth(BenchReport& report) {
    if (options_.bandwidth) {
      report.bandwidth = Bandwidth{*options_.bandwidth * 1e12, false};
      return true;
    }
    Progress progress("the bandwidth is measured");
    report.bandwidth = MeasureBandwidth(GpuTarget(), options_.source.include_dirs, session_);
    return report.bandwidth.has_value();
  }

  bool Refuse(std::string message) {
    session_.diagnostics().Error(DiagnosticKind::CommandLine, {}, std::move(message));
    return false;
  }

  const BenchOptions& options_;
  Session session_;
  ProgramBuilder builder_{session_, options_.source.include_dirs};
  std::deque<Program> programs_;  // by their names
  std::vector<std::string> names_;
  std::unique_ptr<Module> module_;  // scheduled; absent where the source is not known
};

}  // namespace

ExitCode Execute(const BenchOptions& options) { return BenchJob(options).Run(); }

}  // namespace etc
