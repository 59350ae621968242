#define ETC_CONSUMER_WARPS 8
// The launch that a CTA is of, and the order of launches that overlap (programmatic dependent
// launch).

// The machine's floating-point types, and the conversions between them.

// Conversions that the hardware has an instruction for, of the bits of 16-bit and 8-bit floats. All
// round to nearest, ties to even; those to 8 bits give the largest finite value for what is larger.

// Names for the machine's integers. No toolkit header: this text compiles under NVRTC, which has
// none at hand, as well as under nvcc.

#define ETC_DEVICE __device__ __forceinline__

namespace etc {

using u8 = unsigned char;
using i8 = signed char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;
using f64 = double;

}  // namespace etc

namespace etc {

ETC_DEVICE float FloatOfF16(u16 bits) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(bits));
  return result;
}
ETC_DEVICE u16 F16OfFloat(float value) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
ETC_DEVICE u16 Bf16OfFloat(float value) {
  u16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

// The instructions take two values; the second is in the lower half.
ETC_DEVICE u8 F8E4M3OfFloat(float value) {
  u16 bits;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(0.0f), "f"(value));
  return u8(bits);
}
ETC_DEVICE u8 F8E5M2OfFloat(float value) {
  u16 bits;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(0.0f), "f"(value));
  return u8(bits);
}
ETC_DEVICE float FloatOfF8E4M3(u8 bits) {
  u32 halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(u16(bits)));
  return FloatOfF16(u16(halves));
}
// The upper half of the f16 with the same value.
ETC_DEVICE float FloatOfF8E5M2(u8 bits) { return FloatOfF16(u16(bits << 8)); }

/// Two bf16 in a word, the first in the lower half: their order in memory.
ETC_DEVICE u32 PackBf16(float low, float high) {
  u32 result;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}

}  // namespace etc

namespace etc {

struct bf16 {
  u16 bits;
};
struct f16 {
  u16 bits;
};
struct f8e4m3 {
  u8 bits;
};
struct f8e5m2 {
  u8 bits;
};

/// Sixteen bytes: what one lane moves at once.
struct alignas(16) Vec4 {
  u32 x, y, z, w;
};

ETC_DEVICE float BitsToFloat(u32 bits) { return __uint_as_float(bits); }
ETC_DEVICE u32 FloatToBits(float value) { return __float_as_uint(value); }
ETC_DEVICE float NegativeInfinity() { return BitsToFloat(0xff800000u); }

ETC_DEVICE float ToFloat(float value) { return value; }
// A bf16 is the upper half of the float with the same value.
ETC_DEVICE float ToFloat(bf16 value) { return BitsToFloat(u32(value.bits) << 16); }
ETC_DEVICE float ToFloat(f16 value) { return FloatOfF16(value.bits); }
ETC_DEVICE float ToFloat(f8e4m3 value) { return FloatOfF8E4M3(value.bits); }
ETC_DEVICE float ToFloat(f8e5m2 value) { return FloatOfF8E5M2(value.bits); }

/// Rounds to nearest, ties to even.
template <class T>
ETC_DEVICE T FromFloat(float value);
template <>
ETC_DEVICE float FromFloat<float>(float value) {
  return value;
}
template <>
ETC_DEVICE bf16 FromFloat<bf16>(float value) {
  return {Bf16OfFloat(value)};
}
template <>
ETC_DEVICE f16 FromFloat<f16>(float value) {
  return {F16OfFloat(value)};
}
template <>
ETC_DEVICE f8e4m3 FromFloat<f8e4m3>(float value) {
  return {F8E4M3OfFloat(value)};
}
template <>
ETC_DEVICE f8e5m2 FromFloat<f8e5m2>(float value) {
  return {F8E5M2OfFloat(value)};
}

/// The halves of a word of PackBf16.
ETC_DEVICE float LowBf16(u32 pair) { return BitsToFloat(pair << 16); }
ETC_DEVICE float HighBf16(u32 pair) { return BitsToFloat(pair & 0xffff0000u); }

}  // namespace etc

namespace etc {

/// The number of CTAs, read anew by each call: one value for a whole kernel would be a register for
/// a whole kernel.
ETC_DEVICE u32 GridSize() {
  u32 size;
  asm volatile("mov.u32 %0, %%nctaid.x;" : "=r"(size));
  return size;
}

/// The shared memory that the launch gives each CTA.
ETC_DEVICE char* LaunchSharedMemory() {
  extern __shared__ __align__(1024) char etc_shared[];
  return etc_shared;
}

/// The launch behind this one may start: once every CTA of this one has said so or has ended, its
/// CTAs take what room there is. Orders no memory.
ETC_DEVICE void AllowNextLaunch() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// Waits until the launch before this one has ended, and all that it wrote can be seen. Every CTA
/// of every launch calls it, so that the end of one launch means the end of all before it.
ETC_DEVICE void AwaitEarlierLaunches() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

}  // namespace etc
// The roles of a persistent CTA and what they share: a loader warp fills a ring of slots in shared
// memory, the consumer warps empty it, and an epilogue warp joins what each of them found, so that
// they go on with the next task at once. docs/kernels.md is the contract.

// Barriers inside one CTA, and who arrives at them.

// Barriers inside one CTA: mbarriers in shared memory, and named hardware barriers.

namespace etc {

/// The address of shared memory as the instructions of this layer take it.
ETC_DEVICE u32 SharedAddress(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

ETC_DEVICE void BarrierInit(u32 barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes initialised barriers visible to the bulk copy engine; the CTA's own barrier comes after.
ETC_DEVICE void BarrierInitFence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives with release order at CTA scope: what this thread read or wrote before stays before.
ETC_DEVICE void BarrierArrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives, and makes the phase wait for so many bytes of bulk copies too.
ETC_DEVICE void BarrierArriveExpect(u32 barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// Acquire order at CTA scope. The instruction itself sleeps for a while before it gives up.
ETC_DEVICE void BarrierWait(u32 barrier, u32 parity) {
  u32 done;
  do {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (!done);
}

/// Whether BarrierWait would return at once.
ETC_DEVICE bool BarrierTest(u32 barrier, u32 parity) {
  u32 done;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

/// A barrier of the CTA's first `threads` threads that leaves the other warps alone.
template <int id, int threads>
ETC_DEVICE void NamedBarrierSync() {
  asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory");
}

/// The same for warps that know only at run time which barrier is theirs.
template <int threads>
ETC_DEVICE void NamedBarrierSync(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(threads) : "memory");
}

}  // namespace etc

namespace etc {

// Where threads arrive together after a barrier of theirs, one arrives for all. A tool that follows
// single threads sees no order in that, and of a warp's barrier the compiler may leave no
// instruction for it to see; so in debug builds each thread arrives.
#ifdef ETC_DEBUG_CHECKS
constexpr bool kEachThreadArrives = true;
#else
constexpr bool kEachThreadArrives = false;
#endif

/// How many arrivals a barrier counts for `threads` threads that arrive together.
ETC_DEVICE constexpr int Arrivals(int threads) { return kEachThreadArrives ? threads : 1; }

/// Arrives for a whole warp, as Arrivals(32): what its lanes read or wrote before stays before.
ETC_DEVICE void BarrierArriveWarp(u32 barrier, int lane) {
  __syncwarp();
  if (kEachThreadArrives || lane == 0) {
    BarrierArrive(barrier);
  }
}

}  // namespace etc
// The SM's clock.

namespace etc {

/// Cycles; wraps around.
ETC_DEVICE u32 Clock() {
  u32 cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles));
  return cycles;
}

}  // namespace etc
// Copies from global into shared memory that run on while the threads do something else.

namespace etc {

/// The cache policy of data that is read once: it leaves L2 before anything else does.
ETC_DEVICE u64 EvictFirstPolicy() {
  u64 policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// Completes at `barrier`, counted in bytes. Addresses and size are multiples of 16. The engine
// reads through the async proxy: the source must be memory that nothing in this launch writes. All
// lanes of the warp give the same operands, and one is elected to issue it: operands that differ
// from lane to lane would cost a loop over the lanes.
ETC_DEVICE void BulkCopyElected(u32 shared, const void* global, int bytes, u32 barrier,
                                u64 policy) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "@p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1], %2, [%3], %4;\n"
      "}" ::"r"(shared),
      "l"(global), "r"(bytes), "r"(barrier), "l"(policy)
      : "memory");
}

// Sixteen bytes, or zeros where nothing `exists`, and then nothing is read: not by way of L1, which
// may hold an older line.
// The writes are this thread's own, and generic: they count as such for every fence and barrier.
ETC_DEVICE void CopyPiece(u32 shared, const void* global, bool exists) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
               "r"(exists ? 16 : 0)
               : "memory");
}

