// One rank of a group in this process, with a process for each other.
#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/group.h"
#include "runtime/wire.h"

namespace etc::runtime {
namespace {

/// What ranks must have in common, and where they are.
struct Introduction {
  Status status;  // why the rank cannot go on
  std::string hash;
  std::string graph;
  std::string device;  // what tells it from others of the machine; empty on the host
  bool device_is_given = false;
};

std::string ToWire(const Introduction& introduction) {
  WireWriter writer;
  writer.Outcome(introduction.status);
  writer.Text(introduction.hash);
  writer.Text(introduction.graph);
  writer.Text(introduction.device);
  writer.Number(introduction.device_is_given ? 1 : 0);
  return writer.Take();
}

Introduction ReadIntroduction(const std::string& text) {
  WireReader reader(text);
  Introduction introduction;
  introduction.status = reader.Outcome();
  introduction.hash = reader.Text();
  introduction.graph = reader.Text();
  introduction.device = reader.Text();
  introduction.device_is_given = reader.Number() != 0;
  if (introduction.status.Ok()) {
    introduction.status = reader.CheckWhole();
  }
  return introduction;
}

/// The device, and what it is called on this machine.
Status FindDevice(const JoinOptions& options, RankPlace* place, std::string* name) {
  const cuda::Driver* driver = nullptr;
  int count = 0;
  ETC_RETURN_IF_BAD(cuda::OpenDriver(&driver));
  ETC_RETURN_IF_BAD(driver->Check(driver->cuDeviceGetCount(&count), "cuDeviceGetCount"));
  // Whoever started the process may have left it one.
  const bool is_only_one = !options.device_is_given && count == 1;
  ETC_RETURN_IF_BAD(PlaceRank(is_only_one ? 0 : options.device, place));
  cuda::Uuid uuid{};
  ETC_RETURN_IF_BAD(place->driver->Check(place->driver->cuDeviceGetUuid_v2(&uuid, place->device),
                                         "cuDeviceGetUuid"));
  name->assign(uuid.bytes, sizeof uuid.bytes);
  return {};
}

Status Compare(const std::vector<Introduction>& all) {
  const Introduction& first = all.front();
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const Introduction& one = all[rank];
    ETC_RETURN_IF_BAD(OfRank(rank, one.status));
    if (one.hash != first.hash) {
      return Fail(ETC_ERROR_GROUP, "rank ", rank, " has another artifact: its hash is ", one.hash,
                  ", but ", first.hash, " on rank 0");
    }
    if (one.graph != first.graph) {
      return Fail(ETC_ERROR_GROUP, "rank ", rank, " runs graph `", one.graph, "`, but rank 0 `",
                  first.graph, "`");
    }
    for (size_t other = 0; other < rank; ++other) {
      if (!one.device.empty() && one.device == all[other].device &&
          !(one.device_is_given && all[other].device_is_given)) {
        return Fail(ETC_ERROR_GROUP, "ranks ", other, " and ", rank,
                    " are on the same device: give each its own, or say that they share it");
      }
    }
  }
  return {};
}

}  // namespace

Status Group::Join(std::shared_ptr<const Program> program, const char* graph,
                   const JoinOptions& options, std::unique_ptr<Group>* group) {
  std::unique_ptr<Rendezvous> others;
  ETC_RETURN_IF_BAD(Rendezvous::Join(options.rendezvous, &others));
  // From here on the others are told what keeps this rank from going on.
  const size_t rank = others->rank();
  const auto ranks = static_cast<int32_t>(others->ranks());
  Introduction own;
  std::vector<RankPlace> places(program->IsHost() ? 0 : 1);
  const manifest::Graph* found = nullptr;
  own.hash = program->manifest().hash;
  own.device_is_given = options.device_is_given;
  own.status = program->FindGraph(graph, &found);
  if (own.status.Ok()) {
    own.graph = found->name;
    own.status = CheckRanks(*found, ranks);
  }
  if (own.status.Ok() && !places.empty()) {
    own.status = FindDevice(options, &places.front(), &own.device);
  }
  std::vector<std::string> texts;
  std::vector<Introduction> all;
  ETC_RETURN_IF_BAD(others->Exchange(ToWire(own), &texts));
  std::transform(texts.begin(), texts.end(), std::back_inserter(all), ReadIntroduction);
  ETC_RETURN_IF_BAD(Compare(all));

  Member member{rank, std::make_unique<etc_instance>()};
  const auto make = [&](int sharers) {
    return Instance::CreateRank(program, graph, static_cast<int32_t>(rank), ranks, sharers,
                                &member.handle->instance);
  };
  Status made;
  if (places.empty()) {
    made = make(1);
  } else {
    places.front().sharers = static_cast<int>(std::count_if(
        all.begin(), all.end(), [&](const Introduction& one) { return one.device == own.device; }));
    made = places.front().Within(make);
  }
  ETC_RETURN_IF_BAD(MeetOthers(*others, OfRank(rank, std::move(made))));
  std::vector<Member> members;
  members.push_back(std::move(member));
  group->reset(new Group(std::move(members), std::move(places), std::move(others)));
  return {};
}

}  // namespace etc::runtime
