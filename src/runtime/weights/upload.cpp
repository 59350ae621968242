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

/// Pieces, and the buffers that they go through: one for each thread that fills, and a millisecond
/// of copies under way. Between two copies a device loses the time of 140 KB, so pieces are larger
/// where no thread works on them in its cache.
struct Cut {
  int64_t piece_bytes = 0;
  size_t buffers = 0;
};
constexpr Cut kPackedByThreads{int64_t{2} << 20, 40};
constexpr Cut kPackedByDevice{int64_t{4} << 20, 24};
constexpr std::chrono::milliseconds kProgressTime{100};

int64_t BytesOf(const std::vector<WeightPiece>& pieces) {
  return std::accumulate(
      pieces.begin(), pieces.end(), int64_t{0},
      [](int64_t bytes, const WeightPiece& piece) { return bytes + piece.bytes; });
}

int64_t LargestOf(const std::vector<WeightPiece>& pieces) {
  int64_t largest = 0;
  for (const WeightPiece& piece : pieces) {
    largest = std::max(largest, piece.BufferBytes());
  }
  return largest;
}

/// Makes pieces raw that are more than a copy, and the packer ready for them.
Status LeaveToDevice(const WeightPlan& plan, std::vector<WeightPiece>* pieces,
                     DevicePacker* packer) {
  const Clock::time_point begin = Clock::now();
  int64_t largest = 0;
  for (WeightPiece& piece : *pieces) {
    piece.is_raw = IsForDevice(plan, piece);
    largest = std::max(largest, piece.is_raw ? piece.read_bytes : 0);
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
std::vector<WeightPiece> CutForDevice(const WeightPlan& plan, bool pack_on_host,
                                      DevicePacker* packer, Cut* cut) {
  if (!pack_on_host) {
    *cut = kPackedByDevice;
    std::vector<WeightPiece> pieces = CutIntoPieces(plan, cut->piece_bytes);
    const Status status = LeaveToDevice(plan, &pieces, packer);
    if (status.Ok()) {
      return pieces;
    }
    LogInfo("weights are packed on the host: ", status.message);
  }
  *cut = kPackedByThreads;
  return CutIntoPieces(plan, cut->piece_bytes);
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
  const std::vector<WeightPiece> pieces = CutIntoPieces(plan, kPackedByThreads.piece_bytes);
  Reporter reporter(options.progress, BytesOf(pieces));
  std::atomic<int64_t> done{0};
  FillTeam team(
      plan, pieces, options.threads,
      [&](const WeightPiece& piece) { return static_cast<char*>(memory[piece.param]) + piece.at; },
      [&](const WeightPiece& piece, char*) { done += piece.bytes; });
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
  Cut cut;
  const std::vector<WeightPiece> pieces = CutForDevice(plan, options.pack_on_host, &packer, &cut);
  Reporter reporter(options.progress, BytesOf(pieces));
  PinnedRing ring(*driver, memory, packer);
  ETC_RETURN_IF_BAD(ring.Reserve(std::min(cut.buffers, pieces.size()), LargestOf(pieces)));
  FillTeam team(
      plan, pieces, options.threads, [&](const WeightPiece&) { return ring.Take(); },
      [&](const WeightPiece& piece, char* buffer) { ring.Give(piece, buffer); });
  Status status = team.Start();
  if (status.Ok()) {
    status = DeliverAll(&team, &ring, BytesOf(pieces), &reporter);
  }
  team.Stop();
  ring.Close();
  return status;
}

}  // namespace etc::runtime
