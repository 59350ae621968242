// The schedulers of SMs: each walks over the tasks of its SM and takes tickets for those that SMs
// draw, in front of the loader and the consumers.
#pragma once

#include <cstdint>
#include <functional>
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

  [[nodiscard]] double NextTicket(const Sm& sm, const SimStep& step, double now) const;

  const SimProgram& program_;
  std::function<double(uint32_t)> seen_;
  std::vector<Case> cases_;
  int64_t taken_ = 0;
};

}  // namespace etc
