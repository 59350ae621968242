// The options of the subcommands that measure.
#include "driver/option_groups.h"

namespace etc {

void AddBenchCommand(CLI::App& app, Command& command, BenchOptions& options) {
  CLI::App* bench =
      app.add_subcommand("bench", "Time schedules of a source, or artifacts, by turns");
  bench
      ->add_option(
          "files", options.files,
          "A source (.etir, `-` for standard input), or artifacts (.etca, .cubin, .so, .json)")
      ->type_name("FILE")
      ->required();
  AddConstants(bench, options.source);
  AddList(bench, "--schedules", options.schedules, "Schedules of the source [static,kernels]",
          "A,B")
      ->delimiter(',')
      ->check(OneOfWords({"static", "drain", "dynamic", "kernels", "auto"}));
  bench
      ->add_option("--source", options.source.file,
                   "The source of the artifacts: tells what a launch must read")
      ->type_name("FILE");
  AddTensors(bench, options.graph, options.dims, options.inputs, options.seed, options.scale);
  AddList(bench, "--value", options.values, "The value of each element of an integer parameter",
          "NAME=VALUE");
  AddChoice<std::optional<RunDevice>, RunDevice>(
      bench, "--device", options.device,
      "Where to run [the GPU where there is one, else the host; what an artifact is for]",
      {{"host", RunDevice::Host}, {"gpu", RunDevice::Gpu}});
  bench->add_option("--launches", options.launches, "Timed launches of each")
      ->check(Between<int64_t>(1, 1000000))
      ->type_name("N")
      ->capture_default_str();
  bench
      ->add_option("--bandwidth", options.bandwidth,
                   "What the GPU's memory reads in TB/s [measured]")
      ->check(Between(1e-6, 1e6))
      ->type_name("X");
  AddChoice<BenchFormat, BenchFormat>(bench, "--format", options.format, "What to print [text]",
                                      {{"text", BenchFormat::Text}, {"json", BenchFormat::Json}});
  AddOutput(bench, options.output, "Where to write [standard output]");
  AddTarget(bench, options.target);
  AddMachine(bench, options.machine);
  bench->callback([&, bench] {
    options.of_sources = Given(*bench, {"-D", "--config", "--array", "-I", "--tuning",
                                        "--no-library-tuning", "--choose", "--compiler"});
    command = options;
  });
}

void AddTuneCommand(CLI::App& app, Command& command, TuneOptions& options) {
  CLI::App* tune = app.add_subcommand(
      "tune", "Measure what operators leave open, and write the best to a tuning file");
  AddSource(tune, options.source)->required();
  tune->remove_option(tune->get_option("--tuning"));  // the output is where the search begins
  tune->add_option("--graph", options.graph, "The graph [the only one]")->type_name("NAME");
  AddList(tune, "--dim", options.dims, "The value of a symbolic dimension", "NAME=VALUE");
  AddList(tune, "--value", options.values, "The value of each element of an integer parameter",
          "NAME=VALUE");
  AddChoice<std::optional<RunDevice>, RunDevice>(
      tune, "--device", options.device, "Where to run [the GPU where there is one, else the host]",
      {{"host", RunDevice::Host}, {"gpu", RunDevice::Gpu}});
  tune->add_option("--launches", options.launches, "Timed launches of each")
      ->check(Between<int64_t>(1, 1000000))
      ->type_name("N")
      ->capture_default_str();
  tune->add_option("--rounds", options.rounds, "Times that everything is looked at, at most")
      ->check(Between(1, 100))
      ->type_name("N")
      ->capture_default_str();
  tune->add_option("--near", options.near,
                   "Measure what the simulator takes for slower by so many per cent at most")
      ->check(Between(0.0, 1000.0))
      ->type_name("X")
      ->capture_default_str();
  tune->add_option(
          "--time", options.time,
          "End after so many seconds, the last comparison among them, with what was found until "
          "then")
      ->check(Between(0.001, 1e6))
      ->type_name("SECONDS");
  AddOutput(tune, options.output, "The tuning file; what it has of others stays");
  tune->get_option("--output")->required();
  AddTarget(tune, options.target);
  AddMachine(tune, options.source.target);
  tune->callback([&] { command = options; });
}

}  // namespace etc
