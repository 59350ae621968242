// Groups of include/etc/runtime.h.
#include "etc/runtime.h"
#include "runtime/c_api.h"
#include "runtime/group.h"
#include "runtime/handles.h"

using etc::runtime::Group;
using etc::runtime::Guard;
using etc::runtime::Status;

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
    return group->group->Reserve();
  });
}

etc_status etc_group_launch(etc_group* group, void* const* streams) {
  return Guard([&]() -> Status {
    ETC_NEED(group);
    return group->group->Launch(streams);
  });
}

etc_status etc_group_synchronize(etc_group* group, void* const* streams) {
  return Guard([&]() -> Status {
    ETC_NEED(group);
    return group->group->Synchronize(streams);
  });
}
