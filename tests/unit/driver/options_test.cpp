#include "driver/options.h"

#include <doctest/doctest.h>

namespace etc {
namespace {

std::variant<Command, ExitCode> ParseLine(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "etc");
  return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}

template <class Options>
Options Accept(std::vector<const char*> arguments) {
  auto parsed = ParseLine(std::move(arguments));
  REQUIRE(std::holds_alternative<Command>(parsed));
  const auto* options = std::get_if<Options>(&std::get<Command>(parsed));
  REQUIRE(options != nullptr);
  return *options;
}

ExitCode Refuse(std::vector<const char*> arguments) {
  auto parsed = ParseLine(std::move(arguments));
  REQUIRE(std::holds_alternative<ExitCode>(parsed));
  return std::get<ExitCode>(parsed);
}

TEST_CASE("constants may stand before and after the source") {
  auto check = Accept<CheckOptions>({"check", "-D", "n=-4", "m.etir", "-Deps=1e-5", "--config",
                                     "config.json", "--diagnostics-format=json"});
  CHECK(check.source.file == "m.etir");
  CHECK(check.source.defines == std::vector<std::string>{"n=-4", "eps=1e-5"});
  CHECK(check.source.configs == std::vector<std::string>{"config.json"});
  CHECK(check.source.diagnostics == DiagnosticsFormat::Json);
}

TEST_CASE("`-` is a file") {
  CHECK(Accept<CheckOptions>({"check", "-"}).source.file == "-");
  CHECK(Accept<CompileOptions>({"compile", "-", "-o", "-"}).output == "-");
}

TEST_CASE("compile has defaults") {
  auto compile = Accept<CompileOptions>({"compile", "m.etir"});
  CHECK(compile.target.arch == Arch::Sm90a);
  CHECK(compile.target.compiler == Compiler::Nvrtc);
  CHECK(compile.stop_after == StopAfter::Write);
  CHECK_FALSE(compile.lowering.schedule.schedule);
  CHECK_FALSE(compile.depfile.write);
  CHECK_FALSE(compile.save_temps);
}

TEST_CASE("compile takes everything") {
  auto compile = Accept<CompileOptions>({"compile",
                                         "m.etir",
                                         "-o",
                                         "out/m.so",
                                         "--arch",
                                         "host",
                                         "--compiler=nvcc",
                                         "-I",
                                         "a",
                                         "-Ib",
                                         "--save-temps",
                                         "--stop-after=emit",
                                         "--print-after=plan-memory,all",
                                         "--time-passes",
                                         "--resource-usage",
                                         "-MD",
                                         "-MF",
                                         "m.d",
                                         "-MP",
                                         "--schedule=static",
                                         "--shared-bytes=1024",
                                         "--verify-each"});
  CHECK(compile.output == "out/m.so");
  CHECK(compile.target.IsHost());
  CHECK(compile.target.compiler == Compiler::Nvcc);
  CHECK(compile.source.include_dirs == std::vector<std::string>{"a", "b"});
  CHECK(compile.target.resource_usage == ResourceUsage::Print);
  CHECK(compile.stop_after == StopAfter::Emit);
  CHECK(compile.lowering.print_after == std::vector<std::string>{"plan-memory", "all"});
  CHECK(compile.lowering.schedule.schedule == ScheduleKind::Static);
  CHECK(compile.lowering.schedule.shared_bytes == 1024);
  CHECK(compile.lowering.verify_each);
  CHECK(compile.depfile.write);
  CHECK(compile.depfile.file == "m.d");
  CHECK(compile.depfile.phony);
  CHECK(compile.save_temps);
  CHECK(compile.time_passes);
}

TEST_CASE("opt splits its list of passes") {
  auto opt = Accept<OptOptions>({"opt", "m.etir", "--pass=a,b", "--pass", "c", "-o", "x"});
  CHECK(opt.passes == std::vector<std::string>{"a", "b", "c"});
  CHECK(opt.output == "x");
  CHECK(Accept<OptOptions>({"opt", "--list-passes"}).list_passes);
}

TEST_CASE("fmt takes several files") {
  auto fmt = Accept<FmtOptions>({"fmt", "-i", "a.etir", "b.etir"});
  CHECK(fmt.in_place);
  CHECK(fmt.files == std::vector<std::string>{"a.etir", "b.etir"});
}

TEST_CASE("bench takes files before and after its options") {
  auto bench = Accept<BenchOptions>({"bench", "a.cubin", "--source", "m.etir", "--dim", "n=3",
                                     "--value=pos=7", "--launches", "9", "--bandwidth", "4.5",
                                     "--format", "json", "-o", "x", "b.cubin"});
  CHECK(bench.files == std::vector<std::string>{"a.cubin", "b.cubin"});
  CHECK(bench.source.file == "m.etir");
  CHECK(bench.dims == std::vector<std::string>{"n=3"});
  CHECK(bench.values == std::vector<std::string>{"pos=7"});
  CHECK(bench.launches == 9);
  CHECK(bench.bandwidth == 4.5);
  CHECK(bench.format == BenchFormat::Json);
  CHECK(bench.output == "x");
  CHECK(!bench.device);
  CHECK(Accept<BenchOptions>({"bench", "--schedules", "static,kernels", "m.etir"}).schedules ==
        std::vector<std::string>{"static", "kernels"});
}

TEST_CASE("run takes names and files") {
  auto run = Accept<RunOptions>(
      {"run",     "m.etir",          "--graph",  "g",       "--dim",      "n=3",     "--input",
       "a=a.npy", "--input=b=b.bin", "--output", "c=c.npy", "--device",   "gpu",     "--seed",
       "5",       "--scale=0.5",     "--sms",    "8",       "--repeat=3", "--check", "--tolerance",
       "0"});
  CHECK(run.graph == "g");
  CHECK(run.dims == std::vector<std::string>{"n=3"});
  CHECK(run.inputs == std::vector<std::string>{"a=a.npy", "b=b.bin"});
  CHECK(run.outputs == std::vector<std::string>{"c=c.npy"});
  CHECK(run.device == RunDevice::Gpu);
  CHECK(run.seed == 5);
  CHECK(run.scale == 0.5);
  CHECK(run.sms == 8);
  CHECK(run.repeat == 3);
  CHECK(run.check);
  CHECK(run.tolerance == 0.0);
}

TEST_CASE("help and version end well") {
  CHECK(Refuse({"--help"}) == ExitCode::Ok);
  CHECK(Refuse({"--version"}) == ExitCode::Ok);
  for (const char* command :
       {"compile", "check", "fmt", "opt", "run", "inspect", "pack", "doctor"}) {
    CHECK(Refuse({command, "--help"}) == ExitCode::Ok);
  }
}

TEST_CASE("wrong command lines are refused") {
  for (const auto& arguments : std::vector<std::vector<const char*>>{
           {},
           {"frobnicate"},
           {"check"},
           {"check", "a.etir", "b.etir"},
           {"check", "a.etir", "--no-such-flag"},
           {"compile", "a.etir", "--arch=sm_80"},
           {"compile", "a.etir", "--compiler=tcc"},
           {"compile", "a.etir", "--stop-after=lunch"},
           {"compile", "a.etir", "--shared-bytes=-1"},
           {"compile", "a.etir", "--shared-bytes=lots"},
           {"compile", "a.etir", "-MF", "a.d"},
           {"compile", "a.etir", "-MP"},
           {"compile", "a.etir", "--schedule=random"},
           {"fmt", "-i", "--check", "a.etir"},
           {"fmt", "-i", "-"},
           {"opt"},
           {"run", "a.etir", "--sms=0"},
           {"run", "a.etir", "--repeat=0"},
           {"run", "a.etir", "--tolerance=-1"},
           {"run", "a.etir", "--device=tpu"},
       }) {
    CHECK(Refuse(arguments) == ExitCode::CommandLineWrong);
  }
}

}  // namespace
}  // namespace etc
