#include "toolchain/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace etc {
namespace {

/// The number that stands before `unit` in the line, or 0.
int64_t NumberBefore(std::string_view line, std::string_view unit) {
  size_t end = line.find(unit);
  if (end == std::string_view::npos) {
    return 0;
  }
  size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1])) != 0) {
    --begin;
  }
  int64_t value = 0;
  for (char digit : line.substr(begin, end - begin)) {
    value = value * 10 + (digit - '0');
  }
  return value;
}

std::string_view Quoted(std::string_view line) {
  size_t begin = line.find('\'') + 1;
  return line.substr(begin, line.find('\'', begin) - begin);
}

/// Remarks with a number, as `ptxas info : (C7510) …`, are none of the report.
bool IsReport(std::string_view line) {
  return (line.starts_with("ptxas info") && line.find("(C") == std::string_view::npos) ||
         line.find("bytes stack frame") != std::string_view::npos;
}

template <class F>
void ForEachLine(std::string_view text, const F& visit) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

std::string RingVariable(std::string_view entry) { return fmt::format("ring_of_{}", entry); }

std::vector<KernelResources> ReadResources(std::string_view log,
                                           const std::vector<std::string_view>& cubins) {
  std::vector<KernelResources> kernels;
  ForEachLine(log, [&](std::string_view line) {
    if (line.find("Compiling entry function '") != std::string_view::npos) {
      KernelResources kernel;
      kernel.entry = Quoted(line);
      for (std::string_view cubin : cubins) {
        if (auto code = ElfSection(cubin, ".text." + kernel.entry)) {
          kernel.local_accesses = CountLocalAccesses(*code);
        }
        if (auto ring = ElfIntegers(cubin, RingVariable(kernel.entry)); ring.size() == 2) {
          kernel.ring_slots = ring[0];
          kernel.ring_slot_bytes = ring[1];
        }
      }
      kernels.push_back(std::move(kernel));
    } else if (kernels.empty()) {
      return;
    } else if (line.find("bytes stack frame") != std::string_view::npos) {
      kernels.back().stack_bytes = NumberBefore(line, " bytes stack frame");
      kernels.back().spill_store_bytes = NumberBefore(line, " bytes spill stores");
      kernels.back().spill_load_bytes = NumberBefore(line, " bytes spill loads");
    } else if (line.find(": Used ") != std::string_view::npos) {
      kernels.back().registers = NumberBefore(line, " registers");
      kernels.back().barriers = NumberBefore(line, " barriers");
    }
  });
  std::sort(kernels.begin(), kernels.end(),
            [](const auto& a, const auto& b) { return a.entry < b.entry; });
  return kernels;
}

std::string WithoutReport(std::string_view log) {
  std::string rest;
  ForEachLine(log, [&](std::string_view line) {
    if (!IsReport(line)) {
      rest += fmt::format("{}\n", line);
    }
  });
  return rest;
}

}  // namespace etc
