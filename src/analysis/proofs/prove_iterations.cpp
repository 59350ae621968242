// Iterations of a `for` run side by side: of two that touch an element, none writes it.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/proofs/prover.h"

namespace etc {
namespace {

constexpr unsigned long kStepsForPair = 1'000'000;

class IterationProof {
 public:
  IterationProof(Prover& prover, const ProgramCall& call, const BodyLoops& loops,
                 Converter& converter)
      : prover_(prover),
        unknowns_(prover.unknowns),
        module_(prover.unknowns.module()),
        call_(call),
        loops_(loops),
        loop_(loops.around().back()),
        converter_(converter) {}

  void Run() {
    std::vector<const BodyAccess*> accesses = loops_.Shared();
    for (size_t i = 0; i < accesses.size(); ++i) {
      for (size_t j = 0; j <= i; ++j) {
        const BodyAccess& a = *accesses[i];
        const BodyAccess& b = *accesses[j];
        bool meet = TensorOf(a) == TensorOf(b) && !refuted_.contains(TensorOf(a));
        if (meet && (a.write || b.write)) {
          a.write ? Check(a, b) : Check(b, a);
        }
      }
    }
  }

 private:
  /// The tensor of the program, or a local.
  TensorId TensorOf(const BodyAccess& access) const {
    const Converter::Binding* binding = converter_.Find(access.tensor);
    return binding == nullptr ? access.tensor : binding->tensor;
  }

  /// The elements that are accessed, over the variables of the body.
  Set ElementsOf(const BodyAccess& access) {
    const Converter::Binding* binding = converter_.Find(access.tensor);
    std::vector<PwAff> indices = binding == nullptr ? std::vector<PwAff>() : binding->slice;
    for (ExprId index : access.indices) {
      indices.push_back(converter_.Int(index));
    }
    Set set = access.scope;
    for (size_t i = 0; i < indices.size(); ++i) {
      set = set & Eq(unknowns_.Param(ElementName(i)), indices[i]);
    }
    return unknowns_.Close(set);
  }

  /// Iterations that differ in some of the variables around both; of two alike accesses, each pair
  /// once.
  Set Differ(const BodyAccess& a, const BodyAccess& b) const {
    bool once = &a == &b;
    Set same = unknowns_.All();
    Set differ = same - same;
    size_t count = std::min(loops_.VariablesAround(a), loops_.VariablesAround(b));
    for (size_t i = 0; i < count; ++i) {
      const std::string& name = loop_.names[i];
      PwAff first = unknowns_.Param(name);
      PwAff second = unknowns_.Param(second_.at(name));
      differ = differ | (same & Lt(first, second));
      if (!once) {
        differ = differ | (same & Lt(second, first));
      }
      same = same & Eq(first, second);
    }
    return differ;
  }

  /// `a` writes.
  void Check(const BodyAccess& a, const BodyAccess& b) {
    ProofTally& tally = prover_.report.iterations;
    if (loops_.StayInIteration(a, b)) {
      ++tally.proved;
      return;
    }
    prover_.context.SetBudget(kStepsForPair);
    second_.clear();
    Set first = ElementsOf(a);
    Set second = &a == &b ? first : ElementsOf(b);
    second = unknowns_.RenameSince(loop_.mark, second, second_);
    for (const std::string& name : loop_.names) {
      if (!second_.contains(name)) {  // nothing depends on it
        second_[name] = unknowns_.Fresh(name.substr(0, name.find('#')));
      }
    }
    Set conflict = unknowns_.Close(first & second & Differ(a, b) & unknowns_.GlobalFacts());
    if (!IsEmpty(conflict)) {
      conflict = unknowns_.WithAxioms(Coalesce(conflict));
    }
    if (IsEmpty(conflict)) {
      ++tally.proved;
      return;
    }
    std::optional<Point> point;
    if (a.exact && b.exact) {
      point = FindWitness(unknowns_, unknowns_.Close(conflict));
    }
    if (point) {
      Refute(a, b, *point);
    } else {
      prover_.NotProved(tally, DiagnosticKind::IterationRace, b.range,
                        fmt::format("iterations {} `%{}` of `@{}` independently of each other",
                                    b.write ? "write" : "read and write",
                                    module_.tensors[a.tensor].name, call_.device->name),
                        ReasonOf(unknowns_, conflict));
    }
  }

  /// `i = 0, j = 2`: of the innermost loop, and the loops around it.
  std::string IterationText(const Point& point, bool second) const {
    std::string text;
    for (const BodyLoop& loop : loops_.around()) {
      for (size_t i = 0; i < loop.names.size(); ++i) {
        bool twin = second && &loop == &loop_;
        auto value = point.find(twin ? second_.at(loop.names[i]) : loop.names[i]);
        text += fmt::format("{}{} = {}", text.empty() ? "" : ", ",
                            module_.symbols[loop.variables[i]].name,
                            value == point.end() ? "…" : std::to_string(value->second));
      }
    }
    return text;
  }

  void Refute(const BodyAccess& a, const BodyAccess& b, const Point& point) {
    refuted_.insert(TensorOf(a));  // one error is enough
    const Tensor& tensor = module_.tensors[TensorOf(a)];
    bool is_for = std::holds_alternative<For>(module_.stmts[loop_.stmt]);
    std::string first = IterationText(point, false);
    std::string second = IterationText(point, true);
    std::string element = ElementText(tensor.name, tensor.shape.size(), point);
    Diagnostic* error = prover_.Refuted(
        prover_.report.iterations, DiagnosticKind::IterationRace, b.range,
        fmt::format("{} ({}) of {} {} {}, which {} ({}) writes{}", is_for ? "iteration" : "rank",
                    second, TaskText(call_, point, 1), b.write ? "writes" : "reads", element,
                    is_for ? "iteration" : "rank", first, WhereText(unknowns_, point, &call_, 1)));
    if (error == nullptr) {
      return;
    }
    if (a.range.begin != b.range.begin) {
      error->notes.push_back({a.range, fmt::format("({}) writes it here", first)});
    }
    uint32_t begin = module_.RangeOf(loop_.stmt).begin;
    error->notes.push_back(
        is_for ? Note{{begin, begin + 3},
                      "iterations of a `for` run side by side; `scan` runs them one after the "
                      "other, and a reduction such as `sum` combines what they find"}
               : Note{module_.RangeOf(loop_.stmt),
                      "a `topk` may store some ranks before it reads the values for others"});
    error->notes.push_back({call_.range, fmt::format("`@{}` is called here", call_.device->name)});
  }

  Prover& prover_;
  Unknowns& unknowns_;
  const Module& module_;
  const ProgramCall& call_;
  const BodyLoops& loops_;
  const BodyLoop& loop_;
  Converter& converter_;
  std::map<std::string, std::string> second_;  // what the second iteration calls it
  std::set<TensorId> refuted_;
};

}  // namespace

void ProveIterations(Prover& prover, const ProgramCall& call, const BodyLoops& loops,
                     Converter& converter) {
  IterationProof(prover, call, loops, converter).Run();
}

}  // namespace etc
