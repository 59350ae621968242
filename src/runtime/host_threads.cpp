#include "runtime/host_threads.h"

#include <pthread.h>

#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "runtime/thread_team.h"

namespace etc::runtime {
namespace {

/// The teams that no launch uses at the moment.
struct Pool {
  std::mutex mutex;
  int users = 0;  // backends
  size_t teams = 0;
  std::vector<ThreadTeam*> idle;
};

Pool* the_pool = nullptr;

/// A fork takes the calling thread along and no other: the child forgets the teams and makes its
/// own. What they held is lost to it, as ending them would wait for threads that are not there.
void BeforeFork() { the_pool->mutex.lock(); }
void InParent() { the_pool->mutex.unlock(); }
void InChild() {
  the_pool->idle.clear();
  the_pool->mutex.unlock();
}

/// Never destroyed: objects that outlive this library's statics may hold instances.
Pool& ThePool() {
  static Pool* const pool = [] {
    auto made = std::make_unique<Pool>();
    the_pool = made.get();
    if (pthread_atfork(BeforeFork, InParent, InChild) != 0) {
      throw std::bad_alloc();
    }
    return made.release();
  }();
  return *pool;
}

/// A team for one launch: the smallest that suffices, else the largest, which then grows.
ThreadTeam* TakeTeam(int workers) {
  Pool& pool = ThePool();
  const std::lock_guard lock(pool.mutex);
  auto best = pool.idle.end();
  for (auto at = pool.idle.begin(); at != pool.idle.end(); ++at) {
    const bool suffices = (*at)->Workers() >= workers;
    const bool best_suffices = best != pool.idle.end() && (*best)->Workers() >= workers;
    if (best == pool.idle.end() || (suffices && !best_suffices) ||
        (suffices == best_suffices && suffices == ((*at)->Workers() < (*best)->Workers()))) {
      best = at;
    }
  }
  if (best != pool.idle.end()) {
    ThreadTeam* team = *best;
    pool.idle.erase(best);
    return team;
  }
  pool.idle.reserve(pool.teams + 1);  // giving one back must not fail
  auto* team = new ThreadTeam;
  ++pool.teams;
  return team;
}

}  // namespace

HostThreads::HostThreads() {
  Pool& pool = ThePool();
  const std::lock_guard lock(pool.mutex);
  ++pool.users;
}

HostThreads::~HostThreads() {
  held_.reset();
  Pool& pool = ThePool();
  std::vector<ThreadTeam*> ended;
  {
    const std::lock_guard lock(pool.mutex);
    if (--pool.users == 0) {
      ended.swap(pool.idle);
      pool.teams = 0;
    }
  }
  for (ThreadTeam* team : ended) {
    delete team;
  }
}

void HostThreads::GiveBack::operator()(ThreadTeam* team) const {
  Pool& pool = ThePool();
  const std::lock_guard lock(pool.mutex);
  pool.idle.push_back(team);
}

Status HostThreads::Hold(int sms) {
  if (sms == 1) {
    held_.reset();
    return {};
  }
  if (held_ == nullptr) {
    held_.reset(TakeTeam(sms - 1));
  }
  Status status = held_->Grow(sms - 1);
  if (!status.Ok()) {
    held_.reset();
  }
  return status;
}

Status HostThreads::Run(HostBinary::Entry entry, const uint64_t* block, int sms) {
  ETC_RETURN_IF_BAD(Hold(sms));
  if (sms == 1) {
    entry(block, 0, 1);
    return {};
  }
  const auto team = std::move(held_);
  team->Run(entry, block, sms);
  return {};
}

}  // namespace etc::runtime
