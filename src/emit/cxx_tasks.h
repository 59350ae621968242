// C++ text of the loop over an SM's tasks of a share.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "emit/cxx_kernel.h"
#include "target/arch.h"

namespace etc {

/// Opens a loop that stays one: its body holds whole tile kernels.
void OpenLoop(TextWriter& out, Arch arch, const std::string& head);

/// The tasks of a share are numbered row-major over its axes. The axes from the first on that
/// others' ranges depend on are loops; the rest, the box, has a size for each of their values, and
/// division gives its coordinates. Besides `sm` and `sms` the text has these names: `tasks`, the
/// number of all tasks; `task`, the number of the next one of this SM, in a nest counted from the
/// box on; `box`, the number of tasks of the box in a nest. Where data decide the box, there is one
/// loop, and `ranges` finds the value of the axis in front of it. The SM's tasks of a case are
/// those that it takes: on the host from `take`, else from `tickets`, the role's object; in a nest
/// `before` counts the tasks in front of the box. Of a case that is pushed the SM has one task at a
/// time, whose number in the queue is `entry`.
class TaskLoop {
 public:
  TaskLoop(TextWriter& out, const KernelScope& scope, const RaisedShare& share, Arch arch);

  /// Whether loops stand around the box.
  bool IsNest() const { return raised_.loops > 0 && !raised_.by_value; }

  /// `tasks`, the number of all tasks.
  void WriteCount();
  /// `before` and `some`: how many tasks there are in front of those whose first coordinates are
  /// `x0`, `x1`, …, so many of them, and how many of these.
  void WriteGiven(size_t given);
  /// `task` for the first task of this SM, behind WriteCount. On the host, `taken` writes what
  /// happens when a task of a case is taken whose number is the variable `ticket`.
  void WriteFirst(const std::function<void()>& taken);

  /// The text that goes on to the next task of this SM.
  std::string Step() const;
  /// Of a case: the number of the SM's next task, counted like `task`. Once for each.
  std::string Take() const;

  /// Opens what stands around the loop over the tasks of the box. Gives the name of their number.
  std::string_view OpenBox();

  /// Opens the loop, with the coordinates of each task.
  void Open(const std::string& step);
  /// Closes what OpenBox opened, and a loop in it.
  void Close();

  /// The coordinates of the task whose number in its box is the variable `task`.
  void WriteCoordinates(std::string_view task = "task");
  /// What finds the coordinates of a task that goes ahead of `task`.
  void WriteAhead();

  /// Of a case: the number of its ticket counter.
  std::string Counter() const;
  /// Of a case that is pushed: the number of tasks in front of its own in the queue.
  std::string Begin() const;

  /// `, i_x, i_y`: the coordinates as arguments.
  std::string Coordinates() const;

 private:
  void WriteGivenOfNest(size_t given);
  void OpenOuter();
  void CloseOuter();
  void WriteAxes();
  void WriteBox(std::string_view name);

  TextWriter& out_;
  const KernelScope& scope_;
  const RaisedShare& raised_;
  const Share& share_;
  Arch arch_;
};

/// The first counter of a dispatch in the iteration that a walk is in.
std::string FirstCounter(const KernelScope& scope, const RaisedTickets& tickets);

}  // namespace etc
