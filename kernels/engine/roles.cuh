// The roles of a persistent CTA and what they share: a loader warp fills a ring of slots in shared
// memory, the consumer warps empty it, and an epilogue warp joins what each of them found, so that
// they go on with the next task at once. docs/kernels.md is the contract.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/barrier.cuh"
#include "arch/sm90/clock.cuh"
#include "arch/sm90/copy.cuh"
#include "arch/sm90/launch.cuh"
#include "arch/sm90/registers.cuh"
#include "engine/loader.cuh"
#include "engine/options.cuh"

#ifndef ETC_CONSUMER_WARPS
#define ETC_CONSUMER_WARPS 8
#endif

// Clock cycles from the end of an SM's own part of a call to its first look for what the other SMs
// made in it: to look earlier is in vain, and delays their stores.
#ifndef ETC_FIRST_POLL
#define ETC_FIRST_POLL 1800
#endif

// From a CommitPartials until the epilogue warp has stored the outputs.
#ifndef ETC_EPILOGUE_CYCLES
#define ETC_EPILOGUE_CYCLES 900
#endif

namespace etc {

/// What the consumer warps and the epilogue warp hand to each other.
struct Exchange {
  static constexpr int kBuffers = 3;  // partials by which the epilogue warp may be behind
  static constexpr int kAhead = 2;    // tasks that it may have prepared

  Ring buffers;   // a buffer holds the partials of one task
  Ring begun;     // no data: the beginnings of shares
  Ring prepared;  // no data, never empty: a task's partials say that its preparation was read
};

struct Consumer {
  static constexpr int kWarps = ETC_CONSUMER_WARPS;
  static constexpr int kThreads = kWarps * 32;

  int thread, warp, lane;
  char* scratch;
  char* slots;
  u32 zero;  // 0, which the compiler does not know
  Ring ring;
  Exchange exchange;
  u32 committed = 0;  // the clock at the last CommitPartials

  /// Waits until the next slot is full; each warp on its own. WaitAddress gives its shared address.
  ETC_DEVICE u32 WaitAddress() {
    BarrierWait(ring.Full(), ring.parity);
    return ring.slot;
  }
  ETC_DEVICE const char* Wait() {
    u32 address = WaitAddress();
    return slots + (address - ring.first_slot);
  }
  /// This warp is done with the slot; moves on to the next. `read` is any value made of everything
  /// that this lane loaded from it: an arrive waits until earlier loads are issued, not until they
  /// have their data, so it is given an operand that does.
  ETC_DEVICE void Release(u32 read) {
    BarrierArriveWarp(ring.Empty() + (read & zero), lane);
    ring.Advance();
  }
  /// A barrier of all consumer threads.
  ETC_DEVICE void Sync() { NamedBarrierSync<1, kThreads>(); }

  /// Lets the epilogue warp read what these threads have waited for. Once in a share, by all warps.
  ETC_DEVICE void Begin() {
    if (kEachThreadArrives || thread == 0) {
      BarrierWait(exchange.begun.Empty(), exchange.begun.parity ^ 1);
      BarrierArrive(exchange.begun.Full());
    }
    exchange.begun.Advance();
  }
  /// These threads have stored their outputs of a call themselves.
  ETC_DEVICE void Stored() { committed = Clock() - u32(ETC_EPILOGUE_CYCLES); }
  /// Waits until flagged data of the call before can be there.
  ETC_DEVICE void AwaitOthers() const {
    while (Clock() - committed < u32(ETC_FIRST_POLL)) {
    }
  }
  /// Waits until the epilogue warp has prepared the next task (each warp): which of kAhead places
  /// has it.
  ETC_DEVICE int WaitPrepared() {
    BarrierWait(exchange.prepared.Full(), exchange.prepared.parity);
    int place = exchange.prepared.Index();
    exchange.prepared.Advance();
    return place;
  }
  /// Waits until the epilogue warp has read all partials (each warp).
  ETC_DEVICE void AwaitEpilogueWarp() const {
    Ring buffers = exchange.buffers;
#pragma unroll 1
    for (int i = 0; i < Exchange::kBuffers; ++i) {
      BarrierWait(buffers.Empty(), buffers.parity ^ 1);
      buffers.Advance();
    }
  }
  /// Waits until the epilogue warp's next buffer is free (each warp): its shared address.
  ETC_DEVICE u32 AcquirePartials() {
    BarrierWait(exchange.buffers.Empty(), exchange.buffers.parity ^ 1);
    return exchange.buffers.slot;
  }
  /// All of the epilogue warp's buffers as one, once it has read them (each warp): for a kernel
  /// without a reduction.
  ETC_DEVICE u32 BorrowPartials() const {
    AwaitEpilogueWarp();
    return exchange.buffers.first_slot;
  }
  /// This warp's partial is in the buffer; moves on to the next.
  ETC_DEVICE void CommitPartials() {
    BarrierArriveWarp(exchange.buffers.Full(), lane);
    exchange.buffers.Advance();
    committed = Clock();
  }
};

/// One warp that walks the tasks behind the consumers, and may prepare them ahead of these.
struct EpilogueWarp {
  int thread, lane;
  char* scratch;  // the consumers'
  u32 zero;       // 0, which the compiler does not know
  Exchange exchange;