/// Closes the group of this thread's pieces so far; it may be empty.
ETC_DEVICE void CopyCommit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Until at most `pending` groups of this thread's pieces are on their way.
template <int pending>
ETC_DEVICE void CopyWait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

}  // namespace etc
// How a CTA's warps divide its registers, and what may not stay in them.

namespace etc {

// For whole groups of four warps. A group that takes waits until others have given.
template <int count>
ETC_DEVICE void GiveRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
ETC_DEVICE void TakeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

/// The same value, which the compiler may not see through: what is made of it is made here, each
/// time, and not ahead of a loop, where it would take registers for all of it.
template <class Word>
ETC_DEVICE Word Opaque(Word value) {
  asm volatile("" : "+r"(value));
  return value;
}

/// What is made of the register's value is made behind what stands before in the text, and the
/// value itself is made before what follows.
ETC_DEVICE void Pin(float& value) { asm volatile("" : "+f"(value)::"memory"); }
ETC_DEVICE void Pin(u32& value) { asm volatile("" : "+r"(value)::"memory"); }

}  // namespace etc

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

/// Where a role stands in the ring. Two barriers for each slot: full, then empty.
struct Ring {
  u32 first_slot, first_barrier, end_barrier, stride;
  u32 slot, barrier, parity = 0;

  ETC_DEVICE u32 Full() const { return barrier; }
  ETC_DEVICE u32 Empty() const { return barrier + 8; }
  ETC_DEVICE int Index() const { return int(barrier - first_barrier) / 16; }
  ETC_DEVICE void Advance() {
    slot += stride;
    barrier += 16;
    if (barrier == end_barrier) {
      slot = first_slot;
      barrier = first_barrier;
      parity ^= 1;
    }
  }
};

/// What the consumer warps and the epilogue warp hand to each other.
struct Exchange {
  static constexpr int kBuffers = 3;  // partials by which the epilogue warp may be behind
  static constexpr int kAhead = 2;    // tasks that it may have prepared

  Ring buffers;   // a buffer holds the partials of one task
  Ring begun;     // no data: the beginnings of shares
  Ring prepared;  // no data, never empty: a task's partials say that its preparation was read
};

struct Loader {
  static constexpr int kNoLimit = 1 << 30;

  int thread, lane;
  Ring ring;
  u64 policy;
  Ring landing;  // the oldest slot that may still be on its way
  int slots;     // of the ring
  int in_flight_limit;
  int ahead = 0;
  u32 first = 0, first_parity = 0;  // the barrier of the share's first slot; 0: none yet
  bool begun = true;
  int interval = 0;
  int in_flight = 0;
  u32 issued = 0;  // the clock at the last issue

  /// A full queue of weight reads delays the signals and activations that other CTAs wait for, and
  /// so does a burst of them: most_in_flight slots may be on their way at once, and from one slot's
  /// issue to the next pass least_interval clock cycles or more. More in flight than the ring has
  /// slots would be waited for in vain. Once in a share: until the consumers have given back its
  /// first slot, only most_ahead may be on their way, as those before are still storing what others
  /// wait for.
  ETC_DEVICE void SetThrottle(int most_in_flight, int least_interval, int most_ahead = kNoLimit) {
    in_flight_limit = min(most_in_flight, slots);
    interval = least_interval;
    ahead = min(most_ahead, in_flight_limit);
    first = 0;
    begun = ahead == in_flight_limit;
  }
  /// Waits for a free slot, and for its turn; gives its shared address. For all lanes.
  ETC_DEVICE u32 Acquire() {
    begun = begun || (first != 0 && __all_sync(0xffffffffu, BarrierTest(first, first_parity)));
    for (int most = begun ? in_flight_limit : ahead; in_flight >= most; --in_flight) {
      BarrierWait(landing.Full(), landing.parity);
      landing.Advance();
    }
    ++in_flight;
    BarrierWait(ring.Empty(), ring.parity ^ 1);
    if (first == 0) {
      first = ring.Empty();
      first_parity = ring.parity;
    }
    if (interval > 0) {
      while (Clock() - issued < u32(interval)) {
      }
      issued = Clock();
    }
    return ring.slot;
  }
  /// Announces all bytes that will be copied into the slot; for all lanes, before the copies. None
  /// end the phase at once: then all lanes must have seen the one before, so `Sync` comes first.
  ETC_DEVICE void Expect(int bytes) {
    if (lane == 0) {
      BarrierArriveExpect(ring.Full(), bytes);
    }
    __syncwarp();
  }
  /// Copies into the slot; for all lanes, with the same arguments: one of them issues it.
  ETC_DEVICE void Copy(u32 destination, const void* source, int bytes) {
    BulkCopyElected(destination, source, bytes, ring.Full(), policy);
  }
  /// Moves on to the next slot; for all lanes.
  ETC_DEVICE void Advance() { ring.Advance(); }
  /// A barrier of all threads of this role.
  ETC_DEVICE void Sync() { __syncwarp(); }
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

// A kernel's Prefetch is optional; the argument of type int prefers the overload that calls it.
template <class Kernel, class Args, class... Coordinates>
ETC_DEVICE auto PrefetchTask(int, const Consumer& consumer, const Args& args, Coordinates... task)
    -> decltype(Kernel::Prefetch(consumer, args, int(task)...)) {
  Kernel::Prefetch(consumer, args, int(task)...);
}
template <class Kernel, class Args, class... Coordinates>
ETC_DEVICE void PrefetchTask(long, const Consumer&, const Args&, Coordinates...) {}

/// Carves the dynamic shared memory of a CTA: ring, scratch, the epilogue warp's buffers, barriers.
/// kSlotBytes is 0 without a ring, kPartialsBytes (of one buffer) without a reduction; the ring has
/// as many slots as there is room for, but no more than kDepth.
template <int kSlotBytes, int kScratchBytes, int kPartialsBytes, int kSharedBytes,
          int kDepth = 1 << 30>
struct Block {
  // The helpers are one group of four warps, so that it can give registers to the consumers.
  static constexpr int kThreads = Consumer::kThreads + 128;
  static constexpr int kRingSlotBytes = (kSlotBytes + 127) / 128 * 128;
  static constexpr int kScratch = (kScratchBytes + 127) / 128 * 128;
  static constexpr int kPartials = (kPartialsBytes + 127) / 128 * 128;
  static constexpr int kOwnBytes =
      kScratch + Exchange::kBuffers * kPartials + (Exchange::kBuffers + 1 + Exchange::kAhead) * 16;
  static_assert(kOwnBytes <= kSharedBytes, "the scratch does not fit into shared memory");
  static constexpr int kRoom = (kSharedBytes - kOwnBytes) / (kRingSlotBytes + 16);
  static constexpr int kSlots = kSlotBytes == 0 ? 0 : kRoom < kDepth ? kRoom : kDepth;
  static_assert(kSlotBytes == 0 || kSlots >= 2, "shared memory has no room for two ring slots");

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
    constexpr int helper = 96;
    constexpr int spare = (launched - helper) * 128 / Consumer::kThreads / 8 * 8;
    if (threadIdx.x >= Consumer::kThreads) {
      GiveRegisters<helper>();
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
// Event counters in global memory. Two sets, used by turns: a launch counts in one, which it finds
// zero, and clears the other for the next launch. docs/runtime.md has the layout.

// Loads and stores whose width, order or scope matters.

namespace etc {

// Acquire at GPU scope: reads that follow see what was written before the release that stored the
// value.
ETC_DEVICE u32 LoadAcquire(const u32* address) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

// Relaxed at GPU scope: never from a stale line of L1, orders nothing.
ETC_DEVICE u32 LoadRelaxed(const u32* address) {
  u32 value;
  asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

// The same where `wanted`, without a branch; else the words stay as they are. Volatile, so that
// many stay in flight.
ETC_DEVICE void LoadRelaxedIf(u32& word, const u32* address, bool wanted) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %2, 0;\n"
      "@p ld.relaxed.gpu.global.b32 %0, [%1];\n"
      "}"
      : "+r"(word)
      : "l"(address), "r"(u32(wanted))
      : "memory");
}
ETC_DEVICE void LoadRelaxedIf(Vec4& words, const u32* address, bool wanted) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %5, 0;\n"
      "@p ld.relaxed.gpu.global.v4.b32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "+r"(words.x), "+r"(words.y), "+r"(words.z), "+r"(words.w)
      : "l"(address), "r"(u32(wanted))
      : "memory");
}

ETC_DEVICE void StoreRelaxed(u32* address, u32 word) {
  asm volatile("st.relaxed.gpu.global.b32 [%0], %1;" ::"l"(address), "r"(word) : "memory");
}
ETC_DEVICE void StoreRelaxed(u32* address, u32 first, u32 second) {
  asm volatile("st.relaxed.gpu.global.v2.b32 [%0], {%1, %2};" ::"l"(address), "r"(first),
               "r"(second)
               : "memory");
}
ETC_DEVICE void StoreRelaxed(u32* address, Vec4 words) {
  asm volatile("st.relaxed.gpu.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(words.x),
               "r"(words.y), "r"(words.z), "r"(words.w)
               : "memory");
}

// Release at GPU scope; after a barrier of the CTA it covers the writes of every thread in it.
ETC_DEVICE void AddRelease(u32* address, u32 amount) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(address), "r"(amount) : "memory");
}

