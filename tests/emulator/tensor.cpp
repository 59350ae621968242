// The tensor cores: fragments of a warp's lanes as matrices, laid out as kernels/arch says.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "machine.h"

namespace etc::emulator {
namespace {

constexpr uint32_t kAllLanes = 0xffffffffU;
constexpr uint32_t kPoison = 0xffffffffU;

float Low(uint32_t pair) { return std::bit_cast<float>(pair << 16); }
float High(uint32_t pair) { return std::bit_cast<float>(pair & 0xffff0000U); }

/// The 16 x 16 matrix a of a warp, from its lanes' four words.
void GatherA(const uint32_t* const (&words)[32], float (&a)[16][16]) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int word = 0; word < 4; ++word) {
      const int row = lane / 4 + word % 2 * 8;
      const int k = lane % 4 * 2 + word / 2 * 8;
      a[row][k] = Low(words[lane][word]);
      a[row][k + 1] = High(words[lane][word]);
    }
  }
}

/// c += a b for 8 columns.
void Multiply(const float (&a)[16][16], const float (&b)[16][8], float (&c)[16][8]) {
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < 16; ++k) {
      for (int column = 0; column < 8; ++column) {
        c[row][column] += a[row][k] * b[k][column];
      }
    }
  }
}

/// Where element i of a lane's four sums of 8 columns stands.
int RowOf(int lane, int i) { return lane / 4 + i / 2 * 8; }
int ColumnOf(int lane, int i) { return lane % 4 * 2 + i % 2; }

struct Fragments {
  float* c;
  const uint32_t* a;
  const uint32_t* b;
};

void PerformMultiply(void* const* lanes, uint32_t /*mask*/) {
  const uint32_t* a_words[32];
  float a[16][16];
  float b[16][8];
  float c[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    const auto& mine = *static_cast<const Fragments*>(lanes[lane]);
    a_words[lane] = mine.a;
    for (int word = 0; word < 2; ++word) {
      const int k = lane % 4 * 2 + word * 8;
      b[k][lane / 4] = Low(mine.b[word]);
      b[k + 1][lane / 4] = High(mine.b[word]);
    }
    for (int i = 0; i < 4; ++i) {
      c[RowOf(lane, i)][ColumnOf(lane, i)] = mine.c[i];
    }
  }
  GatherA(a_words, a);
  Multiply(a, b, c);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      static_cast<const Fragments*>(lanes[lane])->c[i] = c[RowOf(lane, i)][ColumnOf(lane, i)];
    }
  }
}

/// The 16 k of a row of a wgmma's operand in shared memory, whose rows have 128 bytes or 64.
std::array<float, 16> GatherRow(uint64_t descriptor, uint32_t row) {
  const uint32_t start = uint32_t(descriptor & 0x3fff) * 16;
  const uint32_t atom_stride = uint32_t(descriptor >> 32 & 0x3fff) * 16;
  const uint32_t row_bytes = descriptor >> 62 == 2 ? 64 : 128;
  const Block& block = machine->current().warp.block;
  std::array<float, 16> k;
  for (uint32_t piece = 0; piece < 2; ++piece) {
    uint32_t address = start + row / 8 * atom_stride + row % 8 * row_bytes + piece * 16;
    address ^= (address >> 7 & (row_bytes / 16 - 1)) << 4;
    const char* memory = Shared("wgmma", address, 16);
    if (const uint16_t writer = block.writers[address / kGranule]; writer != 0) {
      Fail("wgmma reads shared memory at %u, which thread %d wrote without a WgmmaSharedFence",
           address, writer - 1);
    }
    uint32_t words[4];
    std::memcpy(words, memory, 16);
    for (uint32_t word = 0; word < 4; ++word) {
      k[piece * 8 + word * 2] = Low(words[word]);
      k[piece * 8 + word * 2 + 1] = High(words[word]);
    }
  }
  return k;
}

/// The 16 k of 8 columns from `column` of a wgmma's operand b in shared memory.
void GatherB(uint64_t descriptor, int column, float (&b)[16][8]) {
  for (uint32_t row = 0; row < 8; ++row) {
    const std::array<float, 16> values = GatherRow(descriptor, uint32_t(column) + row);
    for (uint32_t k = 0; k < 16; ++k) {
      b[k][row] = values[k];
    }
  }
}

/// The 16 rows of a warp of a wgmma's operand a in shared memory.
void GatherSharedA(uint64_t descriptor, int warp, float (&a)[16][16]) {
  for (uint32_t row = 0; row < 16; ++row) {
    const std::array<float, 16> values = GatherRow(descriptor, uint32_t(warp) % 4 * 16 + row);
    std::copy(values.begin(), values.end(), a[row]);
  }
}

