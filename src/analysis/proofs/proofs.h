// Proofs about a verified module, for every size in the declared ranges.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "support/diagnostics.h"
#include "support/parallel.h"

namespace etc {

class DerivedBodies;
class GraphProofs;

/// How the proofs of one group went.
struct ProofTally {
  int64_t proved = 0;
  int64_t refuted = 0;
  int64_t not_proved = 0;
};

struct ProofReport {
  ProofTally bounds;                     // indices of tensors and of events
  ProofTally counts;                     // an event counts as many notifies as it gets
  ProofTally order;                      // a wait comes after all that it waits for
  ProofTally races;                      // conflicting accesses are ordered
  ProofTally iterations;                 // those of a `for` do not depend on each other
  ProofTally coverage;                   // what is read of a buffer was written before
  std::vector<std::string> assumptions;  // what the proofs take for given
  std::vector<std::string> not_proved;   // what and why

  int64_t NotProved() const;
  int64_t Refuted() const;
  bool LeavesOpen(const std::string& fact) const;
};

/// The groups, by the names that manifests have for them.
struct ProofGroup {
  const char* name;
  ProofTally ProofReport::*tally;
};
inline constexpr ProofGroup kProofGroups[] = {
    {"bounds", &ProofReport::bounds},         {"counts", &ProofReport::counts},
    {"order", &ProofReport::order},           {"races", &ProofReport::races},
    {"iterations", &ProofReport::iterations}, {"coverage", &ProofReport::coverage},
};

/// Reports what is refuted as an error with a counterexample, and what is not proved as one warning
/// for each program or, if asked, as a remark for each fact. No error means no more than that:
/// `not_proved` has what is left. What the report of the graphs that kernels are made of has there
/// is not said again. Uses so many threads at most. `derived` has what was read of this very module
/// while its events were derived, or is null.
ProofReport Prove(const Module& module, bool remarks, Diagnostics& diagnostics,
                  const ProofReport* graphs = nullptr, size_t threads = Cores(),
                  DerivedBodies* derived = nullptr);

/// The same of graphs, and of the kernels that are made of them, side by side: what was found about
/// a body holds for both, and each kernel waits for the proof of its graph at its sizes.
/// `report` waits for the report of the graphs, and gives null where something is wrong with them;
/// then nothing is reported of the kernels.
ProofReport ProveGraphs(GraphProofs& graphs, bool remarks, Diagnostics& diagnostics,
                        size_t threads);
ProofReport ProveKernels(const Module& module, const GraphProofs& graphs,
                         const std::function<const ProofReport*()>& report, bool remarks,
                         Diagnostics& diagnostics, size_t threads);

}  // namespace etc
