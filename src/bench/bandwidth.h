// How fast a GPU's memory is read: measured with a program of etc's own, bandwidth.etir.
#pragma once

#include <optional>

#include "bench/report.h"
#include "compile/session.h"

namespace etc {

/// The median of launches that each read 64 MiB on every SM of the current GPU, far more than its
/// cache holds. Compiles by NVRTC; reports [toolchain] errors. Failures of the device come out as
/// etc::Error.
[[nodiscard]] std::optional<Bandwidth> MeasureBandwidth(Session& session);

}  // namespace etc
