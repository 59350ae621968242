// Generates programs that are meant to be right, and holds what the commands of etc say of each
// against what is really wrong with it.
//
// Fails when a right program is refused, when a wrong one is accepted, when a command ends in an
// internal error, and when the commands do not agree.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>

#include "command_line.h"
#include "commands.h"
#include "generator.h"
#include "ir/printer.h"
#include "oracle.h"
#include "outcome.h"
#include "schedule/passes.h"
#include "slice_generator.h"
#include "text/parser.h"

namespace etc::mutation {
namespace {

/// A program that takes longer is not judged: it is said.
constexpr int64_t kMostSeconds = 120;  // of a core

struct Options : CommonOptions {
  int64_t programs = 1000;
  int64_t first = 0;  // the number of the first, to go on where a run was cut off
  int64_t processes = 1;
  bool events = true;
  double slow = 10;  // seconds of a core: a program that takes longer is named
};

/// What families are counted by: words of a program's description.
constexpr std::array kFamilies = {"no repeat",      "repeat in a repeat",
                                  "repeat",         "ring",
                                  "slices",         "strides",
                                  "halves",         "even and odd",
                                  "first and rest", "full tiles and tail",
                                  "required part",  "free axis",
                                  "scalar",         "flag",
                                  "scan",           "local",
                                  "else",           "empty sizes",
                                  "a wait dropped", "stencils, gathers, ragged tiles"};

enum class End { Outcome, Internal, Disagree, NotJudged, IllFormed, Died, Count };
constexpr std::array kEnds = {"",           "INTERNAL ERROR", "COMMANDS DISAGREE",
                              "not judged", "NO PROGRAM",     "DIED OR TOOK TOO LONG"};

/// What all processes count together.
struct Counters {
  std::atomic<int64_t> outcomes[static_cast<size_t>(Outcome::Count)];
  std::atomic<int64_t> ends[static_cast<size_t>(End::Count)];
  std::atomic<int64_t> families[kFamilies.size()];
  std::atomic<int64_t> failures;
  std::atomic<int64_t> next;
  std::atomic<int64_t> begun;
  std::atomic<int64_t> microseconds;  // of all cores
  std::atomic<int64_t> most_microseconds;
};

/// Of this process, on all cores.
int64_t MicrosecondsSpent() {
  timespec spent{};
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return spent.tv_sec * 1'000'000 + spent.tv_nsec / 1000;
}

struct Generated {
  std::string text;
  std::string family;
  JudgeOptions judging;
};

class Campaign {
 public:
  explicit Campaign(Options options) : options_(std::move(options)) {
    void* memory =
        mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    counters_ = new (memory) Counters{};
  }

  /// A process that ends otherwise than by coming to the end has died of the program that it was
  /// at.
  int Run() {
    counters_->next = options_.first;
    std::map<pid_t, int64_t> running;
    auto start = [&] {
      std::fflush(stdout);
      pid_t child = fork();
      if (child == 0) {
        Work();
        std::fflush(stdout);
        _exit(0);
      }
      running[child] = 0;
    };
    for (int64_t i = 0; i < options_.processes; ++i) {
      start();
    }
    while (!running.empty()) {
      int status = 0;
      pid_t child = wait(&status);
      running.erase(child);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        ++counters_->ends[static_cast<size_t>(End::Died)];
        ++counters_->failures;
        start();
      }
    }
    return Report();
  }

 private:
  void Work() {
    while (true) {
      int64_t number = counters_->next++;
      if (number >= options_.first + options_.programs || options_.TimeIsUp()) {
        return;
      }
      ++counters_->begun;
      Generated program = Generate(number);
      current_ = Save(number, program.text, "");
      Limit(kMostSeconds);
      int64_t before = MicrosecondsSpent();
      RunOne(number, program);
      CountTime(number, program, MicrosecondsSpent() - before);
      Limit(0);
      if (!current_.empty()) {
        std::filesystem::remove(current_);
      }
    }
  }

