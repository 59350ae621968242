#include "runtime/proposal.h"

#include "runtime/wire.h"

namespace etc::runtime {

std::string ToWire(const Proposal& proposal) {
  WireWriter writer;
  writer.Outcome(proposal.status);
  writer.Numbers(proposal.dims);
  writer.Number(proposal.needed.event_counters);
  writer.Number(proposal.needed.bytes);
  writer.Number(static_cast<int64_t>(proposal.launches));
  writer.Number(proposal.has_memory ? 1 : 0);
  writer.Number(proposal.was_captured ? 1 : 0);
  writer.Number(proposal.has_failed ? 1 : 0);
  return writer.Take();
}

Status FromWire(const std::string& text, Proposal* proposal) {
  WireReader reader(text);
  proposal->status = reader.Outcome();
  proposal->dims = reader.Numbers();
  proposal->needed.event_counters = reader.Number();
  proposal->needed.bytes = reader.Number();
  proposal->launches = static_cast<uint64_t>(reader.Number());
  proposal->has_memory = reader.Number() != 0;
  proposal->was_captured = reader.Number() != 0;
  proposal->has_failed = reader.Number() != 0;
  return reader.CheckWhole();
}

}  // namespace etc::runtime
