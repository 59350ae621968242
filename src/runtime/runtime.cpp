// include/etc/runtime.h
#include "etc/runtime.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <variant>

#include "runtime/c_api.h"
#include "runtime/dtype.h"
#include "runtime/instance.h"
#include "runtime/layout.h"
#include "runtime/program.h"

using etc::runtime::Fail;
using etc::runtime::Guard;
using etc::runtime::Instance;
using etc::runtime::Program;
using etc::runtime::Status;

struct etc_program {
  std::shared_ptr<const Program> program;
};

struct etc_instance {
  std::unique_ptr<Instance> instance;
  mutable std::atomic<bool> in_use{false};
};

namespace etc::runtime {
namespace {

thread_local std::string last_error;

/// The element at `index`, or a failure that says how many there are.
template <class T>
Status Pick(const std::vector<T>& items, int32_t index, const char* what, const T** item) {
  if (index < 0 || static_cast<size_t>(index) >= items.size()) {
    return Fail(ETC_ERROR_NOT_FOUND, "there is no ", what, " ", index, ": there are ", items.size(),
                ", counted from 0");
  }
  *item = &items[static_cast<size_t>(index)];
  return {};
}

int32_t Count(size_t size) { return static_cast<int32_t>(size); }

etc_constant_info Describe(const manifest::Constant& constant) {
  etc_constant_info info{constant.name.c_str(), ETC_CONSTANT_BOOL, 0, 0.0};
  if (const double* number = std::get_if<double>(&constant.value)) {
    info.kind = ETC_CONSTANT_FLOAT;
    info.float_value = *number;
    return info;
  }
  const int64_t* number = std::get_if<int64_t>(&constant.value);
  info.kind = number != nullptr ? ETC_CONSTANT_INT : ETC_CONSTANT_BOOL;
  info.int_value = number != nullptr ? *number : int64_t{std::get<bool>(constant.value)};
  info.float_value = static_cast<double>(info.int_value);
  return info;
}

}  // namespace

namespace {

/// A call with an instance, for as long as the object lives.
class Use {
 public:
  explicit Use(const etc_instance* instance)
      : in_use_(instance->in_use), is_ours_(!in_use_.exchange(true, std::memory_order_acquire)) {}
  ~Use() {
    if (is_ours_) {
      in_use_.store(false, std::memory_order_release);
    }
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  Status Check() const {
    return is_ours_ ? Status{}
                    : Fail(ETC_ERROR_BUSY,
                           "another thread is inside of a call with this instance: make one "
                           "instance for each thread");
  }

 private:
  std::atomic<bool>& in_use_;
  const bool is_ours_;
};

/// What a call of packing works on.
Status FindTiled(const etc_program* program, const char* graph, const char* name,
                 const int64_t* extents, int32_t rank, TiledShape* shape) {
  const manifest::Graph* found = nullptr;
  ETC_RETURN_IF_BAD(program->program->FindGraph(graph, &found));
  for (const manifest::Param& param : found->params) {
    if (param.name == name) {
      return MakeTiledShape(*found, param, extents, rank, shape);
    }
  }
  return Fail(ETC_ERROR_NOT_FOUND, "graph `", found->name, "` has no parameter `", name, "`");
}

}  // namespace

etc_status Report(const Status& status) {
  if (!status.Ok()) {
    try {
      last_error = status.message;
    } catch (const std::bad_alloc&) {
      last_error.clear();
    }
  }
  return status.code;
}

}  // namespace etc::runtime

using etc::runtime::Use;

const char* etc_last_error(void) { return etc::runtime::last_error.c_str(); }

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
    *program = loaded.release();
    return {};
  });
}

void etc_program_free(etc_program* program) { delete program; }

etc_status etc_program_describe(const etc_program* program, etc_program_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(program, info);
    const etc::manifest::Manifest& manifest = program->program->manifest();
    *info = {manifest.target.c_str(),
             manifest.binary.file.c_str(),
             manifest.producer.toolchain.c_str(),
             etc::runtime::Count(manifest.graphs.size()),
             etc::runtime::Count(manifest.constants.size()),
             manifest.debug_checks.has_value() ? 1 : 0};
    return {};
  });
}

etc_status etc_program_constant(const etc_program* program, int32_t index,
                                etc_constant_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(program, info);
    const etc::manifest::Constant* constant = nullptr;
    ETC_RETURN_IF_BAD(
        etc::runtime::Pick(program->program->manifest().constants, index, "constant", &constant));
    *info = etc::runtime::Describe(*constant);
    return {};
  });
}

etc_status etc_program_graph(const etc_program* program, int32_t index, etc_graph_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(program, info);
    const etc::manifest::Graph* graph = nullptr;
    ETC_RETURN_IF_BAD(
        etc::runtime::Pick(program->program->manifest().graphs, index, "graph", &graph));
    *info = {graph->name.c_str(), etc::runtime::Count(graph->dims.size()),
             etc::runtime::Count(graph->params.size()), etc::runtime::Count(graph->kernels.size())};
    return {};
  });
}

