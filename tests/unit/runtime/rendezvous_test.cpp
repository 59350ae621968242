// Ranks that find each other over the loopback interface, each in a thread here, and what others
// may do to them.
#include "runtime/rendezvous.h"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/exported_memory.h"
#include "runtime/launch_environment.h"
#include "runtime/peer_memory.h"
#include "runtime/proposal.h"

namespace etc::test {
namespace {

using namespace etc::runtime;
using std::chrono::milliseconds;

/// Where nobody listens.
HostAndPort FreePlace() {
  HostAndPort at{"127.0.0.1", 0};
  Descriptor socket;
  REQUIRE(Listen(&at, &socket).Ok());
  return at;
}

struct Outcome {
  Status status;
  std::unique_ptr<Rendezvous> rendezvous;
};

/// Runs something for each rank at the same time.
void ForEach(size_t ranks, const std::function<void(size_t)>& run) {
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back(run, rank);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

std::vector<Outcome> JoinAll(const std::vector<RendezvousOptions>& options) {
  std::vector<Outcome> outcomes(options.size());
  ForEach(options.size(), [&](size_t i) {
    outcomes[i].status = Rendezvous::Join(options[i], &outcomes[i].rendezvous);
  });
  return outcomes;
}

std::vector<RendezvousOptions> OptionsOf(int32_t ranks, milliseconds timeout,
                                         const HostAndPort& at = FreePlace()) {
  std::vector<RendezvousOptions> options;
  for (int32_t rank = 0; rank < ranks; ++rank) {
    options.push_back({rank, ranks, at, timeout});
  }
  return options;
}

void CheckExchange(std::vector<Outcome>& all, const std::string& word) {
  ForEach(all.size(), [&](size_t rank) {
    std::vector<std::string> said;
    const Status status = all[rank].rendezvous->Exchange(word + std::to_string(rank), &said);
    CHECK_MESSAGE(status.Ok(), status.message);
    REQUIRE(said.size() == all.size());
    for (size_t peer = 0; peer < all.size(); ++peer) {
      CHECK(said[peer] == word + std::to_string(peer));
    }
  });
}

/// A connection of somebody, to whom the listener may come later.
Connection Stranger(const HostAndPort& at, const std::string& says) {
  Connection connection;
  REQUIRE(Connect(at, Deadline(milliseconds(5000)), &connection).Ok());
  (void)!send(connection.fd(), says.data(), says.size(), MSG_NOSIGNAL);
  return connection;
}

/// The header of a message, as it stands on the wire.
std::string Header(uint32_t version, uint32_t kind, uint64_t bytes) {
  const uint64_t number = 0;
  std::string text = "etcgroup";
  text.append(reinterpret_cast<const char*>(&version), sizeof version);
  text.append(reinterpret_cast<const char*>(&kind), sizeof kind);
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
  text.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  return text;
}

TEST_CASE("ranks find each other and exchange what they have") {
  for (const int32_t ranks : {1, 2, 5}) {
    std::vector<Outcome> all = JoinAll(OptionsOf(ranks, milliseconds(10000)));
    for (const Outcome& one : all) {
      REQUIRE_MESSAGE(one.status.Ok(), one.status.message);
    }
    CheckExchange(all, "first ");
    CheckExchange(all, std::string(200000, 'x'));
    const std::string* found = nullptr;
    CHECK(all[0].rendezvous->Look(&found).Ok());
    CHECK(found == nullptr);
  }
}

TEST_CASE("what callers bring is no proposal, and no two ranks do different things") {
  std::vector<Outcome> all = JoinAll(OptionsOf(2, milliseconds(5000)));
  REQUIRE(all[0].rendezvous != nullptr);
  std::thread ahead([&] {
    std::vector<std::string> said;
    CHECK(all[1].rendezvous->Gather("one", &said).Ok());
    CHECK(said == std::vector<std::string>{"zero", "one"});
  });
  std::this_thread::sleep_for(milliseconds(50));
  const std::string* found = nullptr;
  CHECK(all[0].rendezvous->Look(&found).Ok());
  CHECK(found == nullptr);
  std::vector<std::string> said;
  CHECK(all[0].rendezvous->Gather("zero", &said).Ok());
  ahead.join();
  ForEach(2, [&](size_t rank) {
    std::vector<std::string> others;
    const Status status = rank == 0 ? all[0].rendezvous->Gather("data", &others)
                                    : all[1].rendezvous->Exchange("proposal", &others);
    CHECK(status.code == ETC_ERROR_GROUP);
    CHECK(status.message.ends_with("says what makes no sense"));
  });
}

TEST_CASE("an outcome of another call of the group is none") {
  std::vector<Outcome> all = JoinAll(OptionsOf(2, milliseconds(5000)));
  REQUIRE(all[0].rendezvous != nullptr);
  ForEach(2, [&](size_t rank) {
    std::vector<std::string> said;
    const Status status = rank == 0 ? MeetOthers(*all[0].rendezvous, {})
                                    : all[1].rendezvous->Exchange(ToWire(Proposal{}), &said);
    CHECK(status.message == (rank == 0 ? "a rank is in another call of the group" : ""));
  });
}

TEST_CASE("memory of another process that ends too early is not mapped") {
  const TempDir dir;
  dir.Write("short", std::string(100, 'x'));
  void* data = nullptr;
  const Status status = MapExported(dir.File("short"), 4096, &data);
  CHECK(status.code == ETC_ERROR_GROUP);
  CHECK(status.message == dir.File("short") + " has 100 bytes, but the memory of a rank has 4096");
  CHECK(data == nullptr);
}

TEST_CASE("of many ranks a message names the first ones") {
  CHECK(NamesOf({3}) == "rank 3");
  CHECK(NamesOf({1, 2, 3, 4, 5, 6, 7, 8}) == "ranks 1, 2, 3, 4, 5, 6, 7, 8");
  CHECK(NamesOf(std::vector<size_t>(1000, 7)) == "ranks 7, 7, 7, 7, 7, 7, 7, 7 and 992 more");
}

TEST_CASE("ranks that do not come are named on all others") {
  std::vector<RendezvousOptions> options = OptionsOf(5, milliseconds(1500));
  const std::string text =
      "ranks 1, 3 have not come to " + options[0].at.Text() + " within 1500 ms";
  options.erase(options.begin() + 3);
  options.erase(options.begin() + 1);
  for (const Outcome& one : JoinAll(options)) {
    CHECK(one.status.code == ETC_ERROR_GROUP);
    CHECK(one.status.message == text);
  }
}

TEST_CASE("what keeps ranks from joining is said to all") {
  const auto first = [](std::vector<RendezvousOptions> options) {
    std::string text;
    for (const Outcome& one : JoinAll(options)) {
      CHECK(one.status.code == ETC_ERROR_GROUP);
      CHECK((text.empty() || one.status.message == text));
      text = one.status.message;
    }
    return text;
  };
  const milliseconds timeout(10000);
  std::vector<RendezvousOptions> options = OptionsOf(3, timeout);
  options[2].rank = 1;
  CHECK(first(options) == "two processes are rank 1");
  options[2] = {2, 4, options[0].at, timeout};
  CHECK(first(options) == "rank 2 is one of 4 ranks, but rank 0 one of 3");

  std::unique_ptr<Rendezvous> none;
  CHECK(Rendezvous::Join({3, 3, options[0].at, timeout}, &none).message ==
        "there is no rank 3 of 3 ranks, counted from 0");
  CHECK(Rendezvous::Join({0, 2, {"no.such.host.invalid", 1}, timeout}, &none)
            .message.rfind("rank 0 cannot listen on no.such.host.invalid:1: "
                           "`no.such.host.invalid` is no address: ",
                           0) == 0);
  HostAndPort taken{"127.0.0.1", 0};
  Descriptor listener;
  REQUIRE(Listen(&taken, &listener).Ok());
  CHECK(Rendezvous::Join({0, 2, taken, timeout}, &none).message ==
        "rank 0 cannot listen on " + taken.Text() +
            ": Address already in use (the address of the options, or else "
            "ETC_RENDEZVOUS=HOST:PORT, names another place)");
  const HostAndPort nobody = FreePlace();
  CHECK(Rendezvous::Join({1, 2, nobody, milliseconds(200)}, &none).message ==
        "rank 1 has not found rank 0 within 200 ms: cannot reach " + nobody.Text() +
            ": Connection refused");
  CHECK(Rendezvous::Join({1, 2, {"no.such.host.invalid", 1}, timeout}, &none)
            .message.rfind("rank 1 has not found rank 0: `no.such.host.invalid` is no address: ",
                           0) == 0);
}

TEST_CASE("another version of the protocol is said to both") {
  const std::vector<RendezvousOptions> options = OptionsOf(2, milliseconds(10000));
  Status zero;
  std::thread rank([&] {
    std::unique_ptr<Rendezvous> none;
    zero = Rendezvous::Join(options[0], &none);
  });
  Connection other = Stranger(options[0].at, Header(7, Message::kHello, 3) + "new");
  rank.join();
  CHECK(zero.message ==
        "a process speaks version 7 of the protocol of groups, and rank 0 version 2: they have "
        "different versions of libetcrt");
  for (const Deadline deadline(milliseconds(5000)); !deadline.HasPassed();) {
    other.Receive();
    if (other.Front() != nullptr) {
      break;
    }
  }
  REQUIRE(other.Front() != nullptr);
  CHECK(other.Front()->kind == Message::kRefusal);
  CHECK(other.Front()->text == zero.message);
}

TEST_CASE("strangers do not keep ranks from each other") {
  const std::vector<RendezvousOptions> options = OptionsOf(3, milliseconds(20000));
  std::vector<Outcome> all(3);
  std::thread zero([&] { all[0].status = Rendezvous::Join(options[0], &all[0].rendezvous); });
  std::vector<Connection> strangers;
  const std::string hello = Header(kGroupProtocol, Message::kHello, 4);
  for (const std::string& says :
       {std::string("GET / HTTP/1.1\r\nHost: rank\r\n\r\n"), std::string(1 << 20, '\0'),
        std::string(), std::string("etc"), std::string("etcgroup"),
        Header(kGroupProtocol, Message::kHello, uint64_t{1} << 60), hello, hello + "four",
        Header(kGroupProtocol, 99, 0), Header(kGroupProtocol, Message::kExchange, 0)}) {
    strangers.push_back(Stranger(options[0].at, says));
  }
  for (int i = 0; i < 300; ++i) {  // who say nothing
    strangers.push_back(Stranger(options[0].at, ""));
  }
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::string noise = seed % 2 == 0 ? "" : hello;
    for (uint32_t i = 0, state = seed; i < seed; ++i) {
      state = state * 1664525 + 1013904223;
      noise += static_cast<char>(state >> 24);
    }
    Stranger(options[0].at, noise);
  }
  std::thread one([&] { all[1].status = Rendezvous::Join(options[1], &all[1].rendezvous); });
  all[2].status = Rendezvous::Join(options[2], &all[2].rendezvous);
  zero.join();
  one.join();
  for (const Outcome& rank : all) {
    REQUIRE_MESSAGE(rank.status.Ok(), rank.status.message);
  }
  CheckExchange(all, "behind strangers ");
}

TEST_CASE("who listens instead of rank 0 is none") {
  HostAndPort at{"127.0.0.1", 0};
  Descriptor listener;
  REQUIRE(Listen(&at, &listener).Ok());
  const auto joined = [&](const std::string& says, bool closes) {
    Status status;
    std::thread rank([&] {
      std::unique_ptr<Rendezvous> none;
      status = Rendezvous::Join({1, 2, at, milliseconds(300)}, &none);
    });
    std::optional<Connection> come;
    while (!come) {
      come = Accept(listener);
    }
    (void)!send(come->fd(), says.data(), says.size(), MSG_NOSIGNAL);
    if (closes) {
      come.reset();
    }
    rank.join();
    return status.message;
  };
  const std::string begin = "at " + at.Text() + " is no rank 0: it ";
  CHECK(joined("SSH-2.0-OpenSSH_9.2\r\n", false) ==
        begin + "says something else than the library does");
  CHECK(joined("", false) == begin + "does not answer");
  CHECK(joined(Header(kGroupProtocol, Message::kWelcome, 0), false) ==
        "rank 0 answers with something else than a welcome");
  CHECK(joined("", true).rfind("at " + at.Text() + " is no rank 0", 0) == 0);
}

TEST_CASE("a rank that is gone ends the waits of all others") {
  std::vector<Outcome> all = JoinAll(OptionsOf(3, milliseconds(20000)));
  for (const Outcome& one : all) {
    REQUIRE_MESSAGE(one.status.Ok(), one.status.message);
  }
  ForEach(3, [&](size_t rank) {
    std::vector<std::string> said;
    if (rank == 1) {
      std::this_thread::sleep_for(milliseconds(100));
      all[1].rendezvous.reset();  // with a goodbye
      return;
    }
    CHECK(all[rank].rendezvous->Exchange("word", &said).message == "rank 1 has left the group");
    CHECK(all[rank].rendezvous->Exchange("word", &said).message == "rank 1 has left the group");
  });
}

TEST_CASE("who comes late to an exchange is told that the others have given up") {
  std::vector<Outcome> all = JoinAll(OptionsOf(2, milliseconds(300)));
  std::vector<std::string> said;
  const std::string text =
      "rank 1 has not come within 300 ms to where rank 0 waits: to a reserve or a launch with "
      "other sizes";
  CHECK(all[0].rendezvous->Exchange("word", &said).message == text);
  CHECK(all[1].rendezvous->Exchange("word", &said).message == text);
}

/// The environment for as long as it lives.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& variables) {
    for (const char* name :
         {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID",
          "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK",
          "PMI_SIZE", "MPI_LOCALRANKID", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID",
          "ETC_RENDEZVOUS"}) {
      unsetenv(name);
    }
    for (const auto& [name, value] : variables) {
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
};

TEST_CASE("the environment says which rank a process is") {
  const auto read = [](const std::map<std::string, std::string>& variables) {
    const Environment environment(variables);
    LaunchEnvironment read;
    if (Status status = ReadLaunchEnvironment(&read); !status.Ok()) {
      return status.message;
    }
    return Cat(read.rank, " of ", read.ranks, ", here ", read.local_rank.value_or(-1));
  };
  CHECK(read({{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}}) == "3 of 8, here 1");
  CHECK(read({{"OMPI_COMM_WORLD_RANK", "1"},
              {"OMPI_COMM_WORLD_SIZE", "2"},
              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
              {"SLURM_PROCID", "0"},
              {"SLURM_NTASKS", "1"}}) == "1 of 2, here 1");
  CHECK(read({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}) == "1 of 4, here -1");
  CHECK(read({{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "2"}}) ==
        "2 of 4, here 2");
  CHECK(read({}) ==
        "nothing says which rank this process is: the environment has none of RANK, "
        "OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID");
  CHECK(read({{"RANK", "first"}, {"WORLD_SIZE", "8"}}) == "RANK is `first`, but must be a number");
  CHECK(read({{"RANK", "1"}}) == "the environment has no WORLD_SIZE");
  CHECK(read({{"RANK", "2"}, {"WORLD_SIZE", "2"}}) ==
        "RANK is 2, but WORLD_SIZE is 2, and ranks count from 0");
  CHECK(read({{"RANK", "0"}, {"WORLD_SIZE", "0"}}) ==
        "RANK is 0, but WORLD_SIZE is 0, and ranks count from 0");
}

TEST_CASE("the environment says where rank 0 listens") {
  const auto read = [](const std::map<std::string, std::string>& variables) {
    const Environment environment(variables);
    HostAndPort at;
    const Status status = ReadRendezvous(&at);
    CHECK((status.Ok() || status.code == ETC_ERROR_GROUP));
    return status.Ok() ? at.Text() : status.message;
  };
  CHECK(read({}) == "127.0.0.1:29517");
  CHECK(read({{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29400"}}) == "node7:29400");
  CHECK(read({{"MASTER_PORT", "29400"}, {"TORCHELASTIC_RUN_ID", "none"}}) == "127.0.0.1:29401");
  CHECK(read({{"ETC_RENDEZVOUS", "[::1]:4000"}, {"MASTER_PORT", "29400"}}) == "[::1]:4000");
  CHECK(read({{"ETC_RENDEZVOUS", "4000"}}) == "ETC_RENDEZVOUS is `4000`, but must be HOST:PORT");
  CHECK(read({{"MASTER_PORT", "70000"}}) == "MASTER_PORT is `70000`, but must be a port");
}

}  // namespace
}  // namespace etc::test
