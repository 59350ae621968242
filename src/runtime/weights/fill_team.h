// Threads that fill the pieces of an upload.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/status.h"
#include "runtime/weights/pieces.h"

namespace etc::runtime {

/// The threads fill each piece together: each takes the next part of all, in their order, by one
/// count. So a piece is there as early as it can be, and no thread takes a lock for a part: threads
/// that finish theirs at once would sleep in line for it, longer than a part takes.
class FillTeam {
 public:
  /// Where the piece of that number goes; called for each part, and may wait until there is room
  /// for the piece. It must not wait for a later piece. Null ends the thread.
  using Place = std::function<char*(size_t piece)>;
  /// Called by the thread that filled the last part of it.
  using Filled = std::function<void(size_t piece)>;

  /// Of so many threads; 0: of as many as there are cores, up to 16.
  FillTeam(const WeightPlan& plan, const std::vector<WeightPiece>& pieces, size_t threads,
           Place place, Filled filled);
  /// Waits for the threads, which must be stopped or at their end.
  ~FillTeam();
  FillTeam(const FillTeam&) = delete;
  FillTeam& operator=(const FillTeam&) = delete;

  Status Start();
  /// No part is begun from now on.
  void Stop() { is_stopped_ = true; }
  /// Until all threads have ended or the time is up; gives which.
  bool WaitForEnd(std::chrono::milliseconds time);
  /// What the first thread that failed says.
  Status status();

 private:
  /// The parts of a piece.
  struct Parts {
    int64_t elements = 0;         // of each but the last
    size_t begin = 0;             // counted through all pieces
    size_t end = 0;               // behind the last one
    std::atomic<size_t> left{0};  // that are not filled yet
  };

  void Work();
  Status FillParts();

  const WeightPlan& plan_;
  const std::vector<WeightPiece>& pieces_;
  const size_t wanted_;
  const Place place_;
  const Filled filled_;
  std::vector<Parts> parts_;  // of each piece
  std::vector<std::thread> threads_;
  std::atomic<size_t> next_{0};  // part
  std::atomic<bool> is_stopped_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  size_t running_ = 0;
  Status status_;
};

}  // namespace etc::runtime
