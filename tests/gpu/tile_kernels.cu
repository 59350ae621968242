// Runs every tile kernel inside a minimal persistent kernel against a CPU reference in double; with
// `--time` it also prints what they reach. Exit status 1 when a check failed.
#include <chrono>

#include "support.cuh"

namespace etc::test {
#define TILE_TEST(name, header, function) void Run##function(Report& report);
#include "tile_tests.def"
#undef TILE_TEST
void TimeKernels(Report& report);

namespace {

void RunGroup(Report& report, const char* name, void (*run)(Report&)) {
  const Report before = report;
  const auto start = std::chrono::steady_clock::now();
  run(report);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%-24s %5d passed, %d failed, %5.1f s\n", name, report.passed - before.passed,
              report.failed - before.failed, took.count());
}

}  // namespace
}  // namespace etc::test

int main(int argc, char** argv) {
  using namespace etc::test;
  // A line at a time, so that what was printed before a time limit is seen.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Report report;
#define TILE_TEST(name, header, function) RunGroup(report, #name, Run##function);
#include "tile_tests.def"
#undef TILE_TEST
  std::printf("%d checks passed, %d failed\n", report.passed, report.failed);
  if (argc > 1 && std::string(argv[1]) == "--time") {
    TimeKernels(report);
  }
  return report.failed == 0 ? 0 : 1;
}
