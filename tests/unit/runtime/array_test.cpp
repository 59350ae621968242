#include <doctest/doctest.h>

#include <vector>

#include "runtime/artifact.h"

namespace etc::test {
namespace {

using nlohmann::json;

constexpr int64_t kTensors = 3;
constexpr int64_t kWidth = 8;

// sums[j] += parts[0] + 10 * parts[1] + 100 * parts[2] + j
constexpr char kSumsText[] = R"(
#include <cstdint>

extern "C" void sums(const uint64_t* block, int sm, int sms) {
  const int64_t n = static_cast<int64_t>(block[5]);
  for (int64_t i = sm; i < n; i += sms) {
    for (int64_t j = 0; j < 2; ++j) {
      float sum = static_cast<float>(j);
      float factor = 1;
      for (int64_t p = 0; p < 3; ++p, factor *= 10) {
        sum += factor * reinterpret_cast<const float*>(block[p])[i];
      }
      reinterpret_cast<float*>(block[3 + j])[i] += sum;
    }
  }
}
)";

json Array(const char* name, const char* access, int64_t count) {
  return {{"name", name},          {"access", access}, {"dtype", "f32"},
          {"shape", {count, "n"}}, {"array", true},    {"alignment", 16}};
}

json SumsManifest() {
  return {{"etc_manifest", 2},
          {"features", {"arrays"}},
          {"target", "host"},
          {"binary", {{"file", "sums.so"}}},
          {"producer", {{"etc", "0.1.0"}, {"toolchain", "g++ 12"}, {"flags", json::array()}}},
          {"constants", json::object()},
          {"graphs",
           {{{"name", "sums"},
             {"dims", {{{"name", "n"}, {"min", 0}, {"max", 1024}, {"multiple", 4}}}},
             {"params", {Array("parts", "in", kTensors), Array("sums", "inout", 2)}},
             {"kernels",
              {{{"entry", "sums"},
                {"schedule", "static"},
                {"where", json::array()},
                {"threads", 256},
                {"shared_bytes", 0},
                {"workspace_bytes", 0},
                {"event_counters", 0}}}}}}}};
}

struct Sums {
  explicit Sums(const json& manifest = SumsManifest(), const std::string& binary = Binary())
      : program(WriteArtifact(dir, manifest, binary)), instance(program) {
    for (int64_t i = 0; i < kTensors * kWidth; ++i) {
      parts[i] = static_cast<float>(i / kWidth + 1);
    }
  }

  static const std::string& Binary() {
    static const std::string binary = Compile(kSumsText);
    return binary;
  }

  /// Each tensor where it is in `parts` and `sums`, but the parts in reverse.
  void BindOneByOne() {
    for (int64_t p = 0; p < kTensors; ++p) {
      instance.BindElement("parts", p, parts + (kTensors - 1 - p) * kWidth, ETC_F32, {kWidth});
    }
    BindSum(0);
    BindSum(1);
  }
  void BindSum(int64_t j) {
    instance.BindElement("sums", j, sums + j * 2 * kWidth, ETC_F32, {kWidth});
  }
  void BindParts() { instance.Bind("parts", parts, ETC_F32, {kTensors, kWidth}); }

  bool SumsAre(float first, float second) const {
    for (int64_t i = 0; i < kWidth; ++i) {
      if (sums[i] != first || sums[2 * kWidth + i] != second) {
        return false;
      }
    }
    return true;
  }
  Failure LaunchFailure() {
    return FailureOf([&] { instance.Launch(); });
  }

