// Memory of the host that several processes map.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/descriptor.h"
#include "runtime/status.h"

namespace etc::runtime {

/// What this process has made. It is gone with the last process that maps it, however that ends.
class ExportedMemory {
 public:
  ~ExportedMemory();
  Status Make(int64_t bytes, void** data, std::string* handle);
  void Free(void* data);

 private:
  struct Memory {
    Descriptor file;
    int64_t bytes = 0;
  };
  std::map<void*, Memory> made_;
};

/// What another process of this user has made and not freed yet.
Status MapExported(const std::string& handle, int64_t bytes, void** data);
void UnmapExported(void* data, int64_t bytes);

}  // namespace etc::runtime
