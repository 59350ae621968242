#include "support/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <set>
#include <utility>

#include "support/termination.h"

namespace etc {
namespace {

namespace fs = std::filesystem;

bool ReportFile(Diagnostics& diagnostics, std::string_view what, const std::string& path,
                std::string_view why) {
  diagnostics.Error(DiagnosticKind::File, {}, fmt::format("cannot {} `{}`: {}", what, path, why));
  return false;
}

std::string Why(int error) {
  switch (error) {
    case ENOENT:
      return "no such file or folder";
    case EISDIR:
      return "it is a folder";
    case EACCES:
      return "permission denied";
    default:
      return std::strerror(error);
  }
}

/// One byte more than `most` where there are more.
std::optional<std::string> ReadAll(int fd, size_t most, int& error) {
  struct stat status {};
  if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
    error = EISDIR;
    return std::nullopt;
  }
  std::string bytes;
  size_t size = 0;
  size_t expected = S_ISREG(status.st_mode) ? static_cast<size_t>(status.st_size) : 0;
  for (;;) {
    // One byte more than a regular file has, so that the read that finds its end needs no growth.
    bytes.resize(std::min(size < expected + 1 ? expected + 1 : size + 65536, most + 1));
    ssize_t n = read(fd, bytes.data() + size, bytes.size() - size);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      error = errno;
      return std::nullopt;
    }
    size += static_cast<size_t>(n);
    if (n == 0 || size > most) {
      bytes.resize(size);
      return bytes;
    }
  }
}

/// Where a symbolic link leads, through others too, be a file there or not; any other path as it
/// is.
std::string FollowLinks(std::string path) {
  constexpr int kMostLinks = 40;  // no system call follows more
  std::error_code is_none;
  for (int links = 0; links < kMostLinks; ++links) {
    fs::path link = fs::read_symlink(path, is_none);
    if (is_none) {
      break;
    }
    path = (fs::path(path).parent_path() / link).string();
  }
  return path;
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

/// A file that has no name yet, or a temporary one where the file system knows no files without;
/// the destructor removes what was not published.
class PendingFile {
 public:
  explicit PendingFile(const OutputFile& file) : file_(file) {}
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile() {
    if (unnamed_ >= 0) {
      close(unnamed_);
    }
    if (!temporary_.empty()) {
      unlink(temporary_.c_str());
    }
  }

  bool Write(Diagnostics& diagnostics) {
    struct stat status {};
    existed_ = stat(file_.path.c_str(), &status) == 0;
    if (!existed_ && errno == ELOOP) {
      return ReportFile(diagnostics, "write", file_.path, Why(ELOOP));
    }
    if (existed_ && S_ISDIR(status.st_mode)) {
      return ReportFile(diagnostics, "write", file_.path, Why(EISDIR));
    }
    // A device or a pipe cannot be replaced by a file: write to it when all else is ready.
    direct_ = existed_ && !S_ISREG(status.st_mode);
    if (direct_) {
      return true;
    }
    target_ = FollowLinks(file_.path);
    mode_t mode = existed_ ? status.st_mode & 07777 : 0666;
    int error = 0;
    return Fill(mode, error) || ReportFile(diagnostics, "write", file_.path, Why(error));
  }

  bool Publish(Diagnostics& diagnostics) {
    if (direct_) {
      int fd = open(file_.path.c_str(), O_WRONLY | O_CLOEXEC);
      bool ok = fd >= 0 && WriteAll(fd, file_.contents);
      int error = errno;
      if (fd >= 0) {
        close(fd);
      }
      return ok || ReportFile(diagnostics, "write", file_.path, Why(error));
    }
    if (!GiveName() || rename(temporary_.c_str(), target_.c_str()) != 0) {
      return ReportFile(diagnostics, "write", file_.path, Why(errno));
    }
    temporary_.clear();
    return true;
  }

  /// A device or a pipe, which no file replaces.
  bool is_direct() const { return direct_; }

  /// Takes back a file that Publish created.
  void Withdraw() const {
    if (!direct_ && !existed_) {
      unlink(target_.c_str());
    }
  }

 private:
  /// Writes the contents to a file that goes with the process, however that ends, or to a temporary
  /// one.
  bool Fill(mode_t mode, int& error) {
    std::string folder = fs::path(target_).parent_path().string();
    bool can_be_named = access("/proc/self/fd", X_OK) == 0;
    int fd = can_be_named ? open(folder.empty() ? "." : folder.c_str(),
                                 O_WRONLY | O_TMPFILE | O_CLOEXEC, mode)
                          : -1;
    bool is_unnamed = fd >= 0;
    if (!is_unnamed) {
      fd = Temporary([&](const char* name) {
        return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      });
    }
    if (fd < 0) {
      error = errno;
      return false;
    }
    bool ok = WriteAll(fd, file_.contents) && (!existed_ || fchmod(fd, mode) == 0);
    error = errno;
    if (ok && is_unnamed) {
      unnamed_ = fd;
      return true;
    }
    if (close(fd) != 0 && ok) {
      error = errno;
      ok = false;
    }
    return ok;
  }

  /// A file with a name cannot take another's place without one of its own.
  bool GiveName() {
    if (unnamed_ < 0) {
      return true;
    }
    std::string path = fmt::format("/proc/self/fd/{}", unnamed_);
    bool named = Temporary([&](const char* name) {
                   return linkat(AT_FDCWD, path.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW);
                 }) == 0;
    int error = errno;
    bool closed = close(std::exchange(unnamed_, -1)) == 0;
    errno = named ? errno : error;
    return named && closed;
  }

  /// Makes a file that was not there, in the folder of the destination so that it can be renamed;
  /// `make` gives -1 where it cannot.
  template <class Make>
  int Temporary(Make make) {
    for (int attempt = 0;; ++attempt) {
      std::string name = fmt::format("{}.tmp{}-{}", target_, getpid(), attempt);
      int made = make(name.c_str());
      if (made >= 0) {
        temporary_ = name;
      }
      if (made >= 0 || errno != EEXIST) {
        return made;
      }
    }
  }

  const OutputFile& file_;
  std::string target_;
  int unnamed_ = -1;
  std::string temporary_;
  bool direct_ = false;
  bool existed_ = false;
};

}  // namespace

