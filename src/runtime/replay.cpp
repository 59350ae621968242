#include "runtime/replay.h"

#include <utility>

#include "runtime/log.h"

namespace etc::runtime {
namespace {

constexpr size_t kLeastLaunches = 2;
constexpr size_t kMostLaunches = 1 << 14;  // each takes memory of the device

/// What all launches of the list have in common.
std::vector<uint64_t> SharedBlock(const LaunchList& list) {
  return {list.block.begin(), list.block.end() - static_cast<std::ptrdiff_t>(list.steps.depth)};
}

}  // namespace

void Replay::Switch(bool on) {
  is_on_ = on;
  if (!on) {
    slots_ = std::vector<Slot>(slots_.size());
  }
}

bool Replay::Went(const Status& status) {
  if (!status.Ok()) {
    LogInfo("launches one by one from now on: ", status.message);
    Switch(false);
  }
  return status.Ok();
}

bool Replay::Launch(const LaunchList& list, const std::shared_ptr<const LaunchSteps>& steps,
                    uint64_t version, void* stream) {
  const size_t launches = list.steps.steps.size();
  if (!is_on_ || launches < kLeastLaunches || launches > kMostLaunches) {
    return false;
  }
  Slot& slot = slots_[list.kernel];
  if (slot.graph == nullptr || slot.version != version) {
    const bool is_known = slot.steps == steps || (slot.steps && slot.steps->HasShapeOf(*steps));
    slot.steps = steps;
    if (!is_known) {
      slot.graph.reset();
      return false;
    }
    if (!Went(slot.graph == nullptr ? Build(list, &slot) : Update(list, &slot)) ||
        slot.graph == nullptr) {
      return false;
    }
    slot.version = version;
  }
  return Went(slot.graph->Start(stream));
}

Status Replay::Build(const LaunchList& list, Slot* slot) {
  std::unique_ptr<LaunchGraph> graph = backend_.NewGraph();
  if (graph == nullptr) {
    is_on_ = false;
    return {};
  }
  slot->block = SharedBlock(list);
  slot->sms.clear();
  ETC_RETURN_IF_BAD(ForEachLaunch(list, [&](const LaunchRequest& request) {
    slot->sms.push_back(request.sms);
    return graph->Add(request, list.block);
  }));
  ETC_RETURN_IF_BAD(graph->Finish());
  LogInfo("keeps ", slot->sms.size(), " launches as a graph");
  slot->graph = std::move(graph);
  return {};
}

Status Replay::Update(const LaunchList& list, Slot* slot) {
  std::vector<uint64_t> block = SharedBlock(list);
  const bool is_other_block = block != slot->block;
  slot->block = std::move(block);
  size_t index = 0;
  return ForEachLaunch(list, [&](const LaunchRequest& request) -> Status {
    const size_t i = index++;
    if (!is_other_block && slot->sms[i] == request.sms) {
      return {};
    }
    slot->sms[i] = request.sms;
    return slot->graph->Set(i, request, list.block);
  });
}

}  // namespace etc::runtime
