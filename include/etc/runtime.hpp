// C++ wrapper of the runtime library: RAII, errors as exceptions. Header only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "etc/runtime.h"

namespace etc {

class Error : public std::runtime_error {
 public:
  Error(etc_status status, const std::string& text) : std::runtime_error(text), status_(status) {}
  etc_status status() const { return status_; }

 private:
  etc_status status_;
};

inline void ThrowUnlessOk(etc_status status) {
  if (status != ETC_OK) {
    throw Error(status, etc_last_error());
  }
}

/// The shape by which a tensor [..., n, k] is bound once it is packed into tiles of A x B, those of
/// etc_param_info: [..., n / A, k / B, A, B]. Without a layout (a tile of zeros) it stays as it is.
inline std::vector<int64_t> PackedShape(std::vector<int64_t> shape, const int64_t* tile) {
  if (tile[0] == 0) {
    return shape;
  }
  if (shape.size() < 2) {
    throw Error(ETC_ERROR_BIND, "a tensor in tiles has at least two axes");
  }
  for (size_t axis = shape.size() - 2, i = 0; i < 2; ++axis, ++i) {
    if (shape[axis] % tile[i] != 0) {
      throw Error(ETC_ERROR_BIND, "extent " + std::to_string(axis) + " is " +
                                      std::to_string(shape[axis]) + ", but its tiles have " +
                                      std::to_string(tile[i]));
    }
    shape[axis] /= tile[i];
  }
  shape.insert(shape.end(), tile, tile + 2);
  return shape;
}

class Program {
 public:
  explicit Program(const std::string& path) {
    etc_program* program = nullptr;
    ThrowUnlessOk(etc_program_load(path.c_str(), &program));
    program_.reset(program);
  }

  /// An artifact in one file, from its bytes.
  static Program FromMemory(const void* data, size_t bytes) {
    etc_program* program = nullptr;
    ThrowUnlessOk(etc_program_load_memory(data, bytes, &program));
    return Program(program);
  }

  const etc_program* get() const { return program_.get(); }

  etc_program_info Describe() const {
    etc_program_info info{};
    info.struct_size = sizeof(info);
    ThrowUnlessOk(etc_program_describe(get(), &info));
    return info;
  }
  etc_proof_info Proof(int32_t index) const {
    etc_proof_info info{};
    info.struct_size = sizeof(info);
    ThrowUnlessOk(etc_program_proof(get(), index, &info));
    return info;
  }
  std::string Assumption(int32_t index) const {
    const char* text = nullptr;
    ThrowUnlessOk(etc_program_assumption(get(), index, &text));
    return text;
  }
  std::string NotProved(int32_t index) const {
    const char* text = nullptr;
    ThrowUnlessOk(etc_program_not_proved(get(), index, &text));
    return text;
  }
  etc_constant_info Constant(int32_t index) const {
    etc_constant_info info{};
    info.struct_size = sizeof(info);
    ThrowUnlessOk(etc_program_constant(get(), index, &info));
    return info;
  }
  etc_graph_info Graph(int32_t index) const {
    etc_graph_info info{};
    info.struct_size = sizeof(info);
    ThrowUnlessOk(etc_program_graph(get(), index, &info));
    return info;
  }
  etc_dim_info Dim(const char* graph, int32_t index) const {
    etc_dim_info info{};
    info.struct_size = sizeof(info);
    ThrowUnlessOk(etc_program_dim(get(), graph, index, &info));
    return info;
  }
  etc_param_info Param(const char* graph, int32_t index) const {
    etc_param_info info{};
    info.struct_size = sizeof(info);
    ThrowUnlessOk(etc_program_param(get(), graph, index, &info));
    return info;
  }
  /// Which part of a parameter a rank of so many has, and how many parts there are.
  std::pair<int32_t, int32_t> Part(const char* graph, const std::string& param, int32_t rank,
                                   int32_t ranks) const {
    std::pair<int32_t, int32_t> part;
    ThrowUnlessOk(
        etc_program_part(get(), graph, param.c_str(), rank, ranks, &part.first, &part.second));
    return part;
  }
  etc_kernel_info Kernel(const char* graph, int32_t index) const {
    etc_kernel_info info{};
    info.struct_size = sizeof(info);
    ThrowUnlessOk(etc_program_kernel(get(), graph, index, &info));
    return info;
  }