/// Adds up the oldest instruction of a warp.
void Execute(Warp& warp, const WarpMultiply& multiply) {
  Accumulator& sums = warp.accumulators[multiply.accumulator];
  for (int lane = 0; lane < 32 && multiply.a_shared == 0; ++lane) {
    if (std::memcmp(multiply.a[lane], multiply.a_values[lane], 16) != 0) {
      Fail("lane %d has overwritten an operand of a wgmma that runs", lane);
    }
  }
  if (!multiply.adds) {
    std::fill(sums.values.begin(), sums.values.end(), 0.0F);
  }
  float a[16][16];
  if (multiply.a_shared != 0) {
    GatherSharedA(multiply.a_shared, warp.index, a);
  } else {
    GatherA(multiply.a, a);
  }
  const auto per_lane = size_t(sums.columns / 2);
  for (int column = 0; column < sums.columns; column += 8) {
    float b[16][8];
    float c[16][8];
    GatherB(multiply.b, column, b);
    const auto at = [&](int lane, int i) -> float& {
      return sums.values[size_t(lane) * per_lane + size_t(column / 2 + i)];
    };
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        c[RowOf(lane, i)][ColumnOf(lane, i)] = at(lane, i);
      }
    }
    Multiply(a, b, c);
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        at(lane, i) = c[RowOf(lane, i)][ColumnOf(lane, i)];
      }
    }
  }
}

/// The registers get their sums, once no instruction adds to them any more.
void GiveBack(const Accumulator& sums) {
  const int per_lane = sums.columns / 2;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < per_lane; ++i) {
      if (std::bit_cast<uint32_t>(sums.registers[lane][i]) != kPoison) {
        Fail("lane %d has written sums of a wgmma that runs", lane);
      }
      sums.registers[lane][i] = sums.values[size_t(lane) * size_t(per_lane) + size_t(i)];
    }
  }
}

size_t FindAccumulator(Warp& warp, float* const (&registers)[32], int columns) {
  for (size_t i = 0; i < warp.accumulators.size(); ++i) {
    if (warp.accumulators[i].registers[0] == registers[0]) {
      return i;
    }
  }
  Accumulator& sums = warp.accumulators.emplace_back();
  sums.columns = columns;
  for (int lane = 0; lane < 32; ++lane) {
    sums.registers[lane] = registers[lane];
    for (int i = 0; i < columns / 2; ++i) {
      sums.values.push_back(registers[lane][i]);
      registers[lane][i] = std::bit_cast<float>(kPoison);
    }
  }
  return warp.accumulators.size() - 1;
}

/// All four warps of a group give the same instructions in the same order.
void Agree(Warp& warp, const IssuedMultiply& multiply) {
  std::vector<IssuedMultiply>& group = warp.block.groups[size_t(warp.index) / 4];
  if (warp.issued == group.size()) {
    group.push_back(multiply);
  } else if (group[warp.issued] != multiply) {
    Fail("wgmma %zu of its warp has another operand than that of another warp of its group",
         warp.issued);
  }
  ++warp.issued;
}

struct WarpgroupFragments {
  float* d;
  const uint32_t* a;  // null where it is in shared memory
  IssuedMultiply operands;
  bool adds;
};

void PerformIssue(void* const* lanes, uint32_t /*mask*/) {
  Warp& warp = machine->current().warp;
  const auto& first = *static_cast<const WarpgroupFragments*>(lanes[0]);
  if (!warp.fenced) {
    Fail("the first wgmma of a group without a WgmmaFence");
  }
  WarpMultiply multiply{};
  float* registers[32];
  for (int lane = 0; lane < 32; ++lane) {
    const auto& mine = *static_cast<const WarpgroupFragments*>(lanes[lane]);
    if (mine.operands != first.operands || mine.adds != first.adds) {
      Fail("wgmma with other operands in lane %d than in lane 0", lane);
    }
    registers[lane] = mine.d;
    multiply.a[lane] = mine.a;
    if (mine.a != nullptr) {
      std::memcpy(multiply.a_values[lane], mine.a, 16);
    }
  }
  multiply.a_shared = first.operands.a;
  multiply.b = first.operands.b;
  multiply.adds = first.adds;
  Agree(warp, first.operands);
  multiply.accumulator = FindAccumulator(warp, registers, first.operands.columns);
  warp.multiplies.push_back(multiply);
  ++warp.open_multiplies;
}

}  // namespace

void MultiplyWarp(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  Fragments mine{c, a, b};
  MeetWarp("mma", kAllLanes, &mine, PerformMultiply);
}

