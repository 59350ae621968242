// The binary of a program: checked against the manifest when the program is loaded, opened when the
// first instance needs its entries, so that a program can be looked at where it cannot run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda_driver.h"
#include "runtime/manifest.h"
#include "runtime/status.h"

namespace etc::runtime {

/// `check` sees how the file begins, before the rest of it is read.
Status ReadFile(const std::string& path, std::string* bytes,
                const std::function<Status(std::string_view begin)>& check = {});

/// Holds a binary against its manifest; `name` is what messages call it.
Status CheckBinary(const std::string& name, const manifest::Binary& expected,
                   std::string_view bytes);

/// A shared object with an entry for each kernel. What is opened is the image that was checked, not
/// a file that may have changed since.
class HostBinary {
 public:
  using Entry = void (*)(const uint64_t* block, int sm, int sms);

  HostBinary(std::string name, std::string image)
      : name_(std::move(name)), image_(std::move(image)) {}
  ~HostBinary();
  HostBinary(const HostBinary&) = delete;
  HostBinary& operator=(const HostBinary&) = delete;

  Status FindEntry(const std::string& name, Entry* entry);

 private:
  Status Open();

  std::mutex mutex_;
  std::string name_;
  std::string image_;  // until it is opened
  int file_ = -1;      // the image in memory, while it is open
  dev_t device_ = 0;   // which file it is
  ino_t inode_ = 0;
  void* handle_ = nullptr;
};

/// A cubin, or several one behind the other, usable in every context.
class DeviceBinary {
 public:
  /// `images`: where each cubin begins; none for a single one.
  DeviceBinary(std::string name, std::string bytes, std::vector<int64_t> images)
      : name_(std::move(name)), bytes_(std::move(bytes)), images_(std::move(images)) {}
  ~DeviceBinary();
  DeviceBinary(const DeviceBinary&) = delete;
  DeviceBinary& operator=(const DeviceBinary&) = delete;

  /// The entry as a function of the current context.
  Status FindEntry(const cuda::Driver& driver, const std::string& name, cuda::Function* function);

 private:
  Status Open(const cuda::Driver& driver);
  void Close();

  std::mutex mutex_;
  std::string name_;
  std::string bytes_;
  std::vector<int64_t> images_;
  const cuda::Driver* driver_ = nullptr;
  std::vector<cuda::Library> libraries_;  // of each cubin, once an entry was asked for
};

}  // namespace etc::runtime
