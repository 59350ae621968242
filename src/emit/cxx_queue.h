// C++ text of a queue: who takes its tasks, and what each task given out pushes.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "emit/cxx_kernel.h"
#include "target/arch.h"

namespace etc {

/// The text of one queue for one role, inside of a block of its own. It has these names: `end_P`,
/// the number of all tasks up to those of the case with the place P that is pushed; for who takes
/// the tasks `queue`, and `push_P`, which pushes those that have an element of the case's trigger;
/// and `entry`, the number of a task that has been taken. Where the queue counts its pushes, a case
/// has `places` numbers.
class QueueWriter {
 public:
  /// `takes`: the role takes tasks by itself, and what it takes arrives at triggers.
  /// `before_ranges` writes what it waits for before it reads the ranges of a case's tasks.
  QueueWriter(TextWriter& out, const KernelScope& scope, const RaisedQueue& queue, Arch arch,
              bool takes, std::function<void(const RaisedShare&)> before_ranges)
      : out_(out),
        scope_(scope),
        queue_(queue),
        arch_(arch),
        takes_(takes),
        before_ranges_(std::move(before_ranges)) {}

  /// What stands in front of all tasks.
  void WriteHead();
  /// The loop over all tasks that are pushed: `write` the text for one of a case.
  void WriteLoop(const std::function<void(NodeId)>& write);
  /// The same for a role that has nothing to do for them.
  void WriteSkip();

 private:
  void WriteEnds();
  void WriteCountedHead();
  void WritePush(const RaisedShare& share);
  void WriteBoxPush(const RaisedShare& share, size_t given);
  void WriteDataPush(const RaisedShare& share, size_t given);

  TextWriter& out_;
  const KernelScope& scope_;
  const RaisedQueue& queue_;
  Arch arch_;
  bool takes_;
  std::function<void(const RaisedShare&)> before_ranges_;
};

/// Whether each task of the case arrives somewhere when it is given out.
inline bool TasksArrive(const RaisedShare& share) {
  return !share.arrivals.empty() && !share.tickets->by_push;
}
/// Whether each task arrives somewhere later, where data say.
inline bool TasksArriveAfter(const RaisedShare& share) { return !share.after_arrivals.empty(); }
/// What the task of a case arrives at whose coordinates are there, or what a push of its tasks
/// does.
void WriteArrivals(TextWriter& out, const KernelScope& scope,
                   const std::vector<RaisedArrival>& arrivals);

}  // namespace etc