  void CountTime(int64_t number, const Generated& program, int64_t spent) {
    counters_->microseconds += spent;
    int64_t most = counters_->most_microseconds;
    while (spent > most && !counters_->most_microseconds.compare_exchange_weak(most, spent)) {
    }
    double seconds = static_cast<double>(spent) * 1e-6;
    if (seconds > options_.slow) {
      fmt::print("program {} ({}) took {:.1f} s of a core\n", number, program.family, seconds);
    }
  }

  /// Ends the process after as much time of a core; 0 for no end.
  static void Limit(int64_t seconds) {
    itimerval limit{{0, 0}, {seconds, 0}};
    (void)setitimer(ITIMER_PROF, &limit, nullptr);
  }

  Generated Generate(int64_t number) const {
    uint64_t seed = options_.seed * 1'000'003 + static_cast<uint64_t>(number);
    if (number % 4 == 3) {
      std::string text = GenerateProgram(seed);
      return {options_.events ? text : WithoutEvents(text),
              "stencils, gathers, ragged tiles",
              {{}, 5, 5}};
    }
    SliceText slices = GenerateSlices(seed, options_.events);
    JudgeOptions judging;
    for (auto [n, m] :
         std::vector<std::pair<int64_t, int64_t>>{{0, 0}, {1, 1}, {2, 1}, {3, 0}, {5, 2}, {9, 9}}) {
      judging.sizes.push_back({{"n", n}, {"m", m}});
    }
    return {slices.text, slices.family, judging};
  }

  static std::string WithoutEvents(const std::string& text) {
    SourceFile source("program.etir", text);
    Diagnostics diagnostics;
    auto module = Parse(source, diagnostics);
    for (const Pass& pass : AllPasses()) {
      if (pass.name == "strip-events") {
        (void)pass.run(*module, {}, diagnostics);
      }
    }
    return Print(*module);
  }

  void RunOne(int64_t number, Generated& program) {
    CommandsResult result = RunCommands(program.text);
    if (!result.check.module || result.check.IllFormed()) {
      Fail(number, program, End::IllFormed, result);
      return;
    }
    if (!result.internal.empty()) {
      Fail(number, program, End::Internal, result);
      return;
    }
    if (!result.Agree()) {
      Fail(number, program, End::Disagree, result);
      return;
    }
    KeepDeclared(*result.check.module, program.judging);
    Verdict verdict = Judge(*result.check.module, program.judging);
    if (!verdict.judged) {
      ++counters_->ends[static_cast<size_t>(End::NotJudged)];
      return;
    }
    Outcome outcome = Classify(result.check, verdict);
    if (result.check.proofs_refute) {
      auto judged = OutcomeOfRefuted(result.check, outcome, verdict);
      if (!judged) {
        ++counters_->ends[static_cast<size_t>(End::NotJudged)];
        return;
      }
      outcome = *judged;
    }
    ++counters_->outcomes[static_cast<size_t>(outcome)];
    CountFamilies(program.family);
    if (outcome == Outcome::RightNotProved) {
      fmt::print("program {} ({}): not proved: {}\n", number, program.family,
                 result.check.report.not_proved[0]);
    }
    bool refused = outcome == Outcome::RightRule || outcome == Outcome::RightVerifier;
    if (IsDefect(outcome) || refused) {
      std::string found;
      for (const auto& [wrong, detail] : verdict.wrong) {
        found += fmt::format("// {}: {}\n", Name(wrong), detail);
      }
      Fail(number, program, Name(outcome), found + result.check.messages);
    }
  }

  /// Of the sizes to judge at, those that the program is for.
  static void KeepDeclared(const Module& module, JudgeOptions& judging) {
    for (SymbolId id : module.symbols.Ids()) {
      if (module.symbols[id].kind == SymbolKind::Dim) {
        auto range = RangeOfDim(module, id);
        std::erase_if(judging.sizes, [&](const auto& sizes) {
          int64_t value = sizes.at(module.symbols[id].name);
          return value < range->lo || value > range->hi;
        });
      }
    }
  }

