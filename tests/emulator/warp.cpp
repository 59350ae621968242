// What the lanes of a warp do together, and how a thread looks for what others write.
#include <bit>

#include "machine.h"

namespace etc::emulator {

void MeetWarp(const char* name, uint32_t mask, void* mine, Perform perform) {
  Lane& lane = machine->current();
  const uint32_t bit = 1U << lane.index;
  if ((mask & bit) == 0) {
    Fail("%s with the mask %08x, which leaves it out", name, mask);
  }
  std::vector<Meeting>& meetings = lane.warp.meetings;
  size_t which = 0;
  while (which < meetings.size() &&
         (meetings[which].mask != mask || meetings[which].perform != perform)) {
    const Meeting& other = meetings[which];
    // Lanes that wait for each other at two places do so for ever; those that wait for nobody here
    // come later.
    if ((other.mask & bit) != 0 && (other.arrived & mask) != 0) {
      Fail("is at %s with the mask %08x, where other lanes are at %s with %08x", name, mask,
           other.name, other.mask);
    }
    ++which;
  }
  if (which == meetings.size()) {
    meetings.push_back({name, perform, mask, 0, {}});
  }
  Meeting& meeting = meetings[which];
  meeting.arrived |= bit;
  meeting.lanes[lane.index] = mine;
  if (meeting.arrived != mask) {
    machine->Suspend({name, mask});
    return;
  }
  const Meeting complete = meeting;
  meetings.erase(meetings.begin() + std::ptrdiff_t(which));
  perform(complete.lanes, mask);
  for (uint32_t rest = mask & ~bit; rest != 0; rest &= rest - 1) {
    machine->Wake(*lane.warp.lanes[size_t(std::countr_zero(rest))]);
  }
}

void SyncWarp(const char* name, uint32_t mask) {
  MeetWarp(name, mask, nullptr, [](void* const*, uint32_t) {});
}

uint64_t Exchange(const char* name, uint32_t mask, uint64_t word, int source) {
  struct Word {
    uint64_t given;
    int source;
    uint64_t taken;
  } mine{word, source, 0};
  if ((mask >> source & 1) == 0) {
    Fail("%s takes from lane %d, which the mask %08x leaves out", name, source, mask);
  }
  MeetWarp(name, mask, &mine, [](void* const* lanes, uint32_t meeting) {
    for (uint32_t rest = meeting; rest != 0; rest &= rest - 1) {
      auto& lane = *static_cast<Word*>(lanes[std::countr_zero(rest)]);
      lane.taken = static_cast<const Word*>(lanes[lane.source])->given;
    }
  });
  return mine.taken;
}

uint32_t Ballot(const char* name, uint32_t mask, bool vote) {
  struct Vote {
    bool given;
    uint32_t all;
  } mine{vote, 0};
  MeetWarp(name, mask, &mine, [](void* const* lanes, uint32_t meeting) {
    uint32_t all = 0;
    for (uint32_t rest = meeting; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      all |= uint32_t(static_cast<const Vote*>(lanes[lane])->given) << lane;
    }
    for (uint32_t rest = meeting; rest != 0; rest &= rest - 1) {
      static_cast<Vote*>(lanes[std::countr_zero(rest)])->all = all;
    }
  });
  return mine.all;
}

void SetRegisters(int count) {
  Warp& warp = machine->current().warp;
  SyncWarp("setmaxnreg", 0xffffffffU);
  if (machine->current().index == 0) {
    while (warp.block.free_registers < (count - warp.registers) * 32) {
      machine->Yield({"registers"}, true);
    }
    warp.block.free_registers -= (count - warp.registers) * 32;
    warp.registers = count;
    machine->Progress();
  }
  SyncWarp("setmaxnreg", 0xffffffffU);
}

uint32_t LoadAcquire(const uint32_t* address) {
  CheckGlobal("LoadAcquire", address, 4);
  Lane& lane = machine->current();
  if (lane.acquired == address && lane.acquired_value == *address) {
    machine->Yield({"LoadAcquire"}, true);
  }
  lane.acquired = address;
  lane.acquired_value = *address;
  return *address;
}

void Fetched(const uint32_t* address, bool missing) {
  constexpr int most_fetches = 64;
  Lane& lane = machine->current();
  if (!missing) {
    lane.missing = lane.missing == address ? nullptr : lane.missing;
    return;
  }
  if (lane.missing == nullptr) {
    lane.missing = address;
    lane.fetches = 0;
  } else if (lane.missing == address || ++lane.fetches > most_fetches) {
    lane.missing = nullptr;
    machine->Yield({"a flagged word"}, true);
  }
}

void Progress() {
  machine->Progress();
  machine->Preempt();
}

void CheckGlobal(const char* name, const void* address, int bytes) {
  if (reinterpret_cast<uintptr_t>(address) % uintptr_t(bytes) != 0) {
    Fail("%s of %d bytes at %p, which is not aligned", name, bytes, address);
  }
}

void PollAgain(const char* name) { machine->Yield({name}, true); }

uint64_t Nanoseconds() {
  machine->LetTimePass();
  return machine->nanoseconds;
}

uint64_t Ticks() { return ++machine->ticks; }

uint32_t Clock() {
  constexpr uint32_t most_cycles = 400;
  Block& block = machine->current().warp.block;
  block.clock += machine->Random() % most_cycles;
  machine->Yield({"the clock"}, true);
  return block.clock;
}

}  // namespace etc::emulator
