// Programs, layouts and instances of include/etc/runtime.h.
#include "etc/runtime.h"

#include <algorithm>
#include <memory>
#include <string>

#include "runtime/c_api.h"
#include "runtime/dtype.h"
#include "runtime/handles.h"
#include "runtime/instance.h"
#include "runtime/instance_handle.h"
#include "runtime/layout.h"
#include "runtime/log.h"

using etc::runtime::Fail;
using etc::runtime::Guard;
using etc::runtime::Instance;
using etc::runtime::Program;
using etc::runtime::Status;

namespace etc::runtime {
namespace {

void LogLoaded(const char* path, const Program& program) {
  LogInfo("loaded `", path, "` for ", program.manifest().target, ", hash ",
          program.manifest().hash);
}

Status FindTiled(const etc_program& program, const char* graph, const char* name,
                 const int64_t* extents, int32_t rank, TiledShape* shape) {
  const manifest::Graph* found = nullptr;
  ETC_RETURN_IF_BAD(program.program->FindGraph(graph, &found));
  for (const manifest::Param& param : found->params) {
    if (param.name == name) {
      return MakeTiledShape(*found, param, extents, rank, shape);
    }
  }
  return Fail(ETC_ERROR_NOT_FOUND, "graph `", found->name, "` has no parameter `", name, "`");
}

/// What a call of packing works on. Memory without elements may be null.
Status TakeTiled(const etc_program* program, const char* graph, const char* param,
                 const int64_t* shape, int32_t rank, const void* row_major, const void* packed,
                 TiledShape* tiled) {
  ETC_NEED(program, param, shape);
  ETC_RETURN_IF_BAD(FindTiled(*program, graph, param, shape, rank, tiled));
  if (tiled->Bytes() > 0) {
    ETC_NEED(row_major, packed);
  }
  return {};
}

}  // namespace

}  // namespace etc::runtime

using etc::runtime::LogLoaded;
using etc::runtime::Use;

const char* etc_dtype_name(etc_dtype dtype) {
  const etc::runtime::DTypeInfo* info = etc::runtime::FindDType(dtype);
  return info != nullptr ? info->name : nullptr;
}

int64_t etc_dtype_bytes(etc_dtype dtype) {
  const etc::runtime::DTypeInfo* info = etc::runtime::FindDType(dtype);
  return info != nullptr ? info->bytes : 0;
}

etc_status etc_program_load(const char* path, etc_program** program) {
  return Guard([&]() -> Status {
    ETC_NEED(path, program);
    auto loaded = std::make_unique<etc_program>();
    ETC_RETURN_IF_BAD(Program::Load(path, &loaded->program));
    LogLoaded(path, *loaded->program);
    *program = loaded.release();
    return {};
  });
}

etc_status etc_program_load_memory(const void* data, size_t bytes, etc_program** program) {
  return Guard([&]() -> Status {
    ETC_NEED(data, program);
    auto loaded = std::make_unique<etc_program>();
    ETC_RETURN_IF_BAD(
        Program::LoadMemory({static_cast<const char*>(data), bytes}, &loaded->program));
    LogLoaded("(memory)", *loaded->program);
    *program = loaded.release();
    return {};
  });
}

void etc_program_free(etc_program* program) { delete program; }

etc_status etc_pack(const etc_program* program, const char* graph, const char* param,
                    const int64_t* shape, int32_t rank, const void* row_major, void* packed) {
  return Guard([&]() -> Status {
    etc::runtime::TiledShape tiled;
    ETC_RETURN_IF_BAD(
        etc::runtime::TakeTiled(program, graph, param, shape, rank, row_major, packed, &tiled));
    return CopyOnHost(tiled, etc::runtime::Packing::Pack, row_major, packed);
  });
}

etc_status etc_unpack(const etc_program* program, const char* graph, const char* param,
                      const int64_t* shape, int32_t rank, const void* packed, void* row_major) {
  return Guard([&]() -> Status {
    etc::runtime::TiledShape tiled;
    ETC_RETURN_IF_BAD(
        etc::runtime::TakeTiled(program, graph, param, shape, rank, row_major, packed, &tiled));
    return CopyOnHost(tiled, etc::runtime::Packing::Unpack, packed, row_major);
  });
}

etc_status etc_pack_device(const etc_program* program, const char* graph, const char* param,
                           const int64_t* shape, int32_t rank, const void* row_major, void* packed,
                           void* stream) {
  return Guard([&]() -> Status {
    etc::runtime::TiledShape tiled;
    ETC_RETURN_IF_BAD(
        etc::runtime::TakeTiled(program, graph, param, shape, rank, row_major, packed, &tiled));
    return CopyOnDevice(tiled, etc::runtime::Packing::Pack, row_major, packed, stream);
  });
}

etc_status etc_unpack_device(const etc_program* program, const char* graph, const char* param,
                             const int64_t* shape, int32_t rank, const void* packed,
                             void* row_major, void* stream) {
  return Guard([&]() -> Status {
    etc::runtime::TiledShape tiled;
    ETC_RETURN_IF_BAD(
        etc::runtime::TakeTiled(program, graph, param, shape, rank, row_major, packed, &tiled));
    return CopyOnDevice(tiled, etc::runtime::Packing::Unpack, packed, row_major, stream);
  });
}

etc_status etc_instance_create(const etc_program* program, const char* graph,
                               etc_instance** instance) {
  return Guard([&]() -> Status {
    ETC_NEED(program, instance);
    auto created = std::make_unique<etc_instance>();
    ETC_RETURN_IF_BAD(Instance::Create(program->program, graph, &created->instance));
    *instance = created.release();
    return {};
  });
}

