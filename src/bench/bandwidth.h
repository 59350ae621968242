// How fast a GPU's memory is read: measured with a program of etc's own, bandwidth.etir.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/report.h"
#include "compile/options.h"
#include "compile/session.h"

namespace etc {

/// The median of launches that each read 64 MiB on every SM of the current GPU, far more than its
/// cache holds. Compiles as `target` says, with headers of impls from the folders first; reports
/// [toolchain] errors. Failures of the device come out as etc::Error.
[[nodiscard]] std::optional<Bandwidth> MeasureBandwidth(const TargetOptions& target,
                                                        std::vector<std::string> include_dirs,
                                                        Session& session);

}  // namespace etc