// Acquire and release at GPU scope: the last to arrive sees what all the others did.
ETC_DEVICE u32 FetchAddAcquireRelease(u32* address, u32 amount) {
  u32 previous;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(previous)
               : "l"(address), "r"(amount)
               : "memory");
  return previous;
}

// Between two looks at a word that another CTA will change: here the load itself takes its time.
ETC_DEVICE void PollAgain() {}

// Weak: ordered by the barrier that follows the wait for the data. Volatile, so that several of
// them stay in flight in the order in which they were written down.
ETC_DEVICE Vec4 LoadGlobal(const void* address) {
  Vec4 value;
  asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(address)
               : "memory");
  return value;
}

// The same where `exists`, zeros elsewhere; without a branch.
ETC_DEVICE Vec4 LoadGlobalIf(const void* address, bool exists) {
  Vec4 value;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %5, 0;\n"
      "mov.b32 %0, 0;\n"
      "mov.b32 %1, 0;\n"
      "mov.b32 %2, 0;\n"
      "mov.b32 %3, 0;\n"
      "@p ld.global.v4.b32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "=&r"(value.x), "=&r"(value.y), "=&r"(value.z), "=&r"(value.w)
      : "l"(address), "r"(u32(exists))
      : "memory");
  return value;
}

// A hint: brings a line of 128 bytes into L2.
ETC_DEVICE void PrefetchLine(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

ETC_DEVICE void StoreGlobal(void* address, Vec4 value) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

// Volatile, so that several of them stay in flight in the order in which they were written down.
ETC_DEVICE Vec4 LoadShared(u32 address) {
  Vec4 value;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(address)
               : "memory");
  return value;
}

ETC_DEVICE u32 LoadSharedWord(u32 address) {
  u32 value;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

ETC_DEVICE void StoreShared(u32 address, u32 value) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

ETC_DEVICE void StoreShared(u32 address, Vec4 value) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

// Four 8 x 8 matrices of 16-bit elements, whose rows of 16 bytes may lie anywhere: lane 8i + j
// gives the address of row j of matrix i, and gets of each matrix the columns 2 (lane % 4) and the
// next of row lane / 4. Volatile, like LoadShared.
ETC_DEVICE Vec4 LoadMatrices(u32 address) {
  Vec4 value;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(address)
               : "memory");
  return value;
}

// LoadShared where `exists`, zeros elsewhere; without a branch.
ETC_DEVICE Vec4 LoadSharedIf(u32 address, bool exists) {
  Vec4 value;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %5, 0;\n"
      "mov.b32 %0, 0;\n"
      "mov.b32 %1, 0;\n"
      "mov.b32 %2, 0;\n"
      "mov.b32 %3, 0;\n"
      "@p ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "=&r"(value.x), "=&r"(value.y), "=&r"(value.z), "=&r"(value.w)
      : "r"(address), "r"(u32(exists))
      : "memory");
  return value;
}

// Neighbouring floats, aligned to all of them.
ETC_DEVICE void LoadShared(u32 address, float (&values)[1]) {
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(values[0]) : "r"(address) : "memory");
}
ETC_DEVICE void LoadShared(u32 address, float (&values)[2]) {
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
               : "=f"(values[0]), "=f"(values[1])
               : "r"(address)
               : "memory");
}
ETC_DEVICE void LoadShared(u32 address, float (&values)[4]) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
               : "r"(address)
               : "memory");
}
ETC_DEVICE void StoreShared(u32 address, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}
ETC_DEVICE void StoreShared(u32 address, float value, float next) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(value), "f"(next) : "memory");
}

}  // namespace etc

namespace etc {

struct Events {
  static constexpr int kStride = 32;  // words: each counter has its own line of 128 bytes

  u32* header;   // epoch, arrivals
  u64 capacity;  // counters in a set
  u32 set;       // this launch's

  /// For all threads of the CTA, before the barrier of Block: every thread has read the epoch
  /// before any can finish.
  ETC_DEVICE Events(void* memory, u64 events) {
    header = static_cast<u32*>(memory);
    capacity = events;
    set = LoadRelaxed(header) & 1;
    u32* other = header + (1 + (set ^ 1) * capacity) * kStride;
    u64 threads = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < capacity; i += threads) {
      other[i * kStride] = 0;
    }
  }

  /// Opaque, or the compiler would keep the address of the set for a whole kernel.
  ETC_DEVICE u32* Counter(i64 index) const {
    return header + (1 + Opaque(set) * capacity + index) * kStride;
  }

  /// One thread polls; the caller's Sync, after all of its waits, covers the others. The count is
  /// opaque, or the loop may read it from local memory each time.
  template <class Role>
  ETC_DEVICE void WaitOne(const Role& role, i64 index, u32 count) const {
    if (role.thread == 0) {
      count = Opaque(count);
      while (LoadAcquire(Counter(index)) < count) {
      }
    }
  }
  /// In debug builds, of an event that may never be complete once a check has failed.
  template <class Role, class Checks>
  ETC_DEVICE void WaitOne(const Role& role, const Checks& checks, i64 index, u32 count) const {
    if (role.thread == 0) {
      while (LoadAcquire(Counter(index)) < count && !checks.Failed()) {
      }
    }
  }
  /// Events first .. first + number, one lane of the first warp for each at a time; without a Sync.
  ETC_DEVICE void WaitRange(const Consumer& consumer, i64 first, i64 number, u32 count) const {
    if (consumer.warp == 0) {
      for (i64 i = consumer.lane; i < number; i += 32) {
        while (LoadAcquire(Counter(first + i)) < count) {
        }
      }
    }
  }
  ETC_DEVICE void Wait(Consumer& consumer, i64 index, u32 count) const {
    WaitOne(consumer, index, count);
    consumer.Sync();
  }

  /// After a Sync of the threads whose writes it announces: the role's, Consumer or EpilogueWarp.
  template <class Role>
  ETC_DEVICE void NotifyOne(const Role& role, i64 index, u32 amount) const {
    if (role.thread == 0) {
      AddRelease(Counter(index), amount);
    }
  }
  template <class Role>
  ETC_DEVICE void Notify(Role& role, i64 index, u32 amount) const {
    role.Sync();
    NotifyOne(role, index, amount);
  }

  /// The end of the consumer role: the last CTA to leave opens the next epoch.
  template <class Flags>
  ETC_DEVICE void Finish(Consumer& consumer, const Flags& flags, i64 flagged_bytes) const {
    consumer.Sync();
    if (consumer.thread == 0 && FetchAddAcquireRelease(header + 1, 1) == gridDim.x - 1) {
      header[1] = 0;
      header[0] += 1;
      flags.Finish(flagged_bytes);
    }
  }
};

/// The memory of a kernel's flagged buffers: a header of 256 bytes, then the buffers.
struct FlagState {
  static constexpr int kHeaderBytes = 256;

  u32* header;   // launches, then how far the last one wrote, in units of 256 bytes
  u32 set;       // the set of this launch
  u32 previous;  // how far the launch before wrote

  /// For all threads of the CTA, before the barrier of Block, as in Events.
  ETC_DEVICE explicit FlagState(void* memory) {
    header = static_cast<u32*>(memory);
    set = LoadRelaxed(header) & 1;
    previous = LoadRelaxed(header + 1);
  }

  /// Clears what the launch before wrote: for `threads` threads of each CTA.
  ETC_DEVICE void Clear(int thread, int threads) const {
    constexpr u32 line = 8;  // pieces of 16 bytes in a line of one set
    char* other = reinterpret_cast<char*>(header) + kHeaderBytes + (set ^ 1) * (line * 16);
    u32 stride = gridDim.x * threads;
    for (u32 i = blockIdx.x * threads + thread; i < previous * line; i += stride) {
      StoreGlobal(other + u64(i / line) * 256 + i % line * 16, Vec4{0, 0, 0, 0});
    }
  }

