#include "runtime/log.h"

#include <atomic>
#include <mutex>

namespace etc::runtime {
namespace {

struct Listener {
  etc_log_function function = nullptr;
  void* user = nullptr;
};

std::atomic<bool> has_log = false;
std::mutex mutex;
Listener listener;  // under the mutex

}  // namespace

void SetLog(etc_log_function function, void* user) {
  const std::lock_guard lock(mutex);
  listener = {function, user};
  has_log = function != nullptr;
}

bool HasLog() { return has_log.load(std::memory_order_relaxed); }

void WriteLog(etc_log_level level, const std::string& text) {
  Listener called;
  {
    const std::lock_guard lock(mutex);
    called = listener;
  }
  if (called.function != nullptr) {
    called.function(called.user, level, text.c_str());
  }
}

}  // namespace etc::runtime
