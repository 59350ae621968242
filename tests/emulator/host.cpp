// What the host asks of the emulated device: memory and launches.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <unordered_map>

#include "cuda_runtime.h"
#include "machine.h"

namespace etc::emulator {
namespace {

struct Mapping {
  void* start;
  size_t bytes;
};
std::unordered_map<void*, Mapping>& Mappings() {
  static std::unordered_map<void*, Mapping> mappings;
  return mappings;
}

uint64_t Number(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace

void* Allocate(size_t bytes) {
  constexpr size_t alignment = 256;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t padded = (bytes + alignment - 1) / alignment * alignment;
  const size_t room = (padded + page - 1) / page * page;
  void* start = mmap(nullptr, room + page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) {
    return nullptr;
  }
  mprotect(static_cast<char*>(start) + room, page, PROT_NONE);
  void* memory = static_cast<char*>(start) + room - padded;
  Mappings()[memory] = {start, room + page};
  return memory;
}

void Release(void* memory) {
  if (auto found = Mappings().find(memory); found != Mappings().end()) {
    munmap(found->second.start, found->second.bytes);
    Mappings().erase(found);
  }
}

int Sms() { return int(Number("ETC_EMULATOR_SMS", 4)); }

int Devices() { return int(Number("ETC_EMULATOR_DEVICES", 1)); }

namespace {

Machine& OnlyMachine() {
  static Machine device(Number("ETC_EMULATOR_SEED", 1));
  return device;
}

}  // namespace

void Enqueue(const void* stream, int blocks, int threads, size_t shared_bytes,
             std::function<void()> kernel) {
  OnlyMachine().Enqueue(stream, {blocks, threads, int(shared_bytes), std::move(kernel)});
}

cudaError_t Launch(int blocks, int threads, size_t shared_bytes, std::function<void()> kernel) {
  Enqueue(nullptr, blocks, threads, shared_bytes, std::move(kernel));
  return RunAll();
}

cudaError_t RunAll() {
  const std::string message = OnlyMachine().RunAll();
  if (message.empty()) {
    return cudaSuccess;
  }
  std::fprintf(stderr, "emulator: %s\n", message.c_str());
  return cudaErrorLaunchFailure;
}

}  // namespace etc::emulator
