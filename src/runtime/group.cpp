#include "runtime/group.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace etc::runtime {
namespace {

std::unique_ptr<PeerMemory> MemoryOf(const std::vector<Backend*>& backends, Rendezvous* others) {
  return others == nullptr ? MakeLocalMemory(backends)
                           : MakeProcessMemory(*backends.front(), *others);
}

}  // namespace

Status CheckRanks(const manifest::Graph& graph, int32_t ranks) {
  if (!graph.mesh) {
    return Fail(ETC_ERROR_ARGUMENT, "graph `", graph.name,
                "` has no mesh, so it runs alone: make an instance of it");
  }
  const std::vector<int64_t>& values = graph.mesh->values;
  if (std::find(values.begin(), values.end(), ranks) == values.end()) {
    std::string known;
    for (const int64_t value : values) {
      known += (known.empty() ? "" : ", ") + std::to_string(value);
    }
    return Fail(ETC_ERROR_DIM, "graph `", graph.name, "` is not for ", ranks,
                " ranks, only for: ", known);
  }
  return {};
}

Group::Group(std::vector<Member> members, std::vector<RankPlace> places,
             std::unique_ptr<Rendezvous> others)
    : places_(std::move(places)),
      others_(std::move(others)),
      members_(std::move(members)),
      memory_(MemoryOf(
          [this] {
            std::vector<Backend*> backends;
            for (const Member& member : members_) {
              backends.push_back(&member.instance().backend());
            }
            return backends;
          }(),
          others_.get())) {}

Status Group::Create(std::shared_ptr<const Program> program, const char* graph, int32_t ranks,
                     const int32_t* devices, std::unique_ptr<Group>* group) {
  const manifest::Graph* found = nullptr;
  ETC_RETURN_IF_BAD(program->FindGraph(graph, &found));
  ETC_RETURN_IF_BAD(CheckRanks(*found, ranks));
  if (program->IsHost() && devices != nullptr) {
    return Fail(ETC_ERROR_ARGUMENT, "the program runs on the host, so its ranks have no devices");
  }
  std::vector<RankPlace> places;
  if (!program->IsHost()) {
    ETC_RETURN_IF_BAD(PlaceRanks(ranks, devices, &places));
  }
  std::vector<Member> members;
  for (int32_t rank = 0; rank < ranks; ++rank) {
    const auto at = static_cast<size_t>(rank);
    auto& one = members.emplace_back(Member{at, std::make_unique<etc_instance>()});
    const auto make = [&](int sharers) {
      return Instance::CreateRank(program, graph, rank, ranks, sharers, &one.handle->instance);
    };
    ETC_RETURN_IF_BAD(OfRank(at, places.empty() ? make(1) : places[at].Within(make)));
  }
  group->reset(new Group(std::move(members), std::move(places), nullptr));
  return {};
}

/// What a launch that never ends uses is kept.
Group::~Group() {
  if (stands_still_) {
    memory_.Abandon();
    (void)others_.release();
    for (Member& member : members_) {
      (void)member.handle.release();
    }
  }
}

int32_t Group::own_rank() const {
  return others_ == nullptr ? -1 : static_cast<int32_t>(members_.front().rank);
}

int32_t Group::own_device() const {
  return own_rank() < 0 || places_.empty() ? -1 : static_cast<int32_t>(places_.front().device);
}

Status Group::Rank(int32_t rank, etc_instance** instance) {
  if (rank < 0 || static_cast<size_t>(rank) >= ranks()) {
    return Fail(ETC_ERROR_NOT_FOUND, "there is no rank ", rank, ": there are ", ranks(),
                ", counted from 0");
  }
  for (const Member& member : members_) {
    if (member.rank == static_cast<size_t>(rank)) {
      *instance = member.handle.get();
      return {};
    }
  }
  return Fail(ETC_ERROR_NOT_FOUND, "rank ", rank, " is of another process: this one is rank ",
              own_rank());
}

Status Group::Begin(std::vector<Use>* uses) const {
  uses->reserve(members_.size());
  for (const Member& member : members_) {
    if (!uses->emplace_back(member.handle.get()).Check().Ok()) {
      return Fail(ETC_ERROR_BUSY, "another thread is inside of a call with this group or with the ",
                  "instance of its rank ", member.rank);
    }
  }
  return {};
}

Status Group::Gather(const void* own, int64_t bytes, void* all) {
  constexpr size_t kPiece = 1 << 19;  // what a connection takes as one message
  if (others_ == nullptr) {
    return Fail(ETC_ERROR_ARGUMENT, "all ranks are in this process, which has their results");
  }
  if (bytes < 0) {
    return Fail(ETC_ERROR_ARGUMENT, "`bytes` is ", bytes);
  }
  std::vector<std::string> parts;
  ETC_RETURN_IF_BAD(others_->Gather(std::to_string(bytes), &parts));
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    if (parts[rank] != parts.front()) {
      return Fail(ETC_ERROR_GROUP, "rank ", rank, " gathers ", parts[rank], " bytes, but rank 0 ",
                  parts.front());
    }
  }
  const auto size = static_cast<size_t>(bytes);
  for (size_t at = 0; at < size; at += kPiece) {
    const size_t piece = std::min(kPiece, size - at);
    ETC_RETURN_IF_BAD(
        others_->Gather(std::string(static_cast<const char*>(own) + at, piece), &parts));
    for (size_t rank = 0; rank < parts.size(); ++rank) {
      if (parts[rank].size() != piece) {
        return Fail(ETC_ERROR_GROUP, "rank ", rank, " sends ", parts[rank].size(), " bytes of ",
                    piece);
      }
      std::memcpy(static_cast<char*>(all) + rank * size + at, parts[rank].data(), piece);
    }
  }
  return {};
}

