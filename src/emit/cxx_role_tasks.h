// C++ text of what one role does with the tasks of a share: its waits, loads, runs and notifies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emit/cxx_kernel.h"
#include "emit/cxx_signals.h"
#include "emit/cxx_spans.h"
#include "emit/cxx_tasks.h"
#include "target/arch.h"

namespace etc {

/// The type of the epilogue warp's side of an implementation.
std::string ReductionName(const Device& device);

class RoleTasks {
 public:
  /// `launch`: what comes before the share has ended, as it is a launch of its own.
  RoleTasks(TextWriter& out, const KernelScope& scope, Role role, Arch arch, bool launch);

  /// What `walk` writes, with the role's recorder around it.
  template <class Walk>
  void Record(const Walk& walk) {
    spans_.Open(role_);
    walk();
    spans_.Close(role_);
  }

  /// The waits that must precede reading the ranges of the tasks, or what the loader is to copy,
  /// from tensors.
  void WriteBeforeRanges(const RaisedShare& share);
  /// Of the role that takes tasks: the waits that must precede reading where a task arrives.
  void WriteAfterWaits(const RaisedShare& share);
  /// The loop over the SM's tasks, behind `task`, the number of the first one.
  void Write(const RaisedShare& share, const Device& device, TaskLoop& loop);

 private:
  void WriteWaits(const std::vector<RaisedSignal>& waits, const std::vector<OrderPart>& place);
  void WriteChecks(const std::vector<RaisedCheck>& checks);
  void WriteLoads(const RaisedShare& share, const Device& device, TaskLoop& loop);
  void WriteFetchWaits(const std::vector<RaisedSignal>& waits, const RaisedShare& share);
  void WritePrefetch(const RaisedShare& share, const Device& device, TaskLoop& loop);
  void WriteTasks(const RaisedShare& share, const Device& device, TaskLoop& loop);
  void WriteTaskWaits(const RaisedShare& share, const Device& device);
  void WriteReductions(const RaisedShare& share, const Device& device, TaskLoop& loop);
  void WritePreparations(const RaisedShare& share, const Device& device, TaskLoop& loop,
                         std::string_view count);
  void WriteNotifies(const std::vector<RaisedSignal>& signals, const Device& device,
                     const std::string& amount);

  TextWriter& out_;
  const KernelScope& scope_;
  const RaisedKernel& kernel_;
  Role role_;
  Arch arch_;
  bool launch_;
  SignalWriter signals_;
  SpanWriter spans_;
};

}  // namespace etc
