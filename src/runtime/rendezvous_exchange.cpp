// What ranks that have found each other tell each other.
#include <poll.h>

#include <algorithm>

#include "runtime/rendezvous.h"

namespace etc::runtime {

std::string SecondsOf(std::chrono::milliseconds time) {
  return time.count() % 1000 == 0 ? Cat(time.count() / 1000, " s") : Cat(time.count(), " ms");
}

std::string NamesOf(const std::vector<size_t>& ranks) {
  constexpr size_t kMost = 8;
  std::string names = ranks.size() == 1 ? "rank" : "ranks";
  for (size_t i = 0; i < std::min(ranks.size(), kMost); ++i) {
    names += Cat(i == 0 ? " " : ", ", ranks[i]);
  }
  return ranks.size() <= kMost ? names : Cat(names, " and ", ranks.size() - kMost, " more");
}

/// From now on each call ends like this.
Status Rendezvous::Break(Status status) {
  if (broken_.Ok()) {
    broken_ = std::move(status);
    for (Peer& peer : peers_) {
      if (peer.connection.fd() >= 0) {
        (void)peer.connection.Send({.kind = Message::kRefusal, .text = broken_.message},
                                   Deadline());
      }
    }
  }
  return broken_;
}

Status Rendezvous::ReceiveFrom(size_t rank) {
  Peer& peer = peers_[rank];
  peer.connection.Receive();
  const Message* message = peer.connection.Front();
  if (message != nullptr && message->kind == Message::kGoodbye) {
    peer.has_left = true;
    return {};
  }
  if (message != nullptr && message->kind == Message::kRefusal) {
    return Break(Fail(ETC_ERROR_GROUP, message->text));
  }
  if (message != nullptr && message->kind != Message::kExchange &&
      message->kind != Message::kData) {
    return Break(Fail(ETC_ERROR_GROUP, "rank ", rank, " says what makes no sense"));
  }
  if (message == nullptr && peer.connection.state() != Connection::State::Open && !peer.has_left) {
    return Break(Fail(ETC_ERROR_GROUP, "rank ", rank, " is gone: it has closed its connection"));
  }
  return {};
}

Status Rendezvous::ReceiveAll() {
  for (size_t rank = 0; rank < ranks() && broken_.Ok(); ++rank) {
    if (peers_[rank].connection.fd() >= 0) {
      (void)ReceiveFrom(rank);
    }
  }
  return broken_;
}

Status Rendezvous::Look(const std::string** found) {
  *found = nullptr;
  ETC_RETURN_IF_BAD(ReceiveAll());
  for (Peer& peer : peers_) {
    if (peer.connection.fd() < 0) {
      continue;
    }
    if (const Message* message = peer.connection.Front();
        message != nullptr && message->kind == Message::kExchange) {
      *found = &message->text;
    }
  }
  return {};
}

Status Rendezvous::CheckThatNobodyIsLost() { return ReceiveAll(); }

Status Rendezvous::CheckThatNobodyHasLeft() {
  ETC_RETURN_IF_BAD(ReceiveAll());
  for (size_t rank = 0; rank < ranks(); ++rank) {
    const Peer& peer = peers_[rank];
    // What it has brought to an exchange is still to be read, and its goodbye stands behind that.
    const bool is_gone =
        peer.connection.fd() >= 0 && peer.connection.state() != Connection::State::Open;
    if (peer.has_left || is_gone) {
      return Fail(ETC_ERROR_GROUP, "rank ", rank, " has left the group");
    }
  }
  return {};
}

Status Rendezvous::Exchange(Message::Kind kind, const std::string& own,
                            std::vector<std::string>* all) {
  const Deadline deadline(options_.timeout);
  ETC_RETURN_IF_BAD(ReceiveAll());
  all->assign(ranks(), {});
  (*all)[rank()] = own;
  const uint64_t number = ++exchanges_;
  for (size_t peer = 0; peer < ranks(); ++peer) {
    Connection& connection = peers_[peer].connection;
    if (connection.fd() < 0) {
      continue;
    }
    if (peers_[peer].has_left) {
      return Break(Fail(ETC_ERROR_GROUP, "rank ", peer, " has left the group"));
    }
    // Who is gone is found below, by what it does not say.
    (void)connection.Send({.kind = kind, .number = number, .text = own}, deadline);
  }
  std::vector<bool> has_come(ranks());
  has_come[rank()] = true;
  for (;;) {
    ETC_RETURN_IF_BAD(ReceiveAll());
    std::vector<pollfd> waits;
    std::vector<size_t> missing;
    for (size_t peer = 0; peer < ranks(); ++peer) {
      if (has_come[peer]) {
        continue;
      }
      Connection& connection = peers_[peer].connection;
      if (peers_[peer].has_left) {
        return Break(Fail(ETC_ERROR_GROUP, "rank ", peer, " has left the group"));
      }
      if (const Message* message = connection.Front(); message != nullptr) {
        if (message->number != number || message->kind != kind) {
          return Break(Fail(ETC_ERROR_GROUP, "rank ", peer, " says what makes no sense"));
        }
        (*all)[peer] = message->text;
        connection.Pop();
        has_come[peer] = true;
      } else {
        missing.push_back(peer);
        waits.push_back({connection.fd(), POLLIN, 0});
      }
    }
    if (missing.empty()) {
      return ReceiveAll();  // somebody may have given up since
    }
    if (deadline.HasPassed()) {
      return Break(
          Fail(ETC_ERROR_GROUP, NamesOf(missing), missing.size() == 1 ? " has" : " have",
               " not come within ", SecondsOf(options_.timeout), " to where rank ", rank(),
               " waits: to a ",
               kind == Message::kData ? "gather" : "reserve or a launch with other sizes"));
    }
    // Others are watched, too: one that is gone ends the wait.
    for (size_t peer = 0; peer < ranks(); ++peer) {
      if (has_come[peer] && peer != rank() && !peers_[peer].has_left &&
          peers_[peer].connection.Front() == nullptr) {
        waits.push_back({peers_[peer].connection.fd(), POLLIN, 0});
      }
    }
    (void)poll(waits.data(), waits.size(), deadline.Left());
  }
}

bool Rendezvous::Leave(std::chrono::milliseconds wait) {
  const Deadline deadline(wait);
  if (!has_left_) {
    has_left_ = true;
    for (Peer& peer : peers_) {
      if (peer.connection.fd() >= 0) {
        (void)peer.connection.Send({.kind = Message::kGoodbye}, Deadline());
      }
    }
  }
  for (;;) {
    std::vector<pollfd> waits;
    for (Peer& peer : peers_) {
      if (peer.connection.fd() < 0 || peer.has_left) {
        continue;
      }
      peer.connection.Receive();
      for (const Message* message = peer.connection.Front(); message != nullptr;
           message = peer.connection.Front()) {
        peer.has_left |= message->kind == Message::kGoodbye;
        peer.connection.Pop();
      }
      peer.has_left |= peer.connection.state() != Connection::State::Open;
      if (!peer.has_left) {
        waits.push_back({peer.connection.fd(), POLLIN, 0});
      }
    }
    if (waits.empty() || deadline.HasPassed()) {
      return waits.empty();
    }
    (void)poll(waits.data(), waits.size(), deadline.Left());
  }
}

}  // namespace etc::runtime
