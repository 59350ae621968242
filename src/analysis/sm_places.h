// On which SM tasks of a kernel run.
#pragma once

#include "analysis/events.h"

namespace etc {

/// The tasks that notify an element of an event and those that wait for it, by their places: task
/// number t of a share has the place F + t, and runs on SM (F + t) mod sms. The number of SMs is
/// any, so two tasks are on one SM at every number exactly if their places are equal. What is a
/// multiple of `sms` in F changes no SM, and counts as 0.
class SmPlaces {
 public:
  /// `unknowns` are those of the kernel's program.
  explicit SmPlaces(Unknowns& unknowns);

  static constexpr const char* kNotifies = "place@1";
  static constexpr const char* kWaits = "place@2";

  /// The pairs of tasks with different places: task 1 notifies an element for which task 2 waits.
  /// Their places are the two parameters above. It may have pairs that do not occur. It is null
  /// where a place is no function of the task that sets have, where data decide how many tasks some
  /// share has and so where others begin, where every SM waits, and where isl gives up.
  Set Apart(const EdgeRelation& notify, const EdgeRelation& wait);

 private:
  PwAff PlaceOf(const ProgramCall& call, int instance);

  Unknowns& unknowns_;
  bool fixed_ = true;  // no data moves a share
};

}  // namespace etc
