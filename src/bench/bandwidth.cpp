#include "bench/bandwidth.h"

#include "bench/measure.h"
#include "compile/pipeline.h"
#include "compile/program_builder.h"
#include "emit/builtin_headers.h"
#include "text/parser.h"
#include "verify/verify.h"

namespace etc {
namespace {

constexpr int64_t kTasksPerSm = 16;  // of 4 MiB
constexpr int64_t kLaunches = 20;

}  // namespace

std::optional<Bandwidth> MeasureBandwidth(const TargetOptions& target,
                                          std::vector<std::string> include_dirs, Session& session) {
  SourceFile source("bandwidth.etir", BuiltinHeader("bandwidth.etir").value());
  Diagnostics problems;
  auto module = Parse(source, problems);
  PhaseTimer timer;
  ETC_CHECK(module && Verify(*module, problems) &&
            RunPasses(*module, StaticPipeline(), {}, timer, session));
  ProgramBuilder builder(session, std::move(include_dirs));
  auto program = builder.Build(*module, target, "bandwidth");
  if (!program) {
    return std::nullopt;
  }
  auto place = MakeGpuPlace();
  BenchSources sources;
  sources.dims["n"] = kTasksPerSm * place->Sms();
  GraphView graph = ViewGraphs(*program).front();
  auto tensors = MakeBenchTensors(*place, *program, graph, sources, session.diagnostics());
  if (!tensors) {
    return std::nullopt;
  }
  auto rows = MeasureByTurns(*place, *tensors, graph.name, {{"read", &*program}}, kLaunches);
  auto bytes = static_cast<double>(tensors->all.front().bytes);
  return Bandwidth{bytes / rows.front().ms.median * 1e3, true};
}

}  // namespace etc
