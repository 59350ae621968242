// Checkpoints: what is read of them, and what is refused.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <vector>

#include "etc/weights.h"
#include "runtime/artifact.h"
#include "runtime/checkpoint_file.h"

namespace etc::test {
namespace {

using nlohmann::json;

/// The status and the text of opening `path`.
Failure Open(const std::string& path) {
  etc_checkpoint* checkpoint = nullptr;
  const etc_status status = etc_checkpoint_open(path.c_str(), &checkpoint);
  etc_checkpoint_free(checkpoint);
  return {status, status == ETC_OK ? "" : etc_last_error()};
}

Failure OpenBytes(const std::string& bytes) {
  const TempDir dir;
  dir.Write("model.safetensors", bytes);
  Failure failure = Open(dir.File("model.safetensors"));
  const size_t folder = failure.text.find(dir.File(""));
  if (folder != std::string::npos) {
    failure.text.erase(folder, dir.File("").size());
  }
  return failure;
}

Failure OpenHeader(const std::string& header, const std::string& data = "") {
  return OpenBytes(SafetensorsOf(header, data));
}

void Refuses(const Failure& failure, const std::string& text) {
  CHECK(failure.status == ETC_ERROR_CHECKPOINT);
  CHECK(failure.text == "`model.safetensors`: " + text);
}

TEST_CASE("a file gives its tensors by name and by number") {
  const TempDir dir;
  dir.Write("w.safetensors", SafetensorsWriter()
                                 .Add("a", "F32", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6})
                                 .Add("b", "BF16", json::array(), std::string("\x80\x3f", 2))
                                 .Add("none", "I64", {0, 7}, std::string())
                                 .File());
  etc_checkpoint* checkpoint = nullptr;
  REQUIRE(etc_checkpoint_open(dir.File("w.safetensors").c_str(), &checkpoint) == ETC_OK);
  etc_checkpoint_info info{sizeof(info), 0, 0, 0};
  CHECK(etc_checkpoint_describe(checkpoint, &info) == ETC_OK);
  CHECK(info.files == 1);
  CHECK(info.tensors == 3);
  CHECK(info.bytes == 26);
  etc_checkpoint_tensor_info a{};
  a.struct_size = sizeof(a);
  CHECK(etc_checkpoint_find(checkpoint, "a", &a) == ETC_OK);
  CHECK(std::string(a.dtype) == "F32");
  CHECK(a.rank == 2);
  CHECK(a.shape[1] == 3);
  float last = 0;
  std::memcpy(&last, static_cast<const char*>(a.data) + 20, sizeof(last));
  CHECK(last == 6);
  etc_checkpoint_tensor_info by_number{};
  by_number.struct_size = sizeof(by_number);
  CHECK(etc_checkpoint_tensor(checkpoint, 1, &by_number) == ETC_OK);
  CHECK(std::string(by_number.name) == "b");
  CHECK(by_number.rank == 0);
  CHECK(etc_checkpoint_tensor(checkpoint, 3, &by_number) == ETC_ERROR_NOT_FOUND);
  CHECK(etc_checkpoint_find(checkpoint, "c", &a) == ETC_ERROR_NOT_FOUND);
  etc_checkpoint_free(checkpoint);
}

TEST_CASE("damaged files are refused with the reason") {
  Refuses(OpenBytes("1234567"), "the file has 7 bytes, too few for a header");
  Refuses(OpenBytes(std::string("\xff\0\0\0\0\0\0\0{}", 10)),
          "the file has 10 bytes, but its header alone has 255");
  Refuses(OpenBytes(std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8)),
          "the file has 8 bytes, but its header alone has 18446744073709551615");
  Refuses(OpenHeader("{\"a\": "), "what stands at byte 6 of 6 is no JSON");
  Refuses(OpenHeader("{\"a\" 1}"), "what stands at byte 6 of 7 is no JSON");
  Refuses(OpenHeader(std::string("{}\0{\"a\": 1}", 11)),
          "the JSON text has a null character as its byte 3");
  Refuses(OpenHeader("[]"), "the JSON text is an array, but an object is expected");
  Refuses(OpenHeader(R"({"a": 1})"), "`a` is an integer, but an object is expected");
  Refuses(OpenHeader(R"({"": 1})"), "`` is an integer, but an object is expected");
  Refuses(OpenHeader(R"({"a": {}})"), "`a.dtype` is missing");
  const std::string name(81, 'x');
  Refuses(OpenHeader(R"({")" + name + R"(": {}})"),
          "`" + name.substr(0, 80) + "….dtype` is missing");
  const std::string data(8, 'x');
  const auto tensor = [](const char* dtype, const char* shape, const char* offsets) {
    return std::string(R"({"dtype":")") + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}";
  };
  const auto one = [&](const char* dtype, const char* shape, const char* offsets) {
    return OpenHeader(R"({"a":)" + tensor(dtype, shape, offsets) + "}", data);
  };
  CHECK(one("F32", "[2]", "[0, 8]").status == ETC_OK);
  Refuses(one("F32", "[3]", "[0, 8]"), "`a` has 8 bytes, but its shape and dtype need 12");
  Refuses(one("F32", "[3]", "[0, 12]"), "`a.data_offsets[1]` is 12, but must be in 0..8");
  Refuses(one("F32", "[1]", "[4, 0]"),
          "`a.data_offsets` must be the first byte and the one behind the last");
  Refuses(one("F32", "[-2]", "[0, 8]"),
          "`a.shape[0]` is -2, but must be in 0..9223372036854775807");
  Refuses(one("F32", "[4294967296, 4294967296]", "[0, 8]"),
          "`a` has more bytes than a file can have");
  CHECK(one("F4_OF_TOMORROW", "[3]", "[0, 8]").status == ETC_OK);
  Refuses(OpenHeader(R"({"a":)" + tensor("F32", "[1]", "[0, 4]") + R"(,"b":)" +
                         tensor("F32", "[1]", "[2, 6]") + "}",
                     data),
          "the tensors `a` and `b` share bytes");
  Refuses(OpenHeader(R"({"a":)" + tensor("F32", "[1]", "[0, 4]") + R"(,"a":)" +
                         tensor("F32", "[1]", "[4, 8]") + "}",
                     data),
          "`a` is given twice");
}

