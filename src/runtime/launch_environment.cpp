#include "runtime/launch_environment.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace etc::runtime {
namespace {

/// The variables of one who starts processes.
struct Launcher {
  const char* rank;
  const char* ranks;
  const char* local_rank;
};

// Who starts processes inside of a job of another comes first.
constexpr std::array<Launcher, 4> kLaunchers = {{
    {"RANK", "WORLD_SIZE", "LOCAL_RANK"},  // torchrun
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
}};

constexpr char kDefaultHost[] = "127.0.0.1";  // ranks are on one machine
constexpr uint16_t kDefaultPort = 29517;

const char* Variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? text : nullptr;
}

template <class Number>
bool ParseWhole(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

Status ReadNumber(const char* name, int32_t* number) {
  const char* text = Variable(name);
  if (text == nullptr) {
    return Fail(ETC_ERROR_GROUP, "the environment has no ", name);
  }
  return ParseWhole<int32_t>(text, number) && *number >= 0
             ? Status{}
             : Fail(ETC_ERROR_GROUP, name, " is `", text, "`, but must be a number");
}

const Launcher* FindLauncher() {
  for (const Launcher& launcher : kLaunchers) {
    if (Variable(launcher.rank) != nullptr) {
      return &launcher;
    }
  }
  return nullptr;
}

}  // namespace

Status ReadLocalRank(std::optional<int32_t>* rank) {
  const Launcher* launcher = FindLauncher();
  if (launcher != nullptr && Variable(launcher->local_rank) != nullptr) {
    return ReadNumber(launcher->local_rank, &rank->emplace());
  }
  return {};
}

Status ReadLaunchEnvironment(LaunchEnvironment* environment) {
  const Launcher* launcher = FindLauncher();
  if (launcher == nullptr) {
    std::string names;
    for (const Launcher& one : kLaunchers) {
      names += Cat(names.empty() ? "" : ", ", one.rank);
    }
    return Fail(ETC_ERROR_GROUP,
                "nothing says which rank this process is: the environment has none of ", names);
  }
  ETC_RETURN_IF_BAD(ReadNumber(launcher->rank, &environment->rank));
  ETC_RETURN_IF_BAD(ReadNumber(launcher->ranks, &environment->ranks));
  if (environment->rank >= environment->ranks) {
    return Fail(ETC_ERROR_GROUP, launcher->rank, " is ", environment->rank, ", but ",
                launcher->ranks, " is ", environment->ranks, ", and ranks count from 0");
  }
  return ReadLocalRank(&environment->local_rank);
}

Status ParseHostAndPort(const std::string& text, const char* name, HostAndPort* at) {
  const size_t colon = text.rfind(':');
  at->host = text.substr(0, colon);
  if (at->host.size() > 2 && at->host.front() == '[' && at->host.back() == ']') {
    at->host = at->host.substr(1, at->host.size() - 2);
  }
  if (colon == std::string::npos || at->host.empty() ||
      !ParseWhole(std::string_view(text).substr(colon + 1), &at->port) || at->port == 0) {
    return Fail(ETC_ERROR_ARGUMENT, name, " is `", text, "`, but must be HOST:PORT");
  }
  return {};
}

Status ReadRendezvous(HostAndPort* at) {
  if (const char* text = Variable("ETC_RENDEZVOUS"); text != nullptr) {
    Status status = ParseHostAndPort(text, "ETC_RENDEZVOUS", at);
    return status.Ok() ? status : Fail(ETC_ERROR_GROUP, status.message);
  }
  const char* host = Variable("MASTER_ADDR");
  *at = {host != nullptr ? host : kDefaultHost, kDefaultPort};
  if (const char* port = Variable("MASTER_PORT"); port != nullptr) {
    if (!ParseWhole<uint16_t>(port, &at->port) || at->port == 0) {
      return Fail(ETC_ERROR_GROUP, "MASTER_PORT is `", port, "`, but must be a port");
    }
    // There torchrun itself listens.
    if (Variable("TORCHELASTIC_RUN_ID") != nullptr) {
      at->port = at->port < UINT16_MAX ? at->port + 1 : at->port - 1;
    }
  }
  return {};
}

}  // namespace etc::runtime