  /// Waits for the consumers' Begin; then this role may read what they waited for.
  ETC_DEVICE void WaitBegin() {
    BarrierWait(exchange.begun.Full(), exchange.begun.parity);
    BarrierArriveWarp(exchange.begun.Empty(), lane);
    exchange.begun.Advance();
  }
  /// Where to prepare the next task: one of kAhead places, free once the partials of the task
  /// before the last are released.
  ETC_DEVICE int PreparedPlace() const { return exchange.prepared.Index(); }
  /// Lets the consumers read what this warp has prepared; moves on to the next place.
  ETC_DEVICE void CommitPrepared() {
    BarrierArriveWarp(exchange.prepared.Full(), lane);
    exchange.prepared.Advance();
  }
  /// Waits until all consumer warps have committed their partials of the next task: their address.
  ETC_DEVICE u32 WaitPartials() {
    BarrierWait(exchange.buffers.Full(), exchange.buffers.parity);
    return exchange.buffers.slot;
  }
  /// Done with the buffer; `read` as in Consumer::Release.
  ETC_DEVICE void ReleasePartials(u32 read) {
    BarrierArriveWarp(exchange.buffers.Empty() + (read & zero), lane);
    exchange.buffers.Advance();
  }
  /// A barrier of all threads of this role.
  ETC_DEVICE void Sync() { __syncwarp(); }
};

/// What a kernel leaves to the epilogue warp: its nested Reduction, if it has one, made once per
/// share and run for each task.
struct NoReduction {
  static constexpr bool kExists = false;
  static constexpr int kPartialsBytes = 0;
  template <class Args>
  ETC_DEVICE NoReduction(EpilogueWarp&, const Args&) {}
  template <class... Arguments>
  ETC_DEVICE void Run(Arguments&&...) {}
};
template <class Kernel, class = void>
struct FindReduction {
  using type = NoReduction;
};
template <class Kernel>
struct FindReduction<Kernel, typename Kernel::Reduction::Exists> {
  using type = typename Kernel::Reduction;
};
template <class Kernel>
using ReductionOf = typename FindReduction<Kernel>::type;

/// Whether a reduction prepares tasks ahead: it then has Prepare, called once for each task before
/// its Run, and before the Run of the task in front where there is one.
template <class Reduction, class = void>
struct PreparesTasks {
  static constexpr bool value = false;
};
template <class Reduction>
struct PreparesTasks<Reduction, typename Reduction::PreparesAhead> {
  static constexpr bool value = true;
};
template <class Reduction, class Args, class... Coordinates>
ETC_DEVICE void PrepareTask(Reduction& reduction, EpilogueWarp& epilogue_warp, const Args& args,
                            Coordinates... task) {
  if constexpr (PreparesTasks<Reduction>::value) {
    reduction.Prepare(epilogue_warp, args, int(task)...);
  }
}

/// One warp of the consumers that waits for a task by itself.
struct ConsumerWarp {
  int thread, lane;

