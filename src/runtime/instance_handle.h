// The handle of an instance in the C API, and the calls that use it.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "etc/runtime.h"
#include "runtime/instance.h"
#include "runtime/status.h"

struct etc_instance {
  std::unique_ptr<etc::runtime::Instance> instance;
  mutable std::atomic<bool> in_use{false};
};

namespace etc::runtime {

/// A call with an instance, for as long as the object lives.
class Use {
 public:
  explicit Use(const etc_instance* instance)
      : in_use_(instance->in_use), is_ours_(!in_use_.exchange(true, std::memory_order_acquire)) {}
  Use(Use&& other) noexcept
      : in_use_(other.in_use_), is_ours_(std::exchange(other.is_ours_, false)) {}
  ~Use() {
    if (is_ours_) {
      in_use_.store(false, std::memory_order_release);
    }
  }

  Status Check() const {
    return is_ours_ ? Status{}
                    : Fail(ETC_ERROR_BUSY,
                           "another thread is inside of a call with this instance: make one "
                           "instance for each thread");
  }

 private:
  std::atomic<bool>& in_use_;
  bool is_ours_;
};

}  // namespace etc::runtime
