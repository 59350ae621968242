#include "runtime/launch_memory.h"

#include <algorithm>

#include "runtime/check_record.h"
#include "runtime/log.h"

namespace etc::runtime {
namespace {

// The event memory: docs/runtime.md.
constexpr int64_t kEventHeaderBytes = 128;
constexpr int64_t kEventStride = 128;
constexpr uintptr_t kWorkspaceAlignment = 256;

}  // namespace

int64_t LaunchMemory::EventBytes(int64_t counters) {
  return kEventHeaderBytes + 2 * counters * kEventStride;
}

void LaunchMemory::BindEvents(void* data, int64_t counters) {
  Release(&events_);
  events_ = {data, counters, 0};
}

LaunchMemory::LaunchMemory(Backend& backend, const manifest::Manifest& manifest)
    : backend_(backend), manifest_(manifest), may_fail_(MayFail(manifest)) {}

LaunchMemory::~LaunchMemory() {
  Release(&workspace_);
  Release(&events_);
  Release(&profile_);
  for (const Memory& memory : retired_) {
    backend_.Free(memory.data, memory.bytes);
  }
}

Status LaunchMemory::BindWorkspace(void* data, int64_t bytes) {
  if (bytes < 0) {
    return Fail(ETC_ERROR_ARGUMENT, "the workspace has ", bytes, " bytes");
  }
  if (reinterpret_cast<uintptr_t>(data) > UINTPTR_MAX - static_cast<uintptr_t>(bytes)) {
    return Fail(ETC_ERROR_BIND, "the workspace goes beyond the end of the address space");
  }
  if (reinterpret_cast<uintptr_t>(data) % kWorkspaceAlignment != 0) {
    return Fail(ETC_ERROR_BIND, "the workspace is at ", data, ", but must be aligned to ",
                kWorkspaceAlignment, " bytes");
  }
  if (data != nullptr) {
    if (Status status = backend_.CheckPointer(data, bytes); !status.Ok()) {
      return Fail(status.code, "the workspace ", status.message);
    }
  }
  bound_ = {data, data != nullptr ? bytes : 0, 0};
  workspace_is_zeroed_ = false;
  return {};
}

Status LaunchMemory::CheckWorkspace(const MemorySizes& needed) const {
  if (bound_.data != nullptr && bound_.size < needed.workspace_bytes) {
    return Fail(ETC_ERROR_BIND, "the workspace has ", bound_.size, " bytes, but the launch needs ",
                needed.workspace_bytes);
  }
  return {};
}

bool LaunchMemory::EventsFit(const MemorySizes& needed) const {
  return events_.data != nullptr && events_.size >= needed.event_counters;
}

bool LaunchMemory::Fits(const MemorySizes& needed) const {
  const bool workspace_fits = bound_.data != nullptr || workspace_.size >= needed.workspace_bytes;
  return workspace_fits && workspace_is_zeroed_ && EventsFit(needed) && ProfileFits(needed);
}

void LaunchMemory::Release(Memory* memory) {
  if (memory->data != nullptr && memory->bytes > 0) {
    if (was_captured_) {
      retired_.push_back(*memory);
    } else {
      backend_.Free(memory->data, memory->bytes);
    }
  }
  *memory = {};
}

Status LaunchMemory::Grow(const MemorySizes& needed, void* stream) {
  workspace_is_zeroed_ = false;
  const bool events_fit = EventsFit(needed);
  if (!ProfileFits(needed)) {
    Release(&profile_);
    LogInfo("allocates ", needed.profile_bytes, " bytes for a profile");
    ETC_RETURN_IF_BAD(backend_.Allocate(needed.profile_bytes, stream, &profile_.data));
    profile_.size = profile_.bytes = needed.profile_bytes;
  }
  if (bound_.data == nullptr &&
      (workspace_.size < needed.workspace_bytes || (!events_fit && was_captured_))) {
    const int64_t bytes = std::max(workspace_.size, needed.workspace_bytes);
    Release(&workspace_);
    if (bytes > 0) {
      LogInfo("allocates a workspace of ", bytes, " bytes");
      ETC_RETURN_IF_BAD(backend_.Allocate(bytes, stream, &workspace_.data));
      workspace_.size = workspace_.bytes = bytes;
    }
  }
  const Memory& workspace = Workspace();
  if (workspace.data != nullptr) {
    ETC_RETURN_IF_BAD(backend_.Zero(workspace.data, workspace.size, stream));
  }
  workspace_is_zeroed_ = true;
  if (!events_fit) {
    // A failure that was never queried is lost with the memory that holds it.
    ETC_RETURN_IF_BAD(CheckFailures(stream));
    Release(&events_);
    const int64_t bytes = EventBytes(needed.event_counters);
    LogInfo("allocates event memory of ", bytes, " bytes");
    ETC_RETURN_IF_BAD(backend_.Allocate(bytes, stream, &events_.data));
    events_.size = needed.event_counters;
    events_.bytes = bytes;
    if (Status status = ZeroEvents(stream); !status.Ok()) {
      Release(&events_);
      return status;
    }
  }
  return {};
}

Status LaunchMemory::ZeroEvents(void* stream) {
  return backend_.Zero(events_.data, EventBytes(events_.size), stream);
}

Status LaunchMemory::CheckFailures(void* stream) {
  if (!may_fail_ || events_.data == nullptr) {
    return {};
  }
  CheckRecord record{};
  char* place = static_cast<char*>(events_.data) + kCheckRecordOffset;
  ETC_RETURN_IF_BAD(backend_.Read(place, sizeof record, stream, &record));
  if (record.failures == 0) {
    return {};
  }
  // With the record: a queue of the launch may have been left with tasks in its places. What peers
  // reach, too, is made new for all of them at once.
  if (events_.bytes > 0) {
    ETC_RETURN_IF_BAD(ZeroEvents(stream));
  }
  return FailureOf(manifest_, record);
}

Status LaunchMemory::Renew() {
  const Memory& workspace = Workspace();
  return workspace.data != nullptr ? backend_.Zero(workspace.data, workspace.size, nullptr)
                                   : Status{};
}

}  // namespace etc::runtime
