#include "runtime/connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>

namespace etc::runtime {
namespace {

/// In front of each message. The first three stay the same in all versions.
struct Header {
  uint64_t magic = 0;
  uint32_t version = 0;
  uint32_t kind = 0;
  uint64_t number = 0;
  uint64_t bytes = 0;
};
constexpr uint64_t kMagic = 0x70756f7267637465;  // "etcgroup"

std::string Reason(int number) { return std::generic_category().message(number); }

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Status Resolve(const HostAndPort& at, bool listens, Addresses* found) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (listens ? AI_PASSIVE : 0);
  addrinfo* first = nullptr;
  const int result = getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &hints, &first);
  if (result != 0) {
    return Fail(ETC_ERROR_GROUP, "`", at.host, "` is no address: ", gai_strerror(result));
  }
  found->reset(first);
  return {};
}

Descriptor Open(const addrinfo& address) {
  Descriptor made(socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                         address.ai_protocol));
  return made;
}

void SendAtOnce(int fd) {
  const int on = 1;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Where nobody listens, the system may give a connection the very port that it looks for, and
/// connect it with itself.
bool IsConnectedToItself(int fd) {
  sockaddr_storage own{};
  sockaddr_storage peer{};
  socklen_t own_size = sizeof own;
  socklen_t peer_size = sizeof peer;
  return getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
         getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
         own_size == peer_size && std::memcmp(&own, &peer, own_size) == 0;
}

/// The error of one try; 0 where it is connected.
int TryToConnect(const addrinfo& address, const Deadline& deadline, Descriptor* socket) {
  *socket = Open(address);
  if (socket->fd() < 0) {
    return errno;
  }
  if (connect(socket->fd(), address.ai_addr, address.ai_addrlen) == 0) {
    return 0;
  }
  if (errno != EINPROGRESS) {
    return errno;
  }
  pollfd waits{socket->fd(), POLLOUT, 0};
  if (poll(&waits, 1, deadline.Left()) <= 0) {
    return ETIMEDOUT;
  }
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(socket->fd(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

}  // namespace

int Deadline::Left() const {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(at_ - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1 << 30));
}

std::string HostAndPort::Text() const {
  return host.find(':') == std::string::npos ? Cat(host, ":", port) : Cat("[", host, "]:", port);
}

Status Connection::Send(const Message& message, const Deadline& deadline) {
  Header header{kMagic, message.version, message.kind, message.number, message.text.size()};
  std::string bytes(sizeof header, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  bytes += message.text;
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count =
        send(socket_.fd(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<size_t>(count);
    } else if (errno == EAGAIN && !deadline.HasPassed()) {
      pollfd waits{socket_.fd(), POLLOUT, 0};
      (void)poll(&waits, 1, deadline.Left());
    } else if (errno != EINTR) {
      return Fail(ETC_ERROR_GROUP, Reason(errno));
    }
  }
  return {};
}

void Connection::Receive() {
  char bytes[4096];
  // Who sends without end is read as far as one message goes.
  while (state_ == State::Open && received_.size() <= most_bytes_ + sizeof(Header)) {
    const ssize_t count = recv(socket_.fd(), bytes, sizeof bytes, 0);
    if (count > 0) {
      received_.append(bytes, static_cast<size_t>(count));
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      state_ = State::Closed;
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

const Message* Connection::Front() {
  if (front_ || state_ == State::Malformed) {
    return front_ ? &*front_ : nullptr;
  }
  Header header;
  const size_t seen = std::min(received_.size(), sizeof header);
  std::memcpy(&header, received_.data(), seen);
  // Who sends something else is known by its first bytes.
  if (std::memcmp(&header, &kMagic, std::min(seen, sizeof kMagic)) != 0 ||
      (seen == sizeof header && header.bytes > most_bytes_)) {
    state_ = State::Malformed;
    return nullptr;
  }
  if (seen < sizeof header || received_.size() - seen < header.bytes) {
    return nullptr;
  }
  front_ = Message{header.kind, header.version, header.number,
                   received_.substr(sizeof header, header.bytes)};
  received_.erase(0, sizeof header + header.bytes);
  return &*front_;
}

Status Listen(HostAndPort* at, Descriptor* socket) {
  Addresses found(nullptr, &freeaddrinfo);
  if (Status status = Resolve(*at, true, &found); !status.Ok()) {
    return Fail(status.code, "cannot listen on ", at->Text(), ": ", status.message);
  }
  int error = 0;
  for (const addrinfo* address = found.get(); address != nullptr; address = address->ai_next) {
    Descriptor made = Open(*address);
    const int on = 1;
    constexpr int kWaiting = 128;
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    if (made.fd() < 0 || setsockopt(made.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(made.fd(), address->ai_addr, address->ai_addrlen) != 0 ||
        listen(made.fd(), kWaiting) != 0 ||
        getsockname(made.fd(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
      error = errno;
      continue;
    }
    at->port =
        ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                                          : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
    *socket = std::move(made);
    return {};
  }
  return Fail(ETC_ERROR_GROUP, "cannot listen on ", at->Text(), ": ", Reason(error));
}

std::optional<Connection> Accept(const Descriptor& socket) {
  Descriptor made(accept4(socket.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (made.fd() < 0) {
    return std::nullopt;
  }
  SendAtOnce(made.fd());
  return Connection(std::move(made));
}

Status Connect(const HostAndPort& to, const Deadline& deadline, Connection* connection) {
  constexpr std::chrono::milliseconds kPause{50};
  Addresses found(nullptr, &freeaddrinfo);
  ETC_RETURN_IF_BAD(Resolve(to, false, &found));
  for (;;) {
    int error = 0;
    bool may_come = false;  // whoever is to listen; what else keeps from an address stays
    for (const addrinfo* address = found.get(); address != nullptr; address = address->ai_next) {
      Descriptor socket;
      int tried = TryToConnect(*address, deadline, &socket);
      if (tried == 0 && IsConnectedToItself(socket.fd())) {
        tried = ECONNREFUSED;
      }
      if (tried == 0) {
        SendAtOnce(socket.fd());
        *connection = Connection(std::move(socket));
        return {};
      }
      error = may_come ? error : tried;
      may_come |= tried == ECONNREFUSED || tried == ECONNRESET || tried == EINTR;
    }
    if (!may_come || deadline.HasPassed()) {
      return Fail(ETC_ERROR_GROUP, "cannot reach ", to.Text(), ": ", Reason(error));
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace etc::runtime
