// What a task reads of memory that holds nothing when a launch starts was written before: by
// itself (`BodyWrites`), or by a task that comes before it in program order, to which `ProveRaces`
// holds them.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/proofs/buffers.h"
#include "analysis/proofs/prover.h"

namespace etc {
namespace {

constexpr unsigned long kSteps = 1'000'000;

class CoverageProof {
 public:
  CoverageProof(Prover& prover, const ProgramAccesses& accesses, Renewal& renewal)
      : prover_(prover),
        unknowns_(prover.unknowns),
        module_(prover.unknowns.module()),
        calls_(unknowns_.program().calls),
        first_(accesses.first),
        unwritten_(accesses.unwritten),
        renewal_(renewal),
        sizes_(unknowns_.GlobalFacts()) {}

  void Run() {
    for (const ProgramCall& call : calls_) {
      for (const AccessRegion& region : unwritten_[call.index]) {
        Check(call, region);
      }
    }
    for (TensorId param : unknowns_.program().params) {
      if (module_.tensors[param].access == Access::Out && !unknowns_.program().scheduled) {
        CheckOutput(param);
      }
    }
  }

 private:
  /// Whether an earlier call of each iteration writes every element that is ever touched.
  bool IsRenewed(const ProgramCall& reader, TensorId tensor) {
    return std::any_of(calls_.begin(), calls_.begin() + static_cast<std::ptrdiff_t>(reader.index),
                       [&](const ProgramCall& call) {
                         return CommonRepeats(call, reader) == call.repeats.size() &&
                                renewal_.Renews(call, tensor);
                       });
  }

  /// Pairs of a task 1 of `x` and a task 2 of `y` of which the first comes first in program order.
  Set Before(const ProgramCall& x, const ProgramCall& y) const {
    size_t repeats = CommonRepeats(x, y);
    Set before = unknowns_.All() - unknowns_.All();
    for (size_t i = 0; i < repeats; ++i) {
      before = before | InLaterIteration(unknowns_, i);
    }
    return x.index < y.index ? before | InOneIteration(unknowns_, repeats) : before;
  }

  /// What tasks before task 2 of the reader write of a tensor: certainly, or perhaps.
  Set Written(const ProgramCall& reader, TensorId tensor, bool certainly) const {
    std::vector<std::string> kept = ElementNamesOf(unknowns_, tensor);
    for (const std::string& name : TaskNames(reader, 2)) {
      kept.push_back(name);
    }
    Set written = unknowns_.All() - unknowns_.All();
    auto add = [&](const AccessRegion& region, const std::vector<std::string>& fixed,
                   const Set& when) {
      if (!region.write || region.tensor != tensor) {
        return;
      }
      auto set = region.exact || !certainly ? std::optional(region.set) : Permuted(region, fixed);
      written = set ? written | OverSizes(unknowns_, *set & when, kept) : written;
    };
    for (const ProgramCall& writer : calls_) {
      for (const AccessRegion& region : first_[writer.index]) {
        add(region, IterationNames(writer, 1), Before(writer, reader));
      }
    }
    return written;
  }

  /// Distinct values below their number are a permutation: what is written at all of them is all.
  /// The elements that are so written, over what else the region is about; nothing where one of the
  /// `fixed` variables says at which of the values.
  std::optional<Set> Permuted(const AccessRegion& region,
                              const std::vector<std::string>& fixed) const {
    const Term* values = nullptr;
    for (const Term* term : unknowns_.TermsIn(region.set)) {
      bool only = values == nullptr && term->kind == Term::Kind::Element && term->distinct &&
                  term->promised && term->slice == 0;
      if (!term->global && !only) {
        return std::nullopt;
      }
      values = term->global ? values : term;
    }
    if (values == nullptr || !region.possible) {
      return std::nullopt;
    }
    const Tensor& tensor = module_.tensors[values->tensor];
    Converter converter(unknowns_);
    PwAff count = unknowns_.Constant(1);
    Set whole = unknowns_.All();  // the indices of all values
    std::vector<std::string> inner{values->name};
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      std::string name = unknowns_.VariableOf(values->args[i]);
      bool free = !name.empty() && std::find(fixed.begin(), fixed.end(), name) == fixed.end() &&
                  std::find(inner.begin(), inner.end(), name) == inner.end();
      if (!free) {
        return std::nullopt;
      }
      inner.push_back(name);
      PwAff extent = converter.Int(tensor.shape[i]);
      count = converter.Times(count, extent);
      whole = whole & Le(unknowns_.Constant(0), unknowns_.Param(name)) &
              Lt(unknowns_.Param(name), extent);
    }
    PwAff lo = converter.Int(tensor.value_lo);
    PwAff hi = converter.Int(tensor.value_hi);
    if (!IsEmpty(unknowns_.Close(sizes_ & Ne(hi, lo + count)))) {
      return std::nullopt;
    }
    PwAff value = unknowns_.Param(values->name);
    for (const std::string& name : ElementNamesOf(unknowns_, region.tensor)) {
      PwAff element = unknowns_.Param(name);
      if (!IsSubset(region.set, Eq(element, value))) {
        continue;
      }
      std::vector<std::string> gone = inner;
      gone.push_back(name);
      Set rest = ProjectOut(region.set, gone);
      Set all = unknowns_.Close(rest & whole & Eq(element, value));
      if (IsSubset(all, region.set)) {
        return rest & Le(lo, element) & Lt(element, hi);
      }
    }
    return std::nullopt;
  }

