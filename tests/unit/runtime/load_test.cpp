#include <doctest/doctest.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "etc/device.h"
#include "runtime/container.h"
#include "runtime/gather_run.h"
#include "runtime/hash.h"

namespace etc::test {
namespace {

using nlohmann::json;

Failure LoadFailure(const std::string& path) {
  return FailureOf([&] { const Program program(path); });
}

TEST_CASE("a program is loaded by its manifest or by its binary, and can be asked about") {
  const TempDir dir;
  WriteArtifact(dir, GatherManifest(), GatherBinary());
  for (const char* name : {"gather.json", "gather.so"}) {
    const Program program(dir.File(name));
    const etc_program_info info = program.Describe();
    CHECK(std::string(info.target) == "host");
    CHECK(std::string(info.binary_file) == "gather.so");
    CHECK(std::string(info.toolchain) == "g++ 12");
    CHECK(info.graphs == 1);
    CHECK(info.constants == 3);

    const etc_graph_info graph = program.Graph(0);
    CHECK(std::string(graph.name) == "gather");
    CHECK(graph.dims == 2);
    CHECK(graph.params == 3);
    CHECK(graph.kernels == 2);

    const etc_dim_info width = program.Dim("gather", 1);
    CHECK(std::string(width.name) == "width");
    CHECK(width.min == 4);
    CHECK(width.max == 1024);
    CHECK(width.multiple == 4);

    const etc_param_info ids = program.Param(nullptr, 0);
    CHECK(std::string(ids.name) == "ids");
    CHECK(ids.access == ETC_IN);
    CHECK(ids.dtype == ETC_I32);
    CHECK(ids.rank == 1);
    CHECK(std::string(ids.extents[0]) == "batch");
    CHECK(ids.alignment == 4);
    CHECK(ids.has_value_range == 1);
    CHECK(std::string(ids.value_min) == "0");
    CHECK(std::string(ids.value_max) == "9");
    CHECK(program.Param(nullptr, 1).has_value_range == 0);
    CHECK(program.Param(nullptr, 1).value_min == nullptr);
    CHECK(std::string(program.Param(nullptr, 2).extents[0]) == "batch*width");

    const etc_kernel_info kernel = program.Kernel(nullptr, 1);
    CHECK(std::string(kernel.entry) == "gather_large");
    CHECK(std::string(kernel.schedule) == "static");
    CHECK(std::string(kernel.where) == "batch in 9..64");
    CHECK(kernel.threads == 256);
    CHECK(kernel.shared_bytes == 100000);
  }
}

TEST_CASE("constants of each kind") {
  const TempDir dir;
  const Program program(WriteArtifact(dir, GatherManifest(), GatherBinary()));
  const etc_constant_info fast = program.Constant(0);  // in the order of their names
  CHECK(std::string(fast.name) == "fast");
  CHECK(fast.kind == ETC_CONSTANT_BOOL);
  CHECK(fast.int_value == 1);
  const etc_constant_info rows = program.Constant(1);
  CHECK(rows.kind == ETC_CONSTANT_INT);
  CHECK(rows.int_value == 10);
  CHECK(rows.float_value == 10.0);
  const etc_constant_info scale = program.Constant(2);
  CHECK(scale.kind == ETC_CONSTANT_FLOAT);
  CHECK(scale.float_value == 0.5);
}

TEST_CASE("asking for what there is not") {
  const TempDir dir;
  const Program program(WriteArtifact(dir, GatherManifest(), GatherBinary()));
  const Failure index = FailureOf([&] { program.Param(nullptr, 3); });
  CHECK(index.status == ETC_ERROR_NOT_FOUND);
  CHECK(index.text == "there is no parameter 3: there are 3, counted from 0");
  CHECK(FailureOf([&] { program.Graph(-1); }).status == ETC_ERROR_NOT_FOUND);
  CHECK(FailureOf([&] { program.Dim(nullptr, 9); }).status == ETC_ERROR_NOT_FOUND);
  CHECK(FailureOf([&] { program.Kernel(nullptr, 9); }).status == ETC_ERROR_NOT_FOUND);
  CHECK(FailureOf([&] { program.Constant(9); }).status == ETC_ERROR_NOT_FOUND);
  CHECK(FailureOf([&] { const Instance instance(program, "decode"); }).text ==
        "the program has no graph `decode`");
}

TEST_CASE("a program of several graphs wants a name") {
  const TempDir dir;
  json manifest = GatherManifest();
  manifest["graphs"].push_back(manifest["graphs"][0]);
  manifest["graphs"][1]["name"] = "second";
  const Program program(WriteArtifact(dir, manifest, GatherBinary()));
  const Failure unnamed = FailureOf([&] { const Instance instance(program); });
  CHECK(unnamed.status == ETC_ERROR_ARGUMENT);
  CHECK(unnamed.text == "the program has 2 graphs, so one must be named");
  CHECK(FailureOf([&] { const Instance instance(program, "second"); }).status == ETC_OK);
}

TEST_CASE("files that are absent or unreadable") {
  const TempDir dir;
  const Failure absent = LoadFailure(dir.File("gather.json"));
  CHECK(absent.status == ETC_ERROR_FILE);
  CHECK(absent.text == "cannot open `" + dir.File("gather.json") + "`: No such file or directory");

  WriteArtifact(dir, GatherManifest(), GatherBinary());
  std::filesystem::remove(dir.File("gather.so"));
  const Failure no_binary = LoadFailure(dir.File("gather.json"));
  CHECK(no_binary.status == ETC_ERROR_FILE);
  CHECK(no_binary.text.find("gather.so") != std::string::npos);

  std::filesystem::create_directory(dir.File("folder.json"));
  CHECK(LoadFailure(dir.File("folder.json")).text ==
        "cannot read `" + dir.File("folder.json") + "`: it is not a regular file");
}

TEST_CASE("a large file that is no artifact is not read") {
  const TempDir dir;
  for (const auto& [name, text] :
       {std::pair("big.safetensors", "` is no artifact: it begins like neither one nor the binary"),
        std::pair("big.etca", "` does not begin like one"),
        std::pair("big.json", "` does not begin like one")}) {
    dir.Write(name, "\10");
    std::filesystem::resize_file(dir.File(name), uintmax_t{1} << 40);
    CHECK(LoadFailure(dir.File(name)).text.find(dir.File(name) + text) != std::string::npos);
  }
}

TEST_CASE("a malformed manifest names its file and the place") {
  const TempDir dir;
  json manifest = GatherManifest();
  manifest["graphs"][0].erase("dims");
  WriteArtifact(dir, manifest, GatherBinary());
  const Failure failure = LoadFailure(dir.File("gather.json"));
  CHECK(failure.status == ETC_ERROR_MANIFEST);
  CHECK(failure.text == "manifest `" + dir.File("gather.json") + "`: `graphs[0].dims` is missing");

  manifest = GatherManifest();
  manifest["target"] = "tpu";
  WriteArtifact(dir, manifest, GatherBinary());
  CHECK(LoadFailure(dir.File("gather.json")).text ==
        "manifest `" + dir.File("gather.json") +
            "`: `target` is `tpu`, but must be `host` or an arch such as `sm_90a`");
}

TEST_CASE("a binary that is not the manifest's") {
  const TempDir dir;
  const std::string path = WriteArtifact(dir, GatherManifest(), GatherBinary());
  const std::string binary = GatherBinary();

  dir.Write("gather.so", binary.substr(0, binary.size() - 1));
  const Failure truncated = LoadFailure(path);
  CHECK(truncated.status == ETC_ERROR_BINARY);
  CHECK(truncated.text == "binary `" + dir.File("gather.so") + "` has " +
                              std::to_string(binary.size() - 1) + " bytes, but its manifest says " +
                              std::to_string(binary.size()));

  std::string changed = binary;
  changed[changed.size() / 2] ^= 1;
  dir.Write("gather.so", changed);
  const Failure mismatch = LoadFailure(path);
  CHECK(mismatch.status == ETC_ERROR_BINARY);
  CHECK(mismatch.text == "binary `" + dir.File("gather.so") + "` has the hash " +
                             runtime::HashText(changed) + ", but its manifest says " +
                             runtime::HashText(binary));

  dir.Write("gather.cubin", binary);
  CHECK(LoadFailure(dir.File("gather.cubin")).text ==
        "manifest `" + path + "` describes `gather.so`, not `gather.cubin`");
}

TEST_CASE("the hash is XXH3 with 128 bits, in the canonical byte order") {
  const TempDir dir;
  json manifest = GatherManifest();
  manifest["binary"]["bytes"] = 0;
  manifest["binary"]["xxh3_128"] = std::string(32, '0');
  dir.Write("gather.json", Sealed(manifest));
  dir.Write("gather.so", "");
  CHECK(LoadFailure(dir.File("gather.json")).text.find("99aa06d3014798d86001c324468d497f") !=
        std::string::npos);
}

TEST_CASE("a host binary that cannot be opened, or lacks an entry") {
  const TempDir dir;
  {
    const Program program(WriteArtifact(dir, GatherManifest(), "no shared object"));
    const Failure failure = FailureOf([&] { const Instance instance(program); });
    CHECK(failure.status == ETC_ERROR_BINARY);
    CHECK(failure.text.find("cannot open binary `" + dir.File("gather.so") + "`") == 0);
  }
  const TempDir other;
  json manifest = GatherManifest();
  manifest["graphs"][0]["kernels"][1]["entry"] = "scatter";
  const Program program(WriteArtifact(other, manifest, GatherBinary()));
  const Failure failure = FailureOf([&] { const Instance instance(program); });
  CHECK(failure.status == ETC_ERROR_BINARY);
  CHECK(failure.text == "binary `" + other.File("gather.so") + "` has no entry `scatter`");
}

TEST_CASE("what is opened is what was checked, whatever becomes of the file") {
  const TempDir dir;
  const std::string path = WriteArtifact(dir, GatherManifest(), GatherBinary());
  Program first(path);
  const std::string other = Compile(
      "#include <cstdint>\n"
      "extern \"C\" void gather_small(const uint64_t*, int, int) {}\n"
      "extern \"C\" void gather_large(const uint64_t*, int, int) {}\n");
  WriteArtifact(dir, GatherManifest(), other);  // over the file that was not opened yet
  const Program second(path);
  Instance of_first(first);
  Instance of_second(second);
  std::filesystem::remove(dir.File("gather.so"));
  for (Instance* instance : {&of_first, &of_second, &of_first}) {
    GatherTensors tensors(3, 8);
    tensors.Bind(*instance);
    instance->SetSms(2);
    instance->Launch();
    CHECK(tensors.IsRight() == (instance == &of_first));
  }
}

TEST_CASE("programs come and go without taking each other's code") {
  for (int i = 0; i < 4; ++i) {
    const std::string binary = Compile(
        "#include <cstdint>\n"
        "extern \"C\" void gather_small(const uint64_t* block, int, int) {\n"
        "  reinterpret_cast<float*>(block[2])[0] = " +
        std::to_string(i) +
        ";\n}\n"
        "extern \"C\" void gather_large(const uint64_t*, int, int) {}\n");
    const TempDir dir;
    const Program program(WriteArtifact(dir, GatherManifest(), binary));
    Instance instance(program);
    GatherTensors tensors(3, 8);
    tensors.Bind(instance);
    instance.SetSms(1);
    instance.Launch();
    CHECK(tensors.out[0] == static_cast<float>(i));
  }
}

/// The file of a host binary that is open.
int OpenedBinary() {
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(file.path(), error).string().rfind("/memfd:gather.so", 0) ==
        0) {
      return std::stoi(file.path().filename().string());
    }
  }
  return -1;
}

