#include "runtime/binary.h"

#include <dlfcn.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

namespace etc::runtime {
namespace {

std::string Xxh3(const std::string& bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  std::string hex;
  for (const unsigned char byte : canonical.digest) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

/// The dynamic linker knows a shared object by its path: asked for a file that was replaced since,
/// it answers with the old code. This remembers what was opened under a path.
Status CheckNotReplaced(const std::string& path, const std::string& hash) {
  static std::mutex mutex;
  static std::map<std::string, std::string> opened;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = opened.try_emplace(path, hash);
  if (is_new || entry->second == hash) {
    return {};
  }
  if (void* loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) {
    dlclose(loaded);
    return Fail(ETC_ERROR_BINARY, "binary `", path,
                "` has changed since this process opened it, and the old one is still in use");
  }
  entry->second = hash;
  return {};
}

}  // namespace

Status ReadFile(const std::string& path, std::string* bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) {
    return Fail(ETC_ERROR_FILE, "cannot open `", path, "`: ", std::strerror(errno));
  }
  char chunk[1 << 16];
  bytes->clear();
  while (const size_t count = std::fread(chunk, 1, sizeof(chunk), file.get())) {
    bytes->append(chunk, count);
  }
  if (std::ferror(file.get()) != 0) {
    return Fail(ETC_ERROR_FILE, "cannot read `", path, "`: ", std::strerror(errno));
  }
  return {};
}

Status ReadBinary(const std::string& path, const manifest::Binary& expected, std::string* bytes) {
  ETC_RETURN_IF_BAD(ReadFile(path, bytes));
  if (static_cast<int64_t>(bytes->size()) != expected.bytes) {
    return Fail(ETC_ERROR_BINARY, "binary `", path, "` has ", bytes->size(),
                " bytes, but its manifest says ", expected.bytes);
  }
  const std::string hash = Xxh3(*bytes);
  if (hash != expected.xxh3_128) {
    return Fail(ETC_ERROR_BINARY, "binary `", path, "` has the hash ", hash,
                ", but its manifest says ", expected.xxh3_128);
  }
  return {};
}

HostBinary::~HostBinary() {
  if (handle_ != nullptr) {
    dlclose(handle_);
  }
}

Status HostBinary::Open() {
  ETC_RETURN_IF_BAD(CheckNotReplaced(path_, hash_));
  handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle_ != nullptr
             ? Status{}
             : Fail(ETC_ERROR_BINARY, "cannot open binary `", path_, "`: ", dlerror());
}

Status HostBinary::FindEntry(const std::string& name, Entry* entry) {
  const std::lock_guard lock(mutex_);
  if (handle_ == nullptr) {
    ETC_RETURN_IF_BAD(Open());
  }
  *entry = reinterpret_cast<Entry>(dlsym(handle_, name.c_str()));
  return *entry != nullptr
             ? Status{}
             : Fail(ETC_ERROR_BINARY, "binary `", path_, "` has no entry `", name, "`");
}

DeviceBinary::~DeviceBinary() {
  if (library_ != nullptr) {
    driver_->cuLibraryUnload(library_);
  }
}

Status DeviceBinary::FindEntry(const cuda::Driver& driver, const std::string& name,
                               cuda::Function* function) {
  const std::lock_guard lock(mutex_);
  if (library_ == nullptr) {
    Status status = driver.Check(driver.cuLibraryLoadData(&library_, image_.data(), nullptr,
                                                          nullptr, 0, nullptr, nullptr, 0),
                                 "cuLibraryLoadData");
    if (!status.Ok()) {
      library_ = nullptr;
      return Fail(ETC_ERROR_BINARY, "cannot load binary `", path_, "`: ", status.message);
    }
    driver_ = &driver;
  }
  cuda::Kernel kernel = nullptr;
  if (driver.cuLibraryGetKernel(&kernel, library_, name.c_str()) != cuda::kSuccess) {
    return Fail(ETC_ERROR_BINARY, "binary `", path_, "` has no entry `", name, "`");
  }
  return driver.Check(driver.cuKernelGetFunction(function, kernel), "cuKernelGetFunction");
}

}  // namespace etc::runtime
