#include "machine.h"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace etc::emulator {
namespace {

constexpr size_t kStackBytes = size_t(256) << 10;
constexpr int64_t kIdleLooks = 400;        // of each thread, in vain, mean that nobody can go on
constexpr int64_t kLooksUntilLanding = 2;  // of each thread
constexpr int kMostOperations = 256;       // of a warp until another may run in between
constexpr int kRegisters = 65536;

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

const Place* place = nullptr;
Machine* machine = nullptr;

Lane::Lane(Warp& warp_of, int number, Fiber& fiber_of)
    : fiber(fiber_of), warp(warp_of), index(number) {}
Warp::Warp(Block& block_of, int number) : block(block_of), index(number) {}

Block::Block(Grid& grid_of, int number, int threads, int bytes)
    : grid(grid_of), index(number), shared_bytes(bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t room = RoundUp(static_cast<size_t>(bytes), page);
  mapped_ = room + page;
  void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(static_cast<char*>(memory) + room, page, PROT_NONE) != 0) {
    std::perror("emulator: no shared memory");
    std::abort();
  }
  mapping_ = static_cast<char*>(memory);
  shared = mapping_;
  std::memset(shared, 0xff, room);  // NaNs to whoever reads what nobody wrote
  barriers.resize((kSharedBase + room) / 8);
  writers.resize((kSharedBase + room) / kGranule);
  groups.resize(static_cast<size_t>(threads + 127) / 128);
  live = threads;
}

Block::~Block() { munmap(mapping_, mapped_); }

std::string Name(const Lane& lane) {
  return "block " + std::to_string(lane.warp.block.index) + " warp " +
         std::to_string(lane.warp.index) + " lane " + std::to_string(lane.index);
}

std::string Describe(const Block& block, const Wait& wait) {
  std::string text = wait.name;
  if (wait.is_barrier) {
    const Barrier& barrier = block.barriers[wait.address / 8];
    text += " at " + std::to_string(wait.address) + ", parity " + std::to_string(wait.parity) +
            ": in phase " + std::to_string(barrier.phase) + ", " + std::to_string(barrier.pending) +
            " of " + std::to_string(barrier.expected) + " arrivals and " +
            std::to_string(barrier.bytes) + " bytes missing";
  }
  return text;
}

void Machine::Enqueue(const void* stream, Grid grid) {
  streams_[stream].push_back(std::move(grid));
}

std::string Machine::RunAll() {
  machine = this;
  stopped_ = ended_ = false;
  message_.clear();
  ranked_ = Random() % 2 == 0;
  landing_ = 4U << Random() % 4 * 3;  // picks of a warp for each that lands, on average
  live_ = 0;
  idle_ = 0;
  transfers.clear();
  ready_.clear();
  for (auto& [stream, grids] : streams_) {
    Begin(grids.front());
  }
  Run();
  for (auto& [stream, grids] : streams_) {
    std::move(grids.front().fibers.begin(), grids.front().fibers.end(),
              std::back_inserter(fibers_));
  }
  streams_.clear();
  return message_;
}

void Machine::Begin(Grid& grid) {
  grid.live = int64_t(grid.number) * grid.threads;
  live_ += grid.live;
  for (int block = 0; block < grid.number; ++block) {
    MakeBlock(grid, block);
  }
}

void Machine::EndGrids() {
  ended_ = false;
  for (auto at = streams_.begin(); at != streams_.end();) {
    std::deque<Grid>& grids = at->second;
    if (grids.front().live > 0) {
      ++at;
      continue;
    }
    std::erase_if(transfers, [&](const BulkTransfer& transfer) {
      return &transfer.block->grid == &grids.front();
    });
    std::move(grids.front().fibers.begin(), grids.front().fibers.end(),
              std::back_inserter(fibers_));
    grids.pop_front();
    if (grids.empty()) {
      at = streams_.erase(at);
    } else {
      Begin(grids.front());
      ++at;
    }
  }
}

void Machine::MakeBlock(Grid& grid, int number) {
  const int threads = grid.threads;
  Block& block =
      *grid.blocks.emplace_back(std::make_unique<Block>(grid, number, threads, grid.shared_bytes));
  for (int thread = 0; thread < threads; ++thread) {
    if (fibers_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>(kStackBytes));
    }
    Fiber& fiber = *grid.fibers.emplace_back(std::move(fibers_.back()));
    fibers_.pop_back();
    if (thread % 32 == 0) {
      block.warps.push_back(std::make_unique<Warp>(block, thread / 32));
      block.warps.back()->registers = kRegisters / threads / 8 * 8;
      block.warps.back()->rank = Random();
    }
    Warp& warp = *block.warps.back();
    Lane& lane = *warp.lanes.emplace_back(std::make_unique<Lane>(warp, thread % 32, fiber));
    lane.place = {{unsigned(thread), 0, 0},
                  {unsigned(number), 0, 0},
                  {unsigned(threads), 1, 1},
                  {unsigned(grid.number), 1, 1}};
    lane.fiber.Start(Enter, &lane);
    Wake(lane);
  }
}