TEST_CASE("who closes all files gets the code of each program all the same") {
  const TempDir dir;
  const std::string other = Compile(
      "#include <cstdint>\n"
      "extern \"C\" void gather_small(const uint64_t*, int, int) {}\n"
      "extern \"C\" void gather_large(const uint64_t*, int, int) {}\n");
  auto first = std::make_unique<Gather>();
  const int file = OpenedBinary();
  REQUIRE(file >= 0);
  close(file);
  const Program second(WriteArtifact(dir, GatherManifest(), other));
  Instance of_second(second);
  REQUIRE(dup2(STDERR_FILENO, file) == file);
  for (Instance* instance : {&first->instance, &of_second}) {
    GatherTensors tensors(3, 8);
    tensors.Bind(*instance);
    instance->SetSms(2);
    instance->Launch();
    CHECK(tensors.IsRight() == (instance == &first->instance));
  }
  first.reset();
  CHECK(fcntl(file, F_GETFD) != -1);  // it is somebody else's by now
  close(file);
}

TEST_CASE("one file, and memory") {
  const TempDir dir;
  const std::string text = ManifestText(GatherManifest(), GatherBinary());
  const std::string bytes = runtime::WriteContainer(text, GatherBinary());
  dir.Write("gather.etca", bytes);
  dir.Write("another.name", bytes);
  for (const char* name : {"gather.etca", "another.name"}) {
    const Program program(dir.File(name));
    Instance instance(program);
    GatherTensors tensors(9, 8);
    tensors.Bind(instance);
    instance.SetSms(2);
    instance.Launch();
    CHECK(tensors.IsRight());
  }
  auto passing = std::make_unique<std::string>(bytes);
  const Program program = Program::FromMemory(passing->data(), passing->size());
  passing.reset();
  Instance instance(program);
  GatherTensors tensors(9, 8);
  tensors.Bind(instance);
  instance.SetSms(2);
  instance.Launch();
  CHECK(tensors.IsRight());
}

