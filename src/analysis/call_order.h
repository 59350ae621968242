// Which uses of a tensor no chain of events joins, call by call: the cheap layer of the order of
// tasks. `proofs/` decides about single elements.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "analysis/conflicts.h"
#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// A call's use of one tensor.
struct CallUse {
  size_t call;
  Argument arg;
  Access access;
  Conflicts::Use reader;
  std::vector<EventId> waits;     // that come before it
  std::vector<EventId> notifies;  // that come after it
  bool ahead = false;  // read by a loader ahead of every wait: verified to meet no write at all
};

/// A call or a share.
struct CallSite {
  NodeId node;
  DeviceId callee;
  std::vector<EventId> waits;
  std::vector<EventId> notifies;
  SourceRange range;
  std::vector<SymbolId> repeats;  // around it, outermost first
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
  const CallSite& earlier_site;
  const CallSite& later_site;
  std::optional<Carrier> carrier;  // without one both are of the same iteration
  bool unsaid;                     // no event can say when the earlier one happens
};

/// Calls without tasks at the sizes in `ranges` order nothing there, and need no order. A graph's
/// writes need no order after what comes before them: the order of its calls gives it.
void FindUnjoined(const Module& module, const Graph& graph, const DimRanges& ranges,
                  const std::function<void(const Unjoined&)>& on_unjoined);

/// Two shares that use a tensor, one of them writing, and that no chain of events joins.
struct UnjoinedUses {
  NodeId first;
  NodeId second;
  TensorId tensor;
  bool first_by_tasks;  // else by what says which tasks there are, or what they wait for
  bool second_by_tasks;
  SymbolId carrier;  // the repeat of which the second is in a later iteration, if it is

  auto operator<=>(const UnjoinedUses&) const = default;
};

/// All of a kernel, as if it did not have the events `without`, whichever elements they touch.
/// Flagged buffers order their own uses.
std::set<UnjoinedUses> FindUnjoinedUses(const Module& module, const Kernel& kernel,
                                        const std::set<EventId>& without);

}  // namespace etc
