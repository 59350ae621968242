// What is said of two accesses that are not seen to be in order.
#pragma once

#include <memory>

#include "analysis/proofs/prover.h"

namespace etc {

class RaceReport {
 public:
  /// Both must outlive it.
  RaceReport(Prover& prover, const EventRelations& relations);
  ~RaceReport();

  /// Refutes that the access of task 1 of `x` comes before that of task 2 of `y`, by two tasks that
  /// no chain of events joins; or leaves it open, which is told. The conflicts are a set over the
  /// tasks and the element.
  bool Report(const ProgramCall& x, const ProgramCall& y, const AccessRegion& a,
              const AccessRegion& b, const Set& conflict);

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace etc
