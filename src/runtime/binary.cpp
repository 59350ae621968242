#include "runtime/binary.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/hash.h"

namespace etc::runtime {
namespace {

/// An open file, closed with its scope unless it is released.
class File {
 public:
  explicit File(int number) : number_(number) {}
  ~File() {
    if (number_ >= 0) {
      close(number_);
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int number() const { return number_; }
  /// Gives the file another number, above its own. False where there is none.
  bool MoveUp() {
    const int higher = fcntl(number_, F_DUPFD_CLOEXEC, number_ + 1);
    if (higher >= 0) {
      close(std::exchange(number_, higher));
    }
    return higher >= 0;
  }
  int Release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

Status WriteWhole(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return Fail(errno == ENOSPC ? ETC_ERROR_OUT_OF_MEMORY : ETC_ERROR_FILE,
                  "cannot copy it to memory: ", std::strerror(errno));
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

std::string PathOf(int file) { return "/proc/self/fd/" + std::to_string(file); }

bool IsLoaded(const std::string& path) {
  void* loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (loaded != nullptr) {
    dlclose(loaded);
  }
  return loaded != nullptr;
}

/// Whether the descriptor is open, and of this file.
bool IsFile(int descriptor, dev_t device, ino_t inode) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

}  // namespace

Status ReadFile(const std::string& path, std::string* bytes,
                const std::function<Status(std::string_view begin)>& check) {
  constexpr size_t kBegin = 64;
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) {
    return Fail(ETC_ERROR_FILE, "cannot open `", path, "`: ", std::strerror(errno));
  }
  struct stat status {};
  if (fstat(file.number(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
    return Fail(ETC_ERROR_FILE, "cannot read `", path, "`: it is not a regular file");
  }
  const auto expected = static_cast<size_t>(status.st_size);
  size_t size = 0;
  bool is_checked = !check;
  bytes->clear();
  for (;;) {
    // One byte more than a regular file has, so that the read that finds its end needs no growth.
    const size_t room = size <= expected ? expected + 1 : size + (1 << 16);
    bytes->resize(is_checked ? room : kBegin);
    const ssize_t count = read(file.number(), bytes->data() + size, bytes->size() - size);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return Fail(ETC_ERROR_FILE, "cannot read `", path, "`: ", std::strerror(errno));
    }
    size += static_cast<size_t>(count);
    if (!is_checked && (size == kBegin || count == 0)) {
      ETC_RETURN_IF_BAD(check(std::string_view(*bytes).substr(0, size)));
      is_checked = true;
    }
    if (count == 0) {
      bytes->resize(size);
      return {};
    }
  }
}

Status CheckBinary(const std::string& name, const manifest::Binary& expected,
                   std::string_view bytes) {
  if (static_cast<int64_t>(bytes.size()) != expected.bytes) {
    return Fail(ETC_ERROR_BINARY, "binary `", name, "` has ", bytes.size(),
                " bytes, but its manifest says ", expected.bytes);
  }
  const std::string hash = HashText(bytes);
  if (hash != expected.xxh3_128) {
    return Fail(ETC_ERROR_BINARY, "binary `", name, "` has the hash ", hash,
                ", but its manifest says ", expected.xxh3_128);
  }
  return {};
}

HostBinary::~HostBinary() {
  if (handle_ == nullptr) {
    return;
  }
  dlclose(handle_);
  // Whoever closes all files of the process may have given the number to another one.
  if (IsFile(file_, device_, inode_)) {
    close(file_);
  }
}

Status HostBinary::Open() {
  File file(memfd_create(name_.substr(name_.rfind('/') + 1).substr(0, 200).c_str(),
                         MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.number() < 0) {
    return Fail(errno == ENOMEM ? ETC_ERROR_OUT_OF_MEMORY : ETC_ERROR_BINARY,
                "cannot open binary `", name_, "`: memfd_create: ", std::strerror(errno));
  }
  if (Status status = WriteWhole(file.number(), image_); !status.Ok()) {
    return Fail(status.code, "cannot open binary `", name_, "`: ", status.message);
  }
  if (fcntl(file.number(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) !=
      0) {
    return Fail(ETC_ERROR_BINARY, "cannot open binary `", name_,
                "`: its copy in memory cannot be sealed: ", std::strerror(errno));
  }
  // The dynamic linker knows a shared object by its path, here the number of a file, and would give
  // one again that is loaded while its number is free: it could not be unloaded, or somebody else
  // has closed the file.
  while (IsLoaded(PathOf(file.number()))) {
    if (!file.MoveUp()) {
      return Fail(ETC_ERROR_BINARY, "cannot open binary `", name_,
                  "`: no number is left for its copy in memory: ", std::strerror(errno));
    }
  }
  struct stat status {};
  if (fstat(file.number(), &status) != 0) {
    return Fail(ETC_ERROR_BINARY, "cannot open binary `", name_, "`: ", std::strerror(errno));
  }
  errno = 0;
  handle_ = dlopen(PathOf(file.number()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    return Fail(errno == ENOMEM ? ETC_ERROR_OUT_OF_MEMORY : ETC_ERROR_BINARY,
                "cannot open binary `", name_, "`: ", dlerror());
  }
  file_ = file.Release();
  device_ = status.st_dev;
  inode_ = status.st_ino;
  image_ = {};
  return {};
}

Status HostBinary::FindEntry(const std::string& name, Entry* entry) {
  const std::lock_guard lock(mutex_);
  if (handle_ == nullptr) {
    ETC_RETURN_IF_BAD(Open());
  }
  *entry = reinterpret_cast<Entry>(dlsym(handle_, name.c_str()));
  return *entry != nullptr
             ? Status{}
             : Fail(ETC_ERROR_BINARY, "binary `", name_, "` has no entry `", name, "`");
}

DeviceBinary::~DeviceBinary() { Close(); }

void DeviceBinary::Close() {
  for (cuda::Library library : libraries_) {
    driver_->Note(driver_->cuLibraryUnload(library), "cuLibraryUnload");
  }
  libraries_.clear();
}

/// All cubins or none.
Status DeviceBinary::Open(const cuda::Driver& driver) {
  driver_ = &driver;
  const std::vector<int64_t> one = {0};
  for (const int64_t begin : images_.empty() ? one : images_) {
    cuda::Library library = nullptr;
    const Status status =
        driver.Check(driver.cuLibraryLoadData(&library, bytes_.data() + begin, nullptr, nullptr, 0,
                                              nullptr, nullptr, 0),
                     "cuLibraryLoadData");
    if (!status.Ok()) {
      Close();
      return Fail(status.code == ETC_ERROR_OUT_OF_MEMORY ? status.code : ETC_ERROR_BINARY,
                  "cannot load binary `", name_, "`: ", status.message);
    }
    libraries_.push_back(library);
  }
  return {};
}

Status DeviceBinary::FindEntry(const cuda::Driver& driver, const std::string& name,
                               cuda::Function* function) {
  const std::lock_guard lock(mutex_);
  if (libraries_.empty()) {
    ETC_RETURN_IF_BAD(Open(driver));
  }
  for (cuda::Library library : libraries_) {
    cuda::Kernel kernel = nullptr;
    const cuda::Result result = driver.cuLibraryGetKernel(&kernel, library, name.c_str());
    if (result == cuda::kNotFound) {
      continue;  // another one may have it
    }
    Status status = driver.Check(result, "cuLibraryGetKernel");
    if (status.Ok()) {
      status = driver.Check(driver.cuKernelGetFunction(function, kernel), "cuKernelGetFunction");
    }
    return status.Ok()
               ? status
               : Fail(status.code, "entry `", name, "` of binary `", name_, "`: ", status.message);
  }
  return Fail(ETC_ERROR_BINARY, "binary `", name_, "` has no entry `", name, "`");
}

}  // namespace etc::runtime
