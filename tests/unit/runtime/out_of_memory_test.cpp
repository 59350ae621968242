// Each call of the library with each of its allocations failing.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/container.h"
#include "runtime/failing_malloc.h"

namespace etc::test {
namespace {

using nlohmann::json;

/// The tensors and the artifact of `gather`, whose table is in tiles, in both forms.
struct Data {
  static constexpr int64_t kBatch = 4, kWidth = 8, kRows = 10;

  TempDir dir;
  std::string two_files, one_file, bytes;
  std::vector<int32_t> ids = {3, 1, 4, 1};
  std::vector<float> table = std::vector<float>(kRows * kWidth, 1.0F);
  std::vector<float> packed = table;
  std::vector<float> out = std::vector<float>(kBatch * kWidth);

  Data() {
    json manifest = GatherManifest();
    manifest["graphs"][0]["params"][1]["layout"] = {{"tile", {2, 4}}};
    two_files = WriteArtifact(dir, manifest, GatherBinary());
    bytes = runtime::WriteContainer(ManifestText(manifest, GatherBinary()), GatherBinary());
    dir.Write("gather.etca", bytes);
    one_file = dir.File("gather.etca");
  }
};

/// Calls that a program makes, each of which may fail for want of memory. What is made is freed.
class Use {
 public:
  using Load = std::function<etc_status(etc_program**)>;

  Use(Data& data, const Load& load) : data_(data), calls_(Calls(load)) {
    info_.struct_size = sizeof(info_);
    param_.struct_size = sizeof(param_);
    kernel_.struct_size = sizeof(kernel_);
  }
  ~Use() {
    etc_instance_free(instance_);
    etc_program_free(program_);
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  /// The status of the first call that is not good, and which one it was. Allocates nothing itself.
  std::pair<etc_status, const char*> Run() const {
    for (const auto& [name, call] : calls_) {
      if (const etc_status status = call(); status != ETC_OK) {
        return {status, name};
      }
    }
    return {ETC_OK, ""};
  }

 private:
  using Call = std::pair<const char*, std::function<etc_status()>>;

  etc_status Bind(const char* name, void* data, etc_dtype dtype,
                  std::initializer_list<int64_t> shape) {
    const etc_tensor tensor = {data, dtype, static_cast<int32_t>(shape.size()), shape.begin(),
                               nullptr};
    return etc_instance_bind(instance_, name, &tensor);
  }

  std::vector<Call> Calls(const Load& load) {
    return {{"load", [this, &load] { return load(&program_); }},
            {"describe", [&] { return etc_program_describe(program_, &info_); }},
            {"param", [&] { return etc_program_param(program_, "gather", 2, &param_); }},
            {"kernel", [&] { return etc_program_kernel(program_, "gather", 1, &kernel_); }},
            {"pack",
             [&] {
               const int64_t shape[] = {Data::kRows, Data::kWidth};
               return etc_pack(program_, nullptr, "table", shape, 2, data_.table.data(),
                               data_.packed.data());
             }},
            {"create", [&] { return etc_instance_create(program_, nullptr, &instance_); }},
            {"set_sms", [&] { return etc_instance_set_sms(instance_, 3); }},
            {"set_dim", [&] { return etc_instance_set_dim(instance_, "width", Data::kWidth); }},
            {"bind ids", [&] { return Bind("ids", data_.ids.data(), ETC_I32, {Data::kBatch}); }},
            {"bind table",
             [&] {
               return Bind("table", data_.packed.data(), ETC_F32,
                           {Data::kRows / 2, Data::kWidth / 4, 2, 4});
             }},
            {"bind out",
             [&] { return Bind("out", data_.out.data(), ETC_F32, {Data::kBatch * Data::kWidth}); }},
            {"dim", [&] { return etc_instance_dim(instance_, "batch", &number_); }},
            {"param_shape",
             [&] {
               int64_t extents[1] = {};
               return etc_instance_param_shape(instance_, "out", extents, 1);
             }},
            {"value_range",
             [&] { return etc_instance_value_range(instance_, "ids", &number_, &number_); }},
            {"workspace_bytes", [&] { return etc_instance_workspace_bytes(instance_, &number_); }},
            {"reserve", [&] { return etc_instance_reserve(instance_); }},
            {"launch", [&] { return etc_instance_launch(instance_, nullptr); }},
            {"check", [&] { return etc_instance_check(instance_, nullptr); }}};
  }

  Data& data_;
  const std::vector<Call> calls_;
  etc_program* program_ = nullptr;
  etc_instance* instance_ = nullptr;
  etc_program_info info_{};
  etc_param_info param_{};
  etc_kernel_info kernel_{};
  int64_t number_ = 0;
};

TEST_CASE("want of memory is a status, wherever it shows, and leaves nothing behind") {
  Data data;
  const std::pair<std::string, Use::Load> loads[] = {
      {"two files",
       [&](etc_program** program) { return etc_program_load(data.two_files.c_str(), program); }},
      {"one file",
       [&](etc_program** program) { return etc_program_load(data.one_file.c_str(), program); }},
      {"memory", [&](etc_program** program) {
         return etc_program_load_memory(data.bytes.data(), data.bytes.size(), program);
       }}};
  for (const auto& [form, load] : loads) {
    for (const bool all_after : {false, true}) {
      CAPTURE(form);
      CAPTURE(all_after);
      REQUIRE(Use(data, load).Run().first == ETC_OK);
      const int64_t before = LiveAllocations();
      int64_t first = 1;
      for (bool failed = true; failed; ++first) {
        std::pair<etc_status, const char*> result;
        std::string text;
        {
          const Use use(data, load);
          const FailingMalloc failing(first, all_after);
          result = use.Run();
          failed = failing.Failed();
        }
        if (result.first != ETC_OK) {
          text = etc_last_error();
        }
        CAPTURE(first);
        CAPTURE(result.second);
        CAPTURE(text);
        // What fails in the linker or in a thread's start may be done without.
        REQUIRE((result.first == ETC_ERROR_OUT_OF_MEMORY || result.first == ETC_OK));
      }
      CHECK(first > 100);
      CHECK(LiveAllocations() - before <= 4);
      std::fill(data.out.begin(), data.out.end(), 0.0F);
      REQUIRE(Use(data, load).Run().first == ETC_OK);
      CHECK(std::all_of(data.out.begin(), data.out.end(), [](float x) { return x == 2.0F; }));
    }
  }
}

}  // namespace
}  // namespace etc::test
