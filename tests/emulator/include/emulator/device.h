// What emulated kernels call: the place of the running thread, and the operations behind the
// headers of arch/. docs/emulator.md says how they behave.
#pragma once

#include <cstddef>
#include <cstdint>

namespace etc::emulator {

struct Index3 {
  unsigned x, y, z;
};
struct Place {
  Index3 thread, block, block_size, grid_size;
};

/// Of the thread that runs.
extern const Place* place;

// Threads of a warp meet: each gives `mine`, the last to come calls `perform` with what all gave.
using Perform = void (*)(void* const* lanes, uint32_t mask);
void MeetWarp(const char* name, uint32_t mask, void* mine, Perform perform);
void SyncWarp(const char* name, uint32_t mask);
/// The word that lane `source` gives.
uint64_t Exchange(const char* name, uint32_t mask, uint64_t word, int source);
uint32_t Ballot(const char* name, uint32_t mask, bool vote);

// Registers of a CTA go from warps that give to warps that take.
void SetRegisters(int count);

/// A barrier of `threads` threads of the CTA; -1: of all.
void SyncNamed(int id, int threads);

// Shared memory. Addresses are those of SharedAddress.
char* SharedMemory();
uint32_t SharedBytes();
uint32_t SharedAddress(const void* pointer);
/// Fails where the access is not aligned to its size or not inside of the CTA's shared memory.
char* Shared(const char* name, uint32_t address, int bytes);
/// Shared, and the bytes count as written by this thread through the generic proxy.
char* SharedStore(const char* name, uint32_t address, int bytes);

void BarrierInit(uint32_t barrier, int arrivals);
void BarrierInvalidate(uint32_t barrier);
void BarrierArrive(uint32_t barrier, int expected_bytes);
void BarrierWait(uint32_t barrier, uint32_t parity);
bool BarrierTest(uint32_t barrier, uint32_t parity);

void BulkCopy(uint32_t shared, const void* global, int bytes, uint32_t barrier);
void BulkPrefetch(const void* global, int bytes);
/// What a tensor map holds here: columns first.
struct TiledMap {
  const void* data;
  int64_t shape[3];
  int64_t strides[2];  // bytes from row to row, and from slice to slice
  int64_t box[2];
  int element_bytes;

  bool operator==(const TiledMap&) const = default;
};
void TensorCopy(uint32_t shared, const void* map, int column, int row, int slice, uint32_t barrier);
void CopyPiece(uint32_t shared, const void* global, bool exists);
void CopyCommit();
void CopyWait(int pending);

// Global memory.
uint32_t LoadAcquire(const uint32_t* address);
/// After each load of a word that may be zero until its writer stores it.
void Fetched(const uint32_t* address, bool missing);
/// Something happened that another thread may wait for.
void Progress();
/// Fails where an access is not aligned to its size.
void CheckGlobal(const char* name, const void* address, int bytes);
/// Lets others run before the thread looks again.
void PollAgain(const char* name);
uint32_t Clock();
/// Of a clock that all SMs have in common: no two looks are at the same time.
uint64_t Ticks();
/// Half a second passes whenever all have looked in vain for a while.
uint64_t Nanoseconds();

void LoadMatrices(uint32_t address, uint32_t (&words)[4]);
void StoreMatrices(uint32_t address, const uint32_t (&words)[4]);
uint32_t Transpose8x8(uint32_t rows);
void MultiplyWarp(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);

void WgmmaFence();
void WgmmaSharedFence();
void WgmmaMultiply(float* d, const uint32_t* a, uint64_t b, int columns);
void WgmmaMultiplyShared(float* d, uint64_t a, uint64_t b, int columns, bool adds);
void WgmmaCommit();
void WgmmaWait(int pending);

/// Ends the launch with a message that names the thread.
[[noreturn]] void Fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace etc::emulator
