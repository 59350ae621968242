#include "support/parallel.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <system_error>

namespace etc {
namespace {

/// What a caller and its helpers do. It stands on the caller's stack.
struct Job {
  const std::function<void()>& take;
  size_t wanted;                   // helpers
  size_t busy = 0;                 // helpers that are at it
  std::exception_ptr failed = {};  // what one of them or the caller ended with
  std::condition_variable done = {};
};

/// Threads that help callers, one for each core but the caller's. They live as long as the process.
class Helpers {
 public:
  static Helpers& Get() {
    static Helpers* const helpers = new Helpers;
    return *helpers;
  }

  void Run(Job& job) {
    const bool is_one = job.wanted == 1;
    std::unique_lock lock(mutex_);
    const auto place = jobs_.insert(jobs_.end(), &job);
    StartThreads();
    lock.unlock();
    is_one ? wanted_.notify_one() : wanted_.notify_all();
    Take(job, lock);
    jobs_.erase(place);
    job.done.wait(lock, [&] { return job.busy == 0; });
    if (job.failed) {
      std::rethrow_exception(job.failed);
    }
  }

 private:
  /// Where the system gives none, there are fewer: a caller alone does all of its work.
  void StartThreads() {
    try {
      for (; started_ + 1 < Cores(); ++started_) {
        std::thread([this] { Help(); }).detach();
      }
    } catch (const std::system_error&) {
    }
  }
  /// Takes the lock behind the work. An exception is the caller's.
  static void Take(Job& job, std::unique_lock<std::mutex>& lock) {
    std::exception_ptr failed;
    try {
      job.take();
    } catch (...) {
      failed = std::current_exception();
    }
    lock.lock();
    job.failed = job.failed ? job.failed : failed;
  }
  void Help() {
    std::unique_lock lock(mutex_);
    for (;;) {
      auto job = jobs_.end();
      wanted_.wait(lock, [&] {
        job = std::find_if(jobs_.begin(), jobs_.end(),
                           [](const Job* each) { return each->wanted > 0; });
        return job != jobs_.end();
      });
      Job& mine = **job;
      --mine.wanted;
      ++mine.busy;
      lock.unlock();
      Take(mine, lock);
      if (--mine.busy == 0) {
        mine.done.notify_one();  // under the lock, behind which the job may be gone
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wanted_;
  std::list<Job*> jobs_;
  size_t started_ = 0;
};

}  // namespace

void TakeTogether(const std::function<void()>& take, size_t helpers) {
  if (helpers == 0) {
    take();
    return;
  }
  Job job{take, helpers};
  Helpers::Get().Run(job);
}

}  // namespace etc
