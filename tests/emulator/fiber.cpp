#include "fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace etc::emulator {
namespace {

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

Fiber::Fiber(size_t stack_bytes) : bytes_(stack_bytes + PageBytes()) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, PageBytes(), PROT_NONE) != 0) {
    std::perror("emulator: no memory for a stack");
    std::abort();
  }
  memory_ = static_cast<char*>(memory);
}

Fiber::~Fiber() {
  if (memory_ != nullptr) {
    munmap(memory_, bytes_);
  }
}

#if defined(__x86_64__)

// swapcontext would save the signal mask by two system calls. What a call must preserve goes onto
// the stack; a fiber that was never run has there what Start left.
asm(R"(
.text
.p2align 4
etc_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.p2align 4
etc_emulator_start:
  movq %r13, %rdi
  callq *%r12
  ud2
)");
extern "C" void etc_emulator_switch(void** from, void* to);
extern "C" void etc_emulator_start();

void Fiber::Start(void (*body)(void*), void* argument) {
  auto* top = reinterpret_cast<uint64_t*>(memory_ + bytes_);
  *--top = 0;  // aligns the stack for the call
  *--top = 0;
  *--top = reinterpret_cast<uint64_t>(&etc_emulator_start);
  *--top = 0;                                     // rbp
  *--top = 0;                                     // rbx
  *--top = reinterpret_cast<uint64_t>(body);      // r12
  *--top = reinterpret_cast<uint64_t>(argument);  // r13
  *--top = 0;                                     // r14
  *--top = 0;                                     // r15
  stack_pointer_ = top;
}

void Fiber::Switch(Fiber& from, Fiber& to) {
  etc_emulator_switch(&from.stack_pointer_, to.stack_pointer_);
}

#else

namespace {

void Enter(unsigned body_high, unsigned body_low, unsigned high, unsigned low) {
  const auto join = [](unsigned a, unsigned b) { return uint64_t(a) << 32 | b; };
  reinterpret_cast<void (*)(void*)>(join(body_high, body_low))(
      reinterpret_cast<void*>(join(high, low)));
}

}  // namespace

void Fiber::Start(void (*body)(void*), void* argument) {
  getcontext(&context_);
  context_.uc_stack.ss_sp = memory_ + PageBytes();
  context_.uc_stack.ss_size = bytes_ - PageBytes();
  context_.uc_link = nullptr;
  const auto code = reinterpret_cast<uint64_t>(body);
  const auto data = reinterpret_cast<uint64_t>(argument);
  makecontext(&context_, reinterpret_cast<void (*)()>(Enter), 4, unsigned(code >> 32),
              unsigned(code), unsigned(data >> 32), unsigned(data));
}

void Fiber::Switch(Fiber& from, Fiber& to) { swapcontext(&from.context_, &to.context_); }

#endif

}  // namespace etc::emulator
