#include "toolchain/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace etc {
namespace {

template <class T>
bool Read(std::string_view bytes, uint64_t offset, T& value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) {
    return false;
  }
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return true;
}

std::string_view Slice(std::string_view bytes, uint64_t offset, uint64_t size) {
  return offset > bytes.size() ? std::string_view()
                               : bytes.substr(offset, std::min(size, bytes.size() - offset));
}

/// A text of a string table.
std::string_view TextAt(std::string_view table, uint64_t offset) {
  std::string_view rest = Slice(table, offset, table.size());
  return rest.substr(0, rest.find('\0'));
}

std::vector<Elf64_Shdr> Sections(std::string_view elf, std::string_view& names) {
  Elf64_Ehdr header;
  std::vector<Elf64_Shdr> sections;
  if (!elf.starts_with("\x7f"
                       "ELF\x02") ||
      !Read(elf, 0, header)) {
    return sections;
  }
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!Read(elf, header.e_shoff + i * header.e_shentsize, section)) {
      return {};
    }
    sections.push_back(section);
  }
  if (header.e_shstrndx < sections.size()) {
    names = Slice(elf, sections[header.e_shstrndx].sh_offset, sections[header.e_shstrndx].sh_size);
  }
  return sections;
}

constexpr size_t kInstructionBytes = 16;

/// One instruction of sm_90. The opcode is in the low 12 bits.
struct Instruction {
  uint64_t low;
  uint64_t high;

  bool IsLocalAccess() const {
    constexpr uint64_t kLoadLocal = 0x983;
    constexpr uint64_t kStoreLocal = 0x387;
    return Opcode() == kLoadLocal || Opcode() == kStoreLocal;
  }
  /// Instructions from the one that follows this branch to its target.
  std::optional<int64_t> Branch() const {
    constexpr uint64_t kBranch = 0x947;
    if (Opcode() != kBranch) {
      return std::nullopt;
    }
    // Counted in 4 bytes: the low 8 bits in bits 16..23, the others in bits 34..81.
    uint64_t upper = (low >> 34) | (high << 30);
    uint64_t words = upper << 8 | ((low >> 16) & 0xff);
    return static_cast<int64_t>(words << 8) / (1 << 8) * 4 /
           static_cast<int64_t>(kInstructionBytes);
  }

 private:
  uint64_t Opcode() const { return low & 0xfff; }
};

/// From the target of a backward branch to the branch, both included.
struct Loop {
  int64_t first;
  int64_t last;

  bool Holds(const Loop& other) const {
    return first <= other.first && other.last <= last &&
           (first != other.first || last != other.last);
  }
};

}  // namespace

std::optional<std::string_view> ElfSection(std::string_view elf, std::string_view name) {
  std::string_view names;
  for (const Elf64_Shdr& section : Sections(elf, names)) {
    if (TextAt(names, section.sh_name) == name) {
      return Slice(elf, section.sh_offset, section.sh_size);
    }
  }
  return std::nullopt;
}

std::vector<int32_t> ElfIntegers(std::string_view elf, std::string_view variable) {
  std::string_view names;
  std::vector<Elf64_Shdr> sections = Sections(elf, names);
  for (const Elf64_Shdr& table : sections) {
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections.size()) {
      continue;
    }
    const Elf64_Shdr& texts = sections[table.sh_link];
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      if (!Read(elf, table.sh_offset + at, symbol) || symbol.st_shndx >= sections.size() ||
          TextAt(Slice(elf, texts.sh_offset, texts.sh_size), symbol.st_name) != variable) {
        continue;
      }
      std::string_view bytes =
          Slice(elf, sections[symbol.st_shndx].sh_offset + symbol.st_value, symbol.st_size);
      std::vector<int32_t> values(bytes.size() / sizeof(int32_t));
      std::memcpy(values.data(), bytes.data(), values.size() * sizeof(int32_t));
      return values;
    }
  }
  return {};
}

LocalAccesses CountLocalAccesses(std::string_view code) {
  constexpr int64_t kPolling = 12;  // a loop of no more instructions holds no work
  std::vector<int64_t> accesses;
  std::vector<Loop> loops;
  Instruction instruction;
  for (uint64_t at = 0; Read(code, at, instruction); at += kInstructionBytes) {
    auto index = static_cast<int64_t>(at / kInstructionBytes);
    if (instruction.IsLocalAccess()) {
      accesses.push_back(index);
    }
    if (auto branch = instruction.Branch(); branch && *branch < 0) {
      loops.push_back({index + 1 + *branch, index});
    }
  }
  auto holds_work = [&](const Loop& loop) {
    return std::any_of(loops.begin(), loops.end(), [&](const Loop& other) {
      return loop.Holds(other) && other.last - other.first >= kPolling;
    });
  };
  std::vector<Loop> inner;
  std::copy_if(loops.begin(), loops.end(), std::back_inserter(inner),
               [&](const Loop& loop) { return !holds_work(loop); });
  auto in_inner = [&](int64_t index) {
    return std::any_of(inner.begin(), inner.end(),
                       [&](const Loop& loop) { return loop.first <= index && index <= loop.last; });
  };
  return {static_cast<int64_t>(accesses.size()),
          std::count_if(accesses.begin(), accesses.end(), in_inner)};
}

}  // namespace etc