  /// From row-major to the parameter's layout and back; runtime.h says how. `graph` may be null
  /// when there is one.
  void Pack(const char* graph, const std::string& param, const std::vector<int64_t>& shape,
            const void* row_major, void* packed) const {
    ThrowUnlessOk(etc_pack(get(), graph, param.c_str(), shape.data(),
                           static_cast<int32_t>(shape.size()), row_major, packed));
  }
  void Unpack(const char* graph, const std::string& param, const std::vector<int64_t>& shape,
              const void* packed, void* row_major) const {
    ThrowUnlessOk(etc_unpack(get(), graph, param.c_str(), shape.data(),
                             static_cast<int32_t>(shape.size()), packed, row_major));
  }
  void PackOnDevice(const char* graph, const std::string& param, const std::vector<int64_t>& shape,
                    const void* row_major, void* packed, void* stream = nullptr) const {
    ThrowUnlessOk(etc_pack_device(get(), graph, param.c_str(), shape.data(),
                                  static_cast<int32_t>(shape.size()), row_major, packed, stream));
  }
  void UnpackOnDevice(const char* graph, const std::string& param,
                      const std::vector<int64_t>& shape, const void* packed, void* row_major,
                      void* stream = nullptr) const {
    ThrowUnlessOk(etc_unpack_device(get(), graph, param.c_str(), shape.data(),
                                    static_cast<int32_t>(shape.size()), packed, row_major, stream));
  }

 private:
  explicit Program(etc_program* program) : program_(program) {}

  struct Free {
    void operator()(etc_program* program) const { etc_program_free(program); }
  };
  std::unique_ptr<etc_program, Free> program_;
};

/// What a launch did when.
class LaunchProfile {
 public:
  explicit LaunchProfile(etc_profile* profile) : profile_(profile) {}

  etc_profile_info Describe() const {
    etc_profile_info info{};
    info.struct_size = sizeof(info);
    ThrowUnlessOk(etc_profile_describe(profile_.get(), &info));
    return info;
  }
  etc_span_info Span(int64_t index) const {
    etc_span_info info{};
    info.struct_size = sizeof(info);
    ThrowUnlessOk(etc_profile_span(profile_.get(), index, &info));
    return info;
  }
  std::string Json() const {
    const char* json = nullptr;
    ThrowUnlessOk(etc_profile_json(profile_.get(), &json));
    return json;
  }

 private:
  struct Free {
    void operator()(etc_profile* profile) const { etc_profile_free(profile); }
  };
  std::unique_ptr<etc_profile, Free> profile_;
};

class Instance {
 public:
  explicit Instance(const Program& program, const char* graph = nullptr) {
    etc_instance* instance = nullptr;
    ThrowUnlessOk(etc_instance_create(program.get(), graph, &instance));
    instance_.reset(instance);
  }

  /// A rank of a group, which owns it and must outlive this.
  explicit Instance(etc_instance* of_group) : instance_(of_group, Free{false}) {}

  etc_instance* get() const { return instance_.get(); }

  void SetDim(const std::string& name, int64_t value) {
    ThrowUnlessOk(etc_instance_set_dim(get(), name.c_str(), value));
  }
  void ClearDim(const std::string& name) {
    ThrowUnlessOk(etc_instance_clear_dim(get(), name.c_str()));
  }
  int64_t Dim(const std::string& name) const {
    int64_t value = 0;
    ThrowUnlessOk(etc_instance_dim(get(), name.c_str(), &value));
    return value;
  }
  std::vector<int64_t> Shape(const std::string& name, int32_t rank) const {
    std::vector<int64_t> extents(static_cast<size_t>(rank));
    ThrowUnlessOk(etc_instance_param_shape(get(), name.c_str(), extents.data(), rank));
    return extents;
  }

  /// Both bounds included.
  std::pair<int64_t, int64_t> ValueRange(const std::string& name) const {
    std::pair<int64_t, int64_t> range;
    ThrowUnlessOk(etc_instance_value_range(get(), name.c_str(), &range.first, &range.second));
    return range;
  }

