// A thread of control with a stack of its own, which runs when it is switched to.
#pragma once

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace etc::emulator {

class Fiber {
 public:
  /// The caller's own thread of control, to come back to.
  Fiber() = default;
  explicit Fiber(size_t stack_bytes);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The next switch to this fiber calls body(argument), which must not return.
  void Start(void (*body)(void*), void* argument);
  /// Leaves `from`, which runs, and goes on with `to`.
  static void Switch(Fiber& from, Fiber& to);

 private:
  char* memory_ = nullptr;  // a guard page, then the stack
  size_t bytes_ = 0;
#if defined(__x86_64__)
  void* stack_pointer_ = nullptr;
#else
  ucontext_t context_;
#endif
};

}  // namespace etc::emulator
