// What a cubin for sm_90 says about its kernels: an ELF file with a section of code for each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etc {

/// The section of that name, or nothing; also nothing where `elf` is no 64-bit ELF file.
[[nodiscard]] std::optional<std::string_view> ElfSection(std::string_view elf,
                                                         std::string_view name);

/// The initial value of a variable, as 32-bit integers; empty where there is none of that name.
[[nodiscard]] std::vector<int32_t> ElfIntegers(std::string_view elf, std::string_view variable);

/// How many instructions of a kernel read or write local memory, which holds spilled registers and
/// arrays with an index that is not constant, and how many of them stand in an inner loop: one that
/// holds no other, but for loops of a few instructions that only poll.
struct LocalAccesses {
  int64_t all = 0;
  int64_t in_inner_loops = 0;
};
[[nodiscard]] LocalAccesses CountLocalAccesses(std::string_view code);

}  // namespace etc
