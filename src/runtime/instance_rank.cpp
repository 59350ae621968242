// What makes an instance one rank of a group.
#include <utility>

#include "runtime/instance.h"

namespace etc::runtime {

Status Instance::CreateRank(std::shared_ptr<const Program> program, const char* graph, int32_t rank,
                            int32_t ranks, int sharers, std::unique_ptr<Instance>* instance) {
  const manifest::Graph* found = nullptr;
  ETC_RETURN_IF_BAD(program->FindGraph(graph, &found));
  ETC_RETURN_IF_BAD(Make(std::move(program), *found, sharers, instance));
  (*instance)->rank_ = {rank, ranks};
  return (*instance)->SetDim(found->dims[static_cast<size_t>(found->mesh->size)].name.c_str(),
                             ranks);
}

Status Instance::PlanRank(std::vector<int64_t>* dims, SymmetricSizes* needed) const {
  Plan plan;
  ETC_RETURN_IF_BAD(PlanNow(&plan));
  *dims = std::move(plan.dims);
  *needed = plan.symmetric;
  return {};
}

Status Instance::ReserveRank() {
  Plan plan;
  ETC_RETURN_IF_BAD(PlanNow(&plan));
  if (memory_.Fits(plan.memory)) {
    return {};
  }
  ETC_RETURN_IF_BAD(Grow(plan.memory, nullptr));
  return backend_->Synchronize(nullptr);
}

Status Instance::PrepareRank() { return is_ready_ ? Status{} : UpdatePlan(); }

Status Instance::ReplaceStream(void** stream) const {
  return rank_ && *stream == nullptr ? backend_->OwnStream(stream) : Status{};
}

Status Instance::IsDone(void* stream, bool* done) const {
  ETC_RETURN_IF_BAD(ReplaceStream(&stream));
  return backend_->IsDone(stream, done);
}

Status Instance::Synchronize(void* stream) {
  ETC_RETURN_IF_BAD(ReplaceStream(&stream));
  ETC_RETURN_IF_BAD(backend_->Synchronize(stream));
  return CheckFailures(stream);
}

Status Instance::RenewRank() {
  launches_ = 0;
  ETC_RETURN_IF_BAD(memory_.Renew());
  return backend_->Synchronize(nullptr);
}

void Instance::BindSymmetric(SymmetricMemory& memory) {
  symmetric_ = &memory;
  launches_ = 0;
  memory_.BindEvents(memory.events(static_cast<size_t>(rank_->rank)), memory.event_counters());
  is_ready_ = false;
}

}  // namespace etc::runtime