void Machine::Enter(void* argument) {
  auto& lane = *static_cast<Lane*>(argument);
  Grid& grid = lane.warp.block.grid;
  grid.kernel();
  lane.ended = true;
  machine->ended_ |= --grid.live == 0;
  --machine->live_;
  --lane.warp.block.live;
  machine->Progress();
  Fiber::Switch(lane.fiber, machine->scheduler_);
}

void Machine::AddReady(Warp& warp) {
  warp.place_in_ready = int(ready_.size());
  ready_.push_back(&warp);
}

void Machine::RemoveReady(Warp& warp) {
  ready_.back()->place_in_ready = warp.place_in_ready;
  ready_[size_t(warp.place_in_ready)] = ready_.back();
  ready_.pop_back();
  warp.place_in_ready = -1;
}

void Machine::Wake(Lane& lane) {
  Progress();
  lane.warp.ready |= 1U << lane.index;
  if (lane.warp.place_in_ready < 0) {
    AddReady(lane.warp);
  }
}

void Machine::Run() {
  while (live_ > 0 && !stopped_) {
    if (LandsNow()) {
      const size_t which = Random() % transfers.size();
      const BulkTransfer transfer = transfers[which];
      transfers[which] = transfers.back();
      transfers.pop_back();
      Land(transfer);
      continue;
    }
    if (ready_.empty() || idle_ > kIdleLooks * (live_ + 256)) {
      message_ = "deadlock:\n" + DescribeWaits();
      return;
    }
    RunWarp(Draw());
    if (ended_) {
      EndGrids();
    }
  }
}

bool Machine::LandsNow() {
  // Whoever looks in vain may wait for a copy.
  return !transfers.empty() &&
         (ready_.empty() || Random() % landing_ == 0 || idle_ > kLooksUntilLanding * live_);
}

Warp& Machine::Draw() {
  Warp& warp = *ready_[Random() % ready_.size()];
  Warp& other = *ready_[Random() % ready_.size()];
  return ranked_ && other.rank < warp.rank ? other : warp;
}

/// To look at the clock is no deadlock: whoever does so will do something else some time.
void Machine::LetTimePass() {
  if (transfers.empty() && idle_ > kIdleLooks / 4 * (live_ + 256)) {
    nanoseconds += 500000000;
    Progress();
  }
}

/// Goes on with a warp for a while: its lanes by turns, so that they soon meet.
void Machine::RunWarp(Warp& warp) {
  do {
    ++ticks;
    stalled_ = false;
    const int first = int(Random() % 32);
    uint32_t turn = std::rotr(warp.ready, first);
    while (turn != 0 && !stopped_) {
      const int lane = (std::countr_zero(turn) + first) % 32;
      turn &= turn - 1;
      if ((warp.ready >> lane & 1) != 0) {
        RunLane(*warp.lanes[size_t(lane)]);
      }
    }
  } while (warp.ready != 0 && !stalled_ && !stopped_ && Random() % 16 != 0);
  if (warp.ready == 0) {
    RemoveReady(warp);
  }
}

void Machine::RunLane(Lane& lane) {
  lane.warp.ready &= ~(1U << lane.index);
  current_ = &lane;
  place = &lane.place;
  budget_ = 1 + int(Random() % kMostOperations);
  Fiber::Switch(scheduler_, lane.fiber);
}

void Machine::Suspend(const Wait& wait) {
  current_->wait = wait;
  Fiber::Switch(current_->fiber, scheduler_);
}

void Machine::Yield(const Wait& wait, bool idle) {
  idle_ += idle ? 1 : 0;
  stalled_ = true;
  current_->wait = wait;
  current_->warp.ready |= 1U << current_->index;
  Fiber::Switch(current_->fiber, scheduler_);
}

void Machine::Preempt() {
  if (--budget_ <= 0) {
    Yield({"nothing: it can go on"}, false);
  }
}

void Machine::Stop(std::string message) {
  message_ = std::move(message);
  stopped_ = true;
  Fiber::Switch(current_->fiber, scheduler_);
  std::abort();  // nobody goes on with a thread of a launch that was stopped
}

/// A line for all lanes of a warp that wait for the same.
std::string Machine::DescribeWaits() const {
  std::string text;
  std::vector<const Block*> blocks;
  for (const auto& [stream, grids] : streams_) {
    for (const auto& block : grids.front().blocks) {
      blocks.push_back(block.get());
    }
  }
  for (const Block* block : blocks) {
    for (const auto& warp : block->warps) {
      uint32_t left = 0;
      for (const auto& lane : warp->lanes) {
        left |= lane->ended ? 0 : 1U << lane->index;
      }
      while (left != 0) {
        const Wait& wait = warp->lanes[size_t(std::countr_zero(left))]->wait;
        uint32_t same = 0;
        for (uint32_t rest = left; rest != 0; rest &= rest - 1) {
          const int lane = std::countr_zero(rest);
          same |= warp->lanes[size_t(lane)]->wait == wait ? 1U << lane : 0;
        }
        char lanes[16];
        std::snprintf(lanes, sizeof(lanes), "%08x", same);
        text += "  block " + std::to_string(block->index) + " warp " + std::to_string(warp->index) +
                " lanes " + lanes + " wait for " + Describe(*block, wait) + "\n";
        left &= ~same;
      }
    }
  }
  return text;
}

void Fail(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  machine->Stop(Name(machine->current()) + ": " + text);
}

}  // namespace etc::emulator
