#include "tune/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "bench/measure.h"
#include "bench/tensors.h"
#include "compile/advice.h"
#include "compile/front.h"
#include "expand/kernel_options.h"
#include "schedule/choice_cost.h"
#include "schedule/schedule_cost.h"
#include "support/progress.h"
#include "tensor/program_view.h"
#include "tune/variants.h"

namespace etc {
namespace {

/// Of one thing that is open no more options are compiled and measured.
constexpr size_t kMostOptions = 5;

/// Sums in another order differ by less, relative to all of an output. What differs by more is
/// wrong, however quick.
constexpr double kMostDifference = 0.05;

/// Beside what the first program wrote, which may be infinite, as the logits of padding are.
bool IsRight(const BenchRow& row) {
  return std::all_of(row.outputs.begin(), row.outputs.end(), [](const BenchOutput& output) {
    return output.equal || (output.as_finite && output.relative_l2.value_or(0) < kMostDifference);
  });
}

class Tuner : public TrialBench {
 public:
  Tuner(const TuneJob& job, const Module& open, Tuning& tuning, const std::atomic<bool>& stop,
        Session& session)
      : job_(job), open_(open), tuning_(tuning), stop_(stop), session_(session) {}

  std::optional<TuneResult> Run(const std::function<void(const SearchStep&)>& on_step) {
    const Tuning as_it_was = tuning_;
    if (job_.source.library_tuning) {
      auto library = LibraryAdvice(*job_.source.target, session_.diagnostics());
      library_ = library ? std::move(*library) : Advise{};
    }
    auto decisions = DecisionsOf(open_, job_.source, session_);
    if (!decisions || !FindRange(*decisions)) {
      return std::nullopt;
    }
    TuneResult result;
    result.coordinates = Coordinates(*decisions);
    if (stop_) {
      result.search.stopped = true;
      return result;
    }
    if (result.coordinates.empty()) {
      return ReportNothingOpen();
    }
    Variants variants(open_, graph_, where_, Advice(), job_.source, job_.target, stop_, session_);
    coordinates_ = &result.coordinates;
    variants_ = &variants;
    Sort(result.coordinates);
    Assignment as_it_is(result.coordinates.size());
    const Program* first = variants.With(result.coordinates, as_it_is);
    if (first == nullptr && stop_) {
      result.search = {as_it_is, 0, 0, true};
      return result;
    }
    if (first == nullptr) {
      variants.Report(result.coordinates, as_it_is);
      return std::nullopt;
    }
    if (!MakeTensors(*first)) {
      return std::nullopt;
    }
    result.search = Search(result.coordinates, job_.rounds, *this, [&](const SearchStep& step) {
      const Coordinate& coordinate = *step.coordinate;
      if (step.before != step.after) {
        Set(tuning_, TuningTargets(job_.source).front(), coordinate.question,
            coordinate.options[step.after]);
      }
      on_step(step);
    });
    CompareAtTheEnd(result);
    if (result.search.taken_back_ms) {
      tuning_ = as_it_was;
    }
    return result;
  }

  void Expect(const std::vector<Assignment>& trials) override {
    Progress progress("the programs of a round are compiled");
    variants_->Make(*coordinates_, trials);
  }

  std::optional<std::vector<double>> Measure(const std::vector<Assignment>& trials) override {
    variants_->Make(*coordinates_, trials);
    std::vector<const Program*> programs;
    std::vector<BenchProgram> different;
    for (const Assignment& trial : trials) {
      const Program* program = stop_ ? nullptr : variants_->With(*coordinates_, trial);
      programs.push_back(program);
      auto same = [&](const BenchProgram& other) { return other.program == program; };
      if (program != nullptr && std::none_of(different.begin(), different.end(), same)) {
        different.push_back({fmt::format("{}", different.size()), program});
      }
    }
    if (stop_) {
      return std::nullopt;
    }
    if (different.size() > 1 || !times_.contains(programs.front())) {
      auto rows = turns_->Measure(different, job_.launches, stop_);
      if (!rows) {
        return std::nullopt;
      }
      for (size_t i = 0; i < rows->size(); ++i) {
        const BenchRow& row = (*rows)[i];
        times_[different[i].program] =
            IsRight(row) ? row.ms.median : std::numeric_limits<double>::infinity();
      }
    }
    std::vector<double> times;
    for (const Program* program : programs) {
      times.push_back(program != nullptr ? times_.at(program)
                                         : std::numeric_limits<double>::infinity());
    }
    return times;
  }

