#include "schedule/peer_writes.h"

#include <algorithm>

namespace etc {

bool PeerWrites::IsOnOneRank(const Dependence& dependence) const {
  return ForRanks() && !Writes(dependence.from, dependence.to) &&
         !Writes(dependence.to, dependence.from);
}

bool PeerWrites::IsUnreceived(const Dependence& dependence, const EventPlan& plan) const {
  return ForRanks() && Writes(dependence.from, dependence.to) &&
         std::none_of(plan.events.begin(), plan.events.end(), [&](const PlannedEvent& planned) {
           return planned.from == dependence.from && planned.rank != 0;
         });
}

bool PeerWrites::Writes(size_t writer, size_t other) const {
  const std::vector<Argument>& args = program_.calls[other].args;
  return std::any_of(args.begin(), args.end(),
                     [&](const Argument& arg) { return at_peers_[writer].contains(arg.tensor); });
}

}  // namespace etc
