// The version, the errors and the hooks of include/etc/runtime.h.
#include "runtime/c_api.h"

#include <string>

#include "runtime/allocator.h"
#include "runtime/log.h"

namespace etc::runtime {
namespace {

thread_local std::string last_error;

constexpr bool IsVersion(std::string_view text) {
  const auto digit = [](int number) { return static_cast<char>('0' + number); };
  const char version[] = {digit(ETC_VERSION_MAJOR), '.', digit(ETC_VERSION_MINOR), '.',
                          digit(ETC_VERSION_PATCH)};
  return text == std::string_view(version, sizeof(version));
}
static_assert(IsVersion(ETC_PROJECT_VERSION), "the header has another version than the project");

void Keep(const std::string& text) {
  try {
    last_error = text;
  } catch (const std::bad_alloc&) {
    last_error.clear();
  }
}

}  // namespace

etc_status Report(const Status& status) {
  if (!status.Ok()) {
    Keep(status.message);
    if (HasLog()) {
      WriteLog(ETC_LOG_ERROR, status.message);
      Keep(status.message);  // calls of the log function may have failed since
    }
  }
  return status.code;
}

}  // namespace etc::runtime

using etc::runtime::Guard;
using etc::runtime::Status;

int32_t etc_version(void) { return ETC_VERSION_NUMBER; }

const char* etc_last_error(void) { return etc::runtime::last_error.c_str(); }

const char* etc_status_name(etc_status status) {
  switch (status) {
#define ETC_NAME(name) \
  case name:           \
    return #name;
    ETC_NAME(ETC_OK)
    ETC_NAME(ETC_ERROR_ARGUMENT)
    ETC_NAME(ETC_ERROR_NOT_FOUND)
    ETC_NAME(ETC_ERROR_FILE)
    ETC_NAME(ETC_ERROR_MANIFEST)
    ETC_NAME(ETC_ERROR_BINARY)
    ETC_NAME(ETC_ERROR_BIND)
    ETC_NAME(ETC_ERROR_DIM)
    ETC_NAME(ETC_ERROR_UNBOUND)
    ETC_NAME(ETC_ERROR_VALUE)
    ETC_NAME(ETC_ERROR_CAPTURE)
    ETC_NAME(ETC_ERROR_OUT_OF_MEMORY)
    ETC_NAME(ETC_ERROR_NO_DEVICE)
    ETC_NAME(ETC_ERROR_DEVICE)
    ETC_NAME(ETC_ERROR_INTERNAL)
    ETC_NAME(ETC_ERROR_BUSY)
    ETC_NAME(ETC_ERROR_TIMEOUT)
    ETC_NAME(ETC_ERROR_CHECKPOINT)
    ETC_NAME(ETC_ERROR_CANCELLED)
    ETC_NAME(ETC_ERROR_GROUP)
#undef ETC_NAME
  }
  return nullptr;
}

void etc_set_log(etc_log_function function, void* user) { etc::runtime::SetLog(function, user); }

etc_status etc_set_allocator(const etc_allocator* allocator) {
  return Guard([&]() -> Status { return etc::runtime::SetAllocator(allocator); });
}
