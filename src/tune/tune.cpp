#include "tune/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "bench/measure.h"
#include "bench/tensors.h"
#include "compile/front.h"
#include "ir/requirements.h"
#include "schedule/choice_cost.h"
#include "support/progress.h"
#include "tensor/program_view.h"
#include "tune/variants.h"

namespace etc {
namespace {

/// Of one thing that is open no more options are compiled and measured.
constexpr size_t kMostOptions = 4;

class Tuner {
 public:
  Tuner(const TuneJob& job, const Module& open, Tuning& tuning, const std::atomic<bool>& stop,
        Session& session)
      : job_(job), open_(open), tuning_(tuning), stop_(stop), session_(session) {}

  std::optional<TuneResult> Run(const std::function<void(const SearchStep&)>& on_step) {
    auto decisions = DecisionsOf(open_, job_.source, session_);
    if (!decisions || !FindRange(*decisions)) {
      return std::nullopt;
    }
    TuneResult result;
    result.coordinates = Coordinates(*decisions);
    Variants variants(open_, graph_, where_, Advice(), job_.source, job_.target, session_);
    coordinates_ = &result.coordinates;
    variants_ = &variants;
    const Program* first = variants.With(result.coordinates, Assignment(result.coordinates.size()));
    if (first == nullptr || !MakeTensors(*first)) {
      return std::nullopt;
    }
    result.search = Search(
        result.coordinates, job_.rounds,
        [&](const std::vector<Assignment>& trials) { return Measure(trials); }, on_step);
    for (size_t i = 0; i < result.coordinates.size(); ++i) {
      if (result.search.best[i] != 0) {
        const Coordinate& coordinate = result.coordinates[i];
        Set(tuning_, std::string(job_.source.target->name), coordinate.question,
            coordinate.options[result.search.best[i]]);
      }
    }
    return result;
  }

 private:
  Advise Advice() const {
    return [tuning = tuning_, target = std::string(job_.source.target->name)](
               const Question& question) { return Find(tuning, target, question, "the tuning"); };
  }

  /// The range that the sizes lie in.
  bool FindRange(const std::vector<Decision>& decisions) {
    for (const Decision& decision : decisions) {
      bool wanted = job_.graph.empty() || decision.graph == job_.graph;
      const DimRanges ranges = RangesOf(open_, decision.where);
      wanted = wanted && std::all_of(ranges.begin(), ranges.end(), [&](const auto& range) {
                 auto size = job_.dims.find(open_.symbols[range.first].name);
                 return size != job_.dims.end() && range.second.lo <= size->second &&
                        size->second <= range.second.hi;
               });
      if (wanted) {
        graph_ = decision.graph;
        where_ = decision.where;
        return true;
      }
    }
    session_.diagnostics().Error(DiagnosticKind::CommandLine, {},
                                 decisions.empty()
                                     ? "nothing is left open in the program"
                                     : "`--dim` names no size of each dimension that the graph is "
                                       "specialised for");
    return false;
  }

  bool IsInRange(const Decision& decision) const {
    const DimRanges mine = RangesOf(open_, where_);
    const DimRanges other = RangesOf(open_, decision.where);
    return decision.graph == graph_ && std::equal(mine.begin(), mine.end(), other.begin(),
                                                  other.end(), [](const auto& a, const auto& b) {
                                                    return a.first == b.first &&
                                                           a.second.lo == b.second.lo &&
                                                           a.second.hi == b.second.hi;
                                                  });
  }

  /// What is open in the range, with the options that the simulator does not tell apart.
  std::vector<Coordinate> Coordinates(const std::vector<Decision>& decisions) {
    ChoiceCosts costs(open_, *job_.source.target, Advice());
    std::vector<Coordinate> coordinates;
    for (const Decision& decision : decisions) {
      const Question& question = decision.question;
      auto same = [&](const Coordinate& one) {
        return one.question.function == question.function &&
               one.question.parameter == question.parameter &&
               Describe(one.question) == Describe(question);
      };
      if (!IsInRange(decision) || decision.answer.by == Decider::Pin ||
          std::any_of(coordinates.begin(), coordinates.end(), same)) {
        continue;
      }
      Coordinate coordinate{question, Near(question, decision.answer.option, costs)};
      if (coordinate.options.size() > 1) {
        coordinates.push_back(std::move(coordinate));
      }
    }
    return coordinates;
  }

  std::vector<std::string> Near(const Question& question, const std::string& now,
                                ChoiceCosts& costs) const {
    std::vector<double> times = costs.Of(question);
    double mine = std::numeric_limits<double>::infinity();
    double least = mine;
    for (size_t i = 0; i < times.size(); ++i) {
      least = std::min(least, times[i]);
      mine = question.options[i].name == now ? times[i] : mine;
    }
    std::vector<size_t> order;
    for (size_t i = 0; i < times.size(); ++i) {
      // What changes nothing that the model sees is mostly what this range does not use.
      if (question.options[i].name != now && times[i] != mine &&
          times[i] <= least * (1 + job_.near)) {
        order.push_back(i);
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return times[a] < times[b]; });
    std::vector<std::string> near = {now};
    for (size_t i = 0; i < order.size() && near.size() < kMostOptions; ++i) {
      near.push_back(question.options[order[i]].name);
    }
    return near;
  }

  bool MakeTensors(const Program& program) {
    auto graph = SelectGraph(program, graph_, session_.diagnostics());
    if (!graph) {
      return false;
    }
    place_ = job_.target.IsHost() ? MakeHostPlace() : MakeGpuPlace();
    tensors_ = MakeBenchTensors(*place_, program, *graph, {job_.dims, {}, job_.values, 0, 1.0},
                                session_.diagnostics());
    return tensors_.has_value();
  }

  std::optional<std::vector<double>> Measure(const std::vector<Assignment>& trials) {
    std::vector<double> times(trials.size(), std::numeric_limits<double>::infinity());
    std::vector<BenchProgram> programs;
    std::vector<size_t> of;
    for (size_t i = 0; i < trials.size(); ++i) {
      if (stop_) {
        return std::nullopt;
      }
      if (const Program* program = variants_->With(*coordinates_, trials[i])) {
        programs.push_back({fmt::format("{}", i), program});
        of.push_back(i);
      }
    }
    std::vector<BenchRow> rows =
        MeasureByTurns(*place_, *tensors_, graph_, programs, job_.launches);
    for (size_t i = 0; i < rows.size(); ++i) {
      bool finite = std::all_of(rows[i].outputs.begin(), rows[i].outputs.end(),
                                [](const BenchOutput& output) { return output.finite; });
      times[of[i]] = finite ? rows[i].ms.median : times[of[i]];
    }
    return stop_ ? std::nullopt : std::optional(std::move(times));
  }

  const TuneJob& job_;
  const Module& open_;
  Tuning& tuning_;
  const std::atomic<bool>& stop_;
  Session& session_;
  std::string graph_;
  std::vector<Where> where_;
  const std::vector<Coordinate>* coordinates_ = nullptr;
  Variants* variants_ = nullptr;
  std::unique_ptr<BenchPlace> place_;
  std::optional<BenchTensors> tensors_;
};

}  // namespace

std::optional<TuneResult> Tune(const TuneJob& job, const Module& open, Tuning& tuning,
                               const std::atomic<bool>& stop,
                               const std::function<void(const SearchStep&)>& on_step,
                               Session& session) {
  return Tuner(job, open, tuning, stop, session).Run(on_step);
}

}  // namespace etc
