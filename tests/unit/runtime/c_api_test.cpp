#include <doctest/doctest.h>

#include <string>
#include <thread>

#include "runtime/gather_run.h"

namespace etc::test {
namespace {

TEST_CASE("null pointers are errors") {
  Gather gather;
  etc_program* program = nullptr;
  etc_instance* instance = nullptr;
  etc_graph_info graph{};
  etc_tensor tensor{};
  etc_dl_tensor dl_tensor{};
  int64_t value = 0;
  CHECK(etc_program_load(nullptr, &program) == ETC_ERROR_ARGUMENT);
  CHECK(std::string(etc_last_error()) == "`path` is null");
  CHECK(etc_program_load("x.json", nullptr) == ETC_ERROR_ARGUMENT);
  CHECK(etc_program_describe(gather.program.get(), nullptr) == ETC_ERROR_ARGUMENT);
  CHECK(etc_program_constant(nullptr, 0, nullptr) == ETC_ERROR_ARGUMENT);
  CHECK(etc_program_graph(nullptr, 0, &graph) == ETC_ERROR_ARGUMENT);
  CHECK(etc_program_dim(nullptr, nullptr, 0, nullptr) == ETC_ERROR_ARGUMENT);
  CHECK(etc_program_param(nullptr, nullptr, 0, nullptr) == ETC_ERROR_ARGUMENT);
  CHECK(etc_program_kernel(nullptr, nullptr, 0, nullptr) == ETC_ERROR_ARGUMENT);
  CHECK(etc_instance_create(nullptr, nullptr, &instance) == ETC_ERROR_ARGUMENT);
  CHECK(etc_instance_set_dim(nullptr, "n", 1) == ETC_ERROR_ARGUMENT);
  CHECK(etc_instance_set_dim(gather.instance.get(), nullptr, 1) == ETC_ERROR_ARGUMENT);
  CHECK(etc_instance_clear_dim(nullptr, "n") == ETC_ERROR_ARGUMENT);
  CHECK(etc_instance_dim(nullptr, "n", &value) == ETC_ERROR_ARGUMENT);
  CHECK(etc_instance_bind(gather.instance.get(), "ids", nullptr) == ETC_ERROR_ARGUMENT);
  CHECK(etc_instance_bind(gather.instance.get(), nullptr, &tensor) == ETC_ERROR_ARGUMENT);
  CHECK(etc_instance_bind_dlpack(nullptr, "ids", &dl_tensor) == ETC_ERROR_ARGUMENT);
  CHECK(etc_instance_workspace_bytes(nullptr, &value) == ETC_ERROR_ARGUMENT);
  CHECK(etc_instance_bind_workspace(nullptr, nullptr, 0) == ETC_ERROR_ARGUMENT);
  CHECK(etc_instance_reserve(nullptr) == ETC_ERROR_ARGUMENT);
  CHECK(etc_instance_set_sms(nullptr, 1) == ETC_ERROR_ARGUMENT);
  CHECK(etc_instance_set_replay(nullptr, 1) == ETC_ERROR_ARGUMENT);
  CHECK(etc_instance_launch(nullptr, nullptr) == ETC_ERROR_ARGUMENT);
  etc_program_free(nullptr);
  etc_instance_free(nullptr);
}

TEST_CASE("a shape needs room") {
  Gather gather;
  gather.instance.SetDim("width", 8);
  int64_t extents[2] = {};
  CHECK(etc_instance_param_shape(gather.instance.get(), "table", extents, 1) == ETC_ERROR_ARGUMENT);
  CHECK(std::string(etc_last_error()) ==
        "parameter `table` has 2 extents, but there is room for 1");
  CHECK(etc_instance_param_shape(gather.instance.get(), "table", nullptr, 2) == ETC_ERROR_ARGUMENT);
  CHECK(etc_instance_param_shape(gather.instance.get(), "table", extents, 2) == ETC_OK);
  CHECK(extents[1] == 8);
}

TEST_CASE("the last error belongs to its thread") {
  etc_program* program = nullptr;
  CHECK(etc_program_load("/nowhere/x.json", &program) == ETC_ERROR_FILE);
  std::string other = "unset";
  std::thread([&] { other = etc_last_error(); }).join();
  CHECK(other.empty());
  CHECK(std::string(etc_last_error()).find("/nowhere/x.json") != std::string::npos);
}

TEST_CASE("dtypes") {
  CHECK(std::string(etc_dtype_name(ETC_BF16)) == "bf16");
  CHECK(etc_dtype_bytes(ETC_I64) == 8);
  CHECK(etc_dtype_name(static_cast<etc_dtype>(99)) == nullptr);
  CHECK(etc_dtype_bytes(static_cast<etc_dtype>(99)) == 0);
}

}  // namespace
}  // namespace etc::test
