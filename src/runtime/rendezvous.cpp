// How ranks find each other.
#include "runtime/rendezvous.h"

#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <list>

#include "runtime/log.h"

namespace etc::runtime {
namespace {

constexpr char kLoopback[] = "127.0.0.1";
constexpr size_t kMostStrangers = 256;  // connections of which nobody knows yet who they are
constexpr uint32_t kStrangerBytes = 1024;

/// What a rank says of itself to rank 0.
struct Hello {
  int32_t rank = 0;
  int32_t ranks = 0;
  uint16_t port = 0;  // where it waits for other ranks
  char machine[64] = {};
};

template <class T>
std::string Bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <class T>
bool FromBytes(const std::string& bytes, T* value) {
  if (bytes.size() != sizeof *value) {
    return false;
  }
  std::memcpy(value, bytes.data(), sizeof *value);
  return true;
}

Hello HelloOf(const RendezvousOptions& options, uint16_t port) {
  Hello hello{options.rank, options.ranks, port, {}};
  std::string machine;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> machine;
  machine.copy(hello.machine, sizeof hello.machine - 1);
  return hello;
}

/// What nobody else on this machine knows.
Status MakeSession(std::string* session) {
  session->resize(16);
  return getrandom(session->data(), session->size(), 0) == static_cast<ssize_t>(session->size())
             ? Status{}
             : Fail(ETC_ERROR_GROUP, "the system has no random numbers");
}

/// Connections to a listener until somebody has said who he is. Whoever says what makes no sense is
/// dropped.
class Strangers {
 public:
  explicit Strangers(const Descriptor& listener) : listener_(listener) {}

  /// Waits for what comes, and gives `known(connection, message)` each first message. It takes the
  /// connection or leaves it.
  template <class Known>
  Status Wait(const Deadline& deadline, std::vector<pollfd> others, Known known) {
    others.push_back({listener_.fd(), POLLIN, 0});
    for (const Connection& stranger : strangers_) {
      others.push_back({stranger.fd(), POLLIN, 0});
    }
    (void)poll(others.data(), others.size(), deadline.Left());
    while (std::optional<Connection> come = Accept(listener_)) {
      come->LimitBytes(kStrangerBytes);
      strangers_.push_back(std::move(*come));
      if (strangers_.size() > kMostStrangers) {
        strangers_.pop_front();
      }
    }
    for (auto at = strangers_.begin(); at != strangers_.end();) {
      at->Receive();
      if (const Message* message = at->Front(); message != nullptr) {
        Connection connection = std::move(*at);
        at = strangers_.erase(at);
        ETC_RETURN_IF_BAD(known(std::move(connection)));
      } else if (at->state() != Connection::State::Open) {
        LogInfo("drops a connection of somebody who is no rank");
        at = strangers_.erase(at);
      } else {
        ++at;
      }
    }
    return {};
  }