  /// By the last CTA to leave. `bytes`: the size of the buffers.
  ETC_DEVICE void Finish(i64 bytes) const {
    header[0] += 1;
    header[1] = u32((bytes + 255) / 256);
  }
};

/// Of a kernel without flagged buffers.
struct NoFlags {
  static constexpr u32 set = 0;
  ETC_DEVICE void Clear(int, int) const {}
  ETC_DEVICE void Finish(i64) const {}
};

}  // namespace etc
// Scalar functions of generated bodies, with the language's semantics; the host target uses them
// too.

namespace etc {

/// For sizes that are known when the text is compiled.
constexpr int LargerOf(int a, int b) { return a < b ? b : a; }

template <class T>
ETC_DEVICE T Min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
ETC_DEVICE T Max(T a, T b) {
  return a < b ? b : a;
}
template <class T>
ETC_DEVICE T Abs(T a) {
  return a < T(0) ? -a : a;
}

// Integer division rounds towards minus infinity. Sizes and indices fit 32 bits nearly always, and
// there the hardware divides several times faster.
ETC_DEVICE i64 FloorDiv(i64 a, i64 b) {
  if ((u64(a) | u64(b)) >> 32 == 0) {
    return u32(a) / u32(b);
  }
  i64 quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
ETC_DEVICE i64 FloorMod(i64 a, i64 b) { return a - FloorDiv(a, b) * b; }
/// The same for 0 <= a < 2^32 and 0 < b < 2^32: no branch, so it can move out of a loop.
ETC_DEVICE i64 SmallDiv(i64 a, i64 b) { return u32(a) / u32(b); }
ETC_DEVICE i64 SmallMod(i64 a, i64 b) { return u32(a) % u32(b); }
ETC_DEVICE i64 CeilDiv(i64 a, i64 b) { return -FloorDiv(-a, b); }
ETC_DEVICE i64 Align(i64 a, i64 b) { return CeilDiv(a, b) * b; }

// The same for divisors that may be zero or -1, where the machine's division traps or yields
// anything: a quotient by zero is 0, and a remainder the dividend.
ETC_DEVICE i64 TotalFloorDiv(i64 a, i64 b) {
  return b == 0 ? 0 : b == -1 ? i64(0 - u64(a)) : FloorDiv(a, b);
}
ETC_DEVICE i64 TotalFloorMod(i64 a, i64 b) { return b == 0 ? a : b == -1 ? 0 : FloorMod(a, b); }
ETC_DEVICE i64 TotalCeilDiv(i64 a, i64 b) {
  return b == 0 ? 0 : b == -1 ? i64(0 - u64(a)) : CeilDiv(a, b);
}
ETC_DEVICE i64 TotalAlign(i64 a, i64 b) { return TotalCeilDiv(a, b) * b; }

/// Towards zero; the nearest integer of the type for what it does not hold, and 0 for NaN.
template <class T, class F>
ETC_DEVICE i64 SaturatingInt(F value) {
  constexpr bool kSigned = T(-1) < T(0);
  constexpr int kDigits = int(sizeof(T)) * 8 - (kSigned ? 1 : 0);
  constexpr i64 kLargest = i64(~u64(0) >> (64 - kDigits));
  constexpr i64 kLeast = kSigned ? -kLargest - 1 : 0;
  if (!(value == value)) {
    return 0;
  }
  if (value < F(kLeast)) {
    return kLeast;
  }
  return value < F(u64(1) << kDigits) ? i64(value) : kLargest;
}

// A shift by less than 0 or more than 63 places shifts everything out.
ETC_DEVICE i64 ShiftLeft(i64 a, i64 places) { return u64(places) > 63 ? 0 : i64(u64(a) << places); }
ETC_DEVICE i64 ShiftRight(i64 a, i64 places) { return a >> (u64(places) > 63 ? 63 : places); }

/// Where element (row, column) stands among rows x columns elements in tiles: [row / kRows,
/// column / kColumns, row % kRows, column % kColumns]. kSwizzled, of a swizzled tile: the bytes of
/// an element.
template <int kRows, int kColumns, int kSwizzled = 0>
ETC_DEVICE i64 TileOffset(i64 row, i64 column, i64 columns) {
  u64 r = u64(row), c = u64(column);
  u64 place = r % kRows * kColumns + c % kColumns;
  if constexpr (kSwizzled > 0) {
    constexpr u64 last_piece = kColumns * kSwizzled / 16 - 1;
    place ^= (place * kSwizzled >> 7 & last_piece) * (16 / kSwizzled);
  }
  return i64(r / kRows * kRows * u64(columns) + c / kColumns * (kRows * kColumns) + place);
}

ETC_DEVICE float Exp(float a) { return expf(a); }
ETC_DEVICE float Log(float a) { return logf(a); }
ETC_DEVICE float Sqrt(float a) { return sqrtf(a); }
ETC_DEVICE float Rsqrt(float a) { return 1.0f / sqrtf(a); }
ETC_DEVICE float Sin(float a) { return sinf(a); }
ETC_DEVICE float Cos(float a) { return cosf(a); }
ETC_DEVICE float Tanh(float a) { return tanhf(a); }
ETC_DEVICE float Pow(float a, float b) { return powf(a, b); }

ETC_DEVICE float ExpBase2(float a) { return exp2f(a); }
ETC_DEVICE float LogBase2(float a) { return log2f(a); }
ETC_DEVICE float Sigmoid(float a) { return 1.0f / (1.0f + expf(-a)); }
ETC_DEVICE float Erf(float a) { return erff(a); }
ETC_DEVICE float Floor(float a) { return floorf(a); }
ETC_DEVICE float Ceil(float a) { return ceilf(a); }
ETC_DEVICE float Round(float a) { return rintf(a); }

ETC_DEVICE double Exp(double a) { return exp(a); }
ETC_DEVICE double Log(double a) { return log(a); }
ETC_DEVICE double Sqrt(double a) { return sqrt(a); }
ETC_DEVICE double Rsqrt(double a) { return 1.0 / sqrt(a); }
ETC_DEVICE double Sin(double a) { return sin(a); }
ETC_DEVICE double Cos(double a) { return cos(a); }
ETC_DEVICE double Tanh(double a) { return tanh(a); }
ETC_DEVICE double Pow(double a, double b) { return pow(a, b); }
ETC_DEVICE double ExpBase2(double a) { return exp2(a); }
ETC_DEVICE double LogBase2(double a) { return log2(a); }
ETC_DEVICE double Sigmoid(double a) { return 1.0 / (1.0 + exp(-a)); }
ETC_DEVICE double Erf(double a) { return erf(a); }
ETC_DEVICE double Floor(double a) { return floor(a); }
ETC_DEVICE double Ceil(double a) { return ceil(a); }
ETC_DEVICE double Round(double a) { return rint(a); }

/// A float that every narrower type rounds to what it rounds the double to: the one towards zero,
/// with its last bit set where it is not equal.
ETC_DEVICE float OddFloat(double value) {
  float nearest = float(value);
  if (double(nearest) == value || value != value) {
    return nearest;
  }
  u32 bits = FloatToBits(nearest);
  bool away = Abs(double(nearest)) > Abs(value);
  return BitsToFloat((away ? bits - 1 : bits) | 1);
}

ETC_DEVICE float Infinity() { return 1.0f / 0.0f; }

/// What a reduction over no element yields: below, or above, every value.
template <class T>
ETC_DEVICE T Lowest();
template <>
ETC_DEVICE float Lowest<float>() {
  return -Infinity();
}
template <>
ETC_DEVICE double Lowest<double>() {
  return -double(Infinity());
}
template <>
ETC_DEVICE i64 Lowest<i64>() {
  return -9223372036854775807LL - 1;
}
template <class T>
ETC_DEVICE T Highest();
template <>
ETC_DEVICE float Highest<float>() {
  return Infinity();
}
template <>
ETC_DEVICE double Highest<double>() {
  return double(Infinity());
}
template <>
ETC_DEVICE i64 Highest<i64>() {
  return 9223372036854775807LL;
}

}  // namespace etc
// Copies of boxes of a tensor from global into shared memory, which run on by themselves.

namespace etc {

/// What the copy engine knows of a tensor of three axes. The driver makes it (docs/runtime.md), and
/// it lies among the arguments of the launch.
struct alignas(64) TensorMap {
  u64 words[16];
};

/// Writes of this thread come before what the copy engine reads, in front of a release; and behind
/// an acquire, what the engine reads for this thread comes after what was released.
ETC_DEVICE void CopyFence() { asm volatile("fence.proxy.async;" ::: "memory"); }

/// A hint: the map will be needed.
ETC_DEVICE void PrefetchMap(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// The box that begins at a column of a row of a slice, into memory at a multiple of 1024 bytes: its
// rows one behind the other, swizzled as WgmmaDescriptor says, zeros where the tensor has nothing.
// Completes at `barrier` with the bytes of a whole box. All lanes of the warp give the same
// operands, and one is elected to issue it.
ETC_DEVICE void TensorCopyElected(u32 shared, const TensorMap* map, int column, int row, int slice,
                                  u32 barrier) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "@p cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %4}], [%5];\n"
      "}" ::"r"(shared),
      "l"(map), "r"(column), "r"(row), "r"(slice), "r"(barrier)
      : "memory");
}

}  // namespace etc
// GEMM of many rows: y[m, n] = sum over k of x[m, k] * w[n, k], bf16 with float sums. Tensor copies
// bring boxes of both operands, which are row-major, to the ring; the tensor cores read them there.
//
//   task (g, i, j)     rows i * kRows and on, columns j * kColumns and on; g only orders the tasks
//   box of x           [kRows, 64], 128 or 256 rows: half of them for each of two warpgroups
//   box of w           [kColumns, 64]
//   ring slot          a box of each, 64 k deep
//   MMA                wgmma m64nNk16, N = kColumns; a thread has kRows * kColumns / 256 sums
//
// The consumers give back a slot when the instructions behind it are issued, so that the tensor
// cores always have a group waiting. Each warp stores its own rows, by way of scratch: whole lines
// of 128 bytes. Meanwhile the ring fills with the next task's boxes, and the warpgroups, which wait
// for nothing of each other but slots, drift apart until one multiplies while the other stores.

