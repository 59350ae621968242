// Damages programs and holds what `etc check` says of each against what is really wrong with it.
//
// Fails when a program that goes wrong is accepted, when one that is right is refuted by a proof,
// and when two ways to find what is wrong disagree.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <unordered_set>

#include "check.h"
#include "command_line.h"
#include "examples.h"
#include "generator.h"
#include "index_generator.h"
#include "ir/printer.h"
#include "mutator.h"
#include "oracle.h"
#include "outcome.h"
#include "rank_generator.h"
#include "routing_generator.h"
#include "scheduled.h"
#include "slice_generator.h"
#include "text/parser.h"
#include "verify/verify.h"

namespace etc::mutation {
namespace {

struct Options : CommonOptions {
  int64_t mutants = 1000;
  unsigned threads = 1;
  std::string examples;
  std::string example;  // the only one; empty for all
  size_t of_each_example = 60;
  bool queues = false;   // all bases that are generated become queues
  bool ranks = false;    // all bases that are generated are of two ranks
  bool indices = false;  // all bases that are generated are named by elements of elements
  bool dynamic = false;  // all bases give out tasks at run time, and what gives them out is damaged
};

class Campaign {
 public:
  explicit Campaign(Options options) : options_(std::move(options)) {}

  int Run() {
    if (!options_.examples.empty()) {
      bases_ = MakeExamples(options_.examples, options_.example);
    }
    if (options_.dynamic) {
      MakeExamplesDynamic();
    }
    examples_ = bases_.size();
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < options_.threads; ++i) {
      threads.emplace_back([this] { Work(); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    return Report();
  }

 private:
  void Work() {
    while (true) {
      uint64_t number = next_++;
      if (number < examples_) {
        RunBase(bases_[number], number, options_.of_each_example);
      } else if (!IsDone()) {
        uint64_t seed = options_.seed * 1'000'003 + number;
        bool mixed = !options_.ranks && !options_.indices;
        bool routes = mixed && number % 4 == 3;
        bool slices = mixed && number % 4 == 1;
        Base base{fmt::format("{}seed {}",
                              options_.ranks     ? "ranks, "
                              : options_.indices ? "indices, "
                              : routes           ? "routing, "
                              : slices           ? "slices, "
                                                 : "",
                              seed),
                  options_.ranks     ? GenerateRanks(seed)
                  : options_.indices ? GenerateIndices(seed)
                  : routes           ? GenerateRouting(seed)
                  : slices           ? GenerateSlices(seed, true).text
                                     : GenerateProgram(seed),
                  {},
                  {}};
        if (options_.dynamic) {
          MakeDynamic(base, number);
        } else if (number % 20 == 19 && !options_.indices) {
          ScheduleAtOnePlace(base);
        } else if (options_.queues || number % 5 == 4) {
          Schedule(base, options_.queues        ? ScheduleKind::Dynamic
                         : number / 20 % 2 == 0 ? ScheduleKind::Drain
                                                : ScheduleKind::Static);
        }
        RunBase(base, number, 40);
      } else {
        return;
      }
    }
  }

  bool IsDone() const { return tried_ >= options_.mutants || options_.TimeIsUp(); }

  static void MakeDynamic(Base& base, uint64_t number) {
    if (number % 3 == 0) {
      ScheduleHybrid(base, number);
    } else {
      Schedule(base, number % 3 == 1 ? ScheduleKind::Dynamic : ScheduleKind::Drain);
    }
  }

  /// Each of them as a queue, a drain and a hybrid.
  void MakeExamplesDynamic() {
    std::vector<Base> made;
    for (const Base& base : bases_) {
      for (uint64_t kind = 0; kind < 3; ++kind) {
        MakeDynamic(made.emplace_back(base), kind);
      }
    }
    bases_ = std::move(made);
  }

  void RunBase(const Base& base, uint64_t number, size_t limit) {
    CheckResult check = Check(base.text, base.constants);
    if (check.IllFormed()) {
      Fail(base, "the base", base.text, check.messages);
      return;
    }
    std::string text = Print(*check.module);
    if (!RunOne(base, "none", text)) {
      return;
    }
    std::vector<Mutation> all = Mutations(*check.module);
    if (options_.dynamic) {
      std::erase_if(all, [](const Mutation& mutation) { return !mutation.of_dispatch; });
    }
    std::mt19937_64 random(number);
    std::shuffle(all.begin(), all.end(), random);
    for (size_t i = 0, done = 0; i < all.size() && done < limit; ++i) {
      if (options_.TimeIsUp() || (number >= examples_ && IsDone())) {
        return;
      }
      auto module = Damage(text, all[i]);
      if (!module) {
        continue;
      }
      std::string what = all[i].what;
      std::string mutant = Print(*module);
      if (random() % 6 == 0) {  // one of six is damaged twice
        auto again = Reparse(mutant);
        std::vector<Mutation> more = again ? Mutations(*again) : std::vector<Mutation>();
        if (!more.empty()) {
          const Mutation& second = more[random() % more.size()];
          second.apply(*again);
          Tidy(*again);
          what += " + " + second.what;
          mutant = Print(*again);
        }
      }
      done += RunOne(base, what, mutant) ? 1 : 0;
    }
  }

  static std::unique_ptr<Module> Reparse(const std::string& text) {
    SourceFile source("mutant.etir", text);
    Diagnostics diagnostics;
    return Parse(source, diagnostics);
  }

  static std::unique_ptr<Module> Damage(const std::string& text, const Mutation& mutation) {
    auto module = Reparse(text);
    mutation.apply(*module);
    Tidy(*module);
    return module;
  }

  /// Edges that name no event are no text.
  static void Tidy(Module& module) {
    for (NodeId id : module.nodes.Ids()) {
      if (auto* call = std::get_if<CallNode>(&module.nodes[id])) {
        for (std::vector<Edge>* edges : {&call->waits, &call->notifies}) {
          std::erase_if(*edges, [](const Edge& edge) { return edge.refs.empty(); });
        }
      }
    }
  }

  /// False when the mutant counts for nothing: it is no program, was seen before, or cannot be
  /// judged.
  bool RunOne(const Base& base, const std::string& what, const std::string& text) {
    uint64_t order = 0;
    {
      std::lock_guard lock(mutex_);
      if (!seen_.insert(base.name.substr(0, 4) + text).second) {
        return false;
      }
      order = seen_.size();
    }
    CheckResult check = Check(text, base.constants);
    if (check.IllFormed()) {
      ++ill_formed_;
      return false;
    }
    size_t states = order % (options_.queues ? 3 : 10) == 0 ? 1000 : 0;
    Verdict verdict =
        Judge(*check.module, {base.sizes, 13, 26, options_.dynamic ? 0 : states, true});
    if (options_.dynamic) {
      Verdict small = Judge(*check.module, {base.sizes, 3, 3, 500, true});
      verdict.explored = small.explored;
      verdict.disagreements = small.disagreements;
    }
    if (!verdict.judged) {
      ++not_judged_;
      return false;
    }
    Outcome outcome = Classify(check, verdict);
    if (check.proofs_refute) {
      auto judged = OutcomeOfRefuted(check, outcome, verdict);
      if (!judged) {
        ++not_judged_;
        return false;
      }
      outcome = *judged;
    }
    std::string reason = Reason(check, outcome);
    ++tried_;
    std::lock_guard lock(mutex_);
    explored_ += verdict.explored;
    explored_mutants_ += verdict.explored > 0 ? 1 : 0;
    ++totals_[outcome];
    ++by_operator_[what.substr(0, what.find(" + "))][outcome];
    if (outcome != Outcome::RightAccepted && outcome != Outcome::WrongRefuted &&
        outcome != Outcome::WrongVerifier) {
      auto& [count, example] = reasons_[{outcome, reason}];
      if (count++ == 0) {
        example = base.name + ": " + what;
      }
    }
    if (IsDefect(outcome) || (outcome == Outcome::WrongNotProved && !options_.save.empty())) {
      std::string found;
      for (const auto& [wrong, detail] : verdict.wrong) {
        found += fmt::format("// {}: {}\n", Name(wrong), detail);
      }
      Save(base, what, text, outcome, found, check.messages);
    }
    return true;
  }

  void Save(const Base& base, const std::string& what, const std::string& text, Outcome outcome,
            const std::string& found, const std::string& messages) {
    if (IsDefect(outcome) && ++failures_ <= 20) {
      fmt::print("{}: {}: {}\n{}{}", base.name, what, Name(outcome), found, messages);
    }
    if (!options_.save.empty()) {
      std::ofstream file(std::filesystem::path(options_.save) /
                         fmt::format("{}-{}.etir", static_cast<int>(outcome), ++saved_));
      file << "// " << base.name << ": " << what << '\n' << found << text;
      std::stringstream lines(messages);
      for (std::string line; std::getline(lines, line);) {
        file << "// " << line << '\n';
      }
    }
  }

  void Fail(const Base& base, const std::string& what, const std::string& text,
            const std::string& messages) {
    std::lock_guard lock(mutex_);
    ++failures_;
    fmt::print("{}: {} is no program\n{}\n{}\n", base.name, what, messages, text);
  }

  int Report() {
    fmt::print("{} programs and mutants\n{} launches with every state visited, of {} of them\n",
               tried_.load(), explored_, explored_mutants_);
    fmt::print("not counted: {} no program, {} depend on data they compute\n\n", ill_formed_.load(),
               not_judged_.load());
    for (size_t i = 0; i < static_cast<size_t>(Outcome::Count); ++i) {
      fmt::print("{:8} {}\n", totals_[static_cast<Outcome>(i)], Name(static_cast<Outcome>(i)));
    }
    fmt::print("\n{:44} {:>7} {:>7} {:>7}\n", "operator (the first of two)", "wrong", "right",
               "failed");
    for (const auto& [what, outcomes] : by_operator_) {
      int64_t wrong = 0;
      int64_t right = 0;
      int64_t failed = 0;
      for (const auto& [outcome, count] : outcomes) {
        (IsDefect(outcome) ? failed : outcome <= Outcome::WrongNotProved ? wrong : right) += count;
      }
      fmt::print("{:44} {:7} {:7} {:7}\n", what, wrong, right, failed);
    }
    fmt::print("\n");
    for (const auto& [key, value] : reasons_) {
      fmt::print("{:8} {} [{}]; first: {}\n", value.first, Name(key.first), key.second,
                 value.second);
    }
    return failures_ == 0 && IsDone() ? 0 : 1;
  }

  Options options_;
  std::vector<Base> bases_;
  size_t examples_ = 0;
  std::atomic<uint64_t> next_ = 0;
  std::atomic<int64_t> tried_ = 0;
  std::atomic<int64_t> ill_formed_ = 0;
  std::atomic<int64_t> not_judged_ = 0;
  std::mutex mutex_;
  std::unordered_set<std::string> seen_;
  int64_t explored_ = 0;
  int64_t explored_mutants_ = 0;
  int64_t failures_ = 0;
  int64_t saved_ = 0;
  std::map<Outcome, int64_t> totals_;
  std::map<std::string, std::map<Outcome, int64_t>> by_operator_;
  std::map<std::pair<Outcome, std::string>, std::pair<int64_t, std::string>> reasons_;
};

}  // namespace
}  // namespace etc::mutation

int main(int argc, char** argv) {
  etc::mutation::Options options;
  CLI::App app("Damages programs and holds what is said of each against what is wrong with it");
  app.add_option("--mutants", options.mutants, "How many")->capture_default_str();
  app.add_option("--threads", options.threads, "Side by side")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--examples", options.examples, "A folder of examples to damage")
      ->check(CLI::ExistingDirectory);
  app.add_option("--example", options.example, "The only one of them");
  app.add_flag("--queues", options.queues, "All generated programs become queues");
  app.add_flag("--ranks", options.ranks, "All generated programs are of two ranks");
  app.add_flag("--indices", options.indices,
               "All generated programs name elements by elements of elements");
  app.add_flag(
      "--dynamic", options.dynamic,
      "All programs become drains, queues and hybrids, and what gives out tasks is damaged");
  app.add_option("--of-each-example", options.of_each_example, "How many mutants")
      ->capture_default_str();
  etc::mutation::AddCommonOptions(app, options);
  return etc::mutation::Main(app, argc, argv,
                             [&] { return etc::mutation::Campaign(options).Run(); });
}
