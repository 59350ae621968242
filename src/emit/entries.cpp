#include "emit/entries.h"

#include <fmt/format.h>

namespace etc {
namespace {

size_t NumberOf(const Module& module, const Kernel& kernel) {
  size_t number = 0;
  for (const Kernel& other : module.kernels) {
    if (&other == &kernel) {
      break;
    }
    ++number;
  }
  return number;
}

}  // namespace

std::string EntryName(const Kernel& kernel) { return "etc_" + kernel.name; }

std::string LaunchName(const Module& module, const Kernel& kernel, size_t index,
                       const Share& share) {
  return fmt::format("etc{}_{}_{}", NumberOf(module, kernel), index,
                     module.devices[share.callee].name);
}

std::string CheckName(const Module& module, const Kernel& kernel) {
  return fmt::format("etc{}_check", NumberOf(module, kernel));
}

}  // namespace etc