// What tensor cores have made, from registers into rows of shared memory.

namespace etc {

// Four 8 x 8 matrices of 16-bit elements, as LoadMatrices reads them: lane 8i + j gives the address
// of row j of matrix i, and has of each matrix the columns 2 (lane % 4) and the next of row
// lane / 4.
ETC_DEVICE void StoreMatrices(u32 address, Vec4 value) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

}  // namespace etc
// Tensor core instructions of a warpgroup whose operands both lie in shared memory. The rules of
// wgmma.cuh hold: a fence in front of a group, and a wait behind it.

// Tensor core instructions of a warpgroup: four warps multiply 64 rows from their registers with
// columns that lie in shared memory. They run on after they are issued.

// How a wgmma instruction is told where its operand lies in shared memory.

namespace etc {

// The operand b, 16 k of some columns, in rows of 128 bytes, 64 k of one column each. Eight rows
// are an atom, which begins at a multiple of 1024 bytes; the 16 bytes j of row i stand at
// (j ^ i % 8) * 16 of it, and atoms follow each other. `shared` is the atom's start plus twice the
// first of the 16 k.
ETC_DEVICE u64 WgmmaDescriptor(u32 shared) {
  constexpr u64 swizzle_128_bytes = u64(1) << 62;
  constexpr u64 atom_stride = u64(1024 / 16) << 32;
  constexpr u64 ignored_stride = u64(1) << 16;
  return swizzle_128_bytes | atom_stride | ignored_stride | (shared & 0x3ffff) / 16;
}

}  // namespace etc

namespace etc {

/// Before a group of Multiply, behind everything that wrote their registers; for all four warps.
ETC_DEVICE void WgmmaFence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/// Closes the group of those issued so far.
ETC_DEVICE void WgmmaCommit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/// Until at most `pending` groups run: only then their registers and their shared memory may be
/// written again.
template <int pending>
ETC_DEVICE void WgmmaWait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/// Generic writes of this thread to shared memory come before what the tensor cores read after the
/// next barrier: they read it as the copy engine does, through the async proxy.
ETC_DEVICE void WgmmaSharedFence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// d[64, n] += a[64, 16] * b[16, n]. Warp w of the four has the rows 16 w and on of a and d. With g
// = lane / 4 and q = lane % 4: a0 and a2 hold row g, a1 and a3 row g + 8 (k = 2q.. and 2q + 8..);
// of columns 8j and on, d[4j] and d[4j + 1] are row g, columns 2q and 2q + 1, d[4j + 2] and d[4j +
// 3] row g + 8.
template <int columns>
struct Wgmma;

template <>
struct Wgmma<16> {
  static ETC_DEVICE void Multiply(float (&d)[8], const u32 (&a)[4], u64 b) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, 1, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16"
        " {%0, %1, %2, %3, %4, %5, %6, %7},"
        " {%8, %9, %10, %11}, %12, p, 1, 1, 0;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
};

template <>
struct Wgmma<32> {
  static ETC_DEVICE void Multiply(float (&d)[16], const u32 (&a)[4], u64 b) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, 1, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16"
        " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15},"
        " {%16, %17, %18, %19}, %20, p, 1, 1, 0;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
};

template <>
struct Wgmma<64> {
  static ETC_DEVICE void Multiply(float (&d)[32], const u32 (&a)[4], u64 b) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, 1, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"
        " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17,"
        " %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31},"
        " {%32, %33, %34, %35}, %36, p, 1, 1, 0;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
};

template <>
struct Wgmma<128> {
  static ETC_DEVICE void Multiply(float (&d)[64], const u32 (&a)[4], u64 b) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, 1, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
        " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17,"
        " %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33,"
        " %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49,"
        " %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63},"
        " {%64, %65, %66, %67}, %68, p, 1, 1, 0;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
          "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
          "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
          "+f"(d[63])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
};

}  // namespace etc

namespace etc {

// d[64, n] = a[64, 16] * b[16, n], and d added to that where `adds`. Both operands are as
// WgmmaDescriptor says, a by its rows and b by its columns; d is spread over the lanes as that of
// Wgmma.
template <int columns>
struct WgmmaShared;

template <>
struct WgmmaShared<64> {
  static ETC_DEVICE void Multiply(float (&d)[32], u64 a, u64 b, bool adds) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.u32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"
        " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16,"
        " %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31},"
        " %32, %33, p, 1, 1, 0, 0;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b), "r"(u32(adds)));
  }
};

template <>
struct WgmmaShared<128> {
  static ETC_DEVICE void Multiply(float (&d)[64], u64 a, u64 b, bool adds) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.u32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
        " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16,"
        " %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
        " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46,"
        " %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61,"
        " %62, %63},"
        " %64, %65, p, 1, 1, 0, 0;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
          "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
          "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
          "+f"(d[63])
        : "l"(a), "l"(b), "r"(u32(adds)));
  }
};

template <>
struct WgmmaShared<192> {
  static ETC_DEVICE void Multiply(float (&d)[96], u64 a, u64 b, bool adds) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.u32 p, %98, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16"
        " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16,"
        " %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
        " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46,"
        " %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61,"
        " %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76,"
        " %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91,"
        " %92, %93, %94, %95},"
        " %96, %97, p, 1, 1, 0, 0;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
          "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
          "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
          "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]),
          "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]),
          "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]),
          "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]),
          "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
        : "l"(a), "l"(b), "r"(u32(adds)));
  }
};

template <>
struct WgmmaShared<256> {
  static ETC_DEVICE void Multiply(float (&d)[128], u64 a, u64 b, bool adds) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.u32 p, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"
        " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16,"
        " %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
        " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46,"
        " %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61,"
        " %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76,"
        " %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91,"
        " %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105,"
        " %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117,"
        " %118, %119, %120, %121, %122, %123, %124, %125, %126, %127},"
        " %128, %129, p, 1, 1, 0, 0;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
          "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
          "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
          "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]),
          "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]),
          "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]),
          "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]),
          "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]),
          "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
          "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]),
          "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]),
          "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]),
          "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
        : "l"(a), "l"(b), "r"(u32(adds)));
  }
};

}  // namespace etc
// Config members that an impl may leave out: a trait for each, with the value that then holds.

