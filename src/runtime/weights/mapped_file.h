// A file whose bytes are looked at in memory, or read.
#pragma once

#include <cstdint>
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
  /// that looks at bytes() behind the end (SIGBUS).
  static Status Open(const std::string& path, MappedFile* file);

  /// Brings a part of the file to memory: without its pages becoming this process's, which takes
  /// longer than the copy. For any number of threads. An error where the file is too short by now.
  Status Read(int64_t offset, int64_t bytes, char* to) const;

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  std::string path_;
  int descriptor_ = -1;
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace etc::runtime
