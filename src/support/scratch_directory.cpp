#include "support/scratch_directory.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

namespace etc {
namespace {

/// The folders that exist now once more, where the handler of a fatal signal can read them. What
/// crashes is mostly a program that the process runs.
class CrashList {
 public:
  static void Add(const std::string& path) {
    for (Slot& slot : slots_) {
      bool free = false;
      if (path.size() < sizeof slot.path && slot.taken.compare_exchange_strong(free, true)) {
        std::memcpy(slot.path, path.c_str(), path.size() + 1);
        slot.complete.store(true);
        return;
      }
    }
  }
  static void Remove(const std::string& path) {
    for (Slot& slot : slots_) {
      if (slot.complete.load() && path == slot.path) {
        slot.complete.store(false);
        slot.taken.store(false);
      }
    }
  }

  /// A second stack for the handler: a stack that overflows has no room for it.
  static void Install() {
    static char stack[1 << 16];
    stack_t alternative{};
    alternative.ss_sp = stack;
    alternative.ss_size = sizeof stack;
    sigaltstack(&alternative, nullptr);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
      struct sigaction action {};
      if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
        action.sa_handler = RemoveAll;
        action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_ONSTACK;
        sigaction(signal, &action, nullptr);
      }
    }
  }

 private:
  struct Slot {
    std::atomic<bool> taken;
    std::atomic<bool> complete;
    char path[1024];
  };

  /// Only what a handler may call: another program does the work. Then the signal again, which by
  /// now ends the process.
  static void RemoveAll(int signal) {
    for (Slot& slot : slots_) {
      if (!slot.complete.load()) {
        continue;
      }
      Remove(slot.path);
    }
    raise(signal);
  }

  /// A function of its own: the child shares its frame, and what a compiler keeps there.
  [[gnu::noinline]] static void Remove(const char* path) {
    const pid_t child = vfork();  // fork would wait for locks that the crash may hold
    if (child == 0) {
      execl("/bin/rm", "rm", "-rf", "--", path, static_cast<char*>(nullptr));
      _exit(1);
    }
    if (child > 0) {
      waitpid(child, nullptr, 0);
    }
  }

  static Slot slots_[16];
};
CrashList::Slot CrashList::slots_[16];

/// The folders that exist now, and a thread that waits for the signals which end the process:
/// files are not to be removed from a signal handler.
class Janitor {
 public:
  static Janitor& Get() {
    static Janitor* const janitor = new Janitor;  // outlives its thread
    return *janitor;
  }

  void Add(const std::string& path) {
    const std::lock_guard lock(mutex_);
    paths_.insert(path);
    CrashList::Add(path);
  }
  void Remove(const std::string& path) {
    const std::lock_guard lock(mutex_);
    RemoveFolder(path);
    paths_.erase(path);
    CrashList::Remove(path);
  }

 private:
  Janitor() {
    CrashList::Install();
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action;
      if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
        sigaddset(&signals, signal);
      }
    }
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::thread([this, signals] { EndBySignal(signals); }).detach();
  }

  [[noreturn]] void EndBySignal(const sigset_t& signals) {
    int signal = 0;
    sigwait(&signals, &signal);
    const std::lock_guard lock(mutex_);
    for (const std::string& path : paths_) {
      RemoveFolder(path);
    }
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    raise(signal);
    std::abort();
  }

  /// Again where another thread or a compiler has just put a file there.
  static void RemoveFolder(const std::string& path) {
    std::error_code failed;
    for (int attempt = 0; attempt < 3; ++attempt) {
      std::filesystem::remove_all(path, failed);
      if (!failed) {
        return;
      }
    }
  }

  std::mutex mutex_;
  std::set<std::string> paths_;
};

}  // namespace

ScratchDirectory::ScratchDirectory() {
  Janitor& janitor = Janitor::Get();
  std::error_code failed;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(failed);
  std::string name = ((failed ? "/tmp" : parent) / "etc-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    error_ = fmt::format("cannot create a folder like `{}`: {} (set TMPDIR to a writable folder)",
                         name, std::strerror(errno));
    return;
  }
  path_ = name;
  janitor.Add(path_);
}

ScratchDirectory::~ScratchDirectory() {
  if (!path_.empty()) {
    Janitor::Get().Remove(path_);
  }
}

bool ScratchDirectory::Write(const std::string& name, const std::string& text) const {
  std::ofstream file(path_ + "/" + name, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  return file.good();
}

std::optional<std::string> ScratchDirectory::Read(const std::string& name) const {
  std::ifstream file(path_ + "/" + name, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return std::nullopt;
  }
  return text.str();
}

}  // namespace etc
