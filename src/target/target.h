// The machines that etc knows: their limits, and what things cost on them. Nothing else in the
// compiler knows a machine's number.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "target/arch.h"

namespace etc {

/// Microseconds for each call that waits, by how it does.
struct PerSignal {
  double flag_in_data, counter;
};

/// A machine. Times are microseconds. What the cost model is made of is measured on the card where
/// `measured` says so (docs/log/2026-11-22-cost-model.md has the source of each figure), and else
/// follows from published figures.
struct Target {
  std::string_view name;     // as `--target` takes it
  std::string_view product;  // as reports call it
  bool measured;
  Arch arch;

  int64_t sms;
  int64_t shared_bytes;  // the most dynamic shared memory of a CTA
  double cycles;         // of an SM's clock in a microsecond

  double stream_bytes;    // that bulk copies read in a microsecond
  double consumed_bytes;  // that all consumers take out of their rings
  double plain_bytes;     // that plain loads read
  double cache_bytes;     // that all SMs get from L2, from memory or not
  double held_bytes;      // of activations that the consumers of an SM hold
  double flops;           // of all tensor cores in a microsecond, as SwapAbGemm uses them
  double sm_ring_bytes;   // that the loader of an SM can be ahead
  double slot_bytes;      // of its ring
  PerSignal chain;        // from the last sum of a call to the first of the next
  double task;            // of a task that reads an operand of its own behind an event, at least
  double launch;          // of a kernel in a CUDA graph

  int64_t loader_in_flight;  // slots in flight: fewer stream slower, more delay signals
  int64_t
      streaming_in_flight;   // the same where the stream sets the time of a chain of flagged words,
                             // and where the consumers fetch fetched_share of what it brings
  int64_t hidden_in_flight;  // the same where the stream hides behind a chain of flagged words
  int64_t ahead;             // the same in a share that the consumers wait for, of events only
  int64_t
      computed_in_flight;  // the same where what is loaded follows from what the launch computes
  double fetched_share;
  double interval_share;  // of the time of a slot at full bandwidth, where bursts delay signals
  PerSignal hidden;       // a run that streams less for each signal hides the stream
  PerSignal streaming;    // and one that streams more is bound by bandwidth

  /// That the loaders of all SMs can be ahead.
  [[nodiscard]] double RingBytes() const { return static_cast<double>(sms) * sm_ring_bytes; }
};

/// The first one is the default.
const std::vector<Target>& Targets();
inline const Target& DefaultTarget() { return Targets().front(); }

/// The target of that name, or null.
const Target* FindTarget(std::string_view name);

}  // namespace etc
