// `etc tune`: load → the options that are near → measure whole launches → write the tuning file.
#include "tune/tune.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "bench/measure.h"
#include "compile/front.h"
#include "compile/tuning.h"
#include "driver/commands.h"
#include "etc/device.h"
#include "support/assignments.h"
#include "support/files.h"
#include "support/stderr.h"
#include "support/termination.h"
#include "tensor/program_view.h"
#include "tune/time_limit.h"

namespace etc {
namespace {

std::atomic<bool> stop_asked = false;

/// During its life Ctrl-C ends the search, which then keeps what it has found. A second one ends
/// etc.
class StopOnInterrupt {
 public:
  StopOnInterrupt() { AtInterruptSet(&stop_asked); }
  ~StopOnInterrupt() { AtInterruptSet(nullptr); }
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;
};

/// `[######......] 6 of 12  @linear rows, B = 1..3: 16 -> 8, 0.941 -> 0.925 ms`
void Show(const SearchStep& step) {
  constexpr size_t kWidth = 24;
  size_t done = step.number * kWidth / step.of;
  const Coordinate& coordinate = *step.coordinate;
  std::string change =
      step.before == step.after
          ? fmt::format("{} stays, {:.4f} ms", coordinate.options[step.after], step.after_ms)
          : fmt::format("{} -> {}, {:.4f} -> {:.4f} ms", coordinate.options[step.before],
                        coordinate.options[step.after], step.before_ms, step.after_ms);
  const std::string where = Describe(coordinate.question);
  PrintToStderr("[{}{}] {} of {}  @{} {}{}{}: {}\n", std::string(done, '#'),
                std::string(kWidth - done, '.'), step.number, step.of, coordinate.question.function,
                coordinate.question.parameter, where.empty() ? "" : ", ", where, change);
}

class TuneCommand {
 public:
  explicit TuneCommand(const TuneOptions& options)
      : options_(options), session_(options.source.diagnostics) {}

  ExitCode Run() {
    ReportFailures([&] { Phases(); }, session_.diagnostics());
    return session_.Finish();
  }

 private:
  void Phases() {
    Diagnostics& diagnostics = session_.diagnostics();
    auto dims = ParseIntAssignments(options_.dims, "--dim", diagnostics);
    auto values = ParseIntAssignments(options_.values, "--value", diagnostics);
    auto tuning = ReadTuning();
    if (!dims || !values || !tuning || !CheckDestination(options_.output, diagnostics)) {
      return;
    }
    TuneJob job{options_.source, options_.target,   options_.graph,  *dims,
                *values,         options_.launches, options_.rounds, options_.near / 100};
    // What the file says is where the search begins.
    job.source.tuning = std::filesystem::exists(options_.output) ? options_.output : "";
    bool on_host =
        options_.device ? *options_.device == RunDevice::Host : etc_device_available() != ETC_OK;
    job.target.arch = on_host ? Arch::Host : options_.source.target->arch;
    job.source.for_host = on_host;
    if (!CheckCompiler(job.target, on_host, diagnostics)) {
      return;
    }
    if (on_host && !options_.device) {
      PrintToStderr(
          "there is no GPU, so the host is measured; what is found holds for programs on the "
          "host\n");
    }
    TimeLimit limit(options_.time, stop_asked);
    auto open = LoadOpen(options_.source, session_);
    if (!open) {
      return;
    }
    StopOnInterrupt stop;
    std::optional<double> first_ms;
    auto on_step = [&](const SearchStep& step) {
      Show(step);
      first_ms = first_ms.value_or(step.before_ms);
      if (step.before != step.after) {
        // Whatever ends the search later, this is kept. What fails here is tried again at the end,
        // and reported there.
        Diagnostics unreported;
        (void)WriteText(options_.output, TuningText(*tuning), unreported);
        // In the end what was found takes turns with what was there before.
        limit.Keep(TurnsSeconds({*first_ms, step.after_ms}, options_.launches));
      }
    };
    auto result = Tune(job, *open, *tuning, stop_asked, on_step, session_);
    if (!result || !WriteText(options_.output, TuningText(*tuning), diagnostics)) {
      return;
    }
    if (result->search.first_ms == 0) {
      (void)WriteStdout("stopped: nothing was measured\n", diagnostics);
      return;
    }
    double gain = 100 * (1 - result->search.best_ms / result->search.first_ms);
    // Who asks for it while the last programs are timed is told so, too.
    const bool stopped = result->search.stopped || stop_asked;
    const std::optional<double> taken_back_ms = result->search.taken_back_ms;
    (void)WriteStdout(
        fmt::format(
            "{}{}{:.4f} ms as it was, {:.4f} ms now ({:.1f} % less)\n", stopped ? "stopped: " : "",
            taken_back_ms
                ? fmt::format("taken back, as it took {:.4f} ms in the end: ", *taken_back_ms)
                : "",
            result->search.first_ms, result->search.best_ms, gain),
        diagnostics);
  }

  /// What the output has so far; nothing where there is no such file.
  std::optional<Tuning> ReadTuning() {
    if (!std::filesystem::exists(options_.output)) {
      return Tuning{};
    }
    auto text = ReadInput(options_.output, session_.diagnostics());
    return text ? ParseTuning(*text, options_.output, session_.diagnostics()) : std::nullopt;
  }

  const TuneOptions& options_;
  Session session_;
};

}  // namespace

ExitCode Execute(const TuneOptions& options) { return TuneCommand(options).Run(); }

}  // namespace etc
