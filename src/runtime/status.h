// How the runtime's functions report failure among themselves: a code and a text, no exceptions.
#pragma once

#include <sstream>
#include <string>

#include "etc/runtime.h"

namespace etc::runtime {

struct [[nodiscard]] Status {
  etc_status code = ETC_OK;
  std::string message;
  bool Ok() const { return code == ETC_OK; }
};

template <class... Parts>
std::string Cat(const Parts&... parts) {
  std::ostringstream out;
  out.exceptions(std::ios::badbit);  // want of memory must not make the text shorter
  (out << ... << parts);
  return out.str();
}

template <class... Parts>
Status Fail(etc_status code, const Parts&... parts) {
  return {code, Cat(parts...)};
}

}  // namespace etc::runtime

/// Leaves the function with the status of `call` unless it is good.
#define ETC_RETURN_IF_BAD(call)                                   \
  do {                                                            \
    if (::etc::runtime::Status status_ = (call); !status_.Ok()) { \
      return status_;                                             \
    }                                                             \
  } while (false)
