#include "runtime/group.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace etc::runtime {
namespace {

std::vector<Backend*> BackendsOf(const std::vector<std::unique_ptr<etc_instance>>& ranks) {
  std::vector<Backend*> backends;
  for (const auto& rank : ranks) {
    backends.push_back(&rank->instance->backend());
  }
  return backends;
}

/// The failure of one rank says whose it is.
Status OfRank(size_t rank, Status status) {
  return status.Ok() ? status : Fail(status.code, "rank ", rank, ": ", status.message);
}

/// The first failure of all. That of a rank which waits in vain may follow from that of another.
Status FailureOf(const std::vector<Status>& statuses) {
  const Status* found = nullptr;
  for (const Status& status : statuses) {
    const bool is_cause = !status.Ok() && status.code != ETC_ERROR_TIMEOUT;
    if (!status.Ok() && (found == nullptr || (is_cause && found->code == ETC_ERROR_TIMEOUT))) {
      found = &status;
    }
  }
  return found == nullptr ? Status{} : *found;
}

}  // namespace

Group::Group(std::vector<std::unique_ptr<etc_instance>> ranks, std::vector<RankPlace> places)
    : places_(std::move(places)), ranks_(std::move(ranks)), memory_(BackendsOf(ranks_)) {}

Status Group::Create(std::shared_ptr<const Program> program, const char* graph, int32_t ranks,
                     const int32_t* devices, std::unique_ptr<Group>* group) {
  const manifest::Graph* found = nullptr;
  ETC_RETURN_IF_BAD(program->FindGraph(graph, &found));
  if (!found->mesh) {
    return Fail(ETC_ERROR_ARGUMENT, "graph `", found->name,
                "` has no mesh, so it runs alone: make an instance of it");
  }
  const std::vector<int64_t>& values = found->mesh->values;
  if (std::find(values.begin(), values.end(), ranks) == values.end()) {
    std::string known;
    for (const int64_t value : values) {
      known += (known.empty() ? "" : ", ") + std::to_string(value);
    }
    return Fail(ETC_ERROR_DIM, "graph `", found->name, "` is not for ", ranks,
                " ranks, only for: ", known);
  }
  const std::string& size = found->dims[static_cast<size_t>(found->mesh->size)].name;
  if (program->IsHost() && devices != nullptr) {
    return Fail(ETC_ERROR_ARGUMENT, "the program runs on the host, so its ranks have no devices");
  }
  std::vector<RankPlace> places;
  if (!program->IsHost()) {
    ETC_RETURN_IF_BAD(PlaceRanks(ranks, devices, &places));
  }
  std::vector<std::unique_ptr<etc_instance>> made;
  for (int32_t rank = 0; rank < ranks; ++rank) {
    const auto at = static_cast<size_t>(rank);
    auto& one = made.emplace_back(std::make_unique<etc_instance>());
    const auto make = [&](int sharers) -> Status {
      ETC_RETURN_IF_BAD(Instance::CreateRank(program, graph, rank, sharers, &one->instance));
      return one->instance->SetDim(size.c_str(), ranks);
    };
    ETC_RETURN_IF_BAD(OfRank(at, places.empty() ? make(1) : places[at].Within(make)));
  }
  group->reset(new Group(std::move(made), std::move(places)));
  return {};
}

Status Group::Rank(int32_t rank, etc_instance** instance) {
  if (rank < 0 || static_cast<size_t>(rank) >= ranks_.size()) {
    return Fail(ETC_ERROR_NOT_FOUND, "there is no rank ", rank, ": there are ", ranks_.size(),
                ", counted from 0");
  }
  *instance = ranks_[static_cast<size_t>(rank)].get();
  return {};
}

Status Group::Reserve() {
  SymmetricSizes needed;
  std::vector<int64_t> first;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    const Use use(ranks_[rank].get());
    ETC_RETURN_IF_BAD(OfRank(rank, use.Check()));
    const Instance& instance = *ranks_[rank]->instance;
    std::vector<int64_t> dims;
    ETC_RETURN_IF_BAD(OfRank(rank, instance.PlanRank(&dims, &needed)));
    const manifest::Graph& graph = instance.graph();
    const auto size = static_cast<size_t>(graph.mesh->size);
    if (dims[size] != static_cast<int64_t>(ranks_.size())) {
      return Fail(ETC_ERROR_DIM, "rank ", rank, ": dim `", graph.dims[size].name, "` is ",
                  dims[size], ", but the group has ", ranks_.size(), " ranks");
    }
    for (size_t i = 0; i < first.size(); ++i) {
      if (dims[i] != first[i]) {
        return Fail(ETC_ERROR_DIM, "rank ", rank, ": dim `", graph.dims[i].name, "` is ", dims[i],
                    ", but ", first[i], " on rank 0");
      }
    }
    first = std::move(dims);
  }
  if (memory_.has_failed()) {
    ETC_RETURN_IF_BAD(memory_.Renew());
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      ETC_RETURN_IF_BAD(OfRank(rank, ranks_[rank]->instance->RenewRank()));
    }
  }
  if (!memory_.Fits(needed)) {
    ETC_RETURN_IF_BAD(CheckFailures());
    ETC_RETURN_IF_BAD(memory_.Grow(needed));
    for (const auto& rank : ranks_) {
      rank->instance->BindSymmetric(memory_);
    }
  }
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    ETC_RETURN_IF_BAD(OfRank(rank, ranks_[rank]->instance->ReserveRank()));
  }
  return {};
}

