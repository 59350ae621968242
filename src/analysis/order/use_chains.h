// Which uses of a tensor no chain of events joins, call by call: whichever elements they touch.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "analysis/conflicts.h"

namespace etc {

/// A call's use of one tensor.
struct CallUse {
  size_t call;  // its index in the program
  Argument arg;
  Access access;
  Conflicts::Use reader;
  std::vector<EventId> waits;     // that come before it
  std::vector<EventId> notifies;  // that come after it
  bool ahead = false;  // read by a loader ahead of every wait: verified to meet no write at all
};

/// A repeat around two uses of which the second is of a later iteration.
struct Carrier {
  SymbolId repeat;
  std::vector<SymbolId> inside;  // the repeats inside of it, of which it may be any iteration
};

/// Two uses of one tensor that no chain of events joins.
struct Unjoined {
  const CallUse& earlier;
  const CallUse& later;
  std::optional<Carrier> carrier;  // without one both are of the same iteration
  bool unsaid;                     // no event can say when the earlier one happens
};

/// Which of two uses that touch one tensor need an order.
enum class NeedOrder {
  Reads,     // what reads, after what writes: the order of calls gives the rest
  Conflicts  // each two of which one writes
};

/// The uses of tensors by the calls of a program, and the chains of events between them. Calls
/// without tasks at the program's sizes order nothing, and need no order.
class UseChains {
 public:
  /// Both must outlive it.
  UseChains(const Module& module, const CallProgram& program);

  /// Calls `on_unjoined` for each two uses that need an order and that no chain of events joins, as
  /// if the program did not have the events `without`. Flagged buffers order their own uses.
  void FindUnjoined(NeedOrder need, const std::set<EventId>& without,
                    const std::function<void(const Unjoined&)>& on_unjoined) const;

 private:
  const Module& module_;
  const CallProgram& program_;
  std::vector<bool> live_;  // of each call: whether it may have tasks
  std::map<TensorId, std::vector<CallUse>> uses_;
};

}  // namespace etc
