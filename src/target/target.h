// The machines that etc knows: their limits, and what things cost on them. Nothing else in the
// compiler knows a machine's number.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "target/arch.h"

namespace etc {

/// Microseconds for each call that waits, by how it does.
struct PerSignal {
  double flag_in_data, counter;
};

/// A machine. Times are microseconds. What things cost is measured on the card where `measured`
/// says so, and else follows from published figures.
struct Target {
  std::string_view name;     // as `--target` takes it
  std::string_view product;  // as reports call it
  bool measured;
  Arch arch;

  int64_t sms;
  int64_t shared_bytes;  // the most dynamic shared memory of a CTA
  double cycles;         // of an SM's clock in a microsecond

  // What the simulator is made of (docs/simulator.md has the source of each figure).
  double stream_bytes;    // that a kernel which does nothing else reads in a microsecond
  double copied_bytes;    // that the loaders of all SMs copy
  double consumed_bytes;  // that all consumers take out of full rings
  double plain_bytes;     // that plain loads read
  double cache_bytes;     // that all SMs get from L2, from memory or not
  double cache_capacity;  // bytes of L2
  double look_bytes;      // of activations that an SM gets while nothing else can go on
  double held_bytes;      // of activations that the consumers of an SM hold
  double flops;           // of all tensor cores in a microsecond
  double tile_flops;      // the same where both operands are tiles in shared memory
  double register_flops;  // the same where both are words in registers, as of few sequences
  double vector_flops;    // of all other units, as attention uses them
  double sm_ring_bytes;   // that the loader of an SM can be ahead
  double slot_bytes;      // of its ring
  double flight;          // from the issue of a slot's copy to its last byte
  double behind_wait;     // from what says what to copy to the first bytes of it
  PerSignal signal;       // from a stored result to whoever waits for it
  PerSignal link;         // more, from a peer
  PerSignal each_link;    // and more, for each further peer
  double link_bytes;      // that all SMs store at peers
  double network_bytes;   // the same at ranks of other hosts
  double cta_signal;      // the same inside of an SM, by counters in its shared memory
  double launch_signal;   // the same from the end of a launch to the next one
  double launch_start;    // from the end of a CTA to the start of the next launch's on its SM
  double look;            // from a signal to the first activation
  double reduction;       // of one reduction by all threads of a CTA
  double task;            // of a task, beside all that it does
  double store;           // from the last sum to the stored result
  double ticket;          // from asking for a ticket to its number
  double arrival;         // of a scheduler at a trigger, which may push
  double launch;          // of a kernel in a CUDA graph
  double watts;           // that the card may draw
  double idle_watts;      // of them for whatever it does
  double flop_energy;     // microjoules of an operation of the tensor cores
  double vector_energy;   // of one of the other units
  double byte_energy;     // of a byte that memory moves
  double fetch_energy;    // of a byte that consumers get from L2

  // What the loader's throttle is chosen by.
  PerSignal chain;           // from the last sum of a call to the first of the next
  int64_t loader_in_flight;  // slots in flight: fewer stream slower, more delay signals
  int64_t
      streaming_in_flight;   // the same where the stream sets the time of a chain of flagged words
  int64_t hidden_in_flight;  // the same where the stream hides behind a chain, or takes as long as
                             // one of events
  int64_t ahead;             // the same in a share that the consumers wait for, of events only,
                             // where they fetch less than fetched_share of what is streamed
  int64_t
      computed_in_flight;  // the same where what is loaded follows from what the launch computes
  int64_t long_in_flight;  // and where that is computed_stream of it or more, in microseconds
  double computed_stream;
  double fetched_share;
  double interval_share;  // of the time of a slot at full bandwidth, where bursts delay signals
  double prefetch_from;  // bytes of activations that an iteration fetches; from there on the loader
                         // prefetches, where the stream sets the time while the ring is full, and
                         // while it waits for what says what it copies
  double prefetch_share;  // the pause between two prefetches, as interval_share
  PerSignal hidden;       // a run that streams less for each signal hides the stream
  PerSignal streaming;    // and one that streams more is bound by bandwidth
  PerSignal of_peer;      // as so many signals counts one of a peer
};

/// The first one is the default.
const std::vector<Target>& Targets();
inline const Target& DefaultTarget() { return Targets().front(); }

/// The target as a rank of several equal hosts sees it, where what all ranks sum up is an
/// all-reduce by NCCL between two launches. `ranks` are those of all hosts, of which each has its
/// own adapter.
///
/// The latency is that of NCCL's trees and its LL protocol by NCCL's own model
/// (`src/graph/tuning.cc` of its sources): 4.4 + 2 (0.94 (ranks of a host - 1) + 5 log2(hosts))
/// microseconds.
Target OverHosts(const Target& target, int64_t hosts, int64_t ranks);

/// The most dynamic shared memory of a CTA on the machines of an architecture; nothing of one
/// without machines.
std::optional<int64_t> MostSharedBytes(Arch arch);

}  // namespace etc
