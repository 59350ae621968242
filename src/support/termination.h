// What a signal that ends the process takes along: folders, and programs that it runs.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

namespace etc {

/// From here on SIGINT, SIGTERM, SIGHUP, SIGQUIT or a crash removes the folders below before it
/// ends the process, and these signals end its programs. For that they are blocked in the thread
/// that calls this first, and in those that start from it; so it is called before there are others.
/// A signal that is ignored stays so. SIGXFSZ is ignored: a write says that a file may not grow.
void EndCleanly();

/// The next SIGINT sets `asked` and ends nothing; the one behind it ends the process. With null the
/// next one does.
void AtInterruptSet(std::atomic<bool>* asked);

/// While it lives, no such signal ends the process, but waits: for steps that belong together and
/// take no time.
class WithoutEnd {
 public:
  WithoutEnd();

 private:
  std::unique_lock<std::mutex> lock_;
};

/// A folder that goes with the process.
void RemoveAtEnd(const std::string& folder);
/// Removes it now.
void RemoveNow(const std::string& folder);

/// `start` starts a program with no signal blocked, as the leader of a process group of its own,
/// and gives its id; 0 where it cannot. A signal that ends this process goes to the group, too.
pid_t StartGroup(const std::function<pid_t()>& start);
/// Waits for the end of the leader; its status, as `waitpid` has it.
int WaitForGroup(pid_t leader);

}  // namespace etc
