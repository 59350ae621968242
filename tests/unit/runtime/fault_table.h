// Tables of what the runtime must refuse.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/artifact.h"

namespace etc::test {

/// One use of the library that is wrong, the status that it must have, and a part of what is said.
struct Fault {
  std::string name;
  std::function<etc_status()> action;
  etc_status status;
  const char* text;
};

/// Checks each; returns how many there are.
inline size_t CheckFaults(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    CAPTURE(fault.name);
    const etc_status status = fault.action();
    const std::string text = status == ETC_OK ? "" : etc_last_error();
    CAPTURE(text);
    CHECK(status == fault.status);
    CHECK(text.find(fault.text) != std::string::npos);
  }
  return faults.size();
}

}  // namespace etc::test
