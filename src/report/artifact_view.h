// An artifact as its files describe it; the binary is not opened, and no device is needed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/manifest.h"
#include "support/diagnostics.h"

namespace etc {

/// Ok when size and hash are what the manifest says.
enum class BinaryState { Ok, Mismatch, Missing };

struct ArtifactView {
  manifest::Manifest manifest;
  std::string manifest_path;
  std::string binary_path;
  BinaryState binary_state = BinaryState::Ok;
};

/// Loads the manifest at `path`, in it, or beside the binary at `path`, and holds the binary
/// against it. Reports a manifest that cannot be read, and a binary that is missing or does not
/// fit.
[[nodiscard]] std::optional<ArtifactView> ViewArtifact(const std::string& path,
                                                       Diagnostics& diagnostics);

/// What one kernel needs for some sizes.
struct KernelNeeds {
  std::vector<int64_t> dims;  // the value of each dim of the graph
  int64_t param_bytes = 0;
  int64_t workspace_bytes = 0;
  int64_t event_counters = 0;
};

/// For the sizes given, and the largest that the kernel serves for dims not given. Nothing where
/// the kernel does not serve them.
[[nodiscard]] std::optional<KernelNeeds> NeedsOf(const manifest::Graph& graph,
                                                 const manifest::Kernel& kernel,
                                                 const std::map<std::string, int64_t>& dims,
                                                 Diagnostics& diagnostics);

/// The extents of a parameter as text: `batch, n*32`.
[[nodiscard]] std::string ShapeText(const manifest::Graph& graph, const manifest::Param& param);
/// With the type of the elements: `f32[batch, n*32]`, `array[28] of f32[batch, n*32]`.
[[nodiscard]] std::string TypeText(const manifest::Graph& graph, const manifest::Param& param);

/// `0..capacity`: the declared values of a parameter, both included; empty where none are declared.
[[nodiscard]] std::string ValuesText(const manifest::Graph& graph, const manifest::Param& param);

/// `, shard of axis 0` of a parameter of which each rank has a part, or `, shard of axis 0 in 2
/// parts` where ranks share them; empty for another.
[[nodiscard]] std::string ShardText(const manifest::Graph& graph, const manifest::Param& param);

/// `tile(8, 32)` or `tile(8, 32, swizzle)`, empty for a parameter that is row-major.
[[nodiscard]] std::string LayoutText(const manifest::Param& param);

/// Whether the size that `--dim` gives the dimension, if it gives one, is in its range.
[[nodiscard]] bool CheckSize(const manifest::Dim& dim, const std::map<std::string, int64_t>& given,
                             Diagnostics& diagnostics);

/// `batch in 1..8`, empty for a kernel that serves every size.
[[nodiscard]] std::string WhereText(const manifest::Graph& graph, const manifest::Kernel& kernel);

}  // namespace etc
