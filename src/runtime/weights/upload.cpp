#include "runtime/weights/upload.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>

#include "runtime/cuda_driver.h"
#include "runtime/log.h"
#include "runtime/weights/device_packer.h"
#include "runtime/weights/fill_team.h"
#include "runtime/weights/pieces.h"
#include "runtime/weights/pinned_ring.h"

namespace etc::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// One is filled while the others are copied: with more, the copies of several streams hinder each
/// other.
constexpr size_t kBuffers = 4;
constexpr std::chrono::milliseconds kProgressTime{100};

int64_t BytesOf(const std::vector<WeightPiece>& pieces) {
  return std::accumulate(
      pieces.begin(), pieces.end(), int64_t{0},
      [](int64_t bytes, const WeightPiece& piece) { return bytes + piece.Bytes(); });
}

/// Makes pieces raw that are more than a copy, and the packer ready for them.
Status LeaveToDevice(const WeightPlan& plan, std::vector<WeightPiece>* pieces,
                     DevicePacker* packer) {
  const Clock::time_point begin = Clock::now();
  int64_t largest = 0;
  for (WeightPiece& piece : *pieces) {
    piece.is_raw = IsForDevice(plan, piece);
    largest = std::max(largest, piece.is_raw ? piece.ReadBytes() : 0);
  }
  if (largest == 0) {
    return {};
  }
  ETC_RETURN_IF_BAD(packer->Open(PinnedRing::kStreams, largest));
  const std::chrono::duration<double> time = Clock::now() - begin;
  LogInfo("the device packs the weights: kernel and memory took ", time.count(), " s");
  return {};
}

/// Where the device cannot pack, for want of memory or of a compiler in its driver, threads do.
std::vector<WeightPiece> CutForDevice(const WeightPlan& plan, const UploadOptions& options,
                                      DevicePacker* packer) {
  std::vector<WeightPiece> pieces = CutIntoPieces(plan, options.buffer_bytes);
  if (options.pack_on_host) {
    return pieces;
  }
  const Status status = LeaveToDevice(plan, &pieces, packer);
  if (!status.Ok()) {
    LogInfo("weights are packed on the host: ", status.message);
    for (WeightPiece& piece : pieces) {
      piece.is_raw = false;
    }
  }
  return pieces;
}

/// Tells the caller how far it is, not more than some ten times a second.
class Reporter {
 public:
  Reporter(const Progress& progress, int64_t total) : progress_(progress), total_(total) {}

  Status Tell(int64_t done) {
    const Clock::time_point now = Clock::now();
    if (!progress_ || (done < total_ && now < next_)) {
      return {};
    }
    next_ = now + kProgressTime;
    return progress_(done, total_)
               ? Status{}
               : Fail(ETC_ERROR_CANCELLED,
                      "the load of weights was stopped by its progress function");
  }

 private:
  const Progress& progress_;
  const int64_t total_;
  Clock::time_point next_ = Clock::now() + kProgressTime;
};

Status DeliverAll(FillTeam* team, PinnedRing* ring, int64_t total, Reporter* reporter) {
  while (ring->delivered_bytes() < total) {
    ETC_RETURN_IF_BAD(ring->Deliver(kProgressTime));
    ETC_RETURN_IF_BAD(team->status());
    if (ring->delivered_bytes() < total) {
      ETC_RETURN_IF_BAD(reporter->Tell(ring->delivered_bytes()));
    }
  }
  ETC_RETURN_IF_BAD(ring->WaitForCopies());
  return reporter->Tell(total);
}

}  // namespace

Status UploadToHost(const WeightPlan& plan, const std::vector<void*>& memory,
                    const UploadOptions& options) {
  const std::vector<WeightPiece> pieces = CutIntoPieces(plan, options.buffer_bytes);
  Reporter reporter(options.progress, BytesOf(pieces));
  std::atomic<int64_t> done{0};
  FillTeam team(
      plan, pieces, options.threads,
      [&](size_t piece) {
        return static_cast<char*>(memory[pieces[piece].param]) + pieces[piece].At();
      },
      [&](size_t piece) { done += pieces[piece].Bytes(); });
  ETC_RETURN_IF_BAD(team.Start());
  while (!team.WaitForEnd(kProgressTime)) {
    if (Status status = reporter.Tell(done); !status.Ok()) {
      team.Stop();
      return status;
    }
  }
  ETC_RETURN_IF_BAD(team.status());
  return reporter.Tell(done);
}

Status UploadToDevice(const WeightPlan& plan, const std::vector<void*>& memory,
                      const UploadOptions& options) {
  const cuda::Driver* driver = nullptr;
  cuda::Context context = nullptr;
  cuda::Device device = 0;
  ETC_RETURN_IF_BAD(cuda::OpenDriver(&driver));
  ETC_RETURN_IF_BAD(cuda::CurrentContext(*driver, &context, &device));
  DevicePacker packer(*driver, plan, memory);
  const std::vector<WeightPiece> pieces = CutForDevice(plan, options, &packer);
  Reporter reporter(options.progress, BytesOf(pieces));
  PinnedRing ring(*driver, memory, packer, pieces);
  ETC_RETURN_IF_BAD(ring.Reserve(kBuffers, options.buffer_bytes));
  FillTeam team(
      plan, pieces, options.threads, [&](size_t piece) { return ring.Place(piece); },
      [&](size_t piece) { ring.Give(piece); });
  Status status = team.Start();
  if (status.Ok()) {
    status = DeliverAll(&team, &ring, BytesOf(pieces), &reporter);
  }
  team.Stop();
  ring.Close();
  return status;
}

}  // namespace etc::runtime
