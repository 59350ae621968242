#include "tune/check_choices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "compile/pipeline.h"
#include "compile/program_builder.h"
#include "support/progress.h"
#include "tensor/compare.h"
#include "tensor/execution.h"
#include "tensor/param_values.h"
#include "tensor/program_view.h"
#include "tune/probes.h"

namespace etc {
namespace {

// Sums in another order differ in their last bits, and what is rounded after them now and then by
// one step. What is rounded at another place differs in most of its elements.
constexpr double kTolerance = 1e-5;
constexpr double kRoundedTolerance = 2e-4;         // of all elements of less than 32 bits
constexpr double kRoundedElementTolerance = 1e-3;  // of which Compare allows each ten times as much

/// Of what no range limits: few, some more where nothing has a range, and of a dimension that may
/// be large enough for distinct values.
constexpr int64_t kFew = 3;
constexpr int64_t kSome = 17;
constexpr int64_t kMany = 600;
constexpr int64_t kLarge = 100000;

constexpr int32_t kSms = 4;

bool IsNarrow(etc_dtype dtype) { return IsFloat(dtype) && etc_dtype_bytes(dtype) < 4; }

class ChoiceRun {
 public:
  ChoiceRun(const Program& program, const Module& module, int64_t ranks, Diagnostics& diagnostics)
      : program_(program), module_(module), ranks_(ranks), diagnostics_(diagnostics) {}

  /// Compares a probe with the one that says what is meant; one message at most.
  void Compare(const Probe& reference, const Probe& probe) {
    auto of_reference = SelectGraph(program_, reference.graph, diagnostics_);
    auto of_probe = SelectGraph(program_, probe.graph, diagnostics_);
    for (bool largest : {false, true}) {
      if (of_reference && of_probe &&
          !IsSame(reference, *of_reference, probe, *of_probe, largest)) {
        return;
      }
    }
  }

 private:
  std::map<std::string, int64_t> SizesOf(const Probe& probe, const GraphView& graph,
                                         bool largest) const {
    std::map<std::string, int64_t> sizes;
    for (const etc_dim_info& dim : graph.dims) {
      int64_t few = probe.range.empty() && largest ? kSome : kFew;
      int64_t size = dim.max >= kLarge ? kMany : few;
      for (const auto& [symbol, range] : probe.range) {
        if (module_.symbols[symbol].name == dim.name) {
          size = largest ? range.hi : range.lo;
        }
      }
      sizes[dim.name] = std::clamp(size / dim.multiple * dim.multiple, dim.min, dim.max);
    }
    return sizes;
  }

  /// The inputs of a group's probes, and what the reference makes of them.
  struct Meaning {
    std::vector<TensorData> tensors;
    Results results;
  };

  Results Run(const GraphView& graph, const std::map<std::string, int64_t>& sizes,
              std::vector<TensorData> tensors) const {
    Execution execution(program_, graph.name, kSms);
    SetSizes(execution, sizes);
    for (TensorData& tensor : tensors) {
      // Alternatives may ask for another layout of what is the same.
      auto param = std::find_if(graph.params.begin(), graph.params.end(),
                                [&](const auto& one) { return one.name == tensor.name; });
      tensor.tile = {param->tile[0], param->tile[1]};
      execution.Bind(tensor);
    }
    execution.Launch();
    return execution.Fetch();
  }

  static void SetSizes(Execution& execution, const std::map<std::string, int64_t>& sizes) {
    for (const auto& [name, size] : sizes) {
      execution.SetDim(name, size);
    }
  }

  std::vector<TensorData> MakeTensors(const Probe& probe, const GraphView& graph,
                                      const std::map<std::string, int64_t>& sizes) const {
    Execution execution(program_, graph.name, kSms);
    SetSizes(execution, sizes);
    std::vector<TensorData> tensors;
    for (const etc_param_info& param : graph.params) {
      tensors.push_back({param.name, param.access, param.dtype, {}, {}, {}});
      tensors.back().shape = execution.Shape(param.name, param.rank);
      Fill(tensors.back(), param, probe, execution, sizes.size());
    }
    return tensors;
  }

  /// Random inputs. Of several ranks, each has its own along the first axis, which are the same
  /// where the program has it so.
  void Fill(TensorData& tensor, const etc_param_info& param, const Probe& probe,
            Execution& execution, uint64_t seed) const {
    if (param.access == ETC_OUT) {
      FillPoison(tensor);
      return;
    }
    TensorData part = tensor;
    if (ranks_ > 1) {
      part.shape.erase(part.shape.begin());
    }
    const bool apart = probe.apart.contains(tensor.name);
    for (int64_t rank = 0; rank < ranks_; ++rank) {
      const uint64_t own = apart ? seed + static_cast<uint64_t>(rank) : seed;
      FillRandom(part, FillFor(execution.instance(), param, part.Elements(), own, 1.0));
      tensor.bytes.insert(tensor.bytes.end(), part.bytes.begin(), part.bytes.end());
    }
  }

