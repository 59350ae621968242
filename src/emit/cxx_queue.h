// C++ text of a queue: who takes its tasks, and what each task given out pushes.
#pragma once

#include <functional>

#include "emit/cxx_kernel.h"
#include "target/arch.h"

namespace etc {

/// The text of one queue for one role, inside of a block of its own. It has these names: `end_P`,
/// the number of all tasks up to those of the case with the place P that is pushed; for who takes
/// the tasks `queue`, and `push_P`, which pushes those that have an element of the case's trigger;
/// and `entry`, the number of a task that has been taken.
class QueueWriter {
 public:
  /// `takes`: the role takes tasks by itself, and what it takes arrives at triggers.
  QueueWriter(TextWriter& out, const KernelScope& scope, const RaisedQueue& queue, Arch arch,
              bool takes)
      : out_(out), scope_(scope), queue_(queue), arch_(arch), takes_(takes) {}

  /// What stands in front of all tasks.
  void WriteHead();
  /// The loop over all tasks that are pushed: `write` the text for one of a case.
  void WriteLoop(const std::function<void(NodeId)>& write);
  /// The same for a role that has nothing to do for them.
  void WriteSkip();

 private:
  void WritePush(const RaisedShare& share);

  TextWriter& out_;
  const KernelScope& scope_;
  const RaisedQueue& queue_;
  Arch arch_;
  bool takes_;
};

/// What the task of a case arrives at whose coordinates are there.
void WriteArrivals(TextWriter& out, const KernelScope& scope, const RaisedShare& share);

}  // namespace etc
