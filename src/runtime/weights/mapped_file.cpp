#include "runtime/weights/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace etc::runtime {
namespace {

Status CannotRead(const std::string& path) {
  return Fail(ETC_ERROR_FILE, "cannot read `", path, "`: ", std::strerror(errno));
}

}  // namespace

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    munmap(data_, size_);
  }
}

Status MappedFile::Open(const std::string& path, MappedFile* file) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return CannotRead(path);
  }
  Status status;
  struct stat info {};
  if (fstat(descriptor, &info) != 0) {
    status = CannotRead(path);
  } else if (!S_ISREG(info.st_mode)) {
    status = Fail(ETC_ERROR_FILE, "cannot read `", path, "`: it is no regular file");
  } else if (info.st_size > 0) {
    const auto size = static_cast<size_t>(info.st_size);
    void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {
      status = CannotRead(path);
    } else {
      file->data_ = data;
      file->size_ = size;
    }
  }
  close(descriptor);
  return status;
}

}  // namespace etc::runtime