  void CountFamilies(std::string family) {
    for (size_t i = 0; i < kFamilies.size(); ++i) {
      size_t at = family.find(kFamilies[i]);
      if (at != std::string::npos) {
        ++counters_->families[i];
        family.erase(at, std::string(kFamilies[i]).size());
      }
    }
  }

  void Fail(int64_t number, const Generated& program, End end, const CommandsResult& result) {
    ++counters_->ends[static_cast<size_t>(end)];
    Fail(number, program, kEnds[static_cast<size_t>(end)],
         fmt::format("// check {}, opt {}, compile {}, run {}; {}\n{}{}", result.check.Accepted(),
                     result.opt, result.compile, result.run, result.internal, result.check.messages,
                     result.messages));
  }

  void Fail(int64_t number, const Generated& program, const std::string& what,
            const std::string& messages) {
    if (++counters_->failures <= 20) {
      fmt::print("program {} ({}): {}\n{}\n", number, program.family, what, messages);
    }
    (void)Save(number, program.text, fmt::format("{} ({})\n{}", what, program.family, messages));
  }

  /// The file, where files are wanted. Without a comment the program is only being looked at.
  std::string Save(int64_t number, const std::string& text, const std::string& comment) const {
    if (options_.save.empty()) {
      return "";
    }
    auto path = std::filesystem::path(options_.save) /
                fmt::format("{}{}.etir", comment.empty() ? "running-" : "", number);
    std::ofstream file(path);
    file << text;
    for (size_t begin = 0; begin < comment.size();) {
      size_t end = std::min(comment.find('\n', begin), comment.size());
      file << "// " << comment.substr(begin, end - begin) << '\n';
      begin = end + 1;
    }
    return path;
  }

  int Report() const {
    fmt::print("{} programs {}\n", counters_->begun.load(),
               options_.events ? "with events of their own" : "without events");
    double seconds = static_cast<double>(counters_->microseconds) * 1e-6;
    fmt::print("{:8.2f} s of a core for each, {:.1f} s for the slowest\n\n",
               seconds / static_cast<double>(std::max<int64_t>(counters_->begun, 1)),
               static_cast<double>(counters_->most_microseconds) * 1e-6);
    for (size_t i = 0; i < static_cast<size_t>(Outcome::Count); ++i) {
      fmt::print("{:8} {}\n", counters_->outcomes[i].load(), Name(static_cast<Outcome>(i)));
    }
    for (size_t i = 1; i < kEnds.size(); ++i) {
      fmt::print("{:8} {}\n", counters_->ends[i].load(), kEnds[i]);
    }
    fmt::print("\n");
    for (size_t i = 0; i < kFamilies.size(); ++i) {
      fmt::print("{:8} {}\n", counters_->families[i].load(), kFamilies[i]);
    }
    return counters_->failures == 0 ? 0 : 1;
  }

  Options options_;
  Counters* counters_;
  std::string current_;  // the file of the program that is being looked at
};

}  // namespace
}  // namespace etc::mutation

int main(int argc, char** argv) {
  etc::mutation::Options options;
  std::string events = "yes";
  CLI::App app("Generates programs that are meant to be right");
  app.add_option("--programs", options.programs, "How many")->capture_default_str();
  app.add_option("--first", options.first, "The number of the first, to go on with a run")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--processes", options.processes, "Side by side")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--slow", options.slow, "Name programs that take longer, in seconds of a core")
      ->capture_default_str();
  app.add_option("--events", events, "Whether they have events of their own")
      ->check(CLI::IsMember({"yes", "no"}))
      ->capture_default_str();
  etc::mutation::AddCommonOptions(app, options);
  return etc::mutation::Main(app, argc, argv, [&] {
    options.events = events == "yes";
    return etc::mutation::Campaign(options).Run();
  });
}