  ETC_DEVICE explicit ConsumerWarp(const Consumer& consumer)
      : thread(consumer.lane), lane(consumer.lane) {}
  ETC_DEVICE void Sync() { __syncwarp(); }
};

/// Whether a kernel waits for what its tasks wait for, at the place where it needs that: Run then
/// has an optional last parameter, which each warp calls with its ConsumerWarp.
template <class Kernel, class = void>
struct AwaitsTasks {
  static constexpr bool value = false;
};
template <class Kernel>
struct AwaitsTasks<Kernel, typename Kernel::AwaitsItself> {
  static constexpr bool value = true;
};
template <class Kernel, class Await>
ETC_DEVICE void AwaitTask(const Await& await, Consumer& consumer) {
  if constexpr (!AwaitsTasks<Kernel>::value) {
    await(consumer);
  }
}
template <class Kernel, class Await, class Args, class... Coordinates>
ETC_DEVICE void RunTask(Kernel& kernel, [[maybe_unused]] const Await& await, Consumer& consumer,
                        const Args& args, Coordinates... task) {
  if constexpr (AwaitsTasks<Kernel>::value) {
    kernel.Run(consumer, args, int(task)..., await);
  } else {
    kernel.Run(consumer, args, int(task)...);
  }
}

/// Whether a kernel's loader waits for what its tasks wait for at the place where it needs that:
/// Load then has an optional last parameter, which all lanes call with the Loader.
template <class Kernel, class = void>
struct AwaitsLoads {
  static constexpr bool value = false;
};
template <class Kernel>
struct AwaitsLoads<Kernel, typename Kernel::LoadAwaitsItself> {
  static constexpr bool value = true;
};
template <class Kernel, class Await, class Args, class... Coordinates>
ETC_DEVICE void LoadTask(const Await& await, Loader& loader, const Args& args,
                         Coordinates... task) {
  if constexpr (AwaitsLoads<Kernel>::value) {
    Kernel::Load(loader, args, int(task)..., await);
  } else {
    await(loader);
    Kernel::Load(loader, args, int(task)...);
  }
}

// A kernel's Prefetch is optional; the argument of type int prefers the overload that calls it.
template <class Kernel, class Args, class... Coordinates>
ETC_DEVICE auto PrefetchTask(int, const Consumer& consumer, const Args& args, Coordinates... task)
    -> decltype(Kernel::Prefetch(consumer, args, int(task)...)) {
  Kernel::Prefetch(consumer, args, int(task)...);
}
template <class Kernel, class Args, class... Coordinates>
ETC_DEVICE void PrefetchTask(long, const Consumer&, const Args&, Coordinates...) {}

/// Registers of a helper's thread: fewer where a kernel says so, whose consumers need what is left.
ETC_OPTION(HelperRegisters, kHelperRegisters, int, 96);

/// Carves the dynamic shared memory of a CTA: ring, scratch, the epilogue warp's buffers, barriers.
/// kSlotBytes is 0 without a ring, kPartialsBytes (of one buffer) without a reduction; the ring has
/// as many slots as there is room for, but no more than kDepth. What kHelperRegisters leave is the
/// consumers'.
template <int kSlotBytes, int kScratchBytes, int kPartialsBytes, int kSharedBytes,
          int kHelperRegisters, int kDepth = 1 << 30>
struct Block {
  // The helpers are one group of four warps, so that it can give registers to the consumers.
  static constexpr int kThreads = Consumer::kThreads + 128;
  static constexpr int kRingSlotBytes = (kSlotBytes + 127) / 128 * 128;
  static constexpr int kScratch = (kScratchBytes + 127) / 128 * 128;
  static constexpr int kPartials = (kPartialsBytes + 127) / 128 * 128;
  static constexpr int kOwnBytes =
      kScratch + Exchange::kBuffers * kPartials + (Exchange::kBuffers + 1 + Exchange::kAhead) * 16;
  static_assert(kOwnBytes <= kSharedBytes, "its scratch fits into shared memory");
  static constexpr int kRoom = (kSharedBytes - kOwnBytes) / (kRingSlotBytes + 16);
  static constexpr int kSlots = kSlotBytes == 0 ? 0 : kRoom < kDepth ? kRoom : kDepth;
  static_assert(kSlotBytes == 0 || kSlots >= 2, "shared memory has room for two ring slots");

  char* shared;

