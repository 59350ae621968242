// A file as bytes in memory, read by the system as they are used.
#pragma once

#include <string>
#include <string_view>

#include "runtime/status.h"

namespace etc::runtime {

class MappedFile {
 public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Maps a regular file. The file must not be cut while it is mapped: the system ends a process
  /// that reads behind the end (SIGBUS).
  static Status Open(const std::string& path, MappedFile* file);

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace etc::runtime
