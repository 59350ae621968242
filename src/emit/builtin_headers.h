// The header texts that are built into etc: the tile kernels and the host prelude.
#pragma once

#include <optional>
#include <string>

namespace etc {

/// The text of a built-in header by its path below kernels/ ("arch/types.cuh", "tile/roles.cuh"),
/// by its bare name when it is in kernels/tile ("stream_gemm.cuh"), or "host_prelude.h".
[[nodiscard]] std::optional<std::string> BuiltinHeader(const std::string& name);

}  // namespace etc