  /// What the reference computes: once for all options that are held to it.
  const Meaning& Meant(const Probe& reference, const GraphView& graph,
                       const std::map<std::string, int64_t>& sizes) {
    if (meant_graph_ != reference.graph) {
      meant_graph_ = reference.graph;
      meant_.clear();
    }
    auto known = meant_.find(sizes);
    if (known == meant_.end()) {
      std::vector<TensorData> tensors = MakeTensors(reference, graph, sizes);
      Results results = Run(graph, sizes, tensors);
      known = meant_.emplace(sizes, Meaning{std::move(tensors), std::move(results)}).first;
    }
    return known->second;
  }

  bool IsSame(const Probe& reference, const GraphView& of_reference, const Probe& probe,
              const GraphView& of_probe, bool largest) {
    std::map<std::string, int64_t> sizes = SizesOf(probe, of_probe, largest);
    const Meaning& meant = Meant(reference, of_reference, sizes);
    const Results computed = Run(of_probe, sizes, meant.tensors);
    for (const TensorData& tensor : meant.tensors) {
      if (tensor.access == ETC_IN) {
        continue;
      }
      bool narrow = IsNarrow(tensor.dtype);
      Comparison found =
          etc::Compare(tensor.dtype, meant.results.at(tensor.name), computed.at(tensor.name),
                       narrow ? kRoundedElementTolerance : kTolerance);
      if (!found.passes || (narrow && found.relative_l2 > kRoundedTolerance)) {
        Report(reference, probe, sizes, tensor.name, found);
        return false;
      }
    }
    return true;
  }

  void Report(const Probe& reference, const Probe& probe,
              const std::map<std::string, int64_t>& sizes, const std::string& tensor,
              const Comparison& found) {
    bool alternative = probe.parameter == kAlternative;
    std::vector<std::string> sizes_text;
    if (!probe.sizes.empty()) {
      sizes_text.push_back(probe.sizes);
    }
    for (const auto& [name, size] : sizes) {
      sizes_text.push_back(fmt::format("{} = {}", name, size));
    }
    if (sizes_text.empty()) {
      sizes_text.emplace_back("all sizes that there are");
    }
    std::string where = found.first_mismatch >= 0
                            ? fmt::format("{} of {} elements, the first is number {}",
                                          found.mismatches, found.elements, found.first_mismatch)
                            : fmt::format("a relative L2 error of {:.2g}", found.relative_l2);
    auto what = [&](const Probe& of) {
      return alternative              ? fmt::format("the alternative `{}`", of.option)
             : of.alternative.empty() ? fmt::format("`{}` = {}", of.parameter, of.option)
                                      : fmt::format("`{}` = {} in the alternative `{}`",
                                                    of.parameter, of.option, of.alternative);
    };
    diagnostics_
        .Error(alternative ? DiagnosticKind::Alternative : DiagnosticKind::Choice, probe.callee,
               fmt::format("{} of `@{}` computes another `%{}` than {}: {}", what(probe),
                           probe.function, tensor, what(reference), where))
        .notes.push_back({probe.call, fmt::format("with {}", fmt::join(sizes_text, ", "))});
  }

  const Program& program_;
  const Module& module_;
  const int64_t ranks_;
  Diagnostics& diagnostics_;
  std::string meant_graph_;
  std::map<std::map<std::string, int64_t>, Meaning> meant_;  // of this graph, by sizes
};

/// Of a module with one number of ranks at most.
void CheckAtRanks(const Module& open, const SourceOptions& source, const ProofOptions& proofs,
                  Session& session) {
  Diagnostics& diagnostics = session.diagnostics();
  Probes probes(open, *source.target);
  {
    Progress progress("the options are verified");
    probes.Make(!proofs.skip, diagnostics);
  }
  Module module = probes.TakeModule();
  LoweringOptions lowering;
  lowering.schedule.schedule = ScheduleKind::Kernels;
  lowering.schedule.target = source.target;
  TargetOptions target;
  target.arch = Arch::Host;
  ProgramBuilder builder(session, source.include_dirs);
  PhaseTimer timer;
  if (probes.all().empty() ||
      !RunPasses(module, StaticPipeline(lowering.schedule), lowering, timer, session)) {
    return;
  }
  std::optional<Program> program;
  {
    Progress progress("the options are compiled");
    program = builder.Build(module, target, "options");
  }
  if (program) {
    ReportFailures(
        [&] {
          ChoiceRun run(*program, module, probes.ranks(), diagnostics);
          const Probe* reference = nullptr;
          size_t number = 0;
          for (const Probe& probe : probes.all()) {
            Progress progress(fmt::format("option {} of {} runs, of @{}", ++number,
                                          probes.all().size(), probe.function));
            if (probe.is_reference) {
              reference = &probe;
            } else {
              run.Compare(*reference, probe);
            }
          }
        },
        diagnostics);
  }
}

}  // namespace

bool CheckChoices(const Module& open, const SourceOptions& source, const ProofOptions& proofs,
                  Session& session) {
  const size_t before = session.diagnostics().error_count();
  if (!open.mesh) {
    CheckAtRanks(open, source, proofs, session);
  } else {
    for (int64_t ranks : open.mesh->values) {
      Module at = open;
      at.mesh->values = {ranks};
      CheckAtRanks(at, source, proofs, session);
    }
  }
  return session.diagnostics().error_count() == before;
}

}  // namespace etc