  void Check(const ProgramCall& reader, const AccessRegion& read) {
    ProofTally& tally = prover_.report.coverage;
    prover_.context.SetBudget(kSteps);
    if (IsRenewed(reader, read.tensor)) {
      ++tally.proved;
      return;
    }
    Set open = unknowns_.Close((read.set & sizes_) - Written(reader, read.tensor, true));
    if (!IsEmpty(open) && !read.exact) {
      open = unknowns_.WithAxioms(open);
    }
    if (IsEmpty(open)) {
      ++tally.proved;
      return;
    }
    std::optional<Point> point;
    if (read.possible) {
      Set never = (read.set & sizes_) - Written(reader, read.tensor, false);
      point = FindWitness(unknowns_, unknowns_.Close(never));
    }
    point ? Refute(reader, read, *point) : LeaveOpen(reader, read, open);
  }

  void Refute(const ProgramCall& reader, const AccessRegion& read, const Point& point) {
    const Tensor& tensor = module_.tensors[read.tensor];
    Diagnostic* error = prover_.Refuted(
        prover_.report.coverage, DiagnosticKind::Coverage, reader.range,
        fmt::format("{} reads {}, which no task before it writes{}", TaskText(reader, point, 2),
                    ElementText(unknowns_, read.tensor, point),
                    WhereText(unknowns_, point, &reader, 2)));
    if (error == nullptr) {
      return;
    }
    for (const ProgramCall& writer : calls_) {
      if (writer.index != reader.index && Writes(writer, read.tensor)) {
        error->notes.push_back(
            {writer.range, fmt::format("`@{}` writes other elements", writer.device->name)});
      }
    }
    error->notes.push_back(
        {tensor.range, fmt::format("what `%{}` holds at the start is undefined", tensor.name)});
  }

  bool Writes(const ProgramCall& call, TensorId tensor) const {
    return std::any_of(
        first_[call.index].begin(), first_[call.index].end(),
        [&](const AccessRegion& region) { return region.write && region.tensor == tensor; });
  }

  void LeaveOpen(const ProgramCall& reader, const AccessRegion& read, const Set& open) {
    const std::string& name = module_.tensors[read.tensor].name;
    Reason reason = ReasonOf(unknowns_, open);
    for (const ProgramCall& writer : calls_) {
      for (const AccessRegion& region : first_[writer.index]) {
        if (open && region.write && region.tensor == read.tensor && !region.exact) {
          reason = fmt::format("data decide what `@{}` writes", writer.device->name);
        }
      }
    }
    prover_.NotProved(prover_.report.coverage, DiagnosticKind::Coverage, reader.range,
                      fmt::format("`@{}` reads elements of `%{}` that were written before",
                                  reader.device->name, name),
                      reason);
  }

  void CheckOutput(TensorId id) {
    prover_.context.SetBudget(kSteps);
    const Tensor& tensor = module_.tensors[id];
    std::vector<std::string> names = ElementNamesOf(unknowns_, id);
    std::vector<PwAff> extents = ElementExtents(unknowns_, id);
    Set never = sizes_;
    for (size_t i = 0; i < names.size(); ++i) {
      PwAff element = unknowns_.Param(names[i]);
      never = never & Le(unknowns_.Constant(0), element) & Lt(element, extents[i]);
    }
    for (const auto& regions : first_) {
      for (const AccessRegion& region : regions) {
        if (region.write && region.tensor == id) {
          never = never - OverSizes(unknowns_, region.set, names);
        }
      }
    }
    if (auto point = FindWitness(unknowns_, unknowns_.Close(never))) {
      prover_.diagnostics.Warning(
          DiagnosticKind::Coverage, tensor.range,
          fmt::format("no task writes {}{}", ElementText(unknowns_, id, *point),
                      WhereText(unknowns_, *point, nullptr, 1)));
    }
  }

  Prover& prover_;
  Unknowns& unknowns_;
  const Module& module_;
  const std::vector<ProgramCall>& calls_;
  const std::vector<std::vector<AccessRegion>>& first_;
  const std::vector<std::vector<AccessRegion>>& unwritten_;
  Renewal& renewal_;
  Set sizes_;
};

}  // namespace

void ProveCoverage(Prover& prover, const ProgramAccesses& accesses, Renewal& renewal) {
  CoverageProof(prover, accesses, renewal).Run();
}

}  // namespace etc
