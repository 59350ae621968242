// What makes an instance one rank of a group.
#include <utility>

#include "runtime/instance.h"

namespace etc::runtime {

Status Instance::CreateRank(std::shared_ptr<const Program> program, const char* graph, int32_t rank,
                            std::unique_ptr<Instance>* instance) {
  const manifest::Graph* found = nullptr;
  ETC_RETURN_IF_BAD(program->FindGraph(graph, &found));
  ETC_RETURN_IF_BAD(Make(std::move(program), *found, instance));
  (*instance)->rank_ = rank;
  return {};
}

Status Instance::PlanRank(std::vector<int64_t>* dims, SymmetricSizes* needed) const {
  Plan plan;
  ETC_RETURN_IF_BAD(PlanNow(&plan));
  *dims = std::move(plan.dims);
  *needed = plan.symmetric;
  return {};
}

Status Instance::PrepareRank() {
  if (!is_ready_) {
    ETC_RETURN_IF_BAD(UpdatePlan());
  }
  if (!memory_.Fits(plan_->memory)) {
    is_ready_ = false;
    ETC_RETURN_IF_BAD(memory_.Grow(plan_->memory, nullptr));
  }
  return {};
}

void Instance::BindSymmetric(const SymmetricMemory& memory) {
  symmetric_ = &memory;
  launches_ = 0;
  memory_.BindEvents(memory.events(static_cast<size_t>(*rank_)), memory.event_counters());
  is_ready_ = false;
}

}  // namespace etc::runtime
