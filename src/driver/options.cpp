#include "driver/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>
#include <sstream>

#include "driver/option_groups.h"
#include "support/files.h"

namespace etc {
namespace {

constexpr const char* kFooter =
    "exit codes: 0 ok, 1 the input is wrong, 2 the command line is wrong, 3 a proof failed,\n"
    "4 the toolchain failed, 5 no device or the device failed, 70 a bug in etc";

void AddCheckCommand(CLI::App& app, Command& command, CheckOptions& options) {
  CLI::App* check = app.add_subcommand("check", "Parse, set constants, verify and prove");
  AddSource(check, options.source)->required();
  AddProofs(check, options.proofs);
  check->add_flag("--fix", options.fix, "Add missing events to the file, if that makes it right")
      ->excludes("--no-proofs");
  check
      ->add_flag("--choices", options.choices,
                 "Check each option that operators leave open, too: that it computes the same")
      ->excludes("--fix");
  check->callback([&] { command = options; });
}

void AddFmtCommand(CLI::App& app, Command& command, FmtOptions& options) {
  CLI::App* fmt = app.add_subcommand("fmt", "Print the canonical text of a source");
  fmt->add_option("files", options.files, "The .etir sources; `-` for standard input")->required();
  CLI::Option* in_place = fmt->add_flag("-i,--in-place", options.in_place, "Rewrite the files");
  fmt->add_flag("--check", options.check, "Only say, by exit code 1, what is not formatted")
      ->excludes(in_place);
  AddList(fmt, "-I,--include", options.include_dirs, "Look here for imported files", "DIR");
  AddDiagnostics(fmt, options.diagnostics);
  fmt->callback([&] {
    bool reads_stdin =
        std::find(options.files.begin(), options.files.end(), "-") != options.files.end();
    if (options.in_place && reads_stdin) {
      throw CLI::ValidationError("`-i` cannot rewrite standard input");
    }
    command = options;
  });
}

void AddOptCommand(CLI::App& app, Command& command, OptOptions& options) {
  CLI::App* opt = app.add_subcommand("opt", "Run passes and print the module as text");
  CLI::Option* source = AddSource(opt, options.source);
  AddList(opt, "--pass", options.passes, "Passes to run, in order [those of etc compile]", "A,B,C")
      ->delimiter(',');
  opt->add_flag("--remarks", options.lowering.schedule.remarks,
                "Say which events were derived or removed, and why");
  opt->add_flag("--list-passes", options.list_passes, "List the passes");
  AddArch(opt, options.arch);
  AddLowering(opt, options.lowering);
  AddDebugChecks(opt, options.lowering);
  AddWatchdog(opt, options.lowering);
  AddProfile(opt, options.lowering);
  AddOutput(opt, options.output, "Where to write [standard output]");
  opt->callback([&, source] {
    if (!options.list_passes && source->empty()) {
      throw CLI::RequiredError("file");
    }
    options.source.for_host = options.arch == Arch::Host;
    command = options;
  });
}

void AddCompileCommand(CLI::App& app, Command& command, CompileOptions& options) {
  CLI::App* compile =
      app.add_subcommand("compile", "Compile a source to a binary and its manifest");
  AddSource(compile, options.source)->required();
  AddOutput(compile, options.output,
            "The binary; the manifest is written beside it as .json [the source's name with "
            ".cubin or .so, in this folder]");
  AddArch(compile, options.target.arch);
  AddProofs(compile, options.proofs);
  AddTarget(compile, options.target);
  AddLowering(compile, options.lowering);
  AddDebugChecks(compile, options.lowering);
  AddWatchdog(compile, options.lowering);
  AddProfile(compile, options.lowering);
  AddChoice<StopAfter, StopAfter>(
      compile, "--stop-after", options.stop_after,
      "Stop after a phase and write its text to the output, or to standard output",
      {{"parse", StopAfter::Parse},
       {"verify", StopAfter::Verify},
       {"schedule", StopAfter::Schedule},
       {"emit", StopAfter::Emit}});
  compile->add_flag("--save-temps", options.save_temps,
                    "Keep the emitted text beside the binary, as .cu or .cpp");
  compile->add_flag("--time-passes", options.time_passes,
                    "Print the time of each phase and pass to stderr");
  // A flag, so that a file may follow it.
  auto resource_usage = std::make_shared<std::string>();
  compile->add_flag("--resource-usage{print}", *resource_usage,
                    "Print registers, spills and shared memory of each kernel to stderr; with "
                    "`=strict`, fail where an inner loop uses local memory");
  compile->add_flag("--write-depfile", options.depfile.write,
                    "-MD: write a dependency file for make or ninja beside the binary, as .d");
  compile->add_option("--depfile", options.depfile.file, "-MF: the name of the dependency file")
      ->type_name("FILE");
  compile->add_flag("--depfile-phony", options.depfile.phony,
                    "-MP: add an empty rule for each dependency but the source");
  compile->callback([&, resource_usage] {
    if (*resource_usage != "" && *resource_usage != "print" && *resource_usage != "strict") {
      throw CLI::ValidationError(
          fmt::format("`--resource-usage`: `{}` is not `strict`", *resource_usage));
    }
    options.target.resource_usage = *resource_usage == ""         ? ResourceUsage::Off
                                    : *resource_usage == "strict" ? ResourceUsage::Strict
                                                                  : ResourceUsage::Print;
    if (!options.depfile.write && (options.depfile.phony || !options.depfile.file.empty())) {
      throw CLI::ValidationError("`-MF` and `-MP` need `-MD`");
    }
    options.source.for_host = options.target.IsHost();
    command = options;
  });
}

void AddRunCommand(CLI::App& app, Command& command, RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Run a graph once, on the host or on a GPU");
  run->add_option("file", options.source.file,
                  "A source (.etir, `-` for standard input), a manifest (.json) or its binary "
                  "(.cubin, .so)")
      ->required();
  AddConstants(run, options.source);
  AddTensors(run, options.graph, options.dims, options.inputs, options.seed, options.scale);
  AddList(run, "--output", options.outputs, "Where to write a parameter after the launch, as .npy",
          "NAME=FILE");
  AddChoice<std::optional<RunDevice>, RunDevice>(
      run, "--device", options.device,
      "Where to run [host for a source, else what the artifact is for]",
      {{"host", RunDevice::Host}, {"gpu", RunDevice::Gpu}});
  CLI::Option* devices =
      run->add_option("--devices", options.devices,
                      "The GPU of each rank; one that is named twice is shared, for tests [0,1,..]")
          ->delimiter(',')
          ->check(Between(0, 1024))
          ->type_name("N,N..");
  run->add_flag("--join", options.join,
                "Run one rank, as the environment of torchrun, mpirun or srun says which, with a "
                "process for each other; rank 0 prints")
      ->excludes(devices);
  run->add_option("--sms", options.sms, "SMs, or threads on the host [all]")
      ->check(Between(1, 1024))
      ->type_name("N");
  run->add_option("--repeat", options.repeat, "Launches; each starts from the same inputs")
      ->check(Between<int64_t>(1, 1000000000))
      ->type_name("N")
      ->capture_default_str();
  run->add_flag("--check", options.check,
                "Compare the results with those of the host target on one SM");
  run->add_option("--tolerance", options.tolerance,
                  "Largest relative L2 error that --check accepts [0 on the host, 0.03 on a GPU]")
      ->check(Between(0.0, 1e300))
      ->type_name("X");
  AddTarget(run, options.target);
  AddLowering(run, options.lowering);
  AddDebugChecks(run, options.lowering);
  AddWatchdog(run, options.lowering);
  run->add_option("--profile", options.profile,
                  "Write what each SM did when in the last launch, for Perfetto, and print a "
                  "summary")
      ->type_name("FILE");
  run->callback([&, run] {
    options.of_sources =
        Given(*run, {"-D", "--config", "--array", "-I", "--tuning", "--no-library-tuning",
                     "--choose", "--compiler", "--schedule", "--target", "--shared-bytes",
                     "--print-after", "--verify-each"});
    if (options.profile == "-" && options.check) {
      throw CLI::ValidationError("`--profile -` and `--check` both print to standard output");
    }
    options.lowering.schedule.profile = !options.profile.empty();
    options.source.for_host = options.device.value_or(RunDevice::Host) == RunDevice::Host;
    command = options;
  });
}

void AddGraphCommand(CLI::App& app, Command& command, GraphOptions& options) {
  CLI::App* graph = app.add_subcommand("graph", "Draw the calls, or the tasks, and their events");
  AddSource(graph, options.source)->required();
  graph->add_option("--graph", options.graph, "Only this graph or kernel")->type_name("NAME");
  AddList(graph, "--dims", options.dims, "Draw the tasks at these sizes", "A=1,B=2")
      ->delimiter(',');
  AddChoice<std::optional<PictureFormat>, PictureFormat>(
      graph, "--format", options.format,
      "What to write; SVG needs `dot` of Graphviz [svg for an output of that name, else dot]",
      {{"dot", PictureFormat::Dot}, {"svg", PictureFormat::Svg}});
  AddOutput(graph, options.output, "Where to write [standard output]");
  graph->callback([&] { command = options; });
}

void AddInspectCommand(CLI::App& app, Command& command, InspectOptions& options) {
  CLI::App* inspect = app.add_subcommand("inspect", "Show what an artifact holds");
  inspect->add_option("file", options.file, "A manifest (.json) or its binary")->required();
  inspect->add_option("--graph", options.graph, "Only this graph")->type_name("NAME");
  AddList(inspect, "--dim", options.dims, "Show shapes and memory for this size [the largest]",
          "NAME=VALUE");
  auto* weights = inspect->add_option("--weights", options.weights,
                                      "Say what this checkpoint has of the parameters");
  weights->type_name("FOLDER");
  inspect
      ->add_option("--weights-prefix", options.weights_prefix,
                   "What stands before each name in the checkpoint")
      ->type_name("TEXT")
      ->needs(weights);
  inspect->add_flag("--json", options.json, "As JSON")->excludes(weights);
  AddDiagnostics(inspect, options.diagnostics);
  inspect->callback([&] { command = options; });
}

void AddQuery(CLI::App* command, QueryOptions& options) {
  AddSource(command, options.source)->required();
  command->add_option("--graph", options.graph, "Only this graph")->type_name("NAME");
  AddList(command, "--dim", options.dims, "The value of a symbolic dimension [the least]",
          "NAME=VALUE");
  AddList(command, "--value", options.values,
          "The value of each element of an integer tensor [the largest]", "NAME=VALUE");
  command
      ->add_option("--routing", options.routing,
                   "Count what a routing of tokens to experts touches: chosen evenly, by zipf:S, "
                   "or a file with the choices of each layer in a line")
      ->check(NotEmpty("value"))
      ->type_name("uniform|zipf:S|FILE");
}

void AddExplainCommand(CLI::App& app, Command& command, ExplainOptions& options) {
  CLI::App* explain = app.add_subcommand(
      "explain", "Say what each call moves and computes, how it is scheduled, and why");
  AddQuery(explain, options);
  explain
      ->add_flag("--choices", options.choices,
                 "Say what operators leave open, what was decided, and what each option takes, at "
                 "the largest sizes of each range")
      ->excludes("--dim")
      ->excludes("--value")
      ->excludes("--routing");
  explain->add_flag("--json", options.json, "As JSON");
  AddLowering(explain, options.lowering);
  for (const char* of_passes : {"--print-after", "--verify-each"}) {
    explain->get_option(of_passes)->excludes("--choices");
  }
  explain->callback([&] { command = options; });
}

void AddSimCommand(CLI::App& app, Command& command, SimOptions& options) {
  CLI::App* sim = app.add_subcommand(
      "sim", "Play a schedule on a target, and say how long it takes and what waits for what");
  AddQuery(sim, options);
  sim->add_option("--hosts", options.hosts,
                  "Divide the ranks among so many hosts, with NCCL between them")
      ->check(Between<int64_t>(1, 64))
      ->type_name("N")
      ->capture_default_str();
  sim->add_option("--trace", options.trace, "Write what runs when, for Perfetto")
      ->type_name("FILE");
  sim->add_flag("--json", options.json, "As JSON");
  AddLowering(sim, options.lowering);
  sim->callback([&] {
    if (options.trace == "-" && options.json) {
      throw CLI::ValidationError("`--trace -` and `--json` both print to standard output");
    }
    command = options;
  });
}

void AddPackCommand(CLI::App& app, Command& command, PackOptions& options) {
  CLI::App* pack =
      app.add_subcommand("pack", "Bring a tensor into the layout that a parameter asks for");
  pack->add_option("file", options.file, "A manifest (.json) or its binary")->required();
  pack->add_option("--param", options.param, "The parameter")->type_name("NAME")->required();
  pack->add_option("--input", options.input, "The row-major elements, .npy or raw")
      ->type_name("FILE")
      ->required();
  pack->add_option("--output", options.output, "Where to write them packed, .npy or raw")
      ->type_name("FILE")
      ->required();
  pack->add_flag("--unpack", options.unpack, "The other way: packed in, row-major out");
  pack->add_option("--graph", options.graph, "The graph [the only one]")->type_name("NAME");
  AddList(pack, "--dim", options.dims, "The value of a symbolic dimension, for raw elements",
          "NAME=VALUE");
  AddDiagnostics(pack, options.diagnostics);
  pack->callback([&] { command = options; });
}

void AddDoctorCommand(CLI::App& app, Command& command) {
  app.add_subcommand("doctor", "Report the compilers, the driver and the GPU that etc finds")
      ->callback([&] { command = DoctorOptions{}; });
}

void AddCompletionCommand(CLI::App& app, Command& command, Shell& shell) {
  CLI::App* completion = app.add_subcommand("completion", "Print a shell's completion of etc");
  AddChoice<Shell, Shell>(completion, "shell", shell, "The shell that reads it",
                          {{"bash", Shell::Bash}, {"zsh", Shell::Zsh}, {"fish", Shell::Fish}});
  completion->get_option("shell")->required();
  completion->callback(
      [&] { command = PrintOptions{CompletionScript(DescribeCommand(app), shell)}; });
}

void AddManCommand(CLI::App& app, Command& command) {
  app.add_subcommand("man", "Print the manual page")->callback([&] {
    command = PrintOptions{ManPage(DescribeCommand(app), ETC_VERSION, kFooter)};
  });
}

/// The spellings of dependency options that compilers share; CLI11 has no `-MD`.
const char* Translate(const char* argument) {
  constexpr std::pair<const char*, const char*> kSpellings[] = {
      {"-MD", "--write-depfile"}, {"-MF", "--depfile"}, {"-MP", "--depfile-phony"}};
  for (const auto& [from, to] : kSpellings) {
    if (std::strcmp(argument, from) == 0) {
      return to;
    }
  }
  return argument;
}

/// The first `--option=`; null where there is none. CLI11 would take the next argument for its
/// value.
const char* FindEmptyValue(const std::vector<const char*>& arguments) {
  auto found = std::find_if(arguments.begin(), arguments.end(), [](std::string_view argument) {
    return argument.starts_with("--") && argument.find('=') == argument.size() - 1;
  });
  return found != arguments.end() ? *found : nullptr;
}

/// CLI11's message as one of our diagnostics.
ExitCode ReportWrongCommandLine(std::string message, const CLI::App& app,
                                const std::vector<const char*>& arguments) {
  bool json = false;
  for (size_t i = 1; i < arguments.size(); ++i) {
    json |= std::strcmp(arguments[i], "--diagnostics-format=json") == 0 ||
            (std::strcmp(arguments[i - 1], "--diagnostics-format") == 0 &&
             std::strcmp(arguments[i], "json") == 0);
  }
  if (app.get_subcommands().empty() && arguments.size() > 1 && arguments[1][0] != '-') {
    message = fmt::format("there is no subcommand `{}`", arguments[1]);
  }
  if (message.size() > 1 && std::islower(static_cast<unsigned char>(message[1])) != 0) {
    message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  } else if (message.starts_with("A ")) {
    message[0] = 'a';
  }
  Session session(json ? DiagnosticsFormat::Json : DiagnosticsFormat::Text);
  auto used = app.get_subcommands();
  session.diagnostics()
      .Error(DiagnosticKind::CommandLine, {}, std::move(message))
      .notes.push_back(
          {{},
           fmt::format("see `etc {}--help`", used.empty() ? "" : used.front()->get_name() + " ")});
  return session.Finish();
}

/// A source may use constants of the machine that its schedule is chosen for.
template <class Options>
void TellSourceOfTarget(Options& options) {
  if constexpr (requires { options.source.target = options.lowering.schedule.target; }) {
    options.source.target = options.lowering.schedule.target;
  } else if constexpr (requires { options.source.target = options.machine; }) {
    options.source.target = options.machine;
  }
}

}  // namespace

std::variant<Command, ExitCode> ParseCommandLine(int argc, const char* const* argv) {
  std::vector<const char*> arguments;
  std::transform(argv, argv + argc, std::back_inserter(arguments), Translate);

  Command command;
  CheckOptions check;
  FmtOptions fmt;
  OptOptions opt;
  CompileOptions compile;
  RunOptions run;
  BenchOptions bench;
  TuneOptions tune;
  ExplainOptions explain;
  SimOptions sim;
  GraphOptions graph;
  InspectOptions inspect;
  PackOptions pack;
  Shell shell = Shell::Bash;
  CLI::App app("The Event Tensor Compiler: .etir programs to persistent CUDA kernels", "etc");
  app.set_version_flag("--version", "etc " ETC_VERSION);
  app.footer(kFooter);
  app.formatter(std::make_shared<HelpFormatter>());
  app.require_subcommand(1);
  app.option_defaults()->take_last();
  AddCompileCommand(app, command, compile);
  AddCheckCommand(app, command, check);
  AddFmtCommand(app, command, fmt);
  AddOptCommand(app, command, opt);
  AddRunCommand(app, command, run);
  AddBenchCommand(app, command, bench);
  AddTuneCommand(app, command, tune);
  AddExplainCommand(app, command, explain);
  AddSimCommand(app, command, sim);
  AddGraphCommand(app, command, graph);
  AddInspectCommand(app, command, inspect);
  AddPackCommand(app, command, pack);
  AddDoctorCommand(app, command);
  AddCompletionCommand(app, command, shell);
  AddManCommand(app, command);
  const char* empty = FindEmptyValue(arguments);
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream text;
    app.exit(success, text);
    Session session(DiagnosticsFormat::Text);
    (void)WriteText("-", text.str(), session.diagnostics());
    return session.Finish();
  } catch (const CLI::ParseError& error) {
    return ReportWrongCommandLine(
        empty != nullptr ? fmt::format("`{}` has no value", empty) : error.what(), app, arguments);
  }
  if (empty != nullptr) {
    return ReportWrongCommandLine(fmt::format("`{}` has no value", empty), app, arguments);
  }
  std::visit([](auto& options) { TellSourceOfTarget(options); }, command);
  return command;
}

bool CheckCompiler(const TargetOptions& target, bool for_host, Diagnostics& diagnostics) {
  bool right = !for_host || target.compiler == Compiler::Nvrtc;
  if (!right) {
    diagnostics.Error(DiagnosticKind::CommandLine, {},
                      "`--compiler nvcc` has no meaning for the host; `CXX` names its compiler");
  }
  return right;
}

}  // namespace etc