TEST_CASE("an index names the files of its folder") {
  const TempDir dir;
  const std::string one = SafetensorsWriter().Add("a", "U8", {1}, std::string("1")).File();
  dir.Write("one.safetensors", one);
  dir.Write("two.safetensors", SafetensorsWriter()
                                   .Add("b", "U8", {1}, std::string("2"))
                                   .Add("unlisted", "U8", {1}, std::string("3"))
                                   .File());
  const auto open_index = [&](const json& map) {
    dir.Write("model.safetensors.index.json", json{{"weight_map", map}}.dump());
    return Open(dir.File(""));
  };
  CHECK(open_index({{"a", "one.safetensors"}, {"b", "two.safetensors"}}).status == ETC_OK);
  const Failure missing = open_index({{"a", "two.safetensors"}});
  CHECK(missing.status == ETC_ERROR_CHECKPOINT);
  CHECK(
      missing.text.find("has no tensor `a`, which `model.safetensors.index.json` says is there") !=
      std::string::npos);
  for (const char* outside : {"../one.safetensors", "/etc/passwd", "..", ""}) {
    CHECK(open_index({{"a", outside}})
              .text.find("model.safetensors.index.json`: `weight_map.a` is `" +
                         std::string(outside) + "`, which is no file in the folder") !=
          std::string::npos);
  }
  CHECK(open_index({{"a", "three.safetensors"}}).status == ETC_ERROR_FILE);
  dir.Write("model.safetensors.index.json", "{}");
  CHECK(Open(dir.File("")).status == ETC_ERROR_CHECKPOINT);
}

TEST_CASE("a folder without a checkpoint says what was looked for") {
  const TempDir dir;
  const Failure failure = Open(dir.File(""));
  CHECK(failure.status == ETC_ERROR_FILE);
  CHECK(failure.text.find("has neither `model.safetensors.index.json` nor `model.safetensors`") !=
        std::string::npos);
  CHECK(Open(dir.File("absent.safetensors")).status == ETC_ERROR_FILE);
}

TEST_CASE("a link to a file that is gone is named as one") {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
    const TempDir dir;
    const std::string path = dir.File(name);
    std::filesystem::create_symlink("blobs/gone", path);
    for (const std::string& opened : {path, dir.File("")}) {
      const Failure failure = Open(opened);
      CHECK(failure.status == ETC_ERROR_FILE);
      CHECK(failure.text.find(std::string(name) +
                              "`: it is a link to `blobs/gone`, which is not there") !=
            std::string::npos);
    }
  }
}

TEST_CASE("a pipe is no checkpoint, and is not waited for") {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
    const TempDir dir;
    const std::string path = dir.File(name);
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    for (const std::string& opened : {path, dir.File("")}) {
      const Failure failure = Open(opened);
      CHECK(failure.status == ETC_ERROR_FILE);
      CHECK(failure.text.find(std::string(name) + "`: it is no regular file") != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace etc::test
