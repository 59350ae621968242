#include "driver/option_groups.h"

#include <algorithm>

namespace etc {

CLI::Validator OneOfWords(std::vector<std::string> words) {
  return CLI::Validator(
      [words = std::move(words)](const std::string& text) {
        return std::find(words.begin(), words.end(), text) != words.end()
                   ? std::string()
                   : fmt::format("`{}` is none of `{}`", text, fmt::join(words, "`, `"));
      },
      "");
}

CLI::Option* AddList(CLI::App* app, const std::string& flags, std::vector<std::string>& values,
                     const std::string& help, const std::string& type) {
  return app->add_option(flags, values, help)->type_name(type)->take_all()->allow_extra_args(false);
}

CLI::Validator NotEmpty(const char* what) {
  return CLI::Validator(
      [what](const std::string& text) {
        return text.empty() ? fmt::format("the {} is empty", what) : std::string();
      },
      "");
}

void AddOutput(CLI::App* app, std::string& file, const std::string& help) {
  app->add_option("-o,--output", file, help)->check(NotEmpty("name"))->type_name("FILE");
}

void AddDiagnostics(CLI::App* app, DiagnosticsFormat& format) {
  AddChoice<DiagnosticsFormat, DiagnosticsFormat>(
      app, "--diagnostics-format", format, "How messages are printed on stderr [text]",
      {{"text", DiagnosticsFormat::Text}, {"json", DiagnosticsFormat::Json}});
}

void AddConstants(CLI::App* app, SourceOptions& source) {
  AddList(app, "-D,--define", source.defines, "Set a constant: an integer, a float, true or false",
          "NAME=VALUE");
  AddList(app, "--config", source.configs,
          "Set constants from a JSON file; nested names are joined with `_`", "FILE");
  AddList(app, "--array", source.arrays,
          "Make arrays of these parameters: each element of their first axis is a tensor with an "
          "address of its own",
          "NAME")
      ->delimiter(',');
  AddList(app, "-I,--include", source.include_dirs,
          "Look here for imported files and the headers of impls, before those built into etc",
          "DIR");
  app->add_option(
         "--tuning", source.tuning,
         "What was measured to be best of what operators leave open: a file of `etc tune`, "
         "or one built into etc")
      ->type_name("FILE");
  app->add_flag("!--no-library-tuning", source.library_tuning,
                "Leave out what is built into etc of measurements on the target");
  AddChoice<ChooseBy, ChooseBy>(app, "--choose", source.choose_by,
                                "What decides where neither the text nor the tuning does [formula]",
                                {{"formula", ChooseBy::Formula}, {"cost", ChooseBy::Cost}});
  AddDiagnostics(app, source.diagnostics);
}

CLI::Option* AddSource(CLI::App* app, SourceOptions& source) {
  AddConstants(app, source);
  return app->add_option("file", source.file, "The .etir source; `-` for standard input");
}

std::vector<std::string> Given(const CLI::App& app, const std::vector<std::string>& names) {
  std::vector<std::string> given;
  std::copy_if(names.begin(), names.end(), std::back_inserter(given),
               [&](const std::string& name) { return app.get_option(name)->count() > 0; });
  return given;
}

void AddMachine(CLI::App* app, const Target*& machine) {
  std::vector<std::pair<std::string, const Target*>> targets;
  for (const Target& target : Targets()) {
    targets.emplace_back(target.name, &target);
  }
  AddChoice<const Target*, const Target*>(
      app, "--target", machine,
      fmt::format("The machine that schedules are chosen for [{}]", machine->name), targets);
}

void AddArch(CLI::App* app, Arch& arch) {
  std::vector<std::pair<std::string, Arch>> archs;
  for (Arch each : {Arch::Sm90a, Arch::Host}) {
    archs.emplace_back(Spelling(each), each);
  }
  AddChoice<Arch, Arch>(app, "--arch", arch,
                        fmt::format("What to compile for [{}]", Spelling(arch)), archs);
}

void AddLowering(CLI::App* app, LoweringOptions& lowering) {
  AddChoice<std::optional<ScheduleKind>, ScheduleKind>(
      app, "--schedule", lowering.schedule.schedule, "Override the schedule of the source",
      {{"static", ScheduleKind::Static},
       {"drain", ScheduleKind::Drain},
       {"dynamic", ScheduleKind::Dynamic},
       {"kernels", ScheduleKind::Kernels},
       {"auto", ScheduleKind::Auto}});
  AddMachine(app, lowering.schedule.target);
  int64_t most = 0;
  for (const Target& target : Targets()) {
    most = std::max(most, target.shared_bytes);
  }
  app->add_option("--shared-bytes", lowering.schedule.shared_bytes,
                  "Dynamic shared memory of a CTA [all that the target has]")
      ->check(Between<int64_t>(0, most))
      ->type_name("N");
  AddList(app, "--print-after", lowering.print_after,
          "Print the module to stderr after a pass, or after `all`", "PASS")
      ->delimiter(',');
  app->add_flag("--verify-each", lowering.verify_each, "Verify the module after each pass");
}

void AddDebugChecks(CLI::App* app, LoweringOptions& lowering) {
  app->add_flag("--debug-checks", lowering.schedule.debug_checks,
                "Check in each launch what callers promise, and indices that depend on data");
}

void AddWatchdog(CLI::App* app, LoweringOptions& lowering) {
  app->add_option("--watchdog", lowering.schedule.watchdog_seconds,
                  "End a launch in which tasks wait and nothing happens for so many seconds")
      ->check(Between<int64_t>(1, 3600))
      ->type_name("N");
}

void AddProfile(CLI::App* app, LoweringOptions& lowering) {
  app->add_flag("--profile", lowering.schedule.profile,
                "Have each launch write down when each role of an SM did what");
}

void AddTarget(CLI::App* app, TargetOptions& target) {
  AddChoice<Compiler, Compiler>(app, "--compiler", target.compiler,
                                "What compiles the CUDA text [nvrtc]",
                                {{"nvrtc", Compiler::Nvrtc}, {"nvcc", Compiler::Nvcc}});
}

void AddTensors(CLI::App* app, std::string& graph, std::vector<std::string>& dims,
                std::vector<std::string>& inputs, uint64_t& seed, double& scale) {
  app->add_option("--graph", graph, "The graph [the only one]")->type_name("NAME");
  AddList(app, "--dim", dims, "The value of a symbolic dimension", "NAME=VALUE");
  AddList(app, "--input", inputs, "Elements of a parameter, .npy or raw; random where not given",
          "NAME=FILE");
  app->add_option("--seed", seed, "Seed of the random inputs")
      ->check(Between<int64_t>(0, 1'000'000'000'000'000'000))
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--scale", scale, "Standard deviation of random floats")
      ->check(Between(0.0, 1e30))
      ->type_name("X")
      ->capture_default_str();
}

void AddProofs(CLI::App* app, ProofOptions& proofs) {
  app->add_flag("--no-proofs", proofs.skip, "Skip the proofs for every size");
  app->add_flag("--remarks", proofs.remarks,
                "Say what is derived, and what is not proved, and why");
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  std::string name = CLI::Formatter::make_option_name(option, is_positional);
  return name.substr(0, name.find('{'));
}

CommandHelp DescribeCommand(const CLI::App& app) {
  CommandHelp command{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    OptionHelp help{{}, "", option->get_description()};
    for (const std::string& name : option->get_snames()) {
      help.names.push_back("-" + name);
    }
    for (const std::string& name : option->get_lnames()) {
      help.names.push_back("--" + name);
    }
    if (help.names.empty()) {
      help.names.push_back(option->get_name(true));
    }
    help.type = option->get_items_expected_min() == 0 ? "" : option->get_type_name();
    command.options.push_back(std::move(help));
  }
  for (const CLI::App* inner : app.get_subcommands([](const CLI::App*) { return true; })) {
    command.commands.push_back(DescribeCommand(*inner));
  }
  return command;
}

}  // namespace etc
