#include "target/target.h"

#include <algorithm>
#include <cmath>

namespace etc {
namespace {

Target H200() {
  return {
      .name = "h200",
      .product = "H200",
      .measured = true,
      .arch = Arch::Sm90a,
      .sms = 132,
      .shared_bytes = 232448,
      .cycles = 1980,
      .stream_bytes = 4.6e6,
      .copied_bytes = 4.53e6,
      .consumed_bytes = 12.5e6,
      .plain_bytes = 4.2e6,
      .cache_bytes = 10.2e6,
      .cache_capacity = 50e6,
      .look_bytes = 38.2e3,
      .held_bytes = 256 * 96 * 4,
      .flops = 496e6,
      .tile_flops = 720e6,
      .register_flops = 150e6,
      .vector_flops = 33.7e6,
      .sm_ring_bytes = 122e3,
      .slot_bytes = 16384,
      .flight = 0.49,
      .behind_wait = 1.83,
      .signal = {.flag_in_data = 0.61, .counter = 1.24},
      .link = {.flag_in_data = 0.9, .counter = 1.0},
      .each_link = {.flag_in_data = 0.25, .counter = 1.2},
      .link_bytes = 370e3,
      .network_bytes = 50e3,
      .cta_signal = 0.2,
      .launch_signal = 0.89,
      .launch_start = 0.35,
      .look = 0.1,
      .reduction = 0.37,
      .task = 0.08,
      .store = 0.2,
      .ticket = 0.5,
      .arrival = 1.0,
      .launch = 3,
      .watts = 700,
      .idle_watts = 60,
      .flop_energy = 0.92e-6,
      .vector_energy = 7e-6,
      .byte_energy = 52e-6,
      .fetch_energy = 45e-6,
      .chain = {.flag_in_data = 0.9, .counter = 1.3},
      .loader_in_flight = 3,
      .streaming_in_flight = 4,
      .hidden_in_flight = 2,
      .ahead = 1,
      .computed_in_flight = 5,
      .long_in_flight = 8,
      .computed_stream = 100,
      .fetched_share = 0.65,
      .interval_share = 0.75,
      .prefetch_from = 22e6,
      .prefetch_share = 1.5,
      .hidden = {.flag_in_data = 1.4, .counter = 3.08},
      .streaming = {.flag_in_data = 5, .counter = 11},
      .of_peer = {.flag_in_data = 1.5, .counter = 1},
  };
}

/// The H100 SXM5 80 GB has the SMs and the clock of the H200, and a memory of 3.35 TB/s for 4.8
/// (NVIDIA H100 and H200 data sheets). What depends on memory is in that proportion.
Target H100() {
  Target target = H200();
  constexpr double kMemory = 3.35 / 4.8;
  target.name = "h100";
  target.product = "H100 SXM5";
  target.measured = false;
  target.stream_bytes *= kMemory;
  target.copied_bytes *= kMemory;
  target.plain_bytes *= kMemory;
  return target;
}

}  // namespace

const std::vector<Target>& Targets() {
  static const std::vector<Target> kTargets = {H200(), H100()};
  return kTargets;
}

Target OverHosts(const Target& target, int64_t hosts, int64_t ranks) {
  constexpr double kBase = 4.4, kLink = 1.8 * 0.52, kNetwork = 5;
  const auto of_host = static_cast<double>(ranks / hosts);
  const double all_reduce =
      kBase + 2 * (kLink * (of_host - 1) + kNetwork * std::log2(static_cast<double>(hosts)));
  // The launch in front ends, NCCL's begins, and so does the one behind.
  const double latency = all_reduce + 2 * (target.launch_signal + target.launch_start);
  Target over = target;
  over.link = {.flag_in_data = latency - target.signal.flag_in_data,
               .counter = latency - target.signal.counter};
  over.each_link = {.flag_in_data = 0, .counter = 0};
  // An all-reduce of bf16 sends and gets each value twice, 4 bytes in all. What a rank stores for
  // it at its peers are floats, once for each of them.
  over.link_bytes = target.network_bytes * static_cast<double>(ranks - 1);
  return over;
}

std::optional<int64_t> MostSharedBytes(Arch arch) {
  std::optional<int64_t> most;
  for (const Target& target : Targets()) {
    if (target.arch == arch) {
      most = std::max(most.value_or(0), target.shared_bytes);
    }
  }
  return most;
}

}  // namespace etc
