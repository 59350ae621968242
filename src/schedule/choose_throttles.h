// How far the loaders of a kernel run ahead, by what its calls stream and wait for.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"
#include "target/target.h"

namespace etc {

/// The throttle of the loader in the shares of one repeat, or in those that no repeat holds, and
/// why.
struct ThrottleChoice {
  NodeId repeat;               // the innermost around the shares
  std::vector<NodeId> shares;  // those that stream
  double streamed_bytes = 0;   // by all of them, in all iterations
  Throttle throttle;
  Throttle own;  // of those that have their own
  std::string reason;
};

/// Whether the loader waits for flagged words that say what it copies in the share. The ring is
/// empty then, and nobody waits for a signal beside it: nothing is gained by less on its way.
/// Behind an event there is the event of the call itself, whose fence more slots delay.
[[nodiscard]] bool HasOwnThrottle(const Module& module, const Share& share);

/// What each share of the choice has: its own where it has one, else what they have in common.
[[nodiscard]] std::vector<Throttle> ThrottlesOf(const Module& module, const ThrottleChoice& choice);

/// One for each run of shares that streams, in program order.
std::vector<ThrottleChoice> ChooseThrottles(const Module& module, const Kernel& kernel,
                                            const Target& target);

}  // namespace etc