namespace etc {

template <class...>
using Void = void;

#define ETC_OPTION(Trait, member, Type, fallback)               \
  template <class Config, class = void>                         \
  struct Trait {                                                \
    static constexpr Type value = fallback;                     \
  };                                                            \
  template <class Config>                                       \
  struct Trait<Config, ::etc::Void<decltype(Config::member)>> { \
    static constexpr Type value = Config::member;               \
  }

#define ETC_WORD_OPTION(Trait, member, fallback)               \
  template <class Config, class = void>                        \
  struct Trait {                                               \
    using type = fallback;                                     \
  };                                                           \
  template <class Config>                                      \
  struct Trait<Config, ::etc::Void<typename Config::member>> { \
    using type = typename Config::member;                      \
  }

/// A scalar parameter that a device function may have or not: `fallback` where it has none.
#define ETC_SCALAR(Trait, name, Type, fallback)                                     \
  template <class Args, class = void>                                               \
  struct Trait {                                                                    \
    static constexpr bool kExists = false;                                          \
    static ETC_DEVICE Type Of(const Args&) { return fallback; }                     \
  };                                                                                \
  template <class Args>                                                             \
  struct Trait<Args, ::etc::Void<decltype(Args::scalars.name)>> {                   \
    static constexpr bool kExists = true;                                           \
    static ETC_DEVICE Type Of(const Args& args) { return Type(args.scalars.name); } \
  }

template <bool yes, class A, class B>
struct Choose {
  using type = A;
};
template <class A, class B>
struct Choose<false, A, B> {
  using type = B;
};

template <class A, class B>
struct IsSame {
  static constexpr bool value = false;
};
template <class A>
struct IsSame<A, A> {
  static constexpr bool value = true;
};

/// Stores with the rounding of the element's type.
template <class T>
ETC_DEVICE void StoreFloat(T* address, float value) {
  *address = FromFloat<T>(value);
}

__host__ __device__ constexpr int DivideUp(int a, int b) { return (a + b - 1) / b; }

}  // namespace etc

namespace etc {

template <class Config, class Args>
class ManyRowsGemm {
  static constexpr int kRows = Args::x_box_0;
  static constexpr int kColumns = Args::w_box_0;
  static constexpr int kStep = Args::x_box_1;  // k of a slot
  static constexpr int kDepth = int(Args::x_1);
  static constexpr int kOutputs = int(Args::y_1);
  static constexpr int kBlocks = kRows / 128;  // of 64 rows, of each warpgroup
  static_assert(kRows == 128 || kRows == 256, "a box of `x` has 128 or 256 rows");
  static_assert(kStep == 64 && Args::w_box_1 == 64, "a box has 64 columns");
  static_assert(kColumns % 64 == 0 && kBlocks * kColumns <= 256, "a thread has up to 128 sums");
  static_assert(kOutputs % 8 == 0 && kDepth % 8 == 0, "rows begin at multiples of 16 bytes");
  static_assert(Consumer::kWarps == 8, "the consumers are two warpgroups");

  static constexpr int kRowBytes = kStep * 2;
  static constexpr int kXBytes = kRows * kRowBytes;
  static constexpr int kSteps = DivideUp(kDepth, kStep);
  // A warp stages 16 rows of 64 outputs, in two places by turns.
  static constexpr int kStagedColumns = 64;
  static constexpr int kStagedBytes = 16 * kStagedColumns * 2;

 public:
  static constexpr int kSlotBytes = kXBytes + kColumns * kRowBytes;
  static constexpr int kScratchBytes = Consumer::kWarps * 2 * kStagedBytes;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int, int i, int j) {
#pragma unroll 1
    for (int step = 0; step < kSteps; ++step) {
      u32 slot = loader.Acquire();
      loader.Expect(kSlotBytes);
      u32 full = loader.ring.Full();
      TensorCopyElected(slot, args.x_map, step * kStep, i * kRows, args.x_slice, full);
      TensorCopyElected(slot + kXBytes, args.w_map, step * kStep, j * kColumns, args.w_slice, full);
      loader.Advance();
    }
  }

  ETC_DEVICE ManyRowsGemm(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int, int i, int j) {
    float sums[kBlocks][kColumns / 2];
    Multiply(consumer, sums);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      Store(consumer, args, i * kRows + FirstRow(consumer, block), j * kColumns, sums[block]);
    }
  }

 private:
  /// The first row of a block of this warp's warpgroup.
  static ETC_DEVICE int FirstRow(const Consumer& consumer, int block) {
    return (consumer.warp / 4 * kBlocks + block) * 64;
  }

  static ETC_DEVICE void Multiply(Consumer& consumer, float (&sums)[kBlocks][kColumns / 2]) {
    Ring used = consumer.ring;  // the oldest slot that instructions may still read
    u32 rows = FirstRow(consumer, 0) * kRowBytes;
#pragma unroll 1
    for (int step = 0; step < kSteps; ++step) {
      u32 slot = consumer.WaitAddress();
      consumer.ring.Advance();
      WgmmaFence();
#pragma unroll
      for (int k = 0; k < kStep; k += 16) {
        u64 w = WgmmaDescriptor(slot + kXBytes + k * 2);
#pragma unroll
        for (int block = 0; block < kBlocks; ++block) {
          u64 x = WgmmaDescriptor(slot + rows + block * 64 * kRowBytes + k * 2);
          WgmmaShared<kColumns>::Multiply(sums[block], x, w, step > 0 || k > 0);
        }
      }
      WgmmaCommit();
      if (step > 0) {
        WgmmaWait<1>();
        GiveBack(consumer, used);
      }
    }
    WgmmaWait<0>();
    GiveBack(consumer, used);
  }

  /// The tensor cores no longer read the slot.
  static ETC_DEVICE void GiveBack(const Consumer& consumer, Ring& used) {
    BarrierArriveWarp(used.Empty(), consumer.lane);
    used.Advance();
  }

  /// Stores this warp's 16 of 64 rows, those that exist.
  static ETC_DEVICE void Store(const Consumer& consumer, const Args& args, int first_row,
                               int first_column, const float (&sums)[kColumns / 2]) {
    int lane = consumer.lane;
    first_row += consumer.warp % 4 * 16;
    u32 staged = SharedAddress(consumer.scratch) + consumer.warp * 2 * kStagedBytes;
#pragma unroll
    for (int part = 0; part < kColumns / kStagedColumns; ++part) {
      u32 place = staged + part % 2 * kStagedBytes;
      __syncwarp();  // what was there before has been read
#pragma unroll
      for (int pair = 0; pair < kStagedColumns / 16; ++pair) {
        const float* sum = sums + part * (kStagedColumns / 2) + pair * 8;
        // Matrices: the upper and the lower 8 rows of 8 columns, then of the next 8.
        StoreMatrices(InPlace(place, lane % 16, pair * 2 + lane / 16),
                      {PackBf16(sum[0], sum[1]), PackBf16(sum[2], sum[3]), PackBf16(sum[4], sum[5]),
                       PackBf16(sum[6], sum[7])});
      }
      __syncwarp();
#pragma unroll
      for (int round = 0; round < 4; ++round) {
        int row = round * 4 + lane / 8, piece = lane % 8;
        Vec4 outputs = LoadShared(InPlace(place, row, piece));
        int column = first_column + part * kStagedColumns + piece * 8;
        if (first_row + row < args.y_0 && column < kOutputs) {
          StoreGlobal(args.y + i64(first_row + row) * kOutputs + column, outputs);
        }
      }
    }
  }

  /// Where 16 bytes of a row are staged: 8 rows of one piece, or a row's pieces, in all banks.
  static ETC_DEVICE u32 InPlace(u32 place, int row, int piece) {
    return place + row * kStagedColumns * 2 + (piece ^ row % 8) * 16;
  }
};

}  // namespace etc

