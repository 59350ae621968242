// Reads the messages of ptxas, which NVRTC and nvcc pass on, about a kernel.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace etc {

/// The first message number C75xx in the log: ptxas put its own waits between wgmma instructions,
/// and the kernel would run at a fraction of its speed.
[[nodiscard]] std::optional<std::string> FindSerialisedWgmma(std::string_view log);

/// The sentence that explains such a failure, to end the log with.
[[nodiscard]] std::string SerialisedWgmmaMessage(const std::string& number);

}  // namespace etc
