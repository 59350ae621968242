// The passes that turn graphs into kernels. Each is one function from a module to the module.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expand/tuned_schedule.h"
#include "ir/module.h"
#include "support/diagnostics.h"
#include "target/target.h"

namespace etc {

class DerivedBodies;

/// How long a launch may stand still where nobody says it.
inline constexpr int64_t kWatchdogSeconds = 4;

struct ScheduleOptions {
  std::optional<ScheduleKind> schedule;  // overrides what the source says
  std::vector<TunedSchedule> tuned;      // what a tuning says where neither does
  const Target* target = &DefaultTarget();
  int64_t consumer_warps = 8;
  std::optional<int64_t> shared_bytes;  // dynamic shared memory of a CTA: all that there is
  bool flag_in_data = false;            // the pipeline has flag-in-data: for CUDA only
  int64_t flagged_elements = 262144;    // the most of a flagged buffer that a task reads
  int64_t version_bytes = 64 << 20;  // the most that the versions of an unflagged buffer may take
  bool debug_checks = false;         // the pipeline has add-checks
  bool watchdog = false;             // the pipeline has add-watchdog
  std::optional<int64_t> watchdog_seconds = {};  // the same, for kernels that have one as well
  bool profile = false;                          // the pipeline has add-profile
  bool remarks = false;                          // say what was derived, and why
  DerivedBodies* bodies = nullptr;               // derive-events puts there what it has read

  bool HasWatchdog() const { return watchdog || watchdog_seconds; }
};

/// A named pass; `run` is false when it reported an error.
struct Pass {
  std::string_view name;
  std::string_view summary;
  bool (*run)(Module&, const ScheduleOptions&, Diagnostics&);
  /// The graphs whose events must put all calls in order before the pass; null for none.
  bool (*needs_order)(const Module&, const Graph&, const ScheduleOptions&) = nullptr;
};

/// Every pass that `etc opt --pass=NAME` can run.
const std::vector<Pass>& AllPasses();

/// The passes that schedule, in their order, each order with its reason (passes.cpp).
std::vector<Pass> StaticPipeline(const ScheduleOptions& options = {});

/// Those of them that give kernels what they have not: checks, a watchdog, a profile.
std::vector<Pass> KernelPipeline(const ScheduleOptions& options);

}  // namespace etc