TEST_CASE("a container that is not whole") {
  const std::string text = ManifestText(GatherManifest(), "binary");
  const std::string bytes = runtime::WriteContainer(text, "binary");
  const auto failure = [](const std::string& changed) {
    return FailureOf([&] { Program::FromMemory(changed.data(), changed.size()); });
  };
  CHECK(failure("").text == "artifact `(memory)` does not begin like one");
  for (size_t length = 0; length < bytes.size(); ++length) {
    CHECK(failure(bytes.substr(0, length)).status == ETC_ERROR_BINARY);
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] ^= 4;
    CHECK(failure(changed).status == ETC_ERROR_BINARY);
  }
  CHECK(failure(bytes + " ").text.find("but its header says") != std::string::npos);
  // Right in itself, but of two artifacts.
  CHECK(failure(runtime::WriteContainer(text, "BINARY")).text.find("has the hash") !=
        std::string::npos);
  const TempDir dir;
  dir.Write("gather.etca", text);
  CHECK(LoadFailure(dir.File("gather.etca")).text ==
        "artifact `" + dir.File("gather.etca") + "` does not begin like one");
}

int LoadedObjects() {
  int count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info*, size_t, void* number) { return ++*static_cast<int*>(number), 0; }, &count);
  return count;
}

TEST_CASE("a host binary leaves the process with the last that uses it") {
  const TempDir dir;
  const int before = LoadedObjects();
  {
    const Program program(WriteArtifact(dir, GatherManifest(), GatherBinary()));
    CHECK(LoadedObjects() == before);
    Instance instance(program);
    CHECK(LoadedObjects() == before + 1);
    GatherTensors tensors(4, 8);
    tensors.Bind(instance);
    instance.SetSms(3);
    instance.Launch();
  }
  CHECK(LoadedObjects() == before);
}

TEST_CASE("a program for a GPU can be looked at without one") {
  const TempDir dir;
  json manifest = GatherManifest();
  manifest["target"] = "sm_90a";
  manifest["binary"]["file"] = "gather.cubin";
  const Program program(WriteArtifact(dir, manifest, "cubin"));
  CHECK(program.Graph(0).params == 3);
  if (etc_device_available() != ETC_OK) {
    const Failure failure = FailureOf([&] { const Instance instance(program); });
    CHECK(failure.status == ETC_ERROR_NO_DEVICE);
    CHECK(failure.text.find("CUDA driver") != std::string::npos);
  }
}

}  // namespace
}  // namespace etc::test
