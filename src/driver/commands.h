// The subcommands: each in the file of its name.
#pragma once

#include "driver/options.h"

namespace etc {

[[nodiscard]] ExitCode Execute(const BenchOptions& options);
[[nodiscard]] ExitCode Execute(const TuneOptions& options);
[[nodiscard]] ExitCode Execute(const CheckOptions& options);
[[nodiscard]] ExitCode Execute(const FmtOptions& options);
[[nodiscard]] ExitCode Execute(const OptOptions& options);
[[nodiscard]] ExitCode Execute(const CompileOptions& options);
[[nodiscard]] ExitCode Execute(const RunOptions& options);
[[nodiscard]] ExitCode Execute(const ExplainOptions& options);
[[nodiscard]] ExitCode Execute(const SimOptions& options);
[[nodiscard]] ExitCode Execute(const GraphOptions& options);
[[nodiscard]] ExitCode Execute(const InspectOptions& options);
[[nodiscard]] ExitCode Execute(const PackOptions& options);
[[nodiscard]] ExitCode Execute(const DoctorOptions& options);
[[nodiscard]] ExitCode Execute(const PrintOptions& options);

}  // namespace etc
