// Whole subcommands on small programs, through the host target.
#include "driver/commands.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "report/artifact_view.h"
#include "support/files.h"
#include "support/scratch_directory.h"
#include "tensor/npy.h"

namespace etc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRunningSum = R"(etir 1;

const scale = 2;
dim n in 1..64;

device @double(%x: i32[n], %y: out i32[n]) tasks (i: n) {
  %y[i] = scale * %x[i];
}

device @add(%y: i32[n], %total: inout i32[n]) tasks (i: n) {
  %total[i] = %total[i] + %y[i];
}

graph @update(%x: i32[n] in 0..100, %total: inout i32[n]) {
  %y = buffer i32[n];
  event %done[n] count 1;
  call @double(%x, %y) notify (i) => %done[i];
  call @add(%y, %total) wait (i) => %done[i];
}
)";

/// A folder with the program in it.
class Workplace {
 public:
  Workplace() { REQUIRE(scratch_.Write("m.etir", kRunningSum)); }

  std::string Path(const std::string& name) const { return scratch_.path() + "/" + name; }
  std::string Read(const std::string& name) const { return scratch_.Read(name).value_or(""); }
  void Write(const std::string& name, const std::string& text) {
    REQUIRE(scratch_.Write(name, text));
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(scratch_.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  CompileOptions Compile(const std::string& output) const {
    CompileOptions options;
    options.source.file = Path("m.etir");
    options.target.arch = Arch::Host;
    options.output = Path(output);
    return options;
  }

  RunOptions Run(const std::string& file) const {
    RunOptions options;
    options.source.file = Path(file);
    return options;
  }

 private:
  ScratchDirectory scratch_;
};

/// An i32 vector as the bytes of a .npy file.
std::string Vector(const std::vector<int32_t>& values) {
  std::string data(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int32_t));
  return PrintNpy({"<i4", {static_cast<int64_t>(values.size())}, data});
}

TEST_CASE("compile writes the binary and its manifest, the same each time") {
  Workplace place;
  CHECK(Execute(place.Compile("m.so")) == ExitCode::Ok);
  CHECK(place.Names() == std::vector<std::string>{"m.etir", "m.json", "m.so"});
  std::string binary = place.Read("m.so");
  std::string manifest = place.Read("m.json");
  CHECK(Execute(place.Compile("m.so")) == ExitCode::Ok);
  CHECK(place.Read("m.so") == binary);
  CHECK(place.Read("m.json") == manifest);
}

TEST_CASE("compile writes what else is asked for") {
  Workplace place;
  CompileOptions options = place.Compile("out.so");
  options.save_temps = true;
  options.depfile = {true, "", true};
  CHECK(Execute(options) == ExitCode::Ok);
  CHECK(place.Names() ==
        std::vector<std::string>{"m.etir", "out.cpp", "out.d", "out.json", "out.so"});
  CHECK(place.Read("out.d") == place.Path("out.so") + ": \\\n  " + place.Path("m.etir") + "\n");
  CHECK(place.Read("out.cpp").find("extern \"C\"") != std::string::npos);
}

TEST_CASE("compile leaves nothing behind when it fails") {
  Workplace place;
  CompileOptions options = place.Compile("m.so");
  SUBCASE("in the source") {
    options.source.defines = {"scale=true"};
    CHECK(Execute(options) == ExitCode::CommandLineWrong);
  }
  SUBCASE("at the last of several outputs") {
    options.depfile = {true, place.Path("none/m.d"), false};
    CHECK(Execute(options) == ExitCode::InputWrong);
  }
  SUBCASE("before an output takes the place of an input") {
    options.output = place.Path("m.etir");
    CHECK(Execute(options) == ExitCode::CommandLineWrong);
  }
  SUBCASE("before an output takes the place of another") {
    options.output = place.Path("m.json");
    CHECK(Execute(options) == ExitCode::CommandLineWrong);
  }
  CHECK(place.Names() == std::vector<std::string>{"m.etir"});
  CHECK(place.Read("m.etir") == kRunningSum);
}

TEST_CASE("the manifest never takes the place of a configuration") {
  Workplace place;
  place.Write("m.json", "{\"scale\": 5}");
  CompileOptions options = place.Compile("m.so");
  options.source.configs = {place.Path("m.json")};
  CHECK(Execute(options) == ExitCode::CommandLineWrong);
  CHECK(place.Read("m.json") == "{\"scale\": 5}");
}

TEST_CASE("what opt prints compiles to the same binary") {
  Workplace place;
  OptOptions opt;
  opt.source.file = place.Path("m.etir");
  opt.output = place.Path("scheduled.etir");
  CHECK(Execute(opt) == ExitCode::Ok);
  CHECK(Execute(place.Compile("a.so")) == ExitCode::Ok);
  CompileOptions scheduled = place.Compile("b.so");
  scheduled.source.file = opt.output;
  CHECK(Execute(scheduled) == ExitCode::Ok);
  CHECK(place.Read("a.so") == place.Read("b.so"));
}

TEST_CASE("each phase can be the last") {
  Workplace place;
  for (StopAfter phase :
       {StopAfter::Parse, StopAfter::Verify, StopAfter::Schedule, StopAfter::Emit}) {
    CompileOptions options = place.Compile("text");
    options.stop_after = phase;
    CHECK(Execute(options) == ExitCode::Ok);
    CHECK(place.Read("text").starts_with("etir 1;") == (phase != StopAfter::Emit));
    CHECK((place.Read("text").find("kernel @") != std::string::npos) ==
          (phase == StopAfter::Schedule));
  }
}

TEST_CASE("fmt rewrites only what is not canonical") {
  Workplace place;
  place.Write("a.etir", "etir   1;\nconst  x=1;\n");
  FmtOptions options;
  options.files = {place.Path("a.etir")};
  options.check = true;
  CHECK(Execute(options) == ExitCode::InputWrong);
  options.check = false;
  options.in_place = true;
  CHECK(Execute(options) == ExitCode::Ok);
  CHECK(place.Read("a.etir") == "etir 1;\nconst x = 1;\n");
  options.in_place = false;
  options.check = true;
  CHECK(Execute(options) == ExitCode::Ok);
}

TEST_CASE("run computes, from files to files, and leaves its inputs alone") {
  Workplace place;
  place.Write("x.npy", Vector({1, 2, 3}));
  place.Write("t.npy", Vector({10, 20, 30}));
  RunOptions run = place.Run("m.etir");
  run.inputs = {"x=" + place.Path("x.npy"), "total=" + place.Path("t.npy")};
  run.outputs = {"total=" + place.Path("out.npy")};
  run.repeat = 3;
  run.check = true;
  CHECK(Execute(run) == ExitCode::Ok);
  CHECK(place.Read("out.npy") == Vector({12, 24, 36}));
  CHECK(place.Read("t.npy") == Vector({10, 20, 30}));

  run.source.defines = {"scale=3"};
  CHECK(Execute(run) == ExitCode::Ok);
  CHECK(place.Read("out.npy") == Vector({13, 26, 39}));
}

TEST_CASE("run takes an artifact by its binary or its manifest") {
  Workplace place;
  REQUIRE(Execute(place.Compile("m.so")) == ExitCode::Ok);
  for (const char* file : {"m.so", "m.json"}) {
    RunOptions run = place.Run(file);
    run.dims = {"n=5"};
    run.outputs = {std::string("total=") + place.Path(file) + ".npy"};
    CHECK(Execute(run) == ExitCode::Ok);
  }
  CHECK(place.Read("m.so.npy") == place.Read("m.json.npy"));
  RunOptions run = place.Run("m.so");
  run.device = RunDevice::Gpu;
  CHECK(Execute(run) == ExitCode::CommandLineWrong);
}

TEST_CASE("run refuses what does not fit") {
  Workplace place;
  RunOptions run = place.Run("m.etir");
  SUBCASE("no size") { CHECK(Execute(run) == ExitCode::CommandLineWrong); }
  SUBCASE("a size out of range") {
    run.dims = {"n=65"};
    CHECK(Execute(run) == ExitCode::CommandLineWrong);
  }
  SUBCASE("a value out of range") {
    place.Write("x.npy", Vector({1, 100}));
    run.inputs = {"x=" + place.Path("x.npy")};
    CHECK(Execute(run) == ExitCode::InputWrong);
  }
  SUBCASE("two sizes") {
    place.Write("x.npy", Vector({1, 2}));
    run.inputs = {"x=" + place.Path("x.npy")};
    run.dims = {"n=3"};
    CHECK(Execute(run) == ExitCode::InputWrong);
  }
  SUBCASE("raw elements of another size") {
    place.Write("x.bin", "12345678");
    run.inputs = {"x=" + place.Path("x.bin")};
    run.dims = {"n=3"};
    CHECK(Execute(run) == ExitCode::InputWrong);
  }
  SUBCASE("an output that is none") {
    run.dims = {"n=3"};
    run.outputs = {"x=" + place.Path("x.npy")};
    CHECK(Execute(run) == ExitCode::CommandLineWrong);
  }
  SUBCASE("an unknown graph") {
    run.dims = {"n=3"};
    run.graph = "other";
    CHECK(Execute(run) == ExitCode::CommandLineWrong);
  }
}

TEST_CASE("an artifact that was changed is found out") {
  Workplace place;
  REQUIRE(Execute(place.Compile("m.so")) == ExitCode::Ok);
  InspectOptions inspect;
  inspect.file = place.Path("m.json");
  CHECK(Execute(inspect) == ExitCode::Ok);
  RunOptions run = place.Run("m.so");
  run.dims = {"n=2"};

  std::string binary = place.Read("m.so");
  binary.back() = static_cast<char>(binary.back() ^ 1);
  place.Write("m.so", binary);
  CHECK(Execute(inspect) == ExitCode::InputWrong);
  CHECK(Execute(run) == ExitCode::InputWrong);
  fs::remove(place.Path("m.so"));
  CHECK(Execute(inspect) == ExitCode::InputWrong);
  CHECK(Execute(run) == ExitCode::InputWrong);
}

TEST_CASE("what a kernel needs follows from the sizes") {
  Workplace place;
  REQUIRE(Execute(place.Compile("m.so")) == ExitCode::Ok);
  Diagnostics diagnostics;
  auto view = ViewArtifact(place.Path("m.so"), diagnostics);
  REQUIRE(view);
  const manifest::Graph& graph = view->manifest.graphs.at(0);
  auto largest = NeedsOf(graph, graph.kernels.at(0), {}, diagnostics);
  REQUIRE(largest);
  CHECK(largest->dims == std::vector<int64_t>{64});
  CHECK(largest->param_bytes == 2 * 64 * 4);
  auto small = NeedsOf(graph, graph.kernels[0], {{"n", 3}}, diagnostics);
  REQUIRE(small);
  CHECK(small->param_bytes == 2 * 3 * 4);
  CHECK(small->workspace_bytes < largest->workspace_bytes);
  CHECK_FALSE(NeedsOf(graph, graph.kernels[0], {{"n", 65}}, diagnostics));
  CHECK(ShapeText(graph, graph.params.at(0)) == "n");
  CHECK(ValuesText(graph, graph.params[0]) == "0..99");
}

}  // namespace
}  // namespace etc
