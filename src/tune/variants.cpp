#include "tune/variants.h"

#include <fmt/format.h>

#include <algorithm>

#include "compile/pipeline.h"
#include "expand/expand.h"
#include "ir/lower_slices.h"
#include "schedule/lower.h"
#include "verify/verify.h"

namespace etc {
namespace {

bool IsSame(const Question& a, const Question& b) {
  return a.function == b.function && a.parameter == b.parameter && Describe(a) == Describe(b);
}

}  // namespace

const Program* Variants::With(const std::vector<Coordinate>& coordinates,
                              const Assignment& assignment) {
  std::string key;
  for (size_t option : assignment) {
    key += fmt::format("{} ", option);
  }
  if (auto found = by_text_.find(key); found != by_text_.end()) {
    return found->second;
  }
  auto advise = [&](const Question& question) -> std::optional<Answer> {
    for (size_t i = 0; i < coordinates.size(); ++i) {
      if (IsSame(coordinates[i].question, question)) {
        return Answer{coordinates[i].options[assignment[i]], Decider::Tuning, "this search"};
      }
    }
    return base_ ? base_(question) : std::nullopt;
  };
  std::optional<Program> program = Build(advise);
  const Program* built = nullptr;
  if (program) {
    programs_.push_back(std::move(*program));
    built = &programs_.back();
  }
  by_text_[key] = built;
  return built;
}

std::optional<Program> Variants::Build(const Advise& advise) {
  Module module = open_;
  for (const Item& item : open_.items) {
    if (const auto* id = std::get_if<GraphId>(&item); id && module.graphs[*id].name == graph_) {
      module.graphs[*id].specialisations.clear();
      module.graphs[*id].where = where_;
    }
  }
  // Options that do not go together are no error of the program's.
  Diagnostics diagnostics;
  const Target& machine = *source_.target;
  ExpandOptions expand{{machine.sms, machine.shared_bytes}, advise};
  if (!Expand(module, expand, diagnostics)) {
    return std::nullopt;
  }
  std::erase_if(module.items, [&](const Item& item) {
    const auto* id = std::get_if<GraphId>(&item);
    return id != nullptr && module.graphs[*id].name != graph_;
  });
  if (!VerifyAllButDependences(module, diagnostics)) {
    return std::nullopt;
  }
  LowerSlices(module);
  LoweringOptions lowering;
  lowering.schedule.target = source_.target;
  lowering.schedule.flag_in_data = !target_.IsHost();
  PhaseTimer timer;
  if (!RunPasses(module, StaticPipeline(lowering.schedule), lowering, timer, session_)) {
    return std::nullopt;
  }
  return builder_.Build(module, target_, fmt::format("variant_{}", built_++));
}

}  // namespace etc