 private:
  Advise Advice() const {
    return [tuning = tuning_, targets = TuningTargets(job_.source),
            library = library_](const Question& question) {
      auto answer = Find(tuning, targets, question, "the tuning");
      return answer || !library ? answer : library(question);
    };
  }

  /// What the steps measured is from other times, so what was found takes turns with what was.
  /// Only a gain that shows there, too, is one.
  void CompareAtTheEnd(TuneResult& result) {
    const Program* before =
        variants_->With(result.coordinates, Assignment(result.coordinates.size()));
    const Program* after = variants_->With(result.coordinates, result.search.best);
    if (before == after) {
      result.search.first_ms = result.search.best_ms;
    } else {
      const std::atomic<bool> never = false;  // a stop ends the search, and not this
      auto rows = turns_->Measure({{"before", before}, {"after", after}}, job_.launches, never);
      Conclude(result.search, (*rows)[0].ms.median, (*rows)[1].ms.median);
    }
  }

  /// The range that the sizes lie in.
  bool FindRange(const std::vector<Decision>& decisions) {
    std::set<std::string> missing;
    bool is_open = false;
    for (const Decision& decision : decisions) {
      if (!job_.graph.empty() && decision.graph != job_.graph) {
        continue;
      }
      is_open = true;
      bool holds = true;
      for (const auto& [dim, range] : RangesOf(open_, decision.where)) {
        const std::string& name = open_.symbols[dim].name;
        auto size = job_.dims.find(name);
        if (size == job_.dims.end()) {
          missing.insert(name);
        }
        holds = holds && size != job_.dims.end() && range.lo <= size->second &&
                size->second <= range.hi;
      }
      if (holds) {
        graph_ = decision.graph;
        where_ = decision.where;
        return true;
      }
    }
    if (!is_open) {
      (void)ReportNothingOpen();
      return false;
    }
    session_.diagnostics().Error(
        DiagnosticKind::CommandLine, {},
        missing.empty()
            ? "the sizes of `--dim` lie in no range that the graph is specialised for"
            : fmt::format("the graph is specialised for `{}`, of which `--dim` gives no size",
                          fmt::join(missing, "`, `")));
    return false;
  }

  std::nullopt_t ReportNothingOpen() {
    session_.diagnostics().Error(
        DiagnosticKind::CommandLine, {},
        job_.graph.empty() ? "nothing is left open in the program"
                           : fmt::format("nothing is left open in a graph `{}`", job_.graph));
    return std::nullopt;
  }

  bool IsInRange(const Decision& decision) const {
    return decision.graph == graph_ && RangesOf(open_, decision.where) == RangesOf(open_, where_);
  }

  /// What is open in the range, with the options that the simulator does not tell apart.
  std::vector<Coordinate> Coordinates(const std::vector<Decision>& decisions) {
    ChoiceCosts costs(open_, *job_.source.target, Advice());
    ScheduleCosts schedules(open_, *job_.source.target, Advice());
    std::vector<Coordinate> coordinates;
    for (const Decision& decision : decisions) {
      if (stop_) {
        break;  // the simulator may take a while for each
      }
      const Question& question = decision.question;
      auto same = [&](const Coordinate& one) {
        return one.question.function == question.function &&
               one.question.parameter == question.parameter &&
               Describe(one.question) == Describe(question);
      };
      bool has_loader = question.parameter != kLoader || !job_.target.IsHost();
      if (!IsInRange(decision) || decision.answer.by == Decider::Pin || !has_loader ||
          std::any_of(coordinates.begin(), coordinates.end(), same)) {
        continue;
      }
      Coordinate coordinate{
          question, Near(question, decision.answer.option, Estimates(decision, costs, schedules))};
      if (coordinate.options.size() > 1) {
        coordinates.push_back(std::move(coordinate));
      }
    }
    return coordinates;
  }

