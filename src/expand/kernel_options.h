// What a tuning may say of the kernels that a graph becomes: their schedule, how far the loader
// runs ahead, and the constants that the program leaves open.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "expand/decisions.h"
#include "expand/tuned_schedule.h"
#include "ir/module.h"

namespace etc {

/// The name under which the throttle of a graph's kernel is one thing to choose.
inline constexpr std::string_view kLoader = "loader";

/// The option that leaves it to the pass throttle-loader.
inline constexpr std::string_view kByRule = "rule";

/// The name under which the schedule of a graph's kernel is one thing to choose. Its options are
/// schedules, and `auto` leaves it to the pass choose-schedule.
inline constexpr std::string_view kSchedule = "schedule";

/// Whether a thing to choose is one of a kernel, and none that an operator leaves open.
inline bool IsOfKernel(std::string_view parameter) {
  return parameter == kLoader || parameter == kSchedule;
}

/// What a program without a mesh may have of one of these two; nothing of another name.
std::vector<Option> OptionsOfKernels(std::string_view parameter);

/// The throttle of one of a loader's options, which are as the text of a kernel has them,
/// `in_flight 3 interval 700`; nothing of kByRule.
std::optional<Throttle> LoaderThrottle(const Option& option);

/// The schedule of one of a schedule's options; nothing of `auto`.
std::optional<ScheduleKind> ScheduleOption(const Option& option);

/// The questions that the kernel of a graph asks. The shape is the constants in the shapes of the
/// graph's parameters, and the range the sizes that the kernel is specialised for. A program with a
/// mesh has fewer schedules to choose from.
Question LoaderQuestion(const Module& module, const Graph& graph, const DimRanges& sizes);
Question ScheduleQuestion(const Module& module, const Graph& graph, const DimRanges& sizes);

/// The question of a constant that the program leaves open, without its options.
Question ConstantQuestion(const Module& module, const Graph& graph, const DimRanges& sizes,
                          SymbolId constant);

/// What a tuning says of schedules, also where the text says another: `--schedule=auto` goes over
/// that.
std::vector<TunedSchedule> TunedSchedules(const std::vector<Decision>& decisions);

}  // namespace etc
