#include "runtime/exported_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace etc::runtime {
namespace {

Status SystemFailure(etc_status code, const std::string& what) {
  return Fail(code, what, ": ", std::generic_category().message(errno));
}

/// Nobody looks whether all of it fits before it is written.
bool IsMoreThanThereIs(int64_t bytes) {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 && bytes / page > pages;
}

Status Map(int file, int64_t bytes, void** data) {
  *data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (*data == MAP_FAILED) {
    *data = nullptr;
    return SystemFailure(ETC_ERROR_OUT_OF_MEMORY, Cat("cannot map ", bytes, " bytes"));
  }
  return {};
}

}  // namespace

ExportedMemory::~ExportedMemory() {
  while (!made_.empty()) {
    Free(made_.begin()->first);
  }
}

Status ExportedMemory::Make(int64_t bytes, void** data, std::string* handle) {
  Descriptor file(memfd_create("etc symmetric memory", MFD_CLOEXEC));
  if (IsMoreThanThereIs(bytes)) {
    return Fail(ETC_ERROR_OUT_OF_MEMORY, "cannot allocate ", bytes, " bytes");
  }
  if (file.fd() < 0 || ftruncate(file.fd(), bytes) != 0) {
    return SystemFailure(ETC_ERROR_OUT_OF_MEMORY, Cat("cannot allocate ", bytes, " bytes"));
  }
  ETC_RETURN_IF_BAD(Map(file.fd(), bytes, data));
  *handle = Cat("/proc/", getpid(), "/fd/", file.fd());
  made_.emplace(*data, Memory{std::move(file), bytes});
  return {};
}

void ExportedMemory::Free(void* data) {
  const auto at = made_.find(data);
  if (at != made_.end()) {
    munmap(data, static_cast<size_t>(at->second.bytes));
    made_.erase(at);
  }
}

Status MapExported(const std::string& handle, int64_t bytes, void** data) {
  const Descriptor file(open(handle.c_str(), O_RDWR | O_CLOEXEC));
  if (file.fd() < 0) {
    return SystemFailure(ETC_ERROR_GROUP, "cannot open " + handle);
  }
  // Beyond its end, a mapping has pages that end the process.
  struct stat state {};
  if (fstat(file.fd(), &state) != 0 || state.st_size < bytes) {
    return Fail(ETC_ERROR_GROUP, handle, " has ", static_cast<int64_t>(state.st_size),
                " bytes, but the memory of a rank has ", bytes);
  }
  return Map(file.fd(), bytes, data);
}

void UnmapExported(void* data, int64_t bytes) { munmap(data, static_cast<size_t>(bytes)); }

}  // namespace etc::runtime
