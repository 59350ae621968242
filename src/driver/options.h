// The command line, as structs: one for each subcommand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compile/exit_code.h"
#include "compile/options.h"
#include "target/target.h"

namespace etc {

struct CheckOptions {
  SourceOptions source;
  ProofOptions proofs;
  bool fix = false;
  bool choices = false;
};

struct FmtOptions {
  std::vector<std::string> files;
  std::vector<std::string> include_dirs;  // of imported files
  bool in_place = false;
  bool check = false;
  DiagnosticsFormat diagnostics = DiagnosticsFormat::Text;
};

struct OptOptions {
  SourceOptions source;
  LoweringOptions lowering;
  Arch arch = DefaultTarget().arch;
  std::vector<std::string> passes;  // empty: those of `etc compile`
  bool list_passes = false;
  std::string output;
};

enum class PictureFormat { Dot, Svg };

struct GraphOptions {
  SourceOptions source;
  std::string graph;                    // empty: all
  std::vector<std::string> dims;        // empty: calls, else tasks
  std::optional<PictureFormat> format;  // absent: by the name of the output
  std::string output;
};

enum class StopAfter { Parse, Verify, Schedule, Emit, Write };

struct DepfileOptions {
  bool write = false;  // -MD
  std::string file;    // -MF
  bool phony = false;  // -MP
};

struct CompileOptions {
  SourceOptions source;
  ProofOptions proofs;
  LoweringOptions lowering;
  TargetOptions target;
  DepfileOptions depfile;
  StopAfter stop_after = StopAfter::Write;
  std::string output;
  bool save_temps = false;
  bool time_passes = false;
};

enum class RunDevice { Host, Gpu };

struct RunOptions {
  SourceOptions source;  // the file may also be an artifact
  LoweringOptions lowering;
  TargetOptions target;
  std::string graph;
  std::vector<std::string> dims;     // name=value
  std::vector<std::string> inputs;   // name=file
  std::vector<std::string> outputs;  // name=file
  std::optional<RunDevice> device;
  std::vector<int32_t> devices;  // of each rank; empty: rank 0 on device 0, and so on
  bool join = false;             // one rank here, and a process for each other
  uint64_t seed = 0;
  double scale = 1.0;
  int32_t sms = 0;
  int64_t repeat = 1;
  bool check = false;
  std::optional<double> tolerance;
  std::string profile;                  // the file for what the last launch did; empty: no profile
  std::vector<std::string> of_sources;  // the given options that no artifact takes
};

enum class BenchFormat { Text, Json };

struct BenchOptions {
  const Target* machine = &DefaultTarget();
  std::vector<std::string> files;  // one source, or artifacts
  SourceOptions source;            // of the artifacts, where they are what is measured
  TargetOptions target;
  std::vector<std::string> schedules;  // empty: static and kernels
  std::string graph;
  std::vector<std::string> dims;    // name=value
  std::vector<std::string> inputs;  // name=file
  std::vector<std::string> values;  // name=value
  std::optional<RunDevice> device;  // absent: the GPU where there is one
  uint64_t seed = 0;
  double scale = 1.0;
  int64_t launches = 50;
  std::optional<double> bandwidth;  // TB/s
  BenchFormat format = BenchFormat::Text;
  std::string output;
  std::vector<std::string> of_sources;  // the given options that no artifact takes
};

struct TuneOptions {
  SourceOptions source;
  TargetOptions target;
  std::string graph;
  std::vector<std::string> dims;    // name=value
  std::vector<std::string> values;  // name=value
  std::optional<RunDevice> device;  // absent: the GPU where there is one
  int64_t launches = 50;
  int rounds = 2;
  double near = 5;             // per cent
  std::optional<double> time;  // seconds
  std::string output;
};

struct InspectOptions {
  std::string file;
  std::string graph;
  std::vector<std::string> dims;  // name=value
  std::string weights;            // a checkpoint
  std::string weights_prefix;     // before each name in it
  bool json = false;
  DiagnosticsFormat diagnostics = DiagnosticsFormat::Text;
};

/// Which kernels are looked at, at which sizes and data.
struct QueryOptions {
  SourceOptions source;
  LoweringOptions lowering;
  std::string graph;
  std::vector<std::string> dims;    // name=value
  std::vector<std::string> values;  // name=value
  std::string routing;              // uniform, zipf:S or a file
};

struct ExplainOptions : QueryOptions {
  bool choices = false;
  bool json = false;
};

struct SimOptions : QueryOptions {
  int64_t hosts = 1;  // among which the ranks are divided
  std::string trace;  // where to write it; empty: nowhere
  bool json = false;
};

struct PackOptions {
  std::string file;
  std::string graph;
  std::string param;
  std::string input;
  std::string output;
  std::vector<std::string> dims;  // name=value
  bool unpack = false;
  DiagnosticsFormat diagnostics = DiagnosticsFormat::Text;
};

struct DoctorOptions {};

/// `completion` and `man`: what is made of the command line's own definitions.
struct PrintOptions {
  std::string text;
};

using Command = std::variant<CheckOptions, FmtOptions, OptOptions, CompileOptions, RunOptions,
                             BenchOptions, TuneOptions, ExplainOptions, SimOptions, GraphOptions,
                             InspectOptions, PackOptions, DoctorOptions, PrintOptions>;

/// What the command line asks for; or, after `--help`, `--version` and for a wrong command line,
/// the exit code, with all messages printed.
std::variant<Command, ExitCode> ParseCommandLine(int argc, const char* const* argv);

/// Refuses a compiler of CUDA text that is asked for where programs are built for the host.
[[nodiscard]] bool CheckCompiler(const TargetOptions& target, bool for_host,
                                 Diagnostics& diagnostics);

}  // namespace etc
