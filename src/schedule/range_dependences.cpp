#include "schedule/range_dependences.h"

namespace etc {

RangeDependences::RangeDependences(const Module& module, const std::vector<CallProgram>& programs)
    : graphs_(programs.size()) {
  ForEachInParallel(programs.size(), [&](size_t i) {
    graphs_[i] = std::make_unique<DependenceGraph>(module, programs[i]);
    graphs_[i]->FindAll();
  });
}

// What is asked later, one question behind the other, lets the ranges wait for each other. Here
// they do not. What isl answers may depend on what it was asked before, so one range alone, which
// waits for none, is asked in the order of the questions.
RangeDependences::RangeDependences(const Module& module, const std::vector<CallProgram>& programs,
                                   const std::vector<bool>& coarse, bool for_proofs)
    : graphs_(programs.size()) {
  std::vector<std::vector<Dependence>> open(programs.size());
  StepInParallel(programs.size(), [&](size_t i) {
    if (!graphs_[i]) {
      graphs_[i] = std::make_unique<DependenceGraph>(module, programs[i], for_proofs);
      graphs_[i]->FindAll();
      if (programs.size() > 1) {
        graphs_[i]->LookAtCalls();
        open[i] = graphs_[i]->Unchained();
        std::reverse(open[i].begin(), open[i].end());
      }
    } else {
      Dependence next = open[i].back();
      open[i].pop_back();
      graphs_[i]->FindAhead(next, coarse[next.from]);
    }
    return open[i].size();
  });
}

RangeDependences::~RangeDependences() {
  ForEachInParallel(graphs_.size(), [&](size_t i) { graphs_[i].reset(); });
}

}  // namespace etc
