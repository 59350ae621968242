// y[r, :] = softmax(x[r, :] / temperature), in floats. Config: temperature. Task (r): one row,
// which the loader brings and the consumers keep in registers.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/roles.cuh"

namespace etc {

template <class Config, class Args>
struct RowSoftmax {
  static constexpr int kColumns = int(Args::x_1);
  static constexpr int kPerThread = kColumns / Consumer::kThreads;
  static_assert(kColumns % Consumer::kThreads == 0, "each thread has as many elements of a row");

  static constexpr int kSlotBytes = kColumns * 4;                     // a row
  static constexpr int kScratchBytes = 2 * Consumer::kWarps * 2 * 4;  // two sets of partials

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int r) {
    u32 slot = loader.Acquire();
    loader.Expect(kSlotBytes);
    loader.Copy(slot, args.x + i64(r) * kColumns, kSlotBytes);
    loader.Advance();
  }

  ETC_DEVICE RowSoftmax(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int r) {
    float x[kPerThread];
    ReadRow(consumer, x);

    // Each warp has its own largest element, and the sum relative to it.
    float top = x[0];
#pragma unroll
    for (int i = 1; i < kPerThread; ++i) {
      top = fmaxf(top, x[i]);
    }
    top = LaneMax<1, 32>(top);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      sum += Exponential(x[i] - top);
    }
    sum = GroupSum<32>(sum);

    float scale = Combine(consumer, top, sum);
    float* y = args.y + i64(r) * kColumns;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      y[i * Consumer::kThreads + consumer.thread] = Exponential(x[i] - top) * scale;
    }
  }

 private:
  int parity_ = 0;  // of the next task's partials

  static ETC_DEVICE float Exponential(float x) {
    return Exp2(x * (kLog2E / float(Config::temperature)));
  }

  /// This thread's elements of the row in the ring's next slot.
  static ETC_DEVICE void ReadRow(Consumer& consumer, float (&x)[kPerThread]) {
    u32 slot = consumer.WaitAddress();
    u32 read = 0;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      u32 word = LoadSharedWord(slot + (i * Consumer::kThreads + consumer.thread) * 4);
      x[i] = BitsToFloat(word);
      read ^= word;
    }
    consumer.Release(read);
  }

  /// What a warp multiplies its exponentials by, of the partials of all warps.
  ETC_DEVICE float Combine(Consumer& consumer, float top, float sum) {
    float* partials = reinterpret_cast<float*>(consumer.scratch) + parity_ * 2 * Consumer::kWarps;
    parity_ ^= 1;
    if (consumer.lane == 0) {
      partials[2 * consumer.warp] = top;
      partials[2 * consumer.warp + 1] = sum;
    }
    consumer.Sync();
    float largest = partials[0];
#pragma unroll
    for (int warp = 1; warp < Consumer::kWarps; ++warp) {
      largest = fmaxf(largest, partials[2 * warp]);
    }
    float total = 0;
#pragma unroll
    for (int warp = 0; warp < Consumer::kWarps; ++warp) {
      total += partials[2 * warp + 1] * Exponential(partials[2 * warp] - largest);
    }
    return Exponential(top - largest) / total;
  }
};

}  // namespace etc