std::string DisplayName(const std::string& path) { return path == "-" ? "<stdin>" : path; }

std::optional<std::string> ReadInput(const std::string& path, Diagnostics& diagnostics,
                                     size_t most) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))) {
    ReportFile(diagnostics, "read", path, "it is a device");
    return std::nullopt;
  }
  int fd = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int error = errno;
  std::optional<std::string> bytes;
  if (fd >= 0) {
    bytes = ReadAll(fd, most, error);
    if (fd != STDIN_FILENO) {
      close(fd);
    }
  }
  if (!bytes || bytes->size() > most) {
    ReportFile(diagnostics, "read", DisplayName(path),
               bytes ? fmt::format("it has more than {} MiB", most >> 20) : Why(error));
    return std::nullopt;
  }
  return bytes;
}

bool CheckReadable(const std::string& path, Diagnostics& diagnostics) {
  struct stat status {};
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  int error = errno;
  if (fd >= 0) {
    error = fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) ? EISDIR : 0;
    close(fd);
  }
  return error == 0 || ReportFile(diagnostics, "read", path, Why(error));
}

std::optional<std::string> ReadStart(const std::string& path, size_t bytes) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (fd < 0) {
    return std::nullopt;
  }
  std::string text(bytes, '\0');
  ssize_t n =
      fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? read(fd, text.data(), bytes) : -1;
  close(fd);
  if (n < 0) {
    return std::nullopt;
  }
  text.resize(static_cast<size_t>(n));
  return text;
}

bool WriteFiles(const std::vector<OutputFile>& files, Diagnostics& diagnostics) {
  std::deque<PendingFile> pending;
  for (const OutputFile& file : files) {
    pending.emplace_back(file);
    if (!pending.back().Write(diagnostics)) {
      return false;
    }
  }
  std::optional<WithoutEnd> at_once;
  // What is at the other end of a pipe may take its time.
  if (std::none_of(pending.begin(), pending.end(),
                   [](const PendingFile& file) { return file.is_direct(); })) {
    at_once.emplace();
  }
  for (size_t i = 0; i < pending.size(); ++i) {
    if (!pending[i].Publish(diagnostics)) {
      for (size_t done = 0; done < i; ++done) {
        pending[done].Withdraw();
      }
      return false;
    }
  }
  return true;
}

bool CheckDestination(const std::string& path, Diagnostics& diagnostics) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return ReportFile(diagnostics, "write", path,
                      S_ISDIR(status.st_mode) ? Why(EISDIR) : "it is not a regular file");
  }
  return CheckFolder(path, diagnostics);
}

bool CheckFolder(const std::string& path, Diagnostics& diagnostics) {
  if (path.empty() || path == "-") {
    return true;
  }
  struct stat status {};
  bool exists = stat(path.c_str(), &status) == 0;
  if (!exists && errno == ELOOP) {
    return ReportFile(diagnostics, "write", path, Why(ELOOP));
  }
  if (exists && S_ISDIR(status.st_mode)) {
    return ReportFile(diagnostics, "write", path, Why(EISDIR));
  }
  std::string folder = fs::path(FollowLinks(path)).parent_path().string();
  bool direct = exists && !S_ISREG(status.st_mode);
  return direct || access(folder.empty() ? "." : folder.c_str(), W_OK) == 0 ||
         ReportFile(diagnostics, "write", path, Why(errno));
}

bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code failed;
  auto place = [&](const std::string& path) {
    return fs::absolute(FollowLinks(path), failed).lexically_normal();
  };
  return fs::equivalent(a, b, failed) || place(a) == place(b);
}

std::optional<FileId> FindFileId(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? std::optional(FileId{status.st_dev, status.st_ino})
                                          : std::nullopt;
}

std::vector<std::string> WithoutSameFiles(const std::vector<std::string>& paths) {
  std::set<FileId> seen;
  std::vector<std::string> first;
  for (const std::string& path : paths) {
    auto id = FindFileId(path);
    if (!id || seen.insert(*id).second) {
      first.push_back(path);
    }
  }
  return first;
}

bool WriteStdout(std::string_view text, Diagnostics& diagnostics) {
  std::fflush(stdout);
  return WriteAll(STDOUT_FILENO, text) || ReportFile(diagnostics, "write", "<stdout>", Why(errno));
}

bool WriteText(const std::string& path, const std::string& text, Diagnostics& diagnostics) {
  if (path.empty() || path == "-") {
    return WriteStdout(text, diagnostics);
  }
  return WriteFiles({{path, text}}, diagnostics);
}

}  // namespace etc
