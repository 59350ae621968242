#include <doctest/doctest.h>

#include <vector>

#include "runtime/gather_run.h"

namespace etc::test {
namespace {

using nlohmann::json;

alignas(16) float memory[4096];

Failure BindFailure(Instance& instance, const char* name, const etc_tensor& tensor) {
  return FailureOf([&] { instance.Bind(name, tensor); });
}

TEST_CASE("a tensor is held against its parameter") {
  Gather gather;
  const std::vector<int64_t> table = {10, 8};
  struct Case {
    const char* what;
    etc_tensor tensor;
    const char* text;
  };
  const std::vector<int64_t> nine_rows = {9, 8};
  const std::vector<int64_t> six_wide = {10, 6};
  const std::vector<int64_t> two_wide = {10, 2};
  const std::vector<int64_t> negative = {10, -8};
  const std::vector<int64_t> cube = {10, 8, 1};
  const std::vector<int64_t> padded = {16, 1};
  const std::vector<int64_t> transposed = {1, 10};
  for (const Case& c : {
           Case{"dtype",
                {memory, ETC_BF16, 2, table.data(), nullptr},
                "parameter `table`: the dtype is bf16, but must be f32"},
           Case{"no dtype",
                {memory, static_cast<etc_dtype>(99), 2, table.data(), nullptr},
                "parameter `table`: the dtype is unknown, but must be f32"},
           Case{"rank",
                {memory, ETC_F32, 3, cube.data(), nullptr},
                "parameter `table`: the rank is 3, but must be 2"},
           Case{"null shape",
                {memory, ETC_F32, 2, nullptr, nullptr},
                "parameter `table`: the shape is null"},
           Case{"constant extent",
                {memory, ETC_F32, 2, nine_rows.data(), nullptr},
                "parameter `table`: extent 0 is 9, but must be 10"},
           Case{"negative extent",
                {memory, ETC_F32, 2, negative.data(), nullptr},
                "parameter `table`: extent 1 is -8"},
           Case{"multiple",
                {memory, ETC_F32, 2, six_wide.data(), nullptr},
                "parameter `table`: extent 1, `width`, is 6, but must be a multiple of 4"},
           Case{"range",
                {memory, ETC_F32, 2, two_wide.data(), nullptr},
                "parameter `table`: extent 1, `width`, is 2, but must be in 4..1024"},
           Case{"outer stride",
                {memory, ETC_F32, 2, table.data(), padded.data()},
                "parameter `table`: stride 0 is 16, but a dense row-major tensor of its shape "
                "has 8"},
           Case{"inner stride",
                {memory, ETC_F32, 2, table.data(), transposed.data()},
                "parameter `table`: stride 1 is 10, but a dense row-major tensor of its shape "
                "has 1"},
           Case{"null data",
                {nullptr, ETC_F32, 2, table.data(), nullptr},
                "parameter `table`: the data is null"},
       }) {
    CAPTURE(c.what);
    const Failure failure = BindFailure(gather.instance, "table", c.tensor);
    CHECK(failure.status == ETC_ERROR_BIND);
    CHECK(failure.text == c.text);
  }
  const Failure unaligned =
      BindFailure(gather.instance, "table", {memory + 1, ETC_F32, 2, table.data(), nullptr});
  CHECK(unaligned.status == ETC_ERROR_BIND);
  CHECK(unaligned.text.find("but must be aligned to 16 bytes") != std::string::npos);
  const Failure unknown =
      BindFailure(gather.instance, "weights", {memory, ETC_F32, 2, table.data(), nullptr});
  CHECK(unknown.status == ETC_ERROR_NOT_FOUND);
  CHECK(unknown.text == "graph `gather` has no parameter `weights`");
}

TEST_CASE("strides of extents of one do not matter") {
  json manifest = GatherManifest();
  manifest["graphs"][0]["params"][1]["shape"] = {1, "width"};
  Gather gather(manifest);
  const std::vector<int64_t> shape = {1, 8};
  const std::vector<int64_t> strides = {12345, 1};
  gather.instance.Bind("table", {memory, ETC_F32, 2, shape.data(), strides.data()});
  CHECK(gather.instance.Dim("width") == 8);
}

TEST_CASE("a size that overflows is an error, an empty tensor may have no data") {
  json manifest = GatherManifest();
  manifest["graphs"][0]["dims"][0]["min"] = 0;
  manifest["graphs"][0]["dims"][0]["max"] = INT64_MAX;
  Gather gather(manifest);
  const int64_t huge = INT64_MAX;
  CHECK(BindFailure(gather.instance, "ids", {memory, ETC_I32, 1, &huge, nullptr}).text ==
        "parameter `ids`: its size in bytes overflows");
  const int64_t empty = 0;
  gather.instance.Bind("ids", {nullptr, ETC_I32, 1, &empty, nullptr});
  CHECK(gather.instance.Dim("batch") == 0);
}

TEST_CASE("a scalar has no shape") {
  json manifest = GatherManifest();
  manifest["graphs"][0]["params"][1]["shape"] = json::array();
  Gather gather(manifest);
  gather.instance.Bind("table", {memory, ETC_F32, 0, nullptr, nullptr});
  CHECK(gather.instance.Shape("table", 0).empty());
}

TEST_CASE("dims that are set hold for the tensors bound afterwards") {
  Gather gather;
  gather.instance.SetDim("batch", 4);
  gather.instance.SetDim("width", 8);
  CHECK(gather.instance.Shape("out", 1) == std::vector<int64_t>{32});
  CHECK(FailureOf([&] { gather.instance.Bind("ids", memory, ETC_I32, {5}); }).text ==
        "parameter `ids`: extent 0 is 5, but `batch` is 4");
  const Failure product = FailureOf([&] { gather.instance.Bind("out", memory, ETC_F32, {33}); });
  CHECK(product.status == ETC_ERROR_BIND);
  CHECK(product.text == "parameter `out`: extent 0 is 33, but `batch*width` is 32");
}

TEST_CASE("dims have a range and a multiple") {
  Gather gather;
  const Failure range = FailureOf([&] { gather.instance.SetDim("batch", 65); });
  CHECK(range.status == ETC_ERROR_DIM);
  CHECK(range.text == "dim `batch` is 65, but must be in 1..64");
  CHECK(FailureOf([&] { gather.instance.SetDim("width", 10); }).text ==
        "dim `width` is 10, but must be a multiple of 4");
  const Failure unknown = FailureOf([&] { gather.instance.SetDim("seq", 1); });
  CHECK(unknown.status == ETC_ERROR_NOT_FOUND);
  CHECK(unknown.text == "graph `gather` has no dim `seq`");
  CHECK(FailureOf([&] { gather.instance.ClearDim("seq"); }).status == ETC_ERROR_NOT_FOUND);
}

TEST_CASE("a dim that is neither set nor inferred has no value") {
  Gather gather;
  const Failure none = FailureOf([&] { gather.instance.Dim("batch"); });
  CHECK(none.status == ETC_ERROR_DIM);
  CHECK(
      none.text ==
      "dim `batch` is not set, and no tensor is bound that gives it: extent 0 of parameter `ids`");
  CHECK(FailureOf([&] { gather.instance.WorkspaceBytes(); }).status == ETC_ERROR_DIM);
  CHECK(FailureOf([&] { gather.instance.Reserve(); }).status == ETC_ERROR_DIM);
  CHECK(FailureOf([&] { gather.instance.Shape("out", 1); }).text ==
        "parameter `out`: extent 0, `batch*width`, has no value yet");
  gather.instance.Bind("ids", memory, ETC_I32, {5});
  CHECK(gather.instance.Dim("batch") == 5);
  gather.instance.SetDim("batch", 6);
  CHECK(gather.instance.Dim("batch") == 6);
  gather.instance.ClearDim("batch");
  CHECK(gather.instance.Dim("batch") == 5);
}

TEST_CASE("an extent that has no value at the dims is named") {
  json manifest = GatherManifest();
  manifest["graphs"][0]["params"][2]["shape"] = {{"/", "width", {"-", "batch", 4}}};
  Gather gather(manifest);
  gather.instance.SetDim("width", 8);
  gather.instance.SetDim("batch", 4);
  const Failure failure = FailureOf([&] { gather.instance.Shape("out", 1); });
  CHECK(failure.status == ETC_ERROR_MANIFEST);
  CHECK(failure.text ==
        "parameter `out`: extent 0, `width/(batch - 4)`, divides by zero, overflows, or shifts by "
        "less than 0 or more than 63");
}

TEST_CASE("the range of values may depend on dims") {
  json manifest = GatherManifest();
  manifest["graphs"][0]["params"][0]["value_max"] = {"-", "width", 1};
  Gather gather(manifest);
  CHECK(std::string(gather.program.Param(nullptr, 0).value_max) == "width - 1");
  CHECK(FailureOf([&] { gather.instance.ValueRange("ids"); }).text ==
        "parameter `ids`: the largest value, `width - 1`, has no value yet");
  gather.instance.SetDim("width", 8);
  CHECK(gather.instance.ValueRange("ids") == std::pair<int64_t, int64_t>(0, 7));
  CHECK(gather.instance.ValueRange("out") == std::pair<int64_t, int64_t>(INT64_MIN, INT64_MAX));
  CHECK(FailureOf([&] { gather.instance.ValueRange("weights"); }).status == ETC_ERROR_NOT_FOUND);
}

TEST_CASE("a failed bind leaves the earlier one in place") {
  Gather gather;
  gather.instance.Bind("ids", memory, ETC_I32, {5});
  CHECK(FailureOf([&] { gather.instance.Bind("ids", memory, ETC_I32, {65}); }).status ==
        ETC_ERROR_BIND);
  CHECK(gather.instance.Dim("batch") == 5);
}

TEST_CASE("an extent whose expression has no value blames the manifest") {
  json manifest = GatherManifest();
  manifest["graphs"][0]["params"][2]["shape"] = json::array({{"/", 8, {"-", "batch", "batch"}}});
  Gather gather(manifest);
  gather.instance.SetDim("batch", 4);
  const Failure failure = FailureOf([&] { gather.instance.Bind("out", memory, ETC_F32, {8}); });
  CHECK(failure.status == ETC_ERROR_MANIFEST);
  CHECK(failure.text ==
        "parameter `out`: extent 0, `8/(batch - batch)`, divides by zero, overflows, or shifts by "
        "less than 0 or more than 63");
}

TEST_CASE("DLPack descriptions") {
  Gather gather;
  GatherTensors tensors(4, 8);
  tensors.Bind(gather.instance);
  int64_t shape[] = {10, 8};
  int64_t strides[] = {8, 1};
  std::vector<float> table(84);
  std::copy(tensors.table.begin(), tensors.table.end(), table.begin() + 4);
  etc_dl_tensor tensor{table.data(), {1, 0}, 2, {2, 32, 1}, shape, strides, 16};
  gather.instance.BindDlpack("table", tensor);
  gather.instance.Launch();
  CHECK(tensors.IsRight());

  const auto failure_with = [&](auto change) {
    etc_dl_tensor changed = tensor;
    change(changed);
    return FailureOf([&] { gather.instance.BindDlpack("table", changed); }).text;
  };
  CHECK(failure_with([](etc_dl_tensor& t) { t.dtype.bits = 4; }) ==
        "parameter `table`: the DLPack dtype (code 2, 4 bits, 1 lanes) has no counterpart");
  CHECK(failure_with([](etc_dl_tensor& t) { t.dtype.lanes = 4; }).find("4 lanes") !=
        std::string::npos);
  CHECK(failure_with([](etc_dl_tensor& t) {
          t.dtype = {4, 16, 1};
        }) == "parameter `table`: the dtype is bf16, but must be f32");
  CHECK(failure_with([](etc_dl_tensor& t) { t.device.device_type = 2; }) ==
        "parameter `table`: the tensor is on a device (DLPack type 2), but the program runs on "
        "the host");
  CHECK(failure_with([](etc_dl_tensor& t) { t.data = nullptr; }) ==
        "parameter `table`: the data is null");
  CHECK(FailureOf([&] { gather.instance.BindDlpack("weights", tensor); }).status ==
        ETC_ERROR_NOT_FOUND);
}

}  // namespace
}  // namespace etc::test
