// What whoever starts the processes of a group tells each of them in its environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/connection.h"
#include "runtime/status.h"

namespace etc::runtime {

struct LaunchEnvironment {
  int32_t rank = 0;
  int32_t ranks = 0;
  std::optional<int32_t> local_rank;  // of the processes on this machine
};

/// The rank and the number of ranks as torchrun, mpirun or srun give them.
Status ReadLaunchEnvironment(LaunchEnvironment* environment);

/// The rank on this machine, where the environment has it.
Status ReadLocalRank(std::optional<int32_t>* rank);

/// Where rank 0 listens: ETC_RENDEZVOUS, or MASTER_ADDR and MASTER_PORT.
Status ReadRendezvous(HostAndPort* at);

/// "host:port"; `name` says in an error where the text is from.
Status ParseHostAndPort(const std::string& text, const char* name, HostAndPort* at);

}  // namespace etc::runtime
