// Launches of a list that the device keeps: to enqueue them one by one costs more than they run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/backend.h"
#include "runtime/launches.h"

namespace etc::runtime {

/// The graphs of one instance, one for each kernel at most. A list of launches becomes a graph when
/// it comes for the second time; a graph follows what is bound and set as long as the same entries
/// are launched.
class Replay {
 public:
  Replay(Backend& backend, size_t kernels) : backend_(backend), slots_(kernels) {}

  /// Off: no graph is kept, and nothing is launched from here.
  void Switch(bool on);

  /// Launches the list as a graph. False: it is not to be had, and nothing was enqueued. `steps`
  /// are those of the list; `version` is another one where the list is another one.
  bool Launch(const LaunchList& list, const std::shared_ptr<const LaunchSteps>& steps,
              uint64_t version, void* stream);

 private:
  /// Of one kernel.
  struct Slot {
    std::shared_ptr<const LaunchSteps> steps;  // of the last list
    std::unique_ptr<LaunchGraph> graph;
    // What the graph was made of or brought to.
    uint64_t version = 0;
    std::vector<uint64_t> block;  // without the iterations
    std::vector<int> sms;         // of each launch
  };

  Status Build(const LaunchList& list, Slot* slot);
  Status Update(const LaunchList& list, Slot* slot);
  /// Whether it went well; else launches come one by one from now on.
  bool Went(const Status& status);

  Backend& backend_;
  std::vector<Slot> slots_;
  bool is_on_ = true;
};

}  // namespace etc::runtime
