// C++ text of waits and notifies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emit/cxx_kernel.h"

namespace etc {

/// Which wait of a kernel it is, for its watchdog.
struct WaitPlace {
  std::string place;                     // in program order, as C++
  std::string who;                       // in messages, with `{}` for each of
  std::vector<std::string> values = {};  // these
};

/// What one role of a kernel waits for and notifies. `role` is the name of its object in the text.
class SignalWriter {
 public:
  SignalWriter(TextWriter& out, const KernelScope& scope, std::string_view role)
      : out_(out), scope_(scope), role_(role) {}

  /// A wait for each element of each reference. Of a kernel with a profile, `asked` is when the
  /// first began, and each span begins where the one before it ends.
  void WriteWaits(const std::vector<RaisedSignal>& signals, const WaitPlace& place) {
    Write(signals, "", &place);
  }

  /// `amount` notifies of each element of each reference.
  void WriteNotifies(const std::vector<RaisedSignal>& signals, const std::string& amount) {
    Write(signals, amount, nullptr);
  }

 private:
  void Write(const std::vector<RaisedSignal>& signals, const std::string& amount,
             const WaitPlace* place);
  void WriteSpan(const RaisedSignal& signal);
  std::string GivesUp(const Event& event, const std::vector<std::string>& indices, bool checked,
                      const WaitPlace& place) const;
  std::string InsideOf(const Event& event, const std::vector<std::string>& indices) const;
  std::string CountChecked(const Event& event, const std::string& count) const;

  TextWriter& out_;
  const KernelScope& scope_;
  std::string_view role_;
};

}  // namespace etc
