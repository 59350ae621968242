#include "tune/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compile/backend.h"
#include "compile/pipeline.h"
#include "expand/expand.h"
#include "expand/kernel_options.h"
#include "ir/lower_slices.h"
#include "schedule/lower.h"
#include "support/parallel.h"
#include "verify/verify.h"

namespace etc {
namespace {

bool IsSame(const Question& a, const Question& b) {
  return a.function == b.function && a.parameter == b.parameter && Describe(a) == Describe(b);
}

}  // namespace

/// Options on the way to a program.
struct Variants::Draft {
  std::string key;
  Advise advise;
  Session session{DiagnosticsFormat::Text};
  Module module{};
  std::optional<Emitted> emitted{};
  std::string text{};  // what a program of it depends on
  std::optional<std::string> binary{};
  bool stopped = false;
};

std::string Variants::KeyOf(const std::vector<Coordinate>& coordinates,
                            const Assignment& assignment) const {
  std::string key;
  for (size_t i = 0; i < coordinates.size(); ++i) {
    key += coordinates[i].options[assignment[i]] + " ";
  }
  return key;
}

std::vector<std::unique_ptr<Variants::Draft>> Variants::Drafts(
    const std::vector<Coordinate>& coordinates, const std::vector<Assignment>& assignments) {
  std::vector<std::unique_ptr<Draft>> drafts;
  for (const Assignment& assignment : assignments) {
    auto advise = [this, &coordinates, assignment](const Question& question) {
      for (size_t i = 0; i < coordinates.size(); ++i) {
        if (IsSame(coordinates[i].question, question)) {
          return std::optional(
              Answer{coordinates[i].options[assignment[i]], Decider::Tuning, "this search"});
        }
      }
      return base_ ? base_(question) : std::nullopt;
    };
    drafts.push_back(std::make_unique<Draft>(KeyOf(coordinates, assignment), advise));
  }
  ForEachInParallel(drafts.size(), [&](size_t i) {
    drafts[i]->stopped = stop_;
    if (!stop_) {
      Emit(*drafts[i]);
    }
  });
  return drafts;
}

void Variants::Emit(Draft& draft) const {
  Diagnostics& diagnostics = draft.session.diagnostics();
  Module& module = draft.module;
  module = open_;
  for (const Item& item : open_.items) {
    if (const auto* id = std::get_if<GraphId>(&item); id && module.graphs[*id].name == graph_) {
      module.graphs[*id].specialisations.clear();
      module.graphs[*id].where = where_;
    }
  }
  const Target& machine = *source_.target;
  std::vector<Decision> decisions;
  ExpandOptions expand{{machine.sms, machine.shared_bytes}, draft.advise, &decisions};
  if (!Expand(module, expand, diagnostics)) {
    return;
  }
  draft.session.SetSchedules(TunedSchedules(decisions));
  std::erase_if(module.items, [&](const Item& item) {
    const auto* id = std::get_if<GraphId>(&item);
    return id != nullptr && module.graphs[*id].name != graph_;
  });
  if (!VerifyAllButDependences(module, diagnostics)) {
    return;
  }
  LowerSlices(module);
  LoweringOptions lowering;
  lowering.schedule.target = source_.target;
  lowering.schedule.flag_in_data = !target_.IsHost();
  PhaseTimer timer;
  if (!RunPasses(module, StaticPipeline(lowering.schedule), lowering, timer, draft.session)) {
    return;
  }
  IncludePath include_path(source_.include_dirs);
  draft.emitted = etc::Emit(module, target_, include_path, draft.session);
  if (!draft.emitted) {
    return;
  }
  // The same kernels may be launched differently, which the manifest says.
  draft.text = draft.emitted->text;
  for (const OutputFile& file : MakeArtifact(module, "variant" + BinaryExtension(target_),
                                             *draft.emitted, {}, target_, {}, draft.session)) {
    draft.text += file.contents;
  }
}

std::vector<std::string> Variants::TextsOf(const std::vector<Coordinate>& coordinates,
                                           const std::vector<Assignment>& assignments) {
  std::vector<std::string> texts;
  for (const auto& draft : Drafts(coordinates, assignments)) {
    texts.push_back(std::move(draft->text));
  }
  return texts;
}

void Variants::Make(const std::vector<Coordinate>& coordinates,
                    const std::vector<Assignment>& assignments) {
  std::vector<Assignment> fresh;
  std::set<std::string> keys;
  for (const Assignment& assignment : assignments) {
    std::string key = KeyOf(coordinates, assignment);
    if (!by_options_.contains(key) && keys.insert(key).second) {
      fresh.push_back(assignment);
    }
  }
  auto drafts = Drafts(coordinates, fresh);
  std::vector<Draft*> to_compile;
  std::set<std::string_view> texts;
  for (auto& draft : drafts) {
    if (!draft->text.empty() && !by_text_.contains(draft->text) &&
        texts.insert(draft->text).second) {
      to_compile.push_back(draft.get());
    }
  }
  Compile(to_compile);
  for (auto& draft : drafts) {
    auto found = by_text_.find(draft->text);
    const Program* program = found != by_text_.end() ? found->second : nullptr;
    // What a stop kept from being made is no option that does not compile.
    if (program != nullptr || !stop_) {
      by_options_[draft->key] = program;
      errors_[draft->key] = draft->session.diagnostics();
    }
  }
}

void Variants::Compile(std::vector<Draft*> drafts) {
  size_t named = named_;
  named_ += drafts.size();
  ForEachInParallel(drafts.size(), [&](size_t i) {
    if (!stop_) {
      drafts[i]->binary =
          builder_.Compile(drafts[i]->module, *drafts[i]->emitted, target_,
                           fmt::format("variant_{}", named + i), drafts[i]->session, &stop_);
    }
  });
  for (Draft* draft : drafts) {
    if (draft->binary) {
      by_text_[draft->text] = &programs_.emplace_back(*draft->binary);
    }
  }
}

const Program* Variants::With(const std::vector<Coordinate>& coordinates,
                              const Assignment& assignment) {
  Make(coordinates, {assignment});
  auto found = by_options_.find(KeyOf(coordinates, assignment));
  return found != by_options_.end() ? found->second : nullptr;
}

void Variants::Report(const std::vector<Coordinate>& coordinates, const Assignment& assignment) {
  session_.diagnostics().Add(errors_[KeyOf(coordinates, assignment)]);
}

}  // namespace etc
