// The binary of a program: checked against the manifest when the program is loaded, opened when the
// first instance needs its entries, so that a program can be looked at where it cannot run.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "etc/manifest.h"
#include "runtime/cuda_driver.h"
#include "runtime/status.h"

namespace etc::runtime {

Status ReadFile(const std::string& path, std::string* bytes);

/// Reads the binary and holds its size and hash against the manifest.
Status ReadBinary(const std::string& path, const manifest::Binary& expected, std::string* bytes);

/// A shared object with an entry for each kernel.
class HostBinary {
 public:
  using Entry = void (*)(const uint64_t* block, int sm, int sms);

  HostBinary(std::string path, std::string hash) : path_(std::move(path)), hash_(std::move(hash)) {}
  ~HostBinary();
  HostBinary(const HostBinary&) = delete;
  HostBinary& operator=(const HostBinary&) = delete;

  Status FindEntry(const std::string& name, Entry* entry);

 private:
  Status Open();

  std::mutex mutex_;
  std::string path_;
  std::string hash_;
  void* handle_ = nullptr;
};

/// A cubin, usable in every context.
class DeviceBinary {
 public:
  DeviceBinary(std::string path, std::string image)
      : path_(std::move(path)), image_(std::move(image)) {}
  ~DeviceBinary();
  DeviceBinary(const DeviceBinary&) = delete;
  DeviceBinary& operator=(const DeviceBinary&) = delete;

  /// The entry as a function of the current context.
  Status FindEntry(const cuda::Driver& driver, const std::string& name, cuda::Function* function);

 private:
  std::mutex mutex_;
  std::string path_;
  std::string image_;
  const cuda::Driver* driver_ = nullptr;
  cuda::Library library_ = nullptr;
};

}  // namespace etc::runtime
