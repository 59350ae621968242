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

class FillTeam {
 public:
  /// Where a piece goes; called by the threads, and may wait. Null ends the thread.
  using Place = std::function<char*(const WeightPiece&)>;
  /// Called by the thread that filled it.
  using Filled = std::function<void(const WeightPiece&, char*)>;

  /// Of so many threads; 0: of as many as there are cores, up to 16.
  FillTeam(const WeightPlan& plan, const std::vector<WeightPiece>& pieces, size_t threads,
           Place place, Filled filled)
      : plan_(plan),
        pieces_(pieces),
        wanted_(threads),
        place_(std::move(place)),
        filled_(std::move(filled)) {}
  /// Waits for the threads, which must be stopped or at their end.
  ~FillTeam();
  FillTeam(const FillTeam&) = delete;
  FillTeam& operator=(const FillTeam&) = delete;

  Status Start();
  /// No piece is begun from now on.
  void Stop() { is_stopped_ = true; }
  /// Until all threads have ended or the time is up; gives which.
  bool WaitForEnd(std::chrono::milliseconds time);
  /// What the first thread that failed says.
  Status status();

 private:
  void Work();
  Status FillPieces();

  const WeightPlan& plan_;
  const std::vector<WeightPiece>& pieces_;
  const size_t wanted_;
  const Place place_;
  const Filled filled_;
  std::vector<std::thread> threads_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> is_stopped_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  size_t running_ = 0;
  Status status_;
};

}  // namespace etc::runtime
