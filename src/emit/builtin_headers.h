// The texts that are built into etc: the tile kernels, the host prelude, and a program.
#pragma once

#include <optional>
#include <string>

namespace etc {

/// The text of a built-in header by its path below kernels/ ("arch/common/types.cuh",
/// "engine/roles.cuh"), by its bare name when it is in kernels/tile ("skinny_gemm.cuh"),
/// "host_prelude.h", or "bandwidth.etir".
[[nodiscard]] std::optional<std::string> BuiltinHeader(const std::string& name);

/// Whether one of the built-in texts defines a generic function of this name, without `@`.
[[nodiscard]] bool IsBuiltinOperator(const std::string& name);

}  // namespace etc
