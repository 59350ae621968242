// Reading inputs, and writing outputs so that they appear whole or not at all.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"

namespace etc {

/// What messages call an input: `<stdin>` for `-`, else its path.
[[nodiscard]] std::string DisplayName(const std::string& path);

/// Far more than any text that etc reads has.
inline constexpr size_t kMostBytesOfText = size_t{1} << 30;

/// The bytes of a file or a pipe, or of standard input for `-`. Reports why not as [file]: a device
/// may have no end, and what is longer than `most` is none of ours.
[[nodiscard]] std::optional<std::string> ReadInput(const std::string& path,
                                                   Diagnostics& diagnostics,
                                                   size_t most = kMostBytesOfText);

/// Whether a file can be read, as far as that can be told without reading it.
[[nodiscard]] bool CheckReadable(const std::string& path, Diagnostics& diagnostics);

/// The first bytes of a file, fewer where it is shorter; nothing where it cannot be read.
[[nodiscard]] std::optional<std::string> ReadStart(const std::string& path, size_t bytes);

/// One file to write.
struct OutputFile {
  std::string path;
  std::string contents;
};

/// Writes each file beside its destination without a name, then gives them all theirs in the given
/// order. When anything fails, or ends the process meanwhile, no destination has been created and
/// no temporary file is left (but on a file system without unnamed files). An existing file keeps
/// its permissions, a symbolic link stays one: the file that it names is written.
[[nodiscard]] bool WriteFiles(const std::vector<OutputFile>& files, Diagnostics& diagnostics);

/// Whether WriteFiles can put a file there, as far as that can be told without writing: known
/// before long work. A device or a pipe is refused, since an artifact is several files side by
/// side.
[[nodiscard]] bool CheckDestination(const std::string& path, Diagnostics& diagnostics);

/// The same of a file that may be a device or a pipe, standard output (`-`), or none (an empty
/// name).
[[nodiscard]] bool CheckFolder(const std::string& path, Diagnostics& diagnostics);

/// Whether two paths name the same file, be it there or not.
[[nodiscard]] bool IsSameFile(const std::string& a, const std::string& b);

/// What tells a file that is there from all others, whatever path leads to it.
struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const FileId&) const = default;
};
[[nodiscard]] std::optional<FileId> FindFileId(const std::string& path);

/// The paths in their order, without those to a file to which an earlier one leads.
[[nodiscard]] std::vector<std::string> WithoutSameFiles(const std::vector<std::string>& paths);

/// Writes to standard output.
[[nodiscard]] bool WriteStdout(std::string_view text, Diagnostics& diagnostics);

/// `text` to the file, or to standard output for `-` and for an empty path.
[[nodiscard]] bool WriteText(const std::string& path, const std::string& text,
                             Diagnostics& diagnostics);

}  // namespace etc
