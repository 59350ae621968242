// A fresh folder that goes when its owner goes, and small file helpers for it.
#pragma once

#include <optional>
#include <string>

namespace etc {

/// A new private folder under $TMPDIR or /tmp, removed with all that is in it by the destructor, or
/// when a signal ends the process (support/termination.h).
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  /// Empty when the folder could not be made.
  const std::string& path() const { return path_; }
  /// Why there is no folder, or why the last file could not be written.
  const std::string& error() const { return error_; }

  /// False when the file could not be written whole, or there is no folder.
  [[nodiscard]] bool Write(const std::string& name, const std::string& text);
  [[nodiscard]] std::optional<std::string> Read(const std::string& name) const;

 private:
  std::string path_;
  std::string error_;
};

}  // namespace etc
