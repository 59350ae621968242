// C++ text of waits and notifies.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emit/cxx_kernel.h"

namespace etc {

/// What one role of a kernel waits for and notifies. `role` is the name of its object in the text.
class SignalWriter {
 public:
  SignalWriter(TextWriter& out, const KernelScope& scope, const Kernel& kernel,
               std::string_view role);

  /// A wait for each element of each reference.
  void WriteWaits(const std::vector<EventRef>& refs) { Write(refs, "WaitOne", ""); }

  /// `amount` notifies of each element of each reference.
  void WriteNotifies(const std::vector<EventRef>& refs, const std::string& amount) {
    Write(refs, "NotifyOne", amount);
  }

 private:
  void Write(const std::vector<EventRef>& refs, std::string_view method, const std::string& amount);
  std::string InsideOf(const Event& event, const std::vector<std::string>& indices) const;
  std::string CountChecked(const Event& event, const std::string& count) const;

  TextWriter& out_;
  const KernelScope& scope_;
  std::string_view role_;
  // The events of which data decide what notifies them, or how often: one of them may never be
  // complete once a check has failed. Empty where nothing is checked.
  std::set<EventId> decided_;
};

}  // namespace etc
