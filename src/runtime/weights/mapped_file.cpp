#include "runtime/weights/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace etc::runtime {
namespace {

Status CannotRead(const std::string& path) {
  const int error = errno;
  std::error_code is_no_link;
  const std::filesystem::path target = std::filesystem::read_symlink(path, is_no_link);
  if (error == ENOENT && !is_no_link) {
    return Fail(ETC_ERROR_FILE, "cannot read `", path, "`: it is a link to `", target.string(),
                "`, which is not there");
  }
  return Fail(ETC_ERROR_FILE, "cannot read `", path, "`: ", std::strerror(error));
}

}  // namespace

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    munmap(data_, size_);
  }
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

Status MappedFile::Open(const std::string& path, MappedFile* file) {
  // A pipe that nobody writes to would be waited for.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return CannotRead(path);
  }
  file->path_ = path;
  file->descriptor_ = descriptor;
  struct stat info {};
  if (fstat(descriptor, &info) != 0) {
    return CannotRead(path);
  }
  if (!S_ISREG(info.st_mode)) {
    return Fail(ETC_ERROR_FILE, "cannot read `", path, "`: it is no regular file");
  }
  if (info.st_size > 0) {
    const auto size = static_cast<size_t>(info.st_size);
    void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {
      return CannotRead(path);
    }
    file->data_ = data;
    file->size_ = size;
  }
  return {};
}

Status MappedFile::Read(int64_t offset, int64_t bytes, char* to) const {
  while (bytes > 0) {
    const ssize_t got = pread(descriptor_, to, static_cast<size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return CannotRead(path_);
    }
    if (got == 0) {
      struct stat info {};
      const bool is_known = fstat(descriptor_, &info) == 0;
      return Fail(ETC_ERROR_FILE, "cannot read `", path_, "`: it was cut to ",
                  is_known ? info.st_size : offset, " bytes since it was opened");
    }
    offset += got;
    bytes -= got;
    to += got;
  }
  return {};
}

}  // namespace etc::runtime
