// Launches of a group, and their ends.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/group.h"

namespace etc::runtime {
namespace {

/// How long a launch without a watchdog may still run when a rank is gone that it may wait for.
constexpr std::chrono::milliseconds kUnwatched{1000};

/// Whether no thread of this process has computed for a while.
class Standstill {
 public:
  bool Lasts() {
    constexpr std::chrono::milliseconds kNothing{20};  // and looking takes some time itself
    const auto now = std::chrono::steady_clock::now();
    timespec spent{};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    const auto computed =
        std::chrono::seconds(spent.tv_sec) + std::chrono::nanoseconds(spent.tv_nsec);
    if (computed - computed_ > kNothing) {
      computed_ = computed;
      since_ = now;
    }
    return now - since_ > kUnwatched;
  }

 private:
  std::chrono::nanoseconds computed_{};
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

/// A launch on the host, which another thread makes.
struct LaunchBesideUs {
  std::mutex mutex;
  std::condition_variable ended;
  bool has_ended = false;
  Status status;
};

/// The first failure of all. That of a rank which waits in vain may follow from that of another.
Status FailureOf(const std::vector<Status>& statuses) {
  const Status* found = nullptr;
  for (const Status& status : statuses) {
    const bool is_cause = !status.Ok() && status.code != ETC_ERROR_TIMEOUT;
    if (!status.Ok() && (found == nullptr || (is_cause && found->code == ETC_ERROR_TIMEOUT))) {
      found = &status;
    }
  }
  return found == nullptr ? Status{} : *found;
}

/// On a thread, which no exception may leave.
template <class Launch>
Status Caught(const Launch& launch) {
  try {
    return launch();
  } catch (const std::bad_alloc&) {
    Status status;
    status.code = ETC_ERROR_OUT_OF_MEMORY;
    return status;
  }
}

Status WithoutEnd(const Status& lost, size_t rank) {
  return Fail(lost.code, lost.message, ", and a launch of rank ", rank,
              " waits for it without end");
}

}  // namespace

/// Whether all ranks would do the same as in a launch before. Of another process that is known from
/// the last reserve.
bool Group::IsReady() const {
  return !memory_.has_failed() &&
         std::all_of(members_.begin(), members_.end(), [&](const Member& member) {
           const std::vector<int64_t>* ready = member.instance().ReadyDims();
           if (ready != nullptr || others_ == nullptr) {
             return ready != nullptr && *ready == agreed_dims_;
           }
           std::vector<int64_t> dims;
           SymmetricSizes needed;
           return member.instance().PlanRank(&dims, &needed).Ok() && dims == agreed_dims_ &&
                  memory_.Fits(needed);
         });
}

/// What a rank that waits in a reserve is about to launch.
Status Group::FindProposal(std::optional<Proposal>* proposal) {
  const std::string* found = nullptr;
  if (others_ != nullptr) {
    ETC_RETURN_IF_BAD(others_->Look(&found));
  }
  return found != nullptr ? FromWire(*found, &proposal->emplace()) : Status{};
}

/// Whether a rank waits in a reserve that this one belongs to, too: in front of the same launch, of
/// one that this one has launched already, or behind a failure.
Status Group::IsAskedToReserve(bool* asked) {
  std::optional<Proposal> proposal;
  ETC_RETURN_IF_BAD(FindProposal(&proposal));
  *asked = proposal &&
           (proposal->has_failed || proposal->launches <= members_.front().instance().launches());
  return {};
}

/// Ranks of one device that are enqueued on one stream would wait for each other. A rank that
/// cannot launch on its stream would leave those in front of it waiting.
Status Group::CheckStreams(void* const* streams) const {
  for (size_t i = 0; streams != nullptr && i < members_.size(); ++i) {
    if (streams[i] != nullptr) {
      ETC_RETURN_IF_BAD(
          OfRank(members_[i].rank, members_[i].instance().backend().CheckStream(streams[i])));
    }
  }
  for (size_t one = 0; streams != nullptr && one < places_.size(); ++one) {
    for (size_t other = 0; other < one; ++other) {
      if (streams[one] != nullptr && streams[one] == streams[other] &&
          places_[one].device == places_[other].device) {
        return Fail(ETC_ERROR_ARGUMENT, "ranks ", other, " and ", one, " are on device ",
                    places_[one].device, ", so each needs a stream of its own");
      }
    }
  }
  return {};
}

Status Group::LaunchMember(size_t index, void* const* streams) {
  const Member& member = members_[index];
  void* stream = streams != nullptr ? streams[index] : nullptr;
  return OfRank(member.rank, member.instance().Launch(stream));
}

/// A rank that waited in vain for one in another process may learn from it that it is about to
/// launch something else.
Status Group::Explain(Status status) {
  bool asked = false;
  if (others_ != nullptr && status.code == ETC_ERROR_TIMEOUT) {
    ETC_RETURN_IF_BAD(IsAskedToReserve(&asked));
  }
  if (asked) {
    ETC_RETURN_IF_BAD(Reserve());
  }
  return status;
}

Status Group::Launch(void* const* streams) {
  bool asked = false;
  ETC_RETURN_IF_BAD(CheckStreams(streams));
  ETC_RETURN_IF_BAD(IsAskedToReserve(&asked));
  if (asked || !IsReady()) {
    ETC_RETURN_IF_BAD(Reserve(true));
  }
  if (places_.empty() && members_.size() > 1) {
    return LaunchOnThreads(streams);
  }
  if (places_.empty() && others_ != nullptr &&
      !members_.front().instance().program().manifest().watchdog) {
    return LaunchBeside();
  }
  for (size_t i = 0; i < members_.size(); ++i) {
    ETC_RETURN_IF_BAD(Explain(LaunchMember(i, streams)));
  }
  return {};
}

/// A launch may wait for a rank that is gone, or that never launches the same. With a watchdog it
/// ends all the same.
Status Group::AwaitLaunches(const Member& member, void* stream) {
  constexpr std::chrono::microseconds kPause{20};
  const bool is_watched = member.instance().program().manifest().watchdog.has_value();
  const auto begin = std::chrono::steady_clock::now();
  std::optional<Deadline> deadline;
  for (;;) {
    bool done = false;
    ETC_RETURN_IF_BAD(OfRank(member.rank, member.instance().IsDone(stream, &done)));
    if (done) {
      return {};
    }
    if (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(1)) {
      continue;
    }
    std::optional<Proposal> proposal;
    const Status lost = FindProposal(&proposal);
    if (!is_watched && proposal && proposal->launches < member.instance().launches()) {
      std::vector<Proposal> all;
      stands_still_ = true;
      ETC_RETURN_IF_BAD(Propose(false, &all));
      ETC_RETURN_IF_BAD(Agree(all));
      return CheckLaunches(all);
    }
    if (!lost.Ok() && !deadline) {
      deadline.emplace(is_watched ? others_->timeout() : kUnwatched);
    } else if (!lost.Ok() && deadline->HasPassed()) {
      stands_still_ = true;
      return WithoutEnd(lost, member.rank);
    }
    std::this_thread::sleep_for(kPause);
  }
}

/// A launch on the host returns when it has ended. So another thread makes it, and this one looks
/// whether the process of another rank is gone. What waits for that without a watchdog waits on,
/// and what does not may compute for long.
Status Group::LaunchBeside() {
  constexpr std::chrono::milliseconds kPause{5};
  const Member& member = members_.front();
  const auto launch = std::make_shared<LaunchBesideUs>();
  try {
    std::thread([launch, instance = &member.instance()] {
      Status status = Caught([&] { return instance->Launch(nullptr); });
      const std::lock_guard lock(launch->mutex);
      launch->status = std::move(status);
      launch->has_ended = true;
      launch->ended.notify_one();
    }).detach();
  } catch (const std::system_error&) {
    return Fail(ETC_ERROR_OUT_OF_MEMORY, "cannot start a thread for the launch of rank ",
                member.rank);
  }
  std::optional<Standstill> standstill;
  std::unique_lock lock(launch->mutex);
  while (!launch->ended.wait_for(lock, kPause, [&] { return launch->has_ended; })) {
    const Status lost = others_->CheckThatNobodyHasLeft();
    if (!lost.Ok() && !standstill) {
      standstill.emplace();
    } else if (!lost.Ok() && standstill->Lasts()) {
      stands_still_ = true;
      return WithoutEnd(lost, member.rank);
    }
  }
  return OfRank(member.rank, std::move(launch->status));
}

Status Group::Synchronize(void* const* streams) {
  std::vector<Status> statuses;
  for (size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    void* stream = streams != nullptr ? streams[i] : nullptr;
    if (others_ != nullptr) {
      ETC_RETURN_IF_BAD(AwaitLaunches(member, stream));
    }
    statuses.push_back(OfRank(member.rank, member.instance().Synchronize(stream)));
  }
  // That is why others wait in vain.
  if (others_ != nullptr) {
    ETC_RETURN_IF_BAD(others_->CheckThatNobodyIsLost());
  }
  return Explain(FailureOf(statuses));
}

/// Those of the SMs of all ranks, or none: a rank that began would wait for one without threads.
Status Group::HoldThreads() {
  for (const Member& member : members_) {
    if (Status status = member.instance().HoldThreads(); !status.Ok()) {
      ReleaseThreads();
      return OfRank(member.rank, std::move(status));
    }
  }
  return {};
}

void Group::ReleaseThreads() {
  for (const Member& member : members_) {
    member.instance().ReleaseThreads();
  }
}

Status Group::LaunchOnThreads(void* const* streams) {
  ETC_RETURN_IF_BAD(HoldThreads());
  std::vector<Status> statuses(members_.size());
  // No rank begins before there is a thread for each: it would wait for the others.
  enum Start : int { kWait, kGo, kStop };
  std::atomic<int> start{kWait};
  const auto launch = [&](size_t index) {
    start.wait(kWait);
    if (start.load() == kStop) {
      return;
    }
    statuses[index] = Caught([&] { return LaunchMember(index, streams); });
  };
  std::vector<std::thread> threads;
  threads.reserve(members_.size());
  Status started;
  try {
    for (size_t index = 1; index < members_.size(); ++index) {
      threads.emplace_back(launch, index);
    }
  } catch (const std::system_error&) {
    started = Fail(ETC_ERROR_OUT_OF_MEMORY, "cannot start a thread for each of ", members_.size(),
                   " ranks");
  }
  start.store(started.Ok() ? kGo : kStop);
  start.notify_all();
  launch(0);
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (!started.Ok()) {
    ReleaseThreads();
    return started;
  }
  return FailureOf(statuses);
}

}  // namespace etc::runtime
