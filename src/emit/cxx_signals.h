// C++ text of waits and notifies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emit/cxx_kernel.h"
#include "target/arch.h"

namespace etc {

/// The consumers' wait until all peers have begun the launch. A barrier follows it.
std::string AwaitPeersText(const KernelScope& scope, const RaisedShare& share, Arch arch);

/// What a watched wait at this place in program order asks when it has lasted for a while. `values`
/// are those of the message behind its own, and `checked` says that it ends after a failed check.
std::string GivesUpText(const KernelScope& scope, const WatchMessage& message, bool checked,
                        const std::vector<std::string>& values,
                        const std::vector<OrderPart>& place);

/// What one role of a kernel waits for and notifies. `role` is the name of its object in the text.
class SignalWriter {
 public:
  SignalWriter(TextWriter& out, const KernelScope& scope, std::string_view role, bool records)
      : out_(out), scope_(scope), role_(role), records_(records) {}

  /// A wait for each element of each reference, at this place in program order.
  void WriteWaits(const std::vector<RaisedSignal>& signals, const std::vector<OrderPart>& place) {
    Write(signals, "", &place);
  }

  /// `amount` notifies of each element of each reference.
  void WriteNotifies(const std::vector<RaisedSignal>& signals, const std::string& amount) {
    Write(signals, amount, nullptr);
  }

 private:
  void Write(const std::vector<RaisedSignal>& signals, const std::string& amount,
             const std::vector<OrderPart>* place);
  void WriteSpan(const RaisedSignal& signal);
  std::string InsideOf(const RaisedSignal& signal, const std::vector<std::string>& indices) const;

  TextWriter& out_;
  const KernelScope& scope_;
  std::string_view role_;
  bool records_;  // a profiled launch writes down what the role waits for
};

}  // namespace etc