void etc_instance_free(etc_instance* instance) { delete instance; }

etc_status etc_instance_set_dim(etc_instance* instance, const char* name, int64_t value) {
  return Guard([&]() -> Status {
    ETC_NEED(instance, name);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    return instance->instance->SetDim(name, value);
  });
}

etc_status etc_instance_clear_dim(etc_instance* instance, const char* name) {
  return Guard([&]() -> Status {
    ETC_NEED(instance, name);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    return instance->instance->ClearDim(name);
  });
}

etc_status etc_instance_dim(const etc_instance* instance, const char* name, int64_t* value) {
  return Guard([&]() -> Status {
    ETC_NEED(instance, name, value);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    return instance->instance->DimValue(name, value);
  });
}

etc_status etc_instance_param_shape(const etc_instance* instance, const char* name,
                                    int64_t* extents, int32_t capacity) {
  return Guard([&]() -> Status {
    ETC_NEED(instance, name);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    std::vector<int64_t> shape;
    ETC_RETURN_IF_BAD(instance->instance->ParamShape(name, &shape));
    if (capacity < 0 || shape.size() > static_cast<size_t>(capacity) ||
        (extents == nullptr && !shape.empty())) {
      return Fail(ETC_ERROR_ARGUMENT, "parameter `", name, "` has ", shape.size(),
                  " extents, but there is room for ", extents == nullptr ? 0 : capacity);
    }
    std::copy(shape.begin(), shape.end(), extents);
    return {};
  });
}

etc_status etc_instance_value_range(const etc_instance* instance, const char* name, int64_t* min,
                                    int64_t* max) {
  return Guard([&]() -> Status {
    ETC_NEED(instance, name, min, max);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    return instance->instance->ValueRange(name, min, max);
  });
}

etc_status etc_instance_bind(etc_instance* instance, const char* name, const etc_tensor* tensor) {
  return Guard([&]() -> Status {
    ETC_NEED(instance, name, tensor);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    return instance->instance->Bind(name, *tensor);
  });
}

etc_status etc_instance_bind_dlpack(etc_instance* instance, const char* name,
                                    const etc_dl_tensor* tensor) {
  return Guard([&]() -> Status {
    ETC_NEED(instance, name, tensor);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    return instance->instance->BindDlpack(name, *tensor);
  });
}

etc_status etc_instance_bind_element(etc_instance* instance, const char* name, int64_t index,
                                     const etc_tensor* tensor) {
  return Guard([&]() -> Status {
    ETC_NEED(instance, name, tensor);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    return instance->instance->BindElement(name, index, *tensor);
  });
}

etc_status etc_instance_bind_element_dlpack(etc_instance* instance, const char* name, int64_t index,
                                            const etc_dl_tensor* tensor) {
  return Guard([&]() -> Status {
    ETC_NEED(instance, name, tensor);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    return instance->instance->BindElementDlpack(name, index, *tensor);
  });
}

etc_status etc_instance_allow_overlap(etc_instance* instance, const char* a, const char* b) {
  return Guard([&]() -> Status {
    ETC_NEED(instance, a, b);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    return instance->instance->AllowOverlap(a, b);
  });
}

etc_status etc_instance_bind_weights(etc_instance* instance, const etc_weights* weights) {
  return Guard([&]() -> Status {
    ETC_NEED(instance, weights);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    return weights->weights->BindTo(instance->instance.get());
  });
}

etc_status etc_instance_workspace_bytes(const etc_instance* instance, int64_t* bytes) {
  return Guard([&]() -> Status {
    ETC_NEED(instance, bytes);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    return instance->instance->WorkspaceBytes(bytes);
  });
}

etc_status etc_instance_bind_workspace(etc_instance* instance, void* data, int64_t bytes) {
  return Guard([&]() -> Status {
    ETC_NEED(instance);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    return instance->instance->BindWorkspace(data, bytes);
  });
}

etc_status etc_instance_reserve(etc_instance* instance) {
  return Guard([&]() -> Status {
    ETC_NEED(instance);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    return instance->instance->Reserve();
  });
}

etc_status etc_instance_set_sms(etc_instance* instance, int32_t sms) {
  return Guard([&]() -> Status {
    ETC_NEED(instance);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    return instance->instance->SetSms(sms);
  });
}

etc_status etc_instance_set_replay(etc_instance* instance, int32_t replay) {
  return Guard([&]() -> Status {
    ETC_NEED(instance);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    if (replay != 0 && replay != 1) {
      return Fail(ETC_ERROR_ARGUMENT, "`replay` is ", replay, ", but must be 0 or 1");
    }
    instance->instance->SetReplay(replay == 1);
    return {};
  });
}

etc_status etc_instance_launch(etc_instance* instance, void* stream) {
  return Guard([&]() -> Status {
    ETC_NEED(instance);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    return instance->instance->Launch(stream);
  });
}

etc_status etc_instance_check(etc_instance* instance, void* stream) {
  return Guard([&]() -> Status {
    ETC_NEED(instance);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    return instance->instance->CheckFailures(stream);
  });
}

etc_status etc_instance_profile(etc_instance* instance, void* stream, etc_profile** profile) {
  return Guard([&]() -> Status {
    ETC_NEED(instance, profile);
    const Use use(instance);
    ETC_RETURN_IF_BAD(use.Check());
    auto made = std::make_unique<etc_profile>();
    ETC_RETURN_IF_BAD(instance->instance->Profile(stream, &made->trace));
    *profile = made.release();
    return {};
  });
}
