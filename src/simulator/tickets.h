// The schedulers of SMs: each walks over the tasks of its SM and takes tickets for those that SMs
// draw, in front of the loader and the consumers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "simulator/play.h"
#include "simulator/rates.h"

namespace etc {

class Tickets {
 public:
  /// Sets what each SM walks over. `seen`: when a signal is seen, or kNever.
  Tickets(const SimProgram& program, std::vector<Sm>& sms, std::function<double(uint32_t)> seen);

  /// The scheduler of an SM goes on as far as it gets by `now`.
  void Advance(Sm& sm, double now);

  /// That have been taken, those included that no task was left for.
  [[nodiscard]] int64_t taken() const { return taken_; }

 private:
  /// The tasks of a case that nobody has drawn yet.
  struct Case {
    uint32_t next, end;
    const SimStep* step;
  };

  /// What triggers push.
  struct Queue {
    const SimStep* step;  // of some task
    size_t tasks = 0;     // that are pushed, sooner or later
    size_t taken = 0;     // places of which SMs have tickets
    std::vector<uint32_t> pushed = {};
    std::map<size_t, Sm*> waiting = {};  // by place
  };

  bool HasTicket(Sm& sm, const SimStep& step, double now);
  static void Write(Sm& sm);
  void Hand(Sm& sm, uint32_t task, double now);
  bool Draw(Case& drawn, Sm& sm, double now);
  bool Pop(Queue& queue, Sm& sm, double now);

  const SimProgram& program_;
  std::function<double(uint32_t)> seen_;
  std::vector<Case> cases_;
  std::map<uint32_t, Queue> queues_;
  std::vector<uint32_t> arrived_;  // by trigger
  int64_t taken_ = 0;
};

}  // namespace etc