/// What each rank is about to launch.
Status Group::Propose(bool launches, std::vector<Proposal>* all) const {
  for (const Member& member : members_) {
    Proposal& own = all->emplace_back();
    own.status = member.instance().PlanRank(&own.dims, &own.needed);
    if (own.status.Ok() && launches) {
      own.status = member.instance().PrepareRank();
    }
    own.launches = member.instance().launches();
    own.has_memory = memory_.Fits(own.needed);
    own.was_captured = memory_.was_captured();
    own.has_failed = memory_.has_failed();
  }
  if (others_ == nullptr) {
    return {};
  }
  std::vector<std::string> texts;
  ETC_RETURN_IF_BAD(others_->Exchange(ToWire(all->front()), &texts));
  all->assign(texts.size(), {});
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    ETC_RETURN_IF_BAD(FromWire(texts[rank], &(*all)[rank]));
  }
  return {};
}

/// That all are about to launch the same.
Status Group::Agree(const std::vector<Proposal>& all) const {
  const manifest::Graph& graph = members_.front().instance().graph();
  const auto size = static_cast<size_t>(graph.mesh->size);
  const Proposal& first = all.front();
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const Proposal& own = all[rank];
    if (own.dims.empty()) {
      return OfRank(rank, own.status);
    }
    if (own.dims.size() != graph.dims.size()) {
      return Fail(ETC_ERROR_GROUP, "rank ", rank, " has ", own.dims.size(), " dims of ",
                  graph.dims.size());
    }
    if (own.dims[size] != static_cast<int64_t>(ranks())) {
      return Fail(ETC_ERROR_DIM, "rank ", rank, ": dim `", graph.dims[size].name, "` is ",
                  own.dims[size], ", but the group has ", ranks(), " ranks");
    }
    for (size_t i = 0; i < own.dims.size(); ++i) {
      if (own.dims[i] != first.dims[i]) {
        return Fail(ETC_ERROR_DIM, "rank ", rank, ": dim `", graph.dims[i].name, "` is ",
                    own.dims[i], ", but ", first.dims[i], " on rank 0");
      }
    }
  }
  // Tensors that do not fit may follow from sizes that differ, so they come second.
  for (size_t rank = 0; rank < all.size(); ++rank) {
    ETC_RETURN_IF_BAD(OfRank(rank, all[rank].status));
  }
  return {};
}

/// Ranks of several processes have the same sizes, and not in the same launch.
Status Group::CheckLaunches(const std::vector<Proposal>& all) const {
  for (size_t rank = 0; rank < all.size() && others_ != nullptr; ++rank) {
    if (all[rank].launches != all.front().launches) {
      return Fail(ETC_ERROR_GROUP, "rank ", rank, " has launched ", all[rank].launches,
                  " times in this memory, but rank 0 ", all.front().launches,
                  " times: ranks launch equally often, and change sizes at the same launch");
    }
  }
  return {};
}

Status Group::Reserve(bool launches) {
  std::vector<Proposal> all;
  ETC_RETURN_IF_BAD(Propose(launches, &all));
  ETC_RETURN_IF_BAD(Agree(all));
  const auto any = [&](bool Proposal::*what) {
    return std::any_of(all.begin(), all.end(), [&](const Proposal& own) { return own.*what; });
  };
  if (any(&Proposal::was_captured)) {
    memory_.NoteCapture();
  }
  if (any(&Proposal::has_failed)) {
    ETC_RETURN_IF_BAD(memory_.Renew());
    ETC_RETURN_IF_BAD(OnAll([](Instance& instance) { return instance.RenewRank(); }));
  } else {
    ETC_RETURN_IF_BAD(CheckLaunches(all));
  }
  if (!std::all_of(all.begin(), all.end(), [](const Proposal& own) { return own.has_memory; })) {
    ETC_RETURN_IF_BAD(CheckFailures());
    ETC_RETURN_IF_BAD(memory_.Grow(all.front().needed));
    for (const Member& member : members_) {
      member.instance().BindSymmetric(memory_);
    }
  }
  ETC_RETURN_IF_BAD(OnAll([](Instance& instance) { return instance.ReserveRank(); }));
  agreed_dims_ = all.front().dims;
  return {};
}

/// For each member, and the outcome of all ranks.
template <class Work>
Status Group::OnAll(Work work) {
  Status status;
  for (const Member& member : members_) {
    if (status.Ok()) {
      status = OfRank(member.rank, work(member.instance()));
    }
  }
  return memory_.peers().Meet(std::move(status));
}

/// A failure that nobody has asked for would be lost with the memory that holds it.
Status Group::CheckFailures() {
  return OnAll([](Instance& instance) -> Status {
    ETC_RETURN_IF_BAD(instance.backend().Drain());
    return instance.CheckFailures(nullptr);
  });
}

}  // namespace etc::runtime