  /// The simulator is too coarse for what is on its way, so each throttle is tried.
  static std::vector<double> Estimates(const Decision& decision, ChoiceCosts& costs,
                                       const ScheduleCosts& schedules) {
    const Question& question = decision.question;
    return question.parameter == kLoader     ? std::vector<double>(question.options.size())
           : question.parameter == kSchedule ? schedules.Of(decision)
                                             : costs.Of(question);
  }

  std::vector<std::string> Near(const Question& question, const std::string& now,
                                const std::vector<double>& times) const {
    double least = *std::min_element(times.begin(), times.end());
    std::vector<size_t> order;
    for (size_t i = 0; i < times.size(); ++i) {
      if (question.options[i].name != now && times[i] <= least * (1 + job_.near)) {
        order.push_back(i);
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return times[a] < times[b]; });
    std::vector<std::string> near = {now};
    for (size_t i = 0; i < order.size(); ++i) {
      near.push_back(question.options[order[i]].name);
    }
    return near;
  }

  /// Of each coordinate, the options whose texts are different come first, and only so many stay.
  /// One that changes nothing as all is now may change something once another has changed.
  void Sort(std::vector<Coordinate>& coordinates) const {
    std::vector<Assignment> all;
    for (size_t at = 0; at < coordinates.size(); ++at) {
      for (size_t option = 0; option < coordinates[at].options.size(); ++option) {
        all.emplace_back(coordinates.size());
        all.back()[at] = option;
      }
    }
    std::vector<std::string> texts = variants_->TextsOf(coordinates, all);
    auto text = texts.begin();
    for (Coordinate& coordinate : coordinates) {
      std::vector<std::string> different, others;
      std::set<std::string> seen = {""};  // of options that do not go together
      for (std::string& option : coordinate.options) {
        (seen.insert(*text++).second ? different : others).push_back(std::move(option));
      }
      different.insert(different.end(), others.begin(), others.end());
      if (coordinate.question.parameter != kLoader) {
        different.resize(std::min(different.size(), kMostOptions));
      }
      coordinate.options = std::move(different);
    }
  }

  bool MakeTensors(const Program& program) {
    auto graph = SelectGraph(program, graph_, session_.diagnostics());
    if (!graph) {
      return false;
    }
    place_ = job_.target.IsHost() ? MakeHostPlace() : MakeGpuPlace();
    tensors_ = MakeBenchTensors(*place_, program, *graph, {job_.dims, {}, job_.values, 0, 1.0},
                                session_.diagnostics());
    if (tensors_) {
      turns_.emplace(*place_, *tensors_, graph_);
    }
    return tensors_.has_value();
  }

  const TuneJob& job_;
  const Module& open_;
  Tuning& tuning_;
  const std::atomic<bool>& stop_;
  Session& session_;
  Advise library_;
  std::string graph_;
  std::vector<Where> where_;
  const std::vector<Coordinate>* coordinates_ = nullptr;
  Variants* variants_ = nullptr;
  std::unique_ptr<BenchPlace> place_;
  std::optional<BenchTensors> tensors_;
  std::optional<Turns> turns_;
  std::map<const Program*, double> times_;  // measured last; infinite for a wrong one
};

}  // namespace

std::optional<TuneResult> Tune(const TuneJob& job, const Module& open, Tuning& tuning,
                               const std::atomic<bool>& stop,
                               const std::function<void(const SearchStep&)>& on_step,
                               Session& session) {
  return Tuner(job, open, tuning, stop, session).Run(on_step);
}

}  // namespace etc
