#include "support/termination.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

namespace etc {
namespace {

/// The folders that exist now once more, where the handler of a fatal signal can read them. What
/// crashes is mostly a program that the process runs. A pipe that nobody reads ends it so, too: the
/// thread that writes gets the signal, and no other can wait for it.
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
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPIPE}) {
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

/// Held for steps that a signal must not part.
std::mutex& MutexOfSteps() {
  static std::mutex* const mutex = new std::mutex;  // outlives the thread that ends the process
  return *mutex;
}

/// What exists now, and a thread that waits for the signals which end the process: files are not to
/// be removed from a signal handler.
class Janitor {
 public:
  static Janitor& Get() {
    static Janitor* const janitor = new Janitor;  // outlives its thread
    return *janitor;
  }

  void AddFolder(const std::string& path) {
    const std::lock_guard lock(mutex_);
    folders_.insert(path);
    CrashList::Add(path);
  }
  void RemoveFolder(const std::string& path) {
    const std::lock_guard lock(mutex_);
    Remove(path);
    folders_.erase(path);
    CrashList::Remove(path);
  }

  void AtInterruptSet(std::atomic<bool>* asked) { at_interrupt_ = asked; }

  pid_t StartGroup(const std::function<pid_t()>& start) {
    const std::lock_guard lock(mutex_);  // no program starts behind the signal
    const pid_t leader = start();
    if (leader > 0) {
      groups_.insert(leader);
    }
    return leader;
  }
  /// The leader's id stays its own until it is off the list.
  int WaitForGroup(pid_t leader) {
    siginfo_t ended;
    while (waitid(P_PID, static_cast<id_t>(leader), &ended, WEXITED | WNOWAIT) < 0 &&
           errno == EINTR) {
    }
    const std::lock_guard lock(mutex_);
    groups_.erase(leader);
    int status = -1;
    waitpid(leader, &status, 0);
    return status;
  }

 private:
  Janitor() {
    CrashList::Install();
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is one that cannot be written
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      struct sigaction action;
      if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
        sigaddset(&signals, signal);
      }
    }
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    try {
      std::thread([this, signals] { EndBySignal(signals); }).detach();
    } catch (const std::system_error&) {  // then a signal ends the process where it is
      pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    }
  }

  [[noreturn]] void EndBySignal(const sigset_t& signals) {
    int signal = 0;
    std::atomic<bool>* asked = nullptr;
    do {
      sigwait(&signals, &signal);
      asked = signal == SIGINT ? at_interrupt_.exchange(nullptr) : nullptr;
      if (asked != nullptr) {
        *asked = true;
      }
    } while (asked != nullptr);
    const std::scoped_lock lock(mutex_, MutexOfSteps());
    EndGroups(signal);
    for (const std::string& path : folders_) {
      Remove(path);
    }
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    raise(signal);
    std::abort();
  }

  /// A program may end in its own way; the rest of its group, and one that takes long, is killed.
  void EndGroups(int signal) {
    constexpr std::chrono::milliseconds kLook{5};
    constexpr int kLooks = 100;
    for (const pid_t leader : groups_) {
      kill(-leader, signal);
    }
    for (const pid_t leader : groups_) {
      siginfo_t ended{};
      for (int look = 0; look < kLooks && ended.si_pid == 0; ++look) {
        const int failed =
            waitid(P_PID, static_cast<id_t>(leader), &ended, WEXITED | WNOWAIT | WNOHANG);
        if (failed == 0 && ended.si_pid == 0) {
          std::this_thread::sleep_for(kLook);
        }
      }
      kill(-leader, SIGKILL);
      waitpid(leader, nullptr, 0);
    }
  }

  /// Again where another thread has just put a file there.
  static void Remove(const std::string& path) {
    std::error_code failed;
    for (int attempt = 0; attempt < 3; ++attempt) {
      std::filesystem::remove_all(path, failed);
      if (!failed) {
        return;
      }
    }
  }

  std::atomic<std::atomic<bool>*> at_interrupt_ = nullptr;
  std::mutex mutex_;
  std::set<std::string> folders_;
  std::set<pid_t> groups_;  // by their leaders
};

}  // namespace

void EndCleanly() { Janitor::Get(); }

void AtInterruptSet(std::atomic<bool>* asked) { Janitor::Get().AtInterruptSet(asked); }

WithoutEnd::WithoutEnd() : lock_(MutexOfSteps()) {}

void RemoveAtEnd(const std::string& folder) { Janitor::Get().AddFolder(folder); }

void RemoveNow(const std::string& folder) { Janitor::Get().RemoveFolder(folder); }

pid_t StartGroup(const std::function<pid_t()>& start) { return Janitor::Get().StartGroup(start); }

int WaitForGroup(pid_t leader) { return Janitor::Get().WaitForGroup(leader); }

}  // namespace etc
