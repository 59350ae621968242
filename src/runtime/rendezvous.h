// How the processes of a group find each other, and what they agree on afterwards: a connection
// between every two of them, so that each sees for itself when another is gone.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/connection.h"
#include "runtime/status.h"

namespace etc::runtime {

struct RendezvousOptions {
  int32_t rank = 0;
  int32_t ranks = 0;
  HostAndPort at;  // where rank 0 listens
  std::chrono::milliseconds timeout{30000};
};

class Rendezvous {
 public:
  /// Returns when all ranks are there. An error that concerns all is the same on each of them.
  static Status Join(const RendezvousOptions& options, std::unique_ptr<Rendezvous>* rendezvous);
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  /// Says goodbye.
  ~Rendezvous();

  size_t rank() const { return static_cast<size_t>(options_.rank); }
  size_t ranks() const { return peers_.size(); }
  std::chrono::milliseconds timeout() const { return options_.timeout; }

  /// Gives what each rank brings. All ranks call it equally often, and it waits for all. Behind an
  /// error there is no other exchange: who has come is told that others did not.
  Status Exchange(const std::string& own, std::vector<std::string>* all) {
    return Exchange(Message::kExchange, own, all);
  }
  /// The same of data, which Look does not give.
  Status Gather(const std::string& own, std::vector<std::string>* all) {
    return Exchange(Message::kData, own, all);
  }
  /// What some rank has brought that waits for this one in an exchange, in `found`; null where none
  /// does. An error where a rank is gone. Does not wait.
  Status Look(const std::string** found);
  /// Whether a rank is gone without a goodbye.
  Status CheckThatNobodyIsLost();
  /// Nor has said goodbye.
  Status CheckThatNobodyHasLeft();
  /// Tells all that this rank reaches for nothing of theirs any more. Whether all others have said
  /// so, or are gone, within the time.
  bool Leave(std::chrono::milliseconds wait);

 private:
  explicit Rendezvous(RendezvousOptions options);

  Status Exchange(Message::Kind kind, const std::string& own, std::vector<std::string>* all);
  Status GatherRanks();
  Status Find();
  Status ConnectPeers(const Descriptor& listener, const std::vector<uint16_t>& ports,
                      const std::string& session, const Deadline& deadline);
  Status Greet(Connection connection, std::vector<uint16_t>* ports);
  Status FindAbsent(std::vector<size_t>* absent, std::vector<pollfd>* present);
  Status ReceiveFrom(size_t rank);
  Status ReceiveAll();
  Status Break(Status status);

  struct Peer {
    Connection connection;
    bool has_left = false;
  };

  RendezvousOptions options_;
  std::vector<Peer> peers_;  // of the own rank, without a connection
  uint64_t exchanges_ = 0;
  bool has_left_ = false;
  Status broken_;
};

/// "rank 1" or "ranks 1, 2"; of many the first ones, and how many more.
std::string NamesOf(const std::vector<size_t>& ranks);
/// "30 s" or "1500 ms".
std::string SecondsOf(std::chrono::milliseconds time);

}  // namespace etc::runtime
