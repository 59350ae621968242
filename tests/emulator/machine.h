// The emulated device: CTAs of threads that are fibers, and one scheduler that runs them in an
// order drawn by chance. docs/emulator.md is the design.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "emulator/device.h"
#include "fiber.h"

namespace etc::emulator {

struct Warp;
struct Block;
struct Grid;

/// The first byte of shared memory has this address: 0 is none.
constexpr uint32_t kSharedBase = 1024;
constexpr int kGranule = 16;  // bytes of shared memory whose writer is remembered

/// Sixteen bytes on their way from global into shared memory.
struct Piece {
  uint32_t shared;
  const void* global;  // null: zeros
};

/// What a thread that cannot go on waits for, in words.
struct Wait {
  const char* name = nullptr;
  uint32_t address = 0, parity = 0;
  bool is_barrier = false;

  friend bool operator==(const Wait&, const Wait&) = default;
};

struct Lane {
  Lane(Warp& warp_of, int number, Fiber& fiber_of);

  Fiber& fiber;
  Place place;
  Warp& warp;
  const int index;  // in the warp
  bool ended = false;
  Wait wait;

  // Polls: a look that finds what the one before found lets others run.
  const uint32_t* acquired = nullptr;
  uint32_t acquired_value = 0;
  const uint32_t* missing = nullptr;
  int fetches = 0;

  std::vector<Piece> pieces;   // those not landed
  std::vector<size_t> groups;  // the pieces of each closed group
  size_t open_pieces = 0;
  std::vector<uint32_t> unfenced;  // granules written since the last WgmmaSharedFence
};

/// Lanes of a warp that wait for one another.
struct Meeting {
  const char* name;
  Perform perform;
  uint32_t mask, arrived;
  void* lanes[32];
};

/// The sums that instructions still to come are added to. Their registers hold poison until then.
struct Accumulator {
  float* registers[32];
  int columns;
  std::vector<float> values;  // of lane 0, then of lane 1 ..
};
struct WarpMultiply {
  size_t accumulator;
  const uint32_t* a[32];
  uint32_t a_values[32][4];
  uint64_t a_shared;  // 0: it is in registers
  uint64_t b;
  bool adds;
};

struct Warp {
  Warp(Block& block_of, int number);

  Block& block;
  const int index;  // in the block
  std::vector<std::unique_ptr<Lane>> lanes;
  uint32_t ready = 0;  // lanes that can go on
  int place_in_ready = -1;
  std::vector<Meeting> meetings;
  int registers = 0;
  uint32_t rank = 0;  // drawn in each launch

  bool fenced = false;
  std::vector<Accumulator> accumulators;
  std::vector<WarpMultiply> multiplies;
  std::vector<size_t> multiply_groups;  // the instructions of each closed group
  size_t open_multiplies = 0;
  size_t issued = 0;  // instructions in all
};

struct Barrier {
  bool valid = false;
  int expected = 0, pending = 0;
  int64_t bytes = 0;  // still to come
  uint32_t phase = 0;
  std::vector<Lane*> waiting;
};
struct NamedBarrier {
  int threads = 0;
  std::vector<Lane*> waiting;
};
struct BulkRun {
  uint32_t shared;
  const void* global;  // null: zeros
  int bytes;
};
struct BulkTransfer {
  Block* block;
  uint32_t barrier;
  std::vector<BulkRun> runs;
};
/// What the four warps of a group multiply, in order: all the same.
struct IssuedMultiply {
  uint64_t a, b;  // a: 0 where it is in registers
  int columns;

  bool operator==(const IssuedMultiply&) const = default;
};

struct Block {
  /// Of `threads` threads, whose warps the launch fills.
  Block(Grid& grid_of, int number, int threads, int shared_bytes);
  ~Block();

  Grid& grid;
  const int index;
  const int shared_bytes;
  char* shared = nullptr;  // ends at a guard page
  std::vector<std::unique_ptr<Warp>> warps;
  int live = 0;                   // threads
  std::vector<Barrier> barriers;  // by address / 8
  NamedBarrier named[16];
  std::vector<uint16_t> writers;  // of each granule: 1 + the thread whose write is not fenced
  std::vector<std::vector<IssuedMultiply>> groups;  // of each warpgroup
  int free_registers = 0;
  uint32_t clock = 0;

 private:
  char* mapping_ = nullptr;
  size_t mapped_ = 0;
};

/// A launch, which stands in a stream until those in front of it have ended.
struct Grid {
  int number, threads, shared_bytes;  // of blocks, and of each of them
  std::function<void()> kernel;
  std::vector<std::unique_ptr<Block>> blocks = {};
  std::vector<std::unique_ptr<Fiber>> fibers = {};  // of its threads
  int64_t live = 0;                                 // threads
};

/// The launches of one stream follow each other, and those of several run side by side.
class Machine {
 public:
  explicit Machine(uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15ULL + 1) {}

  void Enqueue(const void* stream, Grid grid);
  /// Runs what was enqueued to its end. Returns what went wrong: nothing, or a message.
  std::string RunAll();
  std::string Launch(int blocks, int threads, int shared_bytes, std::function<void()> kernel) {
    Enqueue(nullptr, {blocks, threads, shared_bytes, std::move(kernel)});
    return RunAll();
  }

  // For the thread that runs:
  Lane& current() { return *current_; }
  /// Leaves until woken.
  void Suspend(const Wait& wait);
  /// Lets others run; `idle`: nothing came of it.
  void Yield(const Wait& wait, bool idle);
  void Wake(Lane& lane);
  void Progress() { idle_ = 0; }
  void LetTimePass();
  /// Now and then lets others run where a thread would not wait.
  void Preempt();
  [[noreturn]] void Stop(std::string message);
  uint32_t Random() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return uint32_t(random_ >> 32);
  }

  std::vector<BulkTransfer> transfers;  // on their way
  uint64_t nanoseconds = 0;
  uint64_t ticks = 0;  // of one clock for all: grows with all that runs

 private:
  static void Enter(void* lane);
  void Begin(Grid& grid);
  /// Drops the launches that have ended, and begins those behind them.
  void EndGrids();
  void MakeBlock(Grid& grid, int number);
  void Run();
  /// Whether a transfer ends before anybody goes on.
  bool LandsNow();
  /// Any warp that can go on; in a ranked launch, the better of two.
  Warp& Draw();
  void RunWarp(Warp& warp);
  void RunLane(Lane& lane);
  void AddReady(Warp& warp);
  void RemoveReady(Warp& warp);
  std::string DescribeWaits() const;

  uint64_t random_;
  std::map<const void*, std::deque<Grid>> streams_;  // the first of each runs
  std::vector<std::unique_ptr<Fiber>> fibers_;       // kept for the next launch
  std::vector<Warp*> ready_;
  Fiber scheduler_;
  Lane* current_ = nullptr;
  // The mood of a launch: whether some warps are slower throughout, and how late copies land.
  bool ranked_ = false;
  uint32_t landing_ = 0;
  int64_t live_ = 0;
  int64_t idle_ = 0;  // looks in vain since something happened
  int budget_ = 0;    // operations until the next preemption
  bool stalled_ = false;
  bool stopped_ = false;
  bool ended_ = false;  // some launch has
  std::string message_;
};

/// Of the launch that runs.
extern Machine* machine;

/// How messages name a thread.
std::string Name(const Lane& lane);

/// Ends a transfer whose bytes have landed, which may complete the barrier's phase.
void Land(const BulkTransfer& transfer);
/// What is waited for in words, with the state of an mbarrier.
std::string Describe(const Block& block, const Wait& wait);

}  // namespace etc::emulator
