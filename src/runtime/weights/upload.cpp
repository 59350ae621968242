#include "runtime/weights/upload.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>

#include "runtime/cuda_driver.h"
#include "runtime/weights/fill_team.h"
#include "runtime/weights/pieces.h"
#include "runtime/weights/pinned_ring.h"

namespace etc::runtime {
namespace {

constexpr int64_t kPieceBytes = int64_t{2} << 20;
constexpr size_t kBuffers = 40;  // one for each thread that fills, and 0.9 ms of copies under way
constexpr std::chrono::milliseconds kProgressTime{100};

int64_t BytesOf(const std::vector<WeightPiece>& pieces) {
  return std::accumulate(
      pieces.begin(), pieces.end(), int64_t{0},
      [](int64_t bytes, const WeightPiece& piece) { return bytes + piece.bytes; });
}

/// Tells the caller how far it is, not more than some ten times a second.
class Reporter {
 public:
  Reporter(const Progress& progress, int64_t total) : progress_(progress), total_(total) {}

  Status Tell(int64_t done) {
    const auto now = std::chrono::steady_clock::now();
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
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kProgressTime;
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

Status UploadToHost(const WeightPlan& plan, const std::vector<void*>& memory, size_t threads,
                    const Progress& progress) {
  const std::vector<WeightPiece> pieces = CutIntoPieces(plan, kPieceBytes);
  Reporter reporter(progress, BytesOf(pieces));
  std::atomic<int64_t> done{0};
  FillTeam team(
      plan, pieces, threads,
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

Status UploadToDevice(const WeightPlan& plan, const std::vector<void*>& memory, size_t threads,
                      const Progress& progress) {
  const cuda::Driver* driver = nullptr;
  cuda::Context context = nullptr;
  cuda::Device device = 0;
  ETC_RETURN_IF_BAD(cuda::OpenDriver(&driver));
  ETC_RETURN_IF_BAD(cuda::CurrentContext(*driver, &context, &device));
  const std::vector<WeightPiece> pieces = CutIntoPieces(plan, kPieceBytes);
  int64_t largest = 0;
  for (const WeightPiece& piece : pieces) {
    largest = std::max(largest, piece.bytes);
  }
  const int64_t total = BytesOf(pieces);
  Reporter reporter(progress, total);
  PinnedRing ring(*driver, memory);
  ETC_RETURN_IF_BAD(ring.Reserve(std::min(kBuffers, pieces.size()), largest));
  FillTeam team(
      plan, pieces, threads, [&](const WeightPiece&) { return ring.Take(); },
      [&](const WeightPiece& piece, char* buffer) { ring.Give(piece, buffer); });
  Status status = team.Start();
  if (status.Ok()) {
    status = DeliverAll(&team, &ring, total, &reporter);
  }
  team.Stop();
  ring.Close();
  return status;
}

}  // namespace etc::runtime
