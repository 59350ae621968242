// The log that a program may ask for: etc_set_log.
#pragma once

#include <string>

#include "etc/runtime.h"
#include "runtime/status.h"

namespace etc::runtime {

void SetLog(etc_log_function function, void* user);

/// Whether somebody listens; a text is made only then.
bool HasLog();
void WriteLog(etc_log_level level, const std::string& text);

/// What a program that runs well may want to know of.
template <class... Parts>
void LogInfo(const Parts&... parts) {
  if (HasLog()) {
    WriteLog(ETC_LOG_INFO, Cat(parts...));
  }
}

}  // namespace etc::runtime
