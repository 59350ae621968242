// What the runtime must refuse of a program that is right: null arguments, wrong tensors, sizes and
// orders of calls.
#include <atomic>
#include <thread>

#include "etc/device.h"
#include "runtime/fault_table.h"
#include "runtime/gather_run.h"

namespace etc::test {
namespace {

using nlohmann::json;

TEST_CASE("faults of null arguments and of structs without their size") {
  Gather gather;
  const etc_program* program = gather.program.get();
  etc_instance* run = gather.instance.get();
  constexpr etc_status kArgument = ETC_ERROR_ARGUMENT;
  etc_program* loaded = nullptr;
  etc_instance* made = nullptr;
  etc_tensor tensor{};
  etc_dl_tensor dl_tensor{};
  int64_t value = 0;
  const char* text = nullptr;
  void* data = nullptr;
  char bytes[8] = {};
  const size_t count = CheckFaults({
      {"load", [&] { return etc_program_load(nullptr, &loaded); }, kArgument, "`path` is null"},
      {"load to", [] { return etc_program_load("x.json", nullptr); }, kArgument, "`program` is"},
      {"memory", [&] { return etc_program_load_memory(nullptr, 8, &loaded); }, kArgument,
       "`data` is null"},
      {"memory to", [&] { return etc_program_load_memory(bytes, 8, nullptr); }, kArgument,
       "`program` is null"},
      {"describe", [&] { return etc_program_describe(program, nullptr); }, kArgument,
       "`info` is null"},
      {"describe nothing",
       [] {
         etc_program_info info{};
         return etc_program_describe(nullptr, &info);
       },
       kArgument, "`program` is null"},
      {"a struct without a size",
       [&] {
         etc_program_info info{};
         return etc_program_describe(program, &info);
       },
       kArgument, "`info->struct_size` is 0"},
      {"a struct of an absurd size",
       [&] {
         etc_param_info info{};
         info.struct_size = SIZE_MAX;
         return etc_program_param(program, nullptr, 0, &info);
       },
       kArgument, "`info->struct_size` is 18446744073709551615"},
      {"constant", [&] { return etc_program_constant(program, 0, nullptr); }, kArgument, "`info`"},
      {"graph", [&] { return etc_program_graph(program, 0, nullptr); }, kArgument, "`info`"},
      {"dim", [&] { return etc_program_dim(program, nullptr, 0, nullptr); }, kArgument, "`info`"},
      {"param", [&] { return etc_program_param(nullptr, nullptr, 0, nullptr); }, kArgument,
       "`program` is null"},
      {"kernel", [&] { return etc_program_kernel(program, nullptr, 0, nullptr); }, kArgument,
       "`info` is null"},
      {"proof", [&] { return etc_program_proof(program, 0, nullptr); }, kArgument, "`info`"},
      {"assumption", [&] { return etc_program_assumption(program, 0, nullptr); }, kArgument,
       "`text` is null"},
      {"not proved", [&] { return etc_program_not_proved(nullptr, 0, &text); }, kArgument,
       "`program` is null"},
      {"pack", [&] { return etc_pack(program, nullptr, "table", nullptr, 2, bytes, bytes); },
       kArgument, "`shape` is null"},
      {"pack what", [&] { return etc_pack(program, nullptr, nullptr, &value, 1, bytes, bytes); },
       kArgument, "`param` is null"},
      {"unpack", [&] { return etc_unpack(nullptr, nullptr, "table", &value, 1, bytes, bytes); },
       kArgument, "`program` is null"},
      {"create", [&] { return etc_instance_create(nullptr, nullptr, &made); }, kArgument,
       "`program` is null"},
      {"create to", [&] { return etc_instance_create(program, nullptr, nullptr); }, kArgument,
       "`instance` is null"},
      {"set_dim", [&] { return etc_instance_set_dim(run, nullptr, 1); }, kArgument,
       "`name` is null"},
      {"clear_dim", [&] { return etc_instance_clear_dim(nullptr, "n"); }, kArgument, "`instance`"},
      {"dim to", [&] { return etc_instance_dim(run, "batch", nullptr); }, kArgument, "`value` is"},
      {"param_shape", [&] { return etc_instance_param_shape(run, nullptr, &value, 1); }, kArgument,
       "`name` is null"},
      {"value_range", [&] { return etc_instance_value_range(run, "ids", &value, nullptr); },
       kArgument, "`max` is null"},
      {"bind", [&] { return etc_instance_bind(run, "ids", nullptr); }, kArgument,
       "`tensor` is null"},
      {"bind what", [&] { return etc_instance_bind(run, nullptr, &tensor); }, kArgument, "`name`"},
      {"bind_dlpack", [&] { return etc_instance_bind_dlpack(nullptr, "ids", &dl_tensor); },
       kArgument, "`instance` is null"},
      {"workspace_bytes", [&] { return etc_instance_workspace_bytes(run, nullptr); }, kArgument,
       "`bytes` is null"},
      {"bind_workspace", [] { return etc_instance_bind_workspace(nullptr, nullptr, 0); }, kArgument,
       "`instance` is null"},
      {"reserve", [] { return etc_instance_reserve(nullptr); }, kArgument, "`instance` is null"},
      {"set_sms", [] { return etc_instance_set_sms(nullptr, 1); }, kArgument, "`instance` is null"},
      {"launch", [] { return etc_instance_launch(nullptr, nullptr); }, kArgument, "`instance` is"},
      {"check", [] { return etc_instance_check(nullptr, nullptr); }, kArgument, "`instance` is"},
      {"device describe", [] { return etc_device_describe(nullptr); }, kArgument, "`info` is null"},
      {"device alloc", [] { return etc_device_alloc(8, nullptr); }, kArgument, "`data` is null"},
      {"device alloc of -1", [&] { return etc_device_alloc(-1, &data); }, kArgument, "is -1 bytes"},
      {"host alloc", [] { return etc_host_alloc(8, nullptr); }, kArgument, "`data` is null"},
      {"host alloc of -1", [&] { return etc_host_alloc(-1, &data); }, kArgument, "is -1 bytes"},
      {"an allocator without a size",
       [] {
         etc_allocator allocator{};
         return etc_set_allocator(&allocator);
       },
       kArgument, "`allocator->struct_size` is 0"},
      {"an allocator without functions",
       [] {
         etc_allocator allocator{};
         allocator.struct_size = sizeof(allocator);
         return etc_set_allocator(&allocator);
       },
       kArgument, "`allocator->allocate` is null"},
  });
  CHECK(count >= 40);
}

TEST_CASE("faults of tensors, sizes and orders of calls") {
  Gather gather;
  etc_instance* run = gather.instance.get();
  alignas(256) static char memory[1 << 14];
  constexpr etc_status kBind = ETC_ERROR_BIND;
  constexpr etc_status kDim = ETC_ERROR_DIM;
  const auto bind = [run](const char* name, void* data, etc_dtype dtype, std::vector<int64_t> shape,
                          std::vector<int64_t> strides = {}) {
    return [=] {
      const etc_tensor tensor{data, dtype, static_cast<int32_t>(shape.size()), shape.data(),
                              strides.empty() ? nullptr : strides.data()};
      return etc_instance_bind(run, name, &tensor);
    };
  };
  const auto dlpack = [run](int32_t device, uint8_t code, uint8_t bits, uint16_t lanes,
                            uint64_t offset) {
    return [=] {
      int64_t shape[] = {4};
      const etc_dl_tensor tensor{memory, {device, 0}, 1,     {code, bits, lanes},
                                 shape,  nullptr,     offset};
      return etc_instance_bind_dlpack(run, "ids", &tensor);
    };
  };
  const auto bind_all = [&](etc_instance* instance, int64_t batch, int64_t width) {
    const int64_t ids[] = {batch}, table[] = {10, width}, out[] = {batch * width};
    const etc_tensor tensors[] = {{memory, ETC_I32, 1, ids, nullptr},
                                  {memory + 1024, ETC_F32, 2, table, nullptr},
                                  {memory + 8192, ETC_F32, 1, out, nullptr}};
    const char* names[] = {"ids", "table", "out"};
    for (int i = 0; i < 3; ++i) {
      REQUIRE(etc_instance_bind(instance, names[i], &tensors[i]) == ETC_OK);
    }
  };
  const auto launch_with = [&](const etc_allocator& allocator) {
    etc_set_allocator(&allocator);
    Instance instance(gather.program);
    etc_set_allocator(nullptr);
    bind_all(instance.get(), 4, 8);
    return etc_instance_launch(instance.get(), nullptr);
  };
  void* end_of_memory = reinterpret_cast<void*>(UINTPTR_MAX & ~uintptr_t{255});
  const auto fresh = [&](auto action) {
    return [&, action] {
      Instance instance(gather.program);
      return action(instance.get());
    };
  };
  int64_t value = 0;
  const size_t count = CheckFaults({
      {"another name", bind("idx", memory, ETC_I32, {4}), ETC_ERROR_NOT_FOUND, "parameter `idx`"},
      {"another dtype", bind("ids", memory, ETC_F32, {4}), kBind, "the dtype is f32, but must be"},
      {"no dtype", bind("ids", memory, static_cast<etc_dtype>(99), {4}), kBind, "is unknown"},
      {"another rank", bind("ids", memory, ETC_I32, {4, 1}), kBind, "the rank is 2, but must be 1"},
      {"a negative rank",
       [&] {
         const etc_tensor tensor{memory, ETC_I32, -1, nullptr, nullptr};
         return etc_instance_bind(run, "ids", &tensor);
       },
       kBind, "the rank is -1"},
      {"no shape",
       [&] {
         const etc_tensor tensor{memory, ETC_I32, 1, nullptr, nullptr};
         return etc_instance_bind(run, "ids", &tensor);
       },
       kBind, "the shape is null"},
      {"no data", bind("ids", nullptr, ETC_I32, {4}), kBind, "the data is null"},
      {"data off its alignment", bind("ids", memory + 2, ETC_I32, {4}), kBind,
       "aligned to 4 bytes"},
      {"a negative extent", bind("ids", memory, ETC_I32, {-4}), kBind, "extent 0 is -4"},
      {"another extent", bind("table", memory, ETC_F32, {11, 8}), kBind, "is 11, but must be 10"},
      {"a dim out of range", bind("ids", memory, ETC_I32, {65}), kBind, "must be in 1..64"},
      {"a dim that is no multiple", bind("table", memory, ETC_F32, {10, 6}), kBind,
       "a multiple of 4"},
      {"2^62 elements", bind("out", memory, ETC_F32, {int64_t{1} << 62}), kBind, "bytes overflows"},
      {"strides with gaps", bind("table", memory, ETC_F32, {10, 8}, {16, 1}), kBind,
       "stride 0 is 16"},
      {"strides of columns", bind("table", memory, ETC_F32, {10, 8}, {1, 10}), kBind, "stride 1"},
      {"negative strides", bind("ids", memory, ETC_I32, {4}, {-1}), kBind, "stride 0 is -1"},
      {"a stride of 0", bind("ids", memory, ETC_I32, {4}, {0}), kBind, "stride 0 is 0"},
      {"the end of the address space", bind("out", end_of_memory, ETC_F32, {256}), kBind,
       "beyond the end of the address space"},
      {"a tensor of a GPU", dlpack(2, 0, 32, 1, 0), kBind, "is on a device (DLPack type 2)"},
      {"a DLPack dtype", dlpack(1, 2, 32, 1, 0), kBind, "the dtype is f32"},
      {"a DLPack dtype of 4 bits", dlpack(1, 0, 4, 1, 0), kBind, "has no counterpart"},
      {"DLPack lanes", dlpack(1, 0, 32, 4, 0), kBind, "has no counterpart"},
      {"a DLPack offset that wraps", dlpack(1, 0, 32, 1, UINT64_MAX - 3), kBind, "byte offset"},
      {"a DLPack offset off its alignment", dlpack(1, 0, 32, 1, 2), kBind, "aligned to 4 bytes"},
      {"an unknown dim", [&] { return etc_instance_set_dim(run, "seq", 1); }, ETC_ERROR_NOT_FOUND,
       "no dim `seq`"},
      {"a dim of 0", [&] { return etc_instance_set_dim(run, "batch", 0); }, kDim, "in 1..64"},
      {"a dim of -2^63", [&] { return etc_instance_set_dim(run, "batch", INT64_MIN); }, kDim,
       "in 1..64"},
      {"a width of 6", [&] { return etc_instance_set_dim(run, "width", 6); }, kDim,
       "a multiple of 4"},
      {"an unknown dim to clear", [&] { return etc_instance_clear_dim(run, "seq"); },
       ETC_ERROR_NOT_FOUND, "no dim `seq`"},
      {"a dim without a value", [&] { return etc_instance_dim(run, "batch", &value); }, kDim,
       "is not set, and no tensor is bound"},
      {"a shape without a value", [&] { return etc_instance_param_shape(run, "ids", &value, 1); },
       kDim, "has no value yet"},
      {"a shape of nothing", [&] { return etc_instance_param_shape(run, "idx", &value, 1); },
       ETC_ERROR_NOT_FOUND, "no parameter `idx`"},
      {"a range of nothing", [&] { return etc_instance_value_range(run, "idx", &value, &value); },
       ETC_ERROR_NOT_FOUND, "no parameter `idx`"},
      {"no room for a shape",
       [&] {
         etc_instance_set_dim(run, "width", 8);
         return etc_instance_param_shape(run, "table", &value, 1);
       },
       ETC_ERROR_ARGUMENT, "2 extents, but there is room for 1"},
      {"a workspace without sizes", fresh([&](etc_instance* instance) {
         return etc_instance_workspace_bytes(instance, &value);
       }),
       kDim, "is not set"},
      {"a workspace off its alignment",
       [&] { return etc_instance_bind_workspace(run, memory + 128, 1024); }, kBind, "to 256 bytes"},
      {"a workspace of -1", [&] { return etc_instance_bind_workspace(run, memory, -1); },
       ETC_ERROR_ARGUMENT, "has -1 bytes"},
      {"a workspace that wraps",
       [&] { return etc_instance_bind_workspace(run, end_of_memory, 1 << 20); }, kBind,
       "beyond the end of the address space"},
      {"-1 threads", [&] { return etc_instance_set_sms(run, -1); }, ETC_ERROR_ARGUMENT, "is -1"},
      {"a million threads", [&] { return etc_instance_set_sms(run, 1000000); }, ETC_ERROR_ARGUMENT,
       "must be in 0..4096"},
      {"a launch without tensors",
       fresh([](etc_instance* instance) { return etc_instance_launch(instance, nullptr); }), kDim,
       "is not set, and no tensor is bound"},
      {"a launch with one tensor", fresh([&](etc_instance* instance) {
         etc_instance_set_dim(instance, "batch", 4);
         etc_instance_set_dim(instance, "width", 8);
         return etc_instance_launch(instance, nullptr);
       }),
       ETC_ERROR_UNBOUND, "parameter `ids` has no tensor"},
      {"reserve without sizes",
       fresh([](etc_instance* instance) { return etc_instance_reserve(instance); }), kDim,
       "not set"},
      {"tensors that disagree", fresh([&](etc_instance* instance) {
         bind_all(instance, 4, 8);
         const int64_t shape[] = {5};
         const etc_tensor ids{memory, ETC_I32, 1, shape, nullptr};
         etc_instance_bind(instance, "ids", &ids);
         return etc_instance_launch(instance, nullptr);
       }),
       kBind, "extent 0 is 32, but `batch*width` is 40"},
      {"a size that was set after", fresh([&](etc_instance* instance) {
         bind_all(instance, 4, 8);
         etc_instance_set_dim(instance, "batch", 5);
         return etc_instance_launch(instance, nullptr);
       }),
       kBind, "extent 0 is 4, but `batch` is 5"},
      {"tensors that overlap", fresh([&](etc_instance* instance) {
         bind_all(instance, 4, 8);
         const int64_t shape[] = {32};
         const etc_tensor out{memory + 1024 + 16, ETC_F32, 1, shape, nullptr};
         etc_instance_bind(instance, "out", &out);
         return etc_instance_launch(instance, nullptr);
       }),
       kBind, "`table` and `out` overlap in memory"},
      {"a workspace over a tensor", fresh([&](etc_instance* instance) {
         etc_instance_bind_workspace(instance, memory + 1024, 4096);
         bind_all(instance, 4, 8);
         return etc_instance_launch(instance, nullptr);
       }),
       kBind, "parameter `table`: the data overlaps the workspace"},
      {"a tensor over a workspace", fresh([&](etc_instance* instance) {
         bind_all(instance, 4, 8);
         etc_instance_bind_workspace(instance, memory + 8192, 4096);
         return etc_instance_launch(instance, nullptr);
       }),
       kBind, "parameter `out`: the data overlaps the workspace"},
      {"a workspace that is too small", fresh([&](etc_instance* instance) {
         bind_all(instance, 4, 8);
         etc_instance_bind_workspace(instance, memory + 12288, 64);
         return etc_instance_launch(instance, nullptr);
       }),
       kBind, "the workspace has 64 bytes, but the launch needs 128"},
      {"a graph of another name",
       [&] {
         etc_instance* made = nullptr;
         return etc_instance_create(gather.program.get(), "scatter", &made);
       },
       ETC_ERROR_NOT_FOUND, "no graph `scatter`"},
      {"an index behind the last",
       [&] {
         etc_dim_info info{};
         info.struct_size = sizeof(info);
         return etc_program_dim(gather.program.get(), nullptr, 2, &info);
       },
       ETC_ERROR_NOT_FOUND, "there is no dim 2: there are 2"},
      {"an index of -1",
       [&] {
         etc_constant_info info{};
         info.struct_size = sizeof(info);
         return etc_program_constant(gather.program.get(), -1, &info);
       },
       ETC_ERROR_NOT_FOUND, "there is no constant -1"},
      {"packing what has no layout",
       [&] {
         const int64_t shape[] = {10, 8};
         return etc_pack(gather.program.get(), nullptr, "table", shape, 2, memory, memory + 4096);
       },
       ETC_ERROR_ARGUMENT, "is row-major"},
      {"packing nothing",
       [&] { return etc_pack(gather.program.get(), nullptr, "idx", &value, 1, memory, memory); },
       ETC_ERROR_NOT_FOUND, "no parameter `idx`"},
      {"an allocator that gives nothing",
       [&] {
         etc_allocator allocator{sizeof(etc_allocator), nullptr,
                                 [](void*, int64_t, int32_t, void*) -> void* { return nullptr; },
                                 [](void*, void*, int64_t, int32_t) {}};
         return launch_with(allocator);
       },
       ETC_ERROR_OUT_OF_MEMORY, "the caller's allocator gives no"},
      {"an allocator off the alignment",
       [&] {
         etc_allocator allocator{
             sizeof(etc_allocator), nullptr,
             [](void*, int64_t, int32_t, void*) -> void* { return memory + 64; },
             [](void*, void*, int64_t, int32_t) {}};
         return launch_with(allocator);
       },
       ETC_ERROR_ARGUMENT, "must be aligned to 256 bytes"},
  });
  CHECK(count >= 55);
}

}  // namespace
}  // namespace etc::test