 private:
  const Descriptor& listener_;
  std::list<Connection> strangers_;
};

}  // namespace

Rendezvous::Rendezvous(RendezvousOptions options)
    : options_(std::move(options)), peers_(static_cast<size_t>(options_.ranks)) {}

Rendezvous::~Rendezvous() { (void)Leave({}); }

Status Rendezvous::Join(const RendezvousOptions& options, std::unique_ptr<Rendezvous>* rendezvous) {
  if (options.rank < 0 || options.rank >= options.ranks) {
    return Fail(ETC_ERROR_ARGUMENT, "there is no rank ", options.rank, " of ", options.ranks,
                " ranks, counted from 0");
  }
  std::unique_ptr<Rendezvous> made(new Rendezvous(options));
  if (options.ranks > 1) {
    ETC_RETURN_IF_BAD(options.rank == 0 ? made->GatherRanks() : made->Find());
  }
  *rendezvous = std::move(made);
  return {};
}

/// Who is at rank 0, and what he says: the rank, or why none goes on.
Status Rendezvous::Greet(Connection connection, std::vector<uint16_t>* ports) {
  const Message message = *connection.Front();
  const Hello own = HelloOf(options_, options_.at.port);
  Hello hello;
  connection.Pop();
  if (message.version == kGroupProtocol &&
      (message.kind != Message::kHello || !FromBytes(message.text, &hello) || hello.rank < 0)) {
    return {};  // a stranger
  }
  const auto rank = static_cast<size_t>(hello.rank);
  Status refused;
  if (message.version != kGroupProtocol) {
    refused = Fail(ETC_ERROR_GROUP, "a process speaks version ", message.version,
                   " of the protocol of groups, and rank 0 version ", kGroupProtocol,
                   ": they have different versions of libetcrt");
  } else if (hello.ranks != own.ranks || hello.rank >= own.ranks) {
    refused = Fail(ETC_ERROR_GROUP, "rank ", hello.rank, " is one of ", hello.ranks,
                   " ranks, but rank 0 one of ", own.ranks);
  } else if (rank == 0 || peers_[rank].connection.fd() >= 0) {
    refused = Fail(ETC_ERROR_GROUP, "two processes are rank ", hello.rank);
  } else if (std::memcmp(hello.machine, own.machine, sizeof own.machine) != 0) {
    refused = Fail(ETC_ERROR_GROUP, "rank ", hello.rank, " is on another machine than rank 0");
  } else {
    connection.LimitBytes(1 << 20);
    (*ports)[rank] = hello.port;
    peers_[rank].connection = std::move(connection);
    return {};
  }
  (void)connection.Send({.kind = Message::kRefusal, .text = refused.message}, Deadline());
  return refused;
}

/// Which ranks have not come to rank 0. An error where one has gone again.
Status Rendezvous::FindAbsent(std::vector<size_t>* absent, std::vector<pollfd>* present) {
  absent->clear();
  present->clear();
  for (size_t rank = 1; rank < ranks(); ++rank) {
    Connection& connection = peers_[rank].connection;
    if (connection.fd() < 0) {
      absent->push_back(rank);
      continue;
    }
    connection.Receive();
    if (connection.state() != Connection::State::Open) {
      return Fail(ETC_ERROR_GROUP, "rank ", rank, " is gone: it has closed its connection");
    }
    present->push_back({connection.fd(), POLLIN, 0});
  }
  return {};
}

/// Rank 0: gathers all others and says where each is, or why none goes on.
Status Rendezvous::GatherRanks() {
  const Deadline deadline(options_.timeout);
  Descriptor listener;
  if (Status status = Listen(&options_.at, &listener); !status.Ok()) {
    return Fail(status.code, "rank 0 ", status.message,
                " (the address of the options, or else ETC_RENDEZVOUS=HOST:PORT, names another "
                "place)");
  }
  std::vector<uint16_t> ports(ranks());
  Strangers strangers(listener);
  std::vector<size_t> absent;
  std::vector<pollfd> present;
  Status status = FindAbsent(&absent, &present);
  while (status.Ok() && !absent.empty()) {
    if (deadline.HasPassed()) {
      status = Fail(ETC_ERROR_GROUP, NamesOf(absent), absent.size() == 1 ? " has" : " have",
                    " not come to ", options_.at.Text(), " within ", SecondsOf(options_.timeout));
      break;
    }
    status = strangers.Wait(deadline, std::move(present), [&](Connection connection) {
      return Greet(std::move(connection), &ports);
    });
    if (status.Ok()) {
      status = FindAbsent(&absent, &present);
    }
  }
  const Message refusal{.kind = Message::kRefusal, .text = status.message};
  size_t told = 1;
  for (Peer& peer : peers_) {
    if (!status.Ok() && peer.connection.fd() >= 0) {
      told += peer.connection.Send(refusal, Deadline()).Ok() ? 1 : 0;
    }
  }
  // Who comes a little later is not to look for rank 0 in vain.
  for (const Deadline late(std::chrono::seconds(1));
       !status.Ok() && told < ranks() && !late.HasPassed();) {
    (void)strangers.Wait(late, {}, [&](Connection connection) -> Status {
      told += connection.Send(refusal, Deadline()).Ok() ? 1 : 0;
      return {};
    });
  }
  ETC_RETURN_IF_BAD(status);
  std::string session;
  ETC_RETURN_IF_BAD(MakeSession(&session));
  for (const uint16_t port : ports) {
    session += Bytes(port);
  }
  for (size_t rank = 1; rank < ranks(); ++rank) {
    ETC_RETURN_IF_BAD(
        peers_[rank].connection.Send({.kind = Message::kWelcome, .text = session}, deadline));
  }
  return {};
}

/// Another rank: looks for rank 0, which says where the others are.
Status Rendezvous::Find() {
  const Deadline deadline(options_.timeout);
  HostAndPort own{kLoopback, 0};
  Descriptor listener;
  Connection& zero = peers_[0].connection;
  ETC_RETURN_IF_BAD(Listen(&own, &listener));
  if (Status status = Connect(options_.at, deadline, &zero); !status.Ok()) {
    return Fail(status.code, "rank ", options_.rank, " has not found rank 0",
                deadline.HasPassed() ? Cat(" within ", SecondsOf(options_.timeout)) : "", ": ",
                status.message);
  }
  ETC_RETURN_IF_BAD(
      zero.Send({.kind = Message::kHello, .text = Bytes(HelloOf(options_, own.port))}, deadline));
  // Rank 0 may have come later, and shall be the one that says who is missing.
  const Deadline answer(options_.timeout + std::chrono::seconds(2));
  for (zero.Receive(); zero.Front() == nullptr; zero.Receive()) {
    if (zero.state() != Connection::State::Open) {
      return Fail(ETC_ERROR_GROUP, "at ", options_.at.Text(), " is no rank 0: it ",
                  zero.state() == Connection::State::Closed
                      ? "has closed the connection"
                      : "says something else than the library does");
    }
    if (answer.HasPassed()) {
      return Fail(ETC_ERROR_GROUP, "at ", options_.at.Text(), " is no rank 0: it does not answer");
    }
    pollfd waits{zero.fd(), POLLIN, 0};
    (void)poll(&waits, 1, answer.Left());
  }
  const Message message = *zero.Front();
  zero.Pop();
  constexpr size_t kSession = 16;
  if (message.kind == Message::kRefusal) {
    return Fail(ETC_ERROR_GROUP, message.text);
  }
  if (message.kind != Message::kWelcome ||
      message.text.size() != kSession + ranks() * sizeof(uint16_t)) {
    return Fail(ETC_ERROR_GROUP, "rank 0 answers with something else than a welcome");
  }
  std::vector<uint16_t> ports(ranks());
  std::memcpy(ports.data(), message.text.data() + kSession, ranks() * sizeof(uint16_t));
  return ConnectPeers(listener, ports, message.text.substr(0, kSession),
                      Deadline(options_.timeout));
}

/// With the lower ranks, which listen already, and with the higher ones, which come.
Status Rendezvous::ConnectPeers(const Descriptor& listener, const std::vector<uint16_t>& ports,
                                const std::string& session, const Deadline& deadline) {
  for (size_t peer = 1; peer < rank(); ++peer) {
    Connection& connection = peers_[peer].connection;
    Status status = Connect({kLoopback, ports[peer]}, deadline, &connection);
    if (status.Ok()) {
      status = connection.Send({.kind = Message::kPeer, .text = session + Bytes(options_.rank)},
                               deadline);
    }
    if (!status.Ok()) {
      return Fail(status.code, "rank ", rank(), " does not reach rank ", peer, ": ",
                  status.message);
    }
  }
  Strangers strangers(listener);
  size_t missing = ranks() - 1 - rank();
  const auto greet = [&](Connection connection) -> Status {
    const Message message = *connection.Front();
    connection.Pop();
    int32_t peer = 0;
    if (message.kind != Message::kPeer || message.text.compare(0, session.size(), session) != 0 ||
        !FromBytes(message.text.substr(session.size()), &peer) || peer <= options_.rank ||
        peer >= options_.ranks || peers_[static_cast<size_t>(peer)].connection.fd() >= 0) {
      return {};
    }
    connection.LimitBytes(1 << 20);
    peers_[static_cast<size_t>(peer)].connection = std::move(connection);
    --missing;
    return {};
  };
  while (missing > 0) {
    if (deadline.HasPassed()) {
      std::vector<size_t> absent;
      for (size_t peer = rank() + 1; peer < ranks(); ++peer) {
        if (peers_[peer].connection.fd() < 0) {
          absent.push_back(peer);
        }
      }
      return Fail(ETC_ERROR_GROUP, NamesOf(absent), " did not reach rank ", rank(), " within ",
                  SecondsOf(options_.timeout));
    }
    ETC_RETURN_IF_BAD(strangers.Wait(deadline, {}, greet));
  }
  return {};
}

}  // namespace etc::runtime