  /// For all threads of the CTA; ends with a barrier of all of them.
  ETC_DEVICE Block() {
    shared = LaunchSharedMemory();
    if (threadIdx.x == 0) {
      u32 barrier = FirstBarrier();
#pragma unroll 1
      for (int slot = 0; slot < kSlots; ++slot, barrier += 16) {
        BarrierInit(barrier, 1);
        BarrierInit(barrier + 8, Consumer::kWarps * Arrivals(32));
      }
#pragma unroll 1
      for (int buffer = 0; buffer < Exchange::kBuffers; ++buffer, barrier += 16) {
        BarrierInit(barrier, Consumer::kWarps * Arrivals(32));
        BarrierInit(barrier + 8, Arrivals(32));
      }
#pragma unroll 1
      for (int i = 0; i < 1 + Exchange::kAhead; ++i, barrier += 16) {
        BarrierInit(barrier, Arrivals(i == 0 ? Consumer::kThreads : 32));
        BarrierInit(barrier + 8, Arrivals(32));
      }
      BarrierInitFence();
    }
    __syncthreads();
  }

  /// For all threads, first of all. The loader and the epilogue warp are helpers.
  ETC_DEVICE bool IsHelper() const {
    constexpr int launched = 65536 / kThreads / 8 * 8;
    constexpr int spare = (launched - kHelperRegisters) * 128 / Consumer::kThreads / 8 * 8;
    if (threadIdx.x >= Consumer::kThreads) {
      GiveRegisters<kHelperRegisters>();
      return true;
    }
    TakeRegisters<launched + spare>();
    return false;
  }
  ETC_DEVICE bool IsLoader() const { return threadIdx.x / 32 == Consumer::kWarps; }
  ETC_DEVICE bool IsEpilogueWarp() const { return threadIdx.x / 32 == Consumer::kWarps + 1; }
  /// Among the helpers that have no role.
  static constexpr int kSpareThreads = kThreads - Consumer::kThreads - 64;
  ETC_DEVICE int SpareThread() const { return int(threadIdx.x) - Consumer::kThreads - 64; }

  ETC_DEVICE Loader MakeLoader() const {
    int lane = int(threadIdx.x) % 32;
    return Loader{lane, lane, MakeSlots(), EvictFirstPolicy(), MakeSlots(), kSlots, kSlots};
  }
  ETC_DEVICE Consumer MakeConsumer() const {
    int thread = int(threadIdx.x);
    // The same for all lanes, which the compiler cannot know of a division.
    int warp = __shfl_sync(0xffffffffu, thread / 32, 0);
    return Consumer{thread, warp,   thread % 32, Scratch(),
                    shared, Zero(), MakeSlots(), MakeExchange()};
  }
  ETC_DEVICE EpilogueWarp MakeEpilogueWarp() const {
    int lane = int(threadIdx.x) % 32;
    return EpilogueWarp{lane, lane, Scratch(), Zero(), MakeExchange()};
  }

 private:
  // The grid has one dimension.
  static ETC_DEVICE u32 Zero() { return blockIdx.y; }
  ETC_DEVICE char* Scratch() const { return shared + kSlots * kRingSlotBytes; }
  ETC_DEVICE u32 FirstPartials() const {
    return SharedAddress(shared) + kSlots * kRingSlotBytes + kScratch;
  }
  ETC_DEVICE u32 FirstBarrier() const { return FirstPartials() + Exchange::kBuffers * kPartials; }
  static ETC_DEVICE Ring MakeRing(u32 slot, u32 barrier, int slots, int stride) {
    Ring ring;
    ring.first_slot = ring.slot = slot;
    ring.first_barrier = ring.barrier = barrier;
    ring.end_barrier = barrier + slots * 16;
    ring.stride = stride;
    return ring;
  }
  ETC_DEVICE Ring MakeSlots() const {
    return MakeRing(SharedAddress(shared), FirstBarrier(), kSlots, kRingSlotBytes);
  }
  ETC_DEVICE Exchange MakeExchange() const {
    u32 barrier = FirstBarrier() + kSlots * 16;
    return {MakeRing(FirstPartials(), barrier, Exchange::kBuffers, kPartials),
            MakeRing(0, barrier + Exchange::kBuffers * 16, 1, 0),
            MakeRing(0, barrier + (Exchange::kBuffers + 1) * 16, Exchange::kAhead, 0)};
  }
};

}  // namespace etc
