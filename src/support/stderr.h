// What etc says on stderr.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace etc {

/// Where writing fails there is nobody to tell; the exit code says the rest.
template <class... Args>
void PrintToStderr(fmt::format_string<Args...> format, Args&&... args) {
  std::fputs(fmt::format(format, std::forward<Args>(args)...).c_str(), stderr);
}

}  // namespace etc