namespace etc {

namespace kernel_g {
[[maybe_unused]] constexpr i64 k_N = 96LL;
[[maybe_unused]] constexpr i64 k_K = 128LL;
struct Dims {
  i64 d_m;
};
struct Params {
  TensorMap maps[3];
  const bf16* t_x;
  const bf16* t_w;
  bf16* t_y;
  i64 d_m;
  char* workspace;
  void* event_memory;
  i64 event_capacity;
  i64 unused[1];
  ETC_DEVICE Dims dims() const { return Dims{d_m}; }
};

struct Args_multiply {
  const bf16* x;
  i64 x_0;
  static constexpr i64 x_1 = 128;
  const TensorMap* x_map;
  int x_slice;
  static constexpr int x_box_0 = 128, x_box_1 = 64;
  const bf16* w;
  static constexpr i64 w_0 = 96;
  static constexpr i64 w_1 = 128;
  const TensorMap* w_map;
  int w_slice;
  static constexpr int w_box_0 = 128, w_box_1 = 64;
  bf16* y;
  i64 y_0;
  static constexpr i64 y_1 = 96;
  Dims dims;
};
struct Config_multiply {};
using Impl_multiply = etc::ManyRowsGemm<Config_multiply, Args_multiply>;

struct Args_square {
  const bf16* p_x;
  i64 n0_x;
  static constexpr i64 n1_x = 96;
  bf16* p_y;
  i64 n0_y;
  static constexpr i64 n1_y = 128;
  Dims dims;
};
struct Body_square {
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;
  ETC_DEVICE Body_square(Consumer&, const Args_square&) {}
  ETC_DEVICE void Run(Consumer& consumer, const Args_square& args, i64 i_i) {
    [[maybe_unused]] const Dims& dims = args.dims;
    {
      const i64 lo0 = (i_i * 128LL), n0 = Max(0LL, Min(((i_i + 1LL) * 128LL), dims.d_m) - lo0);
      const i64 lo1 = 0LL, n1 = Max(0LL, k_K - lo1);
      for (i64 step = consumer.thread, steps = n0 * n1; step < steps; step += Consumer::kThreads) {
        i64 rest = step;
        const i64 i_c = lo1 + FloorMod(rest, n1);
        rest = FloorDiv(rest, n1);
        const i64 i_r = lo0 + rest;
        {
          args.p_y[(i_r)*128LL + i_c] =
              FromFloat<bf16>(float((ToFloat(args.p_x[(i_r)*96LL + FloorMod(i_c, k_N)]) *
                                     ToFloat(args.p_x[(i_r)*96LL + FloorMod(i_c, k_N)]))));
        }
      }
    }
    consumer.Sync();
  }
};
using Impl_square = Body_square;

constexpr int kSlotBytes =
    LargerOf(LargerOf(0, Impl_multiply::kSlotBytes), Impl_square::kSlotBytes);
constexpr int kScratchBytes =
    LargerOf(LargerOf(0, Impl_multiply::kScratchBytes), Impl_square::kScratchBytes);
constexpr int kPartialsBytes = LargerOf(LargerOf(0, ReductionOf<Impl_multiply>::kPartialsBytes),
                                        ReductionOf<Impl_square>::kPartialsBytes);
using CtaMemory = Block<kSlotBytes, kScratchBytes, kPartialsBytes, 232448>;

ETC_DEVICE auto OpenFlags([[maybe_unused]] const Params& params) { return NoFlags{}; }
ETC_DEVICE i64 FlaggedBytes(const Params& params) {
  [[maybe_unused]] const Dims dims = params.dims();
  return 0LL - 0LL;
}

ETC_DEVICE void Load(const Params& params, [[maybe_unused]] const Events& events, Loader& loader,
                     i64 sm, i64 sms) {
  [[maybe_unused]] const Dims dims = params.dims();
  [[maybe_unused]] bf16* const b_h = reinterpret_cast<bf16*>(params.workspace + 0LL);
  [[maybe_unused]] bf16* const b_s =
      reinterpret_cast<bf16*>(params.workspace + Align(((2LL * dims.d_m) * k_N), 256LL));
  [[maybe_unused]] const i64 e_h_ready = 0LL;
  [[maybe_unused]] const i64 e_s_ready = CeilDiv(dims.d_m, 128LL);
  {  // @multiply
    const i64 sms = GridSize();
    const i64 lo0 = 0LL, n0 = Max(0LL, CeilDiv(dims.d_m, 128LL) - lo0);
    const i64 tasks = 1LL * n0;
    i64 task = sm - SmallMod(0LL, sms);
    task += task < 0 ? sms : 0;
    if (task < tasks) {
      Args_multiply args;
      args.x = params.t_x;
      args.x_map = &params.maps[0];
      args.x_slice = int(0LL);
      args.x_0 = dims.d_m;
      args.w = params.t_w + ((0LL) * k_N) * k_K;
      args.w_map = &params.maps[1];
      args.w_slice = int((0LL) * 2LL + 0LL);
      args.y = b_h;
      args.y_0 = dims.d_m;
      args.dims = dims;
      loader.SetThrottle(5, 0);
#pragma unroll 1
      for (; task < tasks; task += sms) {
        i64 rest = task;
        const i64 i_i = lo0 + rest;
        Impl_multiply::Load(loader, args, i_i);
      }
    }
  }
  {  // @multiply
    const i64 sms = GridSize();
    const i64 lo0 = 0LL, n0 = Max(0LL, CeilDiv(dims.d_m, 128LL) - lo0);
    const i64 tasks = 1LL * n0;
    i64 task = sm - SmallMod((CeilDiv(dims.d_m, 128LL) + CeilDiv(dims.d_m, 128LL)), sms);
    task += task < 0 ? sms : 0;
    if (task < tasks) {
      Args_multiply args;
      args.x = b_s;
      args.x_map = &params.maps[2];
      args.x_slice = int(0LL);
      args.x_0 = dims.d_m;
      args.w = params.t_w + ((1LL) * k_N) * k_K;
      args.w_map = &params.maps[1];
      args.w_slice = int((0LL) * 2LL + 1LL);
      args.y = params.t_y;
      args.y_0 = dims.d_m;
      args.dims = dims;
      loader.SetThrottle(5, 0);
#pragma unroll 1
      for (; task < tasks; task += sms) {
        i64 rest = task;
        const i64 i_i = lo0 + rest;
        events.WaitOne(loader, e_s_ready + i_i, u32(1LL));
        loader.Sync();
        CopyFence();
        Impl_multiply::Load(loader, args, i_i);
      }
    }
  }
}

ETC_DEVICE void Reduce(const Params& params, const Events& events, [[maybe_unused]] u32 set,
                       EpilogueWarp& epilogue_warp, i64 sm, i64 sms) {
  [[maybe_unused]] const Dims dims = params.dims();
  [[maybe_unused]] bf16* const b_h = reinterpret_cast<bf16*>(params.workspace + 0LL);
  [[maybe_unused]] bf16* const b_s =
      reinterpret_cast<bf16*>(params.workspace + Align(((2LL * dims.d_m) * k_N), 256LL));
  [[maybe_unused]] const i64 e_h_ready = 0LL;
  [[maybe_unused]] const i64 e_s_ready = CeilDiv(dims.d_m, 128LL);
  if constexpr (ReductionOf<Impl_multiply>::kExists) {  // @multiply
    const i64 sms = GridSize();
    const i64 lo0 = 0LL, n0 = Max(0LL, CeilDiv(dims.d_m, 128LL) - lo0);
    const i64 tasks = 1LL * n0;
    i64 task = sm - SmallMod(0LL, sms);
    task += task < 0 ? sms : 0;
    if (task < tasks) {
      Args_multiply args;
      args.x = params.t_x;
      args.x_map = &params.maps[0];
      args.x_slice = int(0LL);
      args.x_0 = dims.d_m;
      args.w = params.t_w + ((0LL) * k_N) * k_K;
      args.w_map = &params.maps[1];
      args.w_slice = int((0LL) * 2LL + 0LL);
      args.y = b_h;
      args.y_0 = dims.d_m;
      args.dims = dims;
      ReductionOf<Impl_multiply> reduction(epilogue_warp, args);
      u32 done = 0;
      i64 ahead = task;
#pragma unroll 1
      for (; task < tasks; task += sms, ++done) {
        if constexpr (PreparesTasks<ReductionOf<Impl_multiply>>::value) {
#pragma unroll 1
          for (; ahead < tasks && ahead <= task + sms; ahead += sms) {
            i64 rest = ahead;
            const i64 i_i = lo0 + rest;
            PrepareTask(reduction, epilogue_warp, args, i_i);
          }
        }
        i64 rest = task;
        const i64 i_i = lo0 + rest;
        reduction.Run(epilogue_warp, args, i_i);
        CopyFence();
        epilogue_warp.Sync();
        events.NotifyOne(epilogue_warp, e_h_ready + i_i, u32(1));
      }
    }
  }
  if constexpr (ReductionOf<Impl_square>::kExists) {  // @square
    const i64 sms = GridSize();
    const i64 lo0 = 0LL, n0 = Max(0LL, CeilDiv(dims.d_m, 128LL) - lo0);
    const i64 tasks = 1LL * n0;
    i64 task = sm - SmallMod(CeilDiv(dims.d_m, 128LL), sms);
    task += task < 0 ? sms : 0;
    if (task < tasks) {
      Args_square args;
      args.p_x = b_h;
      args.n0_x = dims.d_m;
      args.p_y = b_s;
      args.n0_y = dims.d_m;
      args.dims = dims;
      u32 done = 0;
      i64 ahead = task;
#pragma unroll 1
      for (; task < tasks; task += sms, ++done) {
        ReductionOf<Impl_square> reduction(epilogue_warp, args);
        if constexpr (PreparesTasks<ReductionOf<Impl_square>>::value) {
#pragma unroll 1
          for (; ahead < tasks && ahead <= task; ahead += sms) {
            i64 rest = ahead;
            const i64 i_i = lo0 + rest;
            PrepareTask(reduction, epilogue_warp, args, i_i);
          }
        }
        i64 rest = task;
        const i64 i_i = lo0 + rest;
        reduction.Run(epilogue_warp, args, i_i);
        CopyFence();
        epilogue_warp.Sync();
        events.NotifyOne(epilogue_warp, e_s_ready + i_i, u32(1));
      }
    }
  }
  if constexpr (ReductionOf<Impl_multiply>::kExists) {  // @multiply
    const i64 sms = GridSize();
    const i64 lo0 = 0LL, n0 = Max(0LL, CeilDiv(dims.d_m, 128LL) - lo0);
    const i64 tasks = 1LL * n0;
    i64 task = sm - SmallMod((CeilDiv(dims.d_m, 128LL) + CeilDiv(dims.d_m, 128LL)), sms);
    task += task < 0 ? sms : 0;
    if (task < tasks) {
      Args_multiply args;
      args.x = b_s;
      args.x_map = &params.maps[2];
      args.x_slice = int(0LL);
      args.x_0 = dims.d_m;
      args.w = params.t_w + ((1LL) * k_N) * k_K;
      args.w_map = &params.maps[1];
      args.w_slice = int((0LL) * 2LL + 1LL);
      args.y = params.t_y;
      args.y_0 = dims.d_m;
      args.dims = dims;
      u32 done = 0;
      i64 ahead = task;
#pragma unroll 1
      for (; task < tasks; task += sms, ++done) {
        ReductionOf<Impl_multiply> reduction(epilogue_warp, args);
        if constexpr (PreparesTasks<ReductionOf<Impl_multiply>>::value) {
#pragma unroll 1
          for (; ahead < tasks && ahead <= task; ahead += sms) {
            i64 rest = ahead;
            const i64 i_i = lo0 + rest;
            PrepareTask(reduction, epilogue_warp, args, i_i);
          }
        }
        i64 rest = task;
        const i64 i_i = lo0 + rest;
        reduction.Run(epilogue_warp, args, i_i);
      }
    }
  }
}

ETC_DEVICE void Consume(const Params& params, const Events& events, [[maybe_unused]] u32 set,
                        Consumer& consumer, i64 sm, i64 sms) {
  [[maybe_unused]] const Dims dims = params.dims();
  [[maybe_unused]] bf16* const b_h = reinterpret_cast<bf16*>(params.workspace + 0LL);
  [[maybe_unused]] bf16* const b_s =
      reinterpret_cast<bf16*>(params.workspace + Align(((2LL * dims.d_m) * k_N), 256LL));
  [[maybe_unused]] const i64 e_h_ready = 0LL;
  [[maybe_unused]] const i64 e_s_ready = CeilDiv(dims.d_m, 128LL);
  {  // @multiply
    const i64 sms = GridSize();
    const i64 lo0 = 0LL, n0 = Max(0LL, CeilDiv(dims.d_m, 128LL) - lo0);
    const i64 tasks = 1LL * n0;
    i64 task = sm - SmallMod(0LL, sms);
    task += task < 0 ? sms : 0;
    if (task < tasks) {
      Args_multiply args;
      args.x = params.t_x;
      args.x_map = &params.maps[0];
      args.x_slice = int(0LL);
      args.x_0 = dims.d_m;
      args.w = params.t_w + ((0LL) * k_N) * k_K;
      args.w_map = &params.maps[1];
      args.w_slice = int((0LL) * 2LL + 0LL);
      args.y = b_h;
      args.y_0 = dims.d_m;
      args.dims = dims;
      {
        i64 rest = task;
        const i64 i_i = lo0 + rest;
        PrefetchTask<Impl_multiply>(0, consumer, args, i_i);
      }
      if constexpr (Impl_multiply::kScratchBytes > 0) {
        consumer.Sync();
      }
      Impl_multiply impl(consumer, args);
      u32 done = 0;
#pragma unroll 1
      for (; task < tasks; task += sms, ++done) {
        i64 rest = task;
        const i64 i_i = lo0 + rest;
        impl.Run(consumer, args, i_i);
        if constexpr (!ReductionOf<Impl_multiply>::kExists) {
          CopyFence();
          consumer.Sync();
          events.NotifyOne(consumer, e_h_ready + i_i, u32(1));
        }
      }
    }
  }
  {  // @square
    const i64 sms = GridSize();
    const i64 lo0 = 0LL, n0 = Max(0LL, CeilDiv(dims.d_m, 128LL) - lo0);
    const i64 tasks = 1LL * n0;
    i64 task = sm - SmallMod(CeilDiv(dims.d_m, 128LL), sms);
    task += task < 0 ? sms : 0;
    if (task < tasks) {
      Args_square args;
      args.p_x = b_h;
      args.n0_x = dims.d_m;
      args.p_y = b_s;
      args.n0_y = dims.d_m;
      args.dims = dims;
      {
        i64 rest = task;
        const i64 i_i = lo0 + rest;
        PrefetchTask<Impl_square>(0, consumer, args, i_i);
      }
      if constexpr (Impl_square::kScratchBytes > 0) {
        consumer.Sync();
      }
      u32 done = 0;
#pragma unroll 1
      for (; task < tasks; task += sms, ++done) {
        i64 rest = task;
        const i64 i_i = lo0 + rest;
        events.WaitOne(consumer, e_h_ready + i_i, u32(1LL));
        consumer.Sync();
        Impl_square impl(consumer, args);
        impl.Run(consumer, args, i_i);
        if constexpr (!ReductionOf<Impl_square>::kExists) {
          CopyFence();
          consumer.Sync();
          events.NotifyOne(consumer, e_s_ready + i_i, u32(1));
        }
      }
    }
  }
  {  // @multiply
    const i64 sms = GridSize();
    const i64 lo0 = 0LL, n0 = Max(0LL, CeilDiv(dims.d_m, 128LL) - lo0);
    const i64 tasks = 1LL * n0;
    i64 task = sm - SmallMod((CeilDiv(dims.d_m, 128LL) + CeilDiv(dims.d_m, 128LL)), sms);
    task += task < 0 ? sms : 0;
    if (task < tasks) {
      Args_multiply args;
      args.x = b_s;
      args.x_map = &params.maps[2];
      args.x_slice = int(0LL);
      args.x_0 = dims.d_m;
      args.w = params.t_w + ((1LL) * k_N) * k_K;
      args.w_map = &params.maps[1];
      args.w_slice = int((0LL) * 2LL + 1LL);
      args.y = params.t_y;
      args.y_0 = dims.d_m;
      args.dims = dims;
      {
        i64 rest = task;
        const i64 i_i = lo0 + rest;
        PrefetchTask<Impl_multiply>(0, consumer, args, i_i);
      }
      if constexpr (Impl_multiply::kScratchBytes > 0) {
        consumer.Sync();
      }
      u32 done = 0;
#pragma unroll 1
      for (; task < tasks; task += sms, ++done) {
        i64 rest = task;
        const i64 i_i = lo0 + rest;
        events.WaitOne(consumer, e_s_ready + i_i, u32(1LL));
        consumer.Sync();
        Impl_multiply impl(consumer, args);
        impl.Run(consumer, args, i_i);
      }
    }
  }
}
}  // namespace kernel_g

}  // namespace etc

