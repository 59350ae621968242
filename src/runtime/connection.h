// Messages between the processes of a group, over TCP.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "runtime/descriptor.h"
#include "runtime/status.h"

namespace etc::runtime {

/// The version of what processes of a group tell each other.
inline constexpr uint32_t kGroupProtocol = 2;

/// Until when something may take.
class Deadline {
 public:
  /// For what must not wait.
  Deadline() = default;
  explicit Deadline(std::chrono::milliseconds from_now)
      : at_(std::chrono::steady_clock::now() + from_now) {}
  bool HasPassed() const { return std::chrono::steady_clock::now() >= at_; }
  /// For poll: milliseconds, rounded up.
  int Left() const;

 private:
  std::chrono::steady_clock::time_point at_;
};

/// Both ends of what is written here have the same byte order: they are on one machine.
struct Message {
  /// Numbers of Refusal stay the same in all versions.
  enum Kind : uint32_t {
    kRefusal = 1,   // why the sender does not go on, as text
    kHello = 2,     // a rank to rank 0: who it is
    kWelcome = 3,   // rank 0 to all: where each is
    kPeer = 4,      // a rank to another one
    kExchange = 5,  // to all others, who do the same
    kGoodbye = 6,   // the sender reaches for nothing any more
    kData = 7,      // as an exchange, but of what callers bring
  };
  uint32_t kind = 0;
  uint32_t version = kGroupProtocol;
  uint64_t number = 0;  // of an exchange
  std::string text = {};
};

/// One end of a connection.
class Connection {
 public:
  enum class State { Open, Closed, Malformed };

  Connection() = default;
  explicit Connection(Descriptor socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.fd(); }
  State state() const { return state_; }
  /// Waits until it is under way.
  Status Send(const Message& message, const Deadline& deadline);
  /// Takes in what has come, without waiting.
  void Receive();
  /// The first message that has come, if one has.
  const Message* Front();
  void Pop() { front_.reset(); }
  /// For strangers, who shall not fill the memory: longer messages are malformed.
  void LimitBytes(uint32_t most) { most_bytes_ = most; }

 private:
  Descriptor socket_;
  State state_ = State::Open;
  uint32_t most_bytes_ = 1 << 20;
  std::string received_;
  std::optional<Message> front_;
};

/// "host:port", an IPv6 address in brackets.
struct HostAndPort {
  std::string host;
  uint16_t port = 0;
  std::string Text() const;
};

/// Listens there; port 0 becomes one that is free.
Status Listen(HostAndPort* at, Descriptor* socket);
/// A connection that has come, or none.
std::optional<Connection> Accept(const Descriptor& socket);
/// Tries until somebody listens.
Status Connect(const HostAndPort& to, const Deadline& deadline, Connection* connection);

}  // namespace etc::runtime