/// A failure that nobody has asked for would be lost with the memory that holds it.
Status Group::CheckFailures() {
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    Instance& instance = *ranks_[rank]->instance;
    ETC_RETURN_IF_BAD(OfRank(rank, instance.backend().Drain()));
    ETC_RETURN_IF_BAD(OfRank(rank, instance.CheckFailures(nullptr)));
  }
  return {};
}

/// Whether all ranks would do the same as in a launch before.
bool Group::IsReady() const {
  if (memory_.has_failed()) {
    return false;
  }
  const std::vector<int64_t>* first = ranks_.front()->instance->ReadyDims();
  return std::all_of(ranks_.begin(), ranks_.end(), [&](const auto& rank) {
    const std::vector<int64_t>* dims = rank->instance->ReadyDims();
    return first != nullptr && dims != nullptr && *dims == *first;
  });
}

Status Group::Prepare() {
  ETC_RETURN_IF_BAD(Reserve());
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    const Use use(ranks_[rank].get());
    ETC_RETURN_IF_BAD(OfRank(rank, use.Check()));
    ETC_RETURN_IF_BAD(OfRank(rank, ranks_[rank]->instance->PrepareRank()));
  }
  return {};
}

/// Ranks of one device that are enqueued on one stream would wait for each other.
Status Group::CheckStreams(void* const* streams) const {
  for (size_t rank = 0; streams != nullptr && rank < places_.size(); ++rank) {
    for (size_t other = 0; other < rank; ++other) {
      if (streams[rank] != nullptr && streams[rank] == streams[other] &&
          places_[rank].device == places_[other].device) {
        return Fail(ETC_ERROR_ARGUMENT, "ranks ", other, " and ", rank, " are on device ",
                    places_[rank].device, ", so each needs a stream of its own");
      }
    }
  }
  return {};
}

Status Group::LaunchRank(size_t rank, void* const* streams) {
  const Use use(ranks_[rank].get());
  ETC_RETURN_IF_BAD(OfRank(rank, use.Check()));
  void* stream = streams != nullptr ? streams[rank] : nullptr;
  return OfRank(rank, ranks_[rank]->instance->Launch(stream));
}

Status Group::Launch(void* const* streams) {
  ETC_RETURN_IF_BAD(CheckStreams(streams));
  if (!IsReady()) {
    ETC_RETURN_IF_BAD(Prepare());
  }
  if (places_.empty()) {
    return LaunchOnThreads(streams);
  }
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    ETC_RETURN_IF_BAD(LaunchRank(rank, streams));
  }
  return {};
}

Status Group::Synchronize(void* const* streams) {
  std::vector<Status> statuses;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    const Use use(ranks_[rank].get());
    Status status = use.Check();
    if (status.Ok()) {
      status = ranks_[rank]->instance->Synchronize(streams != nullptr ? streams[rank] : nullptr);
    }
    statuses.push_back(OfRank(rank, std::move(status)));
  }
  return FailureOf(statuses);
}

Status Group::LaunchOnThreads(void* const* streams) {
  std::vector<Status> statuses(ranks_.size());
  // No rank begins before there is a thread for each: it would wait for the others.
  enum Start : int { kWait, kGo, kStop };
  std::atomic<int> start{kWait};
  const auto launch = [&](size_t rank) {
    start.wait(kWait);
    if (start.load() == kStop) {
      return;
    }
    try {
      statuses[rank] = LaunchRank(rank, streams);
    } catch (const std::bad_alloc&) {
      statuses[rank].code = ETC_ERROR_OUT_OF_MEMORY;
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(ranks_.size());
  Status started;
  try {
    for (size_t rank = 1; rank < ranks_.size(); ++rank) {
      threads.emplace_back(launch, rank);
    }
  } catch (const std::system_error&) {
    started = Fail(ETC_ERROR_OUT_OF_MEMORY, "cannot start a thread for each of ", ranks_.size(),
                   " ranks");
  }
  start.store(started.Ok() ? kGo : kStop);
  start.notify_all();
  launch(0);
  for (std::thread& thread : threads) {
    thread.join();
  }
  ETC_RETURN_IF_BAD(started);
  return FailureOf(statuses);
}

}  // namespace etc::runtime