extern "C" __device__ int ring_of_etc_g[2] = {etc::kernel_g::CtaMemory::kSlots,
                                              etc::kernel_g::CtaMemory::kRingSlotBytes};
extern "C" __global__ void __launch_bounds__(384, 1)
    etc_g(const __grid_constant__ etc::kernel_g::Params params) {
  etc::Events events(params.event_memory, params.event_capacity);
  const auto flags = etc::kernel_g::OpenFlags(params);
  etc::kernel_g::CtaMemory block;
  if (block.IsHelper()) {
    if (block.IsLoader()) {
      etc::Loader loader = block.MakeLoader();
      etc::kernel_g::Load(params, events, loader, blockIdx.x, gridDim.x);
    } else if (block.IsEpilogueWarp()) {
      etc::EpilogueWarp epilogue_warp = block.MakeEpilogueWarp();
      etc::kernel_g::Reduce(params, events, flags.set, epilogue_warp, blockIdx.x, gridDim.x);
    } else {
      flags.Clear(block.SpareThread(), block.kSpareThreads);
    }
  } else {
    etc::Consumer consumer = block.MakeConsumer();
    etc::kernel_g::Consume(params, events, flags.set, consumer, blockIdx.x, gridDim.x);
    events.Finish(consumer, flags, etc::kernel_g::FlaggedBytes(params));
  }
}
