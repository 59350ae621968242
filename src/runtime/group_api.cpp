// Groups of include/etc/runtime.h.
#include "etc/runtime.h"
#include "runtime/c_api.h"
#include "runtime/group.h"
#include "runtime/handles.h"
#include "runtime/launch_environment.h"
#include "runtime/sized.h"

using etc::runtime::Fail;
using etc::runtime::GiveSized;
using etc::runtime::Group;
using etc::runtime::Guard;
using etc::runtime::JoinOptions;
using etc::runtime::LaunchEnvironment;
using etc::runtime::ReadLaunchEnvironment;
using etc::runtime::ReadLocalRank;
using etc::runtime::ReadRendezvous;
using etc::runtime::Status;
using etc::runtime::TakeSized;
using etc::runtime::Use;

struct etc_group {
  std::unique_ptr<Group> group;
};

namespace {

Status Create(const etc_program* program, const char* graph, int32_t ranks, const int32_t* devices,
              etc_group** group) {
  ETC_NEED(program, group);
  auto created = std::make_unique<etc_group>();
  ETC_RETURN_IF_BAD(Group::Create(program->program, graph, ranks, devices, &created->group));
  *group = created.release();
  return {};
}

/// What the caller leaves open, the environment says.
Status TakeOptions(const etc_join_options* given, JoinOptions* options) {
  etc_join_options taken{};
  if (given != nullptr) {
    ETC_RETURN_IF_BAD(TakeSized("options", *given, &taken));
  }
  LaunchEnvironment environment{taken.rank, taken.ranks, std::nullopt};
  if (taken.ranks != 0) {
    ETC_RETURN_IF_BAD(ReadLocalRank(&environment.local_rank));
  } else {
    ETC_RETURN_IF_BAD(ReadLaunchEnvironment(&environment));
  }
  options->rendezvous.rank = environment.rank;
  options->rendezvous.ranks = environment.ranks;
  ETC_RETURN_IF_BAD(taken.address != nullptr
                        ? etc::runtime::ParseHostAndPort(taken.address, "`options->address`",
                                                         &options->rendezvous.at)
                        : ReadRendezvous(&options->rendezvous.at));
  if (taken.timeout_ms < 0) {
    return Fail(ETC_ERROR_ARGUMENT, "`options->timeout_ms` is ", taken.timeout_ms);
  }
  if (taken.timeout_ms > 0) {
    options->rendezvous.timeout = std::chrono::milliseconds(taken.timeout_ms);
  }
  options->device_is_given = taken.has_device != 0;
  options->device =
      options->device_is_given ? taken.device : environment.local_rank.value_or(environment.rank);
  return {};
}

}  // namespace

etc_status etc_group_create(const etc_program* program, const char* graph, int32_t ranks,
                            etc_group** group) {
  return Guard([&]() -> Status { return Create(program, graph, ranks, nullptr, group); });
}

etc_status etc_group_create_on(const etc_program* program, const char* graph, int32_t ranks,
                               const int32_t* devices, etc_group** group) {
  return Guard([&]() -> Status {
    ETC_NEED(devices);
    return Create(program, graph, ranks, devices, group);
  });
}

etc_status etc_group_join(const etc_program* program, const char* graph,
                          const etc_join_options* options, etc_group** group) {
  return Guard([&]() -> Status {
    ETC_NEED(program, group);
    JoinOptions taken;
    ETC_RETURN_IF_BAD(TakeOptions(options, &taken));
    auto joined = std::make_unique<etc_group>();
    ETC_RETURN_IF_BAD(Group::Join(program->program, graph, taken, &joined->group));
    *group = joined.release();
    return {};
  });
}

etc_status etc_group_describe(const etc_group* group, etc_group_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(group, info);
    return GiveSized("info",
                     etc_group_info{0, static_cast<int32_t>(group->group->ranks()),
                                    group->group->own_rank(), group->group->own_device()},
                     info);
  });
}

void etc_group_free(etc_group* group) { delete group; }

etc_status etc_group_instance(etc_group* group, int32_t rank, etc_instance** instance) {
  return Guard([&]() -> Status {
    ETC_NEED(group, instance);
    return group->group->Rank(rank, instance);
  });
}

etc_status etc_group_reserve(etc_group* group) {
  return Guard([&]() -> Status {
    ETC_NEED(group);
    std::vector<Use> uses;
    ETC_RETURN_IF_BAD(group->group->Begin(&uses));
    return group->group->Reserve();
  });
}

etc_status etc_group_launch(etc_group* group, void* const* streams) {
  return Guard([&]() -> Status {
    ETC_NEED(group);
    std::vector<Use> uses;
    ETC_RETURN_IF_BAD(group->group->Begin(&uses));
    return group->group->Launch(streams);
  });
}

etc_status etc_group_synchronize(etc_group* group, void* const* streams) {
  return Guard([&]() -> Status {
    ETC_NEED(group);
    std::vector<Use> uses;
    ETC_RETURN_IF_BAD(group->group->Begin(&uses));
    return group->group->Synchronize(streams);
  });
}

etc_status etc_group_gather(etc_group* group, const void* own, int64_t bytes, void* all) {
  return Guard([&]() -> Status {
    ETC_NEED(group);
    if (bytes > 0) {
      ETC_NEED(own, all);
    }
    std::vector<Use> uses;
    ETC_RETURN_IF_BAD(group->group->Begin(&uses));
    return group->group->Gather(own, bytes, all);
  });
}
