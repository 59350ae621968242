// The walk over tasks whose ranges data decide: past the values of an axis that have none.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

/// The tasks of a share whose first axis goes from `lo` to `hi`, of which `tasks_at` counts those
/// at one value. Each warp of a role has one. A lane counts a run of neighbouring values, all lanes
/// at once, and so the warp finds a task without a look at most of the values. `Number` holds the
/// number of all tasks.
template <class Number, class TasksAt>
struct TaskRanges {
  static constexpr u32 kAllLanes = 0xffffffffu;

  TasksAt tasks_at;
  i64 begin;
  Number run;                              // values of a lane
  Number until = 0;                        // tasks up to the last value of this lane
  Number tasks;                            // all
  Number place = -1, first = 0, last = 0;  // the value found last, and its tasks

  ETC_DEVICE TaskRanges(i64 lo, i64 hi, TasksAt count) : tasks_at(count), begin(lo) {
    const int lane = threadIdx.x % 32;
    const Number values = hi > lo ? Number(hi - lo) : 0;
    run = (values + 31) / 32;
    const Number behind = run * (lane + 1) < values ? run * (lane + 1) : values;
#pragma unroll 4
    for (Number i = run * lane; i < behind; ++i) {
      until += Number(tasks_at(begin + i));
    }
#pragma unroll
    for (int lanes = 1; lanes < 32; lanes *= 2) {
      const Number below = __shfl_sync(kAllLanes, until, lane < lanes ? lane : lane - lanes);
      until += lane < lanes ? 0 : below;
    }
    tasks = __shfl_sync(kAllLanes, until, 31);
  }

  /// The value that has the task, of which the number grows from call to call. By all lanes.
  ETC_DEVICE i64 Find(i64 task) {
    if (task >= last) {
      const int runs = __popc(__ballot_sync(kAllLanes, until <= task));  // that end in front
      if (run * runs > place) {
        place = run * runs;
        last = __shfl_sync(kAllLanes, until, runs > 0 ? runs - 1 : 0);
        last = runs > 0 ? last : 0;
      } else {
        ++place;
      }
#pragma unroll 1
      for (;; ++place) {
        first = last;
        last += Number(tasks_at(begin + place));
        if (task < last) {
          break;
        }
      }
    }
    return begin + place;
  }
};

}  // namespace etc