  alignas(16) float parts[kTensors * kWidth] = {};
  alignas(16) float sums[3 * kWidth] = {};  // with room between the two
  TempDir dir;
  Program program;
  Instance instance;
};

TEST_CASE("the tensors of an array are where they were bound") {
  Sums run;
  CHECK(run.program.Param(nullptr, 0).array == kTensors);
  CHECK(run.program.Param(nullptr, 0).rank == 2);
  run.BindOneByOne();
  CHECK(run.instance.Dim("n") == kWidth);
  CHECK(run.instance.Shape("parts", 2) == std::vector<int64_t>{kTensors, kWidth});
  run.instance.Launch();
  CHECK(run.SumsAre(123, 124));
  run.instance.BindElement("parts", 0, run.parts, ETC_F32, {kWidth});
  run.instance.Launch();
  CHECK(run.SumsAre(123 + 121, 124 + 122));
}

TEST_CASE("a stacked tensor binds all tensors of an array, at any distance") {
  Sums run;
  run.BindParts();
  const int64_t shape[] = {2, kWidth};
  const int64_t strides[] = {2 * kWidth, 1};
  run.instance.Bind("sums", {run.sums, ETC_F32, 2, shape, strides});
  run.instance.Launch();
  CHECK(run.SumsAre(321, 322));
}

TEST_CASE("a dense stacked tensor is aligned as one") {
  json manifest = SumsManifest();
  manifest["graphs"][0]["dims"][0]["multiple"] = 1;
  Sums run(manifest);
  alignas(16) float sums[2 * 5] = {};
  run.instance.Bind("parts", run.parts, ETC_F32, {kTensors, 5});
  run.instance.Bind("sums", sums, ETC_F32, {2, 5});
  CHECK(run.LaunchFailure().status == ETC_OK);
  CHECK(sums[9] == 222.0F);  // 1 + 2 + 2 of the parts, whose rows have eight
  const Failure apart =
      FailureOf([&] { run.instance.BindElement("sums", 1, sums + 5, ETC_F32, {5}); });
  CHECK(apart.text.find("but must be aligned to 16 bytes") != std::string::npos);
}

TEST_CASE("DLPack binds an array and its tensors") {
  Sums run;
  int64_t stacked[] = {kTensors, kWidth};
  run.instance.BindDlpack("parts", {run.parts, {1, 0}, 2, {2, 32, 1}, stacked, nullptr, 0});
  int64_t one[] = {kWidth};
  run.instance.BindElementDlpack("sums", 0, {run.sums, {1, 0}, 1, {2, 32, 1}, one, nullptr, 0});
  run.instance.BindElementDlpack(
      "sums", 1, {run.sums, {1, 0}, 1, {2, 32, 1}, one, nullptr, 2 * kWidth * sizeof(float)});
  run.instance.Launch();
  CHECK(run.SumsAre(321, 322));
  CHECK(FailureOf([&] {
          run.instance.BindElementDlpack("sums", 1,
                                         {run.sums, {1, 0}, 1, {9, 32, 1}, one, nullptr, 0});
        }).text.starts_with("parameter `sums[1]`: the DLPack dtype"));
}

TEST_CASE("a launch names the tensor of an array that is missing or does not fit") {
  Sums run;
  run.BindOneByOne();
  Sums missing;
  missing.BindParts();
  missing.BindSum(1);
  const Failure unbound = missing.LaunchFailure();
  CHECK(unbound.status == ETC_ERROR_UNBOUND);
  CHECK(unbound.text == "parameter `sums[0]` has no tensor");

  run.instance.BindElement("parts", 2, run.parts, ETC_F32, {4});
  const Failure other = run.LaunchFailure();
  CHECK(other.status == ETC_ERROR_BIND);
  CHECK(other.text ==
        "parameter `parts[2]`: extent 0 is 4, but `n` is 8 by extent 0 of parameter `parts[0]`");
}

TEST_CASE("tensors of an array that is written do not overlap, and those that are read may") {
  Sums run;
  for (int64_t p = 0; p < kTensors; ++p) {
    run.instance.BindElement("parts", p, run.parts, ETC_F32, {kWidth});
  }
  run.BindSum(0);
  run.BindSum(1);
  run.instance.Launch();
  CHECK(run.SumsAre(111, 112));
  run.instance.BindElement("sums", 1, run.sums + kWidth / 2, ETC_F32, {kWidth});
  const Failure failure = run.LaunchFailure();
  CHECK(failure.status == ETC_ERROR_BIND);
  CHECK(failure.text ==
        "parameters `sums[0]` and `sums[1]` overlap in memory, and `sums[1]` is written");
}

TEST_CASE("tensors that overlap may do so where the caller says it") {
  Sums run;
  alignas(16) float both[8 * kWidth] = {};
  json manifest = SumsManifest();
  manifest["graphs"][0]["params"][0]["shape"][0] = 2;
  Sums pair(manifest, Compile("extern \"C\" void sums(const void*, int, int) {}"));
  CHECK(FailureOf([&] { run.instance.AllowOverlap("parts", "sums"); }).text ==
        "parameters `parts` and `sums` are no two tensors, or arrays of as many tensors");
  CHECK(FailureOf([&] { run.instance.AllowOverlap("sums", "sums"); }).status == ETC_ERROR_ARGUMENT);
  CHECK(FailureOf([&] { run.instance.AllowOverlap("sums", "none"); }).status ==
        ETC_ERROR_NOT_FOUND);
  for (int64_t i = 0; i < 2; ++i) {
    pair.instance.BindElement("parts", i, both + i * 4 * kWidth, ETC_F32, {2 * kWidth});
    pair.instance.BindElement("sums", i, both + i * 4 * kWidth + kWidth, ETC_F32, {2 * kWidth});
  }
  CHECK(pair.LaunchFailure().text ==
        "parameters `parts[0]` and `sums[0]` overlap in memory, and `sums[0]` is written");
  pair.instance.AllowOverlap("sums", "parts");
  CHECK(pair.LaunchFailure().status == ETC_OK);
  pair.instance.BindElement("sums", 1, both + kWidth, ETC_F32, {2 * kWidth});
  CHECK(pair.LaunchFailure().text ==
        "parameters `parts[0]` and `sums[1]` overlap in memory, and `sums[1]` is written");
}

TEST_CASE("what is bound is held against an array") {
  Sums run;
  auto text = [&](auto bind) { return FailureOf(bind).text; };
  CHECK(text([&] { run.instance.BindElement("parts", 3, run.parts, ETC_F32, {kWidth}); }) ==
        "parameter `parts`: it has 3 tensors, and none of number 3");
  CHECK(text([&] { run.instance.BindElement("parts", -1, run.parts, ETC_F32, {kWidth}); }) ==
        "parameter `parts`: it has 3 tensors, and none of number -1");
  CHECK(text([&] { run.instance.BindElement("whole", 0, run.parts, ETC_F32, {kWidth}); }) ==
        "graph `sums` has no parameter `whole`");
  CHECK(text([&] {
          run.instance.BindElement("parts", 1, run.parts, ETC_F32, {1, kWidth});
        }) == "parameter `parts[1]`: the rank is 2, but must be 1");
  CHECK(text([&] { run.instance.BindElement("parts", 1, run.parts, ETC_BF16, {kWidth}); }) ==
        "parameter `parts[1]`: the dtype is bf16, but must be f32");
  CHECK(text([&] { run.instance.Bind("parts", run.parts, ETC_F32, {kWidth}); }) ==
        "parameter `parts`: the rank is 1, but must be 2, as its tensors have 1 and are stacked "
        "here");
  CHECK(text([&] {
          run.instance.Bind("parts", run.parts, ETC_F32, {2, kWidth});
        }) == "parameter `parts`: extent 0 is 2, but it has 3 tensors");
  CHECK(text([&] {
          run.instance.Bind("parts", {run.parts, ETC_F32, 2, nullptr, nullptr});
        }) == "parameter `parts`: the shape is null");
  CHECK(text([&] {
          run.instance.Bind("parts", nullptr, ETC_F32, {3, kWidth});
        }) == "parameter `parts[0]`: the data is null");
  const int64_t shape[] = {kTensors, kWidth};
  const int64_t odd[] = {kWidth + 1, 1};
  CHECK(text([&] {
          run.instance.Bind("parts", {run.parts, ETC_F32, 2, shape, odd});
        }).starts_with("parameter `parts[1]`: the data is at "));
  const int64_t huge[] = {INT64_MAX / 2, 1};
  CHECK(text([&] {
          run.instance.Bind("parts", {run.parts, ETC_F32, 2, shape, huge});
        }) == "parameter `parts`: its size in bytes overflows");
  CHECK(text([&] {
          run.instance.Bind("parts", run.parts, ETC_F32, {3, INT64_MAX});
        }) == "parameter `parts`: its size in bytes overflows");
}

TEST_CASE("a failed bind of an array leaves the earlier one in place") {
  Sums run;
  run.BindOneByOne();
  const int64_t shape[] = {kTensors, kWidth};
  const int64_t odd[] = {kWidth + 1, 1};
  CHECK(FailureOf([&] {
          run.instance.Bind("parts", {run.sums, ETC_F32, 2, shape, odd});
        }).status == ETC_ERROR_BIND);
  run.instance.Launch();
  CHECK(run.SumsAre(123, 124));
}

TEST_CASE("a parameter that is no array has no tensors by number") {
  json manifest = SumsManifest();
  manifest["graphs"][0]["params"][0].erase("array");
  Sums run(manifest);
  CHECK(run.program.Param(nullptr, 0).array == 0);
  CHECK(FailureOf([&] {
          run.instance.BindElement("parts", 0, run.parts, ETC_F32, {kWidth});
        }).text == "parameter `parts`: it is no array of tensors");
}

TEST_CASE("tensors without elements need no memory") {
  Sums run;
  run.instance.Bind("parts", nullptr, ETC_F32, {kTensors, 0});
  run.instance.BindElement("sums", 0, nullptr, ETC_F32, {0});
  run.instance.BindElement("sums", 1, nullptr, ETC_F32, {0});
  run.instance.Launch();
  CHECK(run.instance.Dim("n") == 0);
}

TEST_CASE("an array in a manifest has a number of tensors, and its feature") {
  auto failure = [](const json& manifest) { return FailureOf([&] { Sums run(manifest); }).text; };
  for (const json& extent : {json(0), json(4097), json("n")}) {
    json manifest = SumsManifest();
    manifest["graphs"][0]["params"][0]["shape"][0] = extent;
    CHECK(failure(manifest).ends_with("is given, but the first extent is no number in 1..4096"));
  }
  json manifest = SumsManifest();
  manifest["features"] = json::array();
  CHECK(failure(manifest).find("`features` does not list `arrays`, which graph `sums` uses") !=
        std::string::npos);
}

}  // namespace
}  // namespace etc::test