etc_status etc_program_dim(const etc_program* program, const char* graph, int32_t index,
                           etc_dim_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(program, info);
    const etc::manifest::Graph* found = nullptr;
    const etc::manifest::Dim* dim = nullptr;
    ETC_RETURN_IF_BAD(program->program->FindGraph(graph, &found));
    ETC_RETURN_IF_BAD(etc::runtime::Pick(found->dims, index, "dim", &dim));
    *info = {dim->name.c_str(), dim->min, dim->max, dim->multiple};
    return {};
  });
}

etc_status etc_program_param(const etc_program* program, const char* graph, int32_t index,
                             etc_param_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(program, info);
    const etc::manifest::Graph* found = nullptr;
    const etc::manifest::Param* param = nullptr;
    ETC_RETURN_IF_BAD(program->program->FindGraph(graph, &found));
    ETC_RETURN_IF_BAD(etc::runtime::Pick(found->params, index, "parameter", &param));
    const auto& extents = program->program->text(*found).extent_pointers;
    const auto& values = program->program->text(*found).values[static_cast<size_t>(index)];
    *info = {param->name.c_str(),
             param->access,
             param->dtype,
             etc::runtime::Count(param->shape.size()),
             extents[static_cast<size_t>(index)].data(),
             param->alignment,
             param->values ? 1 : 0,
             param->values ? values.first.c_str() : nullptr,
             param->values ? values.second.c_str() : nullptr,
             param->tile ? 1 : 0,
             {param->tile ? param->tile->rows : 0, param->tile ? param->tile->columns : 0},
             param->distinct ? 1 : 0,
             param->monotone ? 1 : 0,
             param->tile && param->tile->swizzle ? 1 : 0};
    return {};
  });
}

etc_status etc_program_kernel(const etc_program* program, const char* graph, int32_t index,
                              etc_kernel_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(program, info);
    const etc::manifest::Graph* found = nullptr;
    const etc::manifest::Kernel* kernel = nullptr;
    ETC_RETURN_IF_BAD(program->program->FindGraph(graph, &found));
    ETC_RETURN_IF_BAD(etc::runtime::Pick(found->kernels, index, "kernel", &kernel));
    const std::string& where = program->program->text(*found).where[static_cast<size_t>(index)];
    const std::vector<std::string>& entries =
        program->program->text(*found).entries[static_cast<size_t>(index)];
    *info = {entries.empty() ? "" : entries.front().c_str(),
             kernel->schedule.c_str(),
             where.c_str(),
             static_cast<int32_t>(kernel->threads),
             kernel->shared_bytes,
             static_cast<int32_t>(entries.size())};
    return {};
  });
}

etc_status etc_pack(const etc_program* program, const char* graph, const char* param,
                    const int64_t* shape, int32_t rank, const void* row_major, void* packed) {
  return Guard([&]() -> Status {
    ETC_NEED(program, param, shape, row_major, packed);
    etc::runtime::TiledShape tiled;
    ETC_RETURN_IF_BAD(etc::runtime::FindTiled(program, graph, param, shape, rank, &tiled));
    return CopyOnHost(tiled, etc::runtime::Packing::Pack, row_major, packed);
  });
}

etc_status etc_unpack(const etc_program* program, const char* graph, const char* param,
                      const int64_t* shape, int32_t rank, const void* packed, void* row_major) {
  return Guard([&]() -> Status {
    ETC_NEED(program, param, shape, packed, row_major);
    etc::runtime::TiledShape tiled;
    ETC_RETURN_IF_BAD(etc::runtime::FindTiled(program, graph, param, shape, rank, &tiled));
    return CopyOnHost(tiled, etc::runtime::Packing::Unpack, packed, row_major);
  });
}

etc_status etc_pack_device(const etc_program* program, const char* graph, const char* param,
                           const int64_t* shape, int32_t rank, const void* row_major, void* packed,
                           void* stream) {
  return Guard([&]() -> Status {
    ETC_NEED(program, param, shape, row_major, packed);
    etc::runtime::TiledShape tiled;
    ETC_RETURN_IF_BAD(etc::runtime::FindTiled(program, graph, param, shape, rank, &tiled));
    return CopyOnDevice(tiled, etc::runtime::Packing::Pack, row_major, packed, stream);
  });
}

etc_status etc_unpack_device(const etc_program* program, const char* graph, const char* param,
                             const int64_t* shape, int32_t rank, const void* packed,
                             void* row_major, void* stream) {
  return Guard([&]() -> Status {
    ETC_NEED(program, param, shape, packed, row_major);
    etc::runtime::TiledShape tiled;
    ETC_RETURN_IF_BAD(etc::runtime::FindTiled(program, graph, param, shape, rank, &tiled));
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