  void Bind(const std::string& name, const etc_tensor& tensor) {
    ThrowUnlessOk(etc_instance_bind(get(), name.c_str(), &tensor));
  }
  /// A dense row-major tensor.
  void Bind(const std::string& name, void* data, etc_dtype dtype,
            const std::vector<int64_t>& shape) {
    Bind(name, etc_tensor{data, dtype, static_cast<int32_t>(shape.size()), shape.data(), nullptr});
  }
  void BindDlpack(const std::string& name, const etc_dl_tensor& tensor) {
    ThrowUnlessOk(etc_instance_bind_dlpack(get(), name.c_str(), &tensor));
  }
  /// One tensor of an array.
  void BindElement(const std::string& name, int64_t index, const etc_tensor& tensor) {
    ThrowUnlessOk(etc_instance_bind_element(get(), name.c_str(), index, &tensor));
  }
  void BindElement(const std::string& name, int64_t index, void* data, etc_dtype dtype,
                   const std::vector<int64_t>& shape) {
    BindElement(name, index,
                etc_tensor{data, dtype, static_cast<int32_t>(shape.size()), shape.data(), nullptr});
  }
  void BindElementDlpack(const std::string& name, int64_t index, const etc_dl_tensor& tensor) {
    ThrowUnlessOk(etc_instance_bind_element_dlpack(get(), name.c_str(), index, &tensor));
  }
  void AllowOverlap(const std::string& name, const std::string& other) {
    ThrowUnlessOk(etc_instance_allow_overlap(get(), name.c_str(), other.c_str()));
  }

  int64_t WorkspaceBytes() const {
    int64_t bytes = 0;
    ThrowUnlessOk(etc_instance_workspace_bytes(get(), &bytes));
    return bytes;
  }
  void BindWorkspace(void* data, int64_t bytes) {
    ThrowUnlessOk(etc_instance_bind_workspace(get(), data, bytes));
  }
  void Reserve() { ThrowUnlessOk(etc_instance_reserve(get())); }
  void SetSms(int32_t sms) { ThrowUnlessOk(etc_instance_set_sms(get(), sms)); }
  void SetReplay(bool replay) { ThrowUnlessOk(etc_instance_set_replay(get(), replay ? 1 : 0)); }
  void Launch(void* stream = nullptr) { ThrowUnlessOk(etc_instance_launch(get(), stream)); }
  LaunchProfile Profile(void* stream = nullptr) {
    etc_profile* profile = nullptr;
    ThrowUnlessOk(etc_instance_profile(get(), stream, &profile));
    return LaunchProfile(profile);
  }
  void Check(void* stream = nullptr) { ThrowUnlessOk(etc_instance_check(get(), stream)); }

 private:
  struct Free {
    Free() : is_ours(true) {}
    explicit Free(bool ours) : is_ours(ours) {}
    bool is_ours;
    void operator()(etc_instance* instance) const {
      if (is_ours) {
        etc_instance_free(instance);
      }
    }
  };
  std::unique_ptr<etc_instance, Free> instance_;
};

/// The ranks of a program with a mesh.
class Group {
 public:
  Group(const Program& program, int32_t ranks, const char* graph = nullptr) {
    etc_group* group = nullptr;
    ThrowUnlessOk(etc_group_create(program.get(), graph, ranks, &group));
    group_.reset(group);
  }
  /// With the device of each rank.
  Group(const Program& program, const std::vector<int32_t>& devices, const char* graph = nullptr) {
    etc_group* group = nullptr;
    ThrowUnlessOk(etc_group_create_on(program.get(), graph, static_cast<int32_t>(devices.size()),
                                      devices.data(), &group));
    group_.reset(group);
  }

  /// One rank in this process; runtime.h says what null leaves open.
  static Group Join(const Program& program, const etc_join_options* options = nullptr,
                    const char* graph = nullptr) {
    etc_group* group = nullptr;
    ThrowUnlessOk(etc_group_join(program.get(), graph, options, &group));
    return Group(group);
  }

  etc_group* get() const { return group_.get(); }

  etc_group_info Describe() const {
    etc_group_info info{};
    info.struct_size = sizeof(info);
    ThrowUnlessOk(etc_group_describe(get(), &info));
    return info;
  }

  Instance Rank(int32_t rank) const {
    etc_instance* instance = nullptr;
    ThrowUnlessOk(etc_group_instance(get(), rank, &instance));
    return Instance(instance);
  }
  void Reserve() { ThrowUnlessOk(etc_group_reserve(get())); }
  void Launch(void* const* streams = nullptr) { ThrowUnlessOk(etc_group_launch(get(), streams)); }
  void Synchronize(void* const* streams = nullptr) {
    ThrowUnlessOk(etc_group_synchronize(get(), streams));
  }
  /// `all` has room for `bytes` of each rank.
  void Gather(const void* own, int64_t bytes, void* all) {
    ThrowUnlessOk(etc_group_gather(get(), own, bytes, all));
  }

 private:
  explicit Group(etc_group* group) : group_(group) {}

  struct Free {
    void operator()(etc_group* group) const { etc_group_free(group); }
  };
  std::unique_ptr<etc_group, Free> group_;
};

}  // namespace etc