void LoadMatrices(uint32_t address, uint32_t (&words)[4]) {
  struct Rows {
    uint32_t address;
    uint32_t* words;
  } mine{address, words};
  MeetWarp("ldmatrix", kAllLanes, &mine, [](void* const* lanes, uint32_t) {
    for (int matrix = 0; matrix < 4; ++matrix) {
      for (int lane = 0; lane < 32; ++lane) {
        const auto& row = *static_cast<const Rows*>(lanes[matrix * 8 + lane / 4]);
        std::memcpy(&static_cast<const Rows*>(lanes[lane])->words[matrix],
                    Shared("ldmatrix", row.address, 16) + ptrdiff_t(lane % 4) * 4, 4);
      }
    }
  });
}

void StoreMatrices(uint32_t address, const uint32_t (&words)[4]) {
  struct Rows {
    uint32_t address;
    const uint32_t* words;
  } mine{address, words};
  SharedStore("stmatrix", address, 16);  // the row that this lane names
  MeetWarp("stmatrix", kAllLanes, &mine, [](void* const* lanes, uint32_t) {
    for (int matrix = 0; matrix < 4; ++matrix) {
      for (int lane = 0; lane < 32; ++lane) {
        const auto& row = *static_cast<const Rows*>(lanes[matrix * 8 + lane / 4]);
        std::memcpy(Shared("stmatrix", row.address, 16) + ptrdiff_t(lane % 4) * 4,
                    &static_cast<const Rows*>(lanes[lane])->words[matrix], 4);
      }
    }
  });
}

uint32_t Transpose8x8(uint32_t rows) {
  struct Word {
    uint32_t given, taken;
  } mine{rows, 0};
  MeetWarp("movmatrix", kAllLanes, &mine, [](void* const* lanes, uint32_t) {
    const auto element = [&](int row, int column) {
      const uint32_t pair = static_cast<const Word*>(lanes[row * 4 + column / 2])->given;
      return column % 2 == 0 ? pair & 0xffff : pair >> 16;
    };
    for (int lane = 0; lane < 32; ++lane) {
      const int row = lane / 4;
      const int column = lane % 4 * 2;
      static_cast<Word*>(lanes[lane])->taken = element(column, row) | element(column + 1, row)
                                                                          << 16;
    }
  });
  return mine.taken;
}

void WgmmaFence() {
  MeetWarp("wgmma.fence", kAllLanes, nullptr,
           [](void* const*, uint32_t) { machine->current().warp.fenced = true; });
}

void WgmmaMultiply(float* d, const uint32_t* a, uint64_t b, int columns) {
  WarpgroupFragments mine{d, a, {0, b, columns}, true};
  MeetWarp("wgmma", kAllLanes, &mine, PerformIssue);
}

void WgmmaMultiplyShared(float* d, uint64_t a, uint64_t b, int columns, bool adds) {
  WarpgroupFragments mine{d, nullptr, {a, b, columns}, adds};
  MeetWarp("wgmma", kAllLanes, &mine, PerformIssue);
}

void WgmmaCommit() {
  MeetWarp("wgmma.commit_group", kAllLanes, nullptr, [](void* const*, uint32_t) {
    Warp& warp = machine->current().warp;
    warp.multiply_groups.push_back(warp.open_multiplies);
    warp.open_multiplies = 0;
    warp.fenced = false;
  });
}

void WgmmaWait(int pending) {
  const auto wait = [](void* const* lanes, uint32_t) {
    Warp& warp = machine->current().warp;
    const auto keep = size_t(*static_cast<const int*>(lanes[0]));
    size_t done = 0;
    while (warp.multiply_groups.size() > keep) {
      for (size_t i = 0; i < warp.multiply_groups[0]; ++i) {
        Execute(warp, warp.multiplies[done++]);
      }
      warp.multiply_groups.erase(warp.multiply_groups.begin());
    }
    warp.multiplies.erase(warp.multiplies.begin(), warp.multiplies.begin() + std::ptrdiff_t(done));
    for (size_t i = warp.accumulators.size(); i-- > 0;) {
      bool used = false;
      for (const WarpMultiply& multiply : warp.multiplies) {
        used |= multiply.accumulator == i;
      }
      if (!used) {
        GiveBack(warp.accumulators[i]);
        warp.accumulators.erase(warp.accumulators.begin() + std::ptrdiff_t(i));
        for (WarpMultiply& multiply : warp.multiplies) {
          multiply.accumulator -= multiply.accumulator > i ? 1 : 0;
        }
      }
    }
  };
  MeetWarp("wgmma.wait_group", kAllLanes, &pending, wait);
}

}  // namespace etc::emulator
