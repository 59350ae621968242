#include "emit/raise/raise.h"

#include "emit/raise/passes.h"

namespace etc {

const std::vector<RaisePass>& RaisePasses() {
  static const std::vector<RaisePass> kPasses = {
      // First: all others go through the device functions that a kernel runs, at its sizes.
      {"gather-callees", "the sizes of each kernel, its device functions and what they are given",
       GatherCallees},
      // Behind gather-callees only.
      {"number-tasks", "loops or a box for the tasks of each share, and how wide their numbers are",
       NumberTasks},
      // Last: it decides about every expression that the text may hold.
      {"choose-divisions", "the width of each division, and what divides by zero or shifts too far",
       ChooseDivisions},
  };
  return kPasses;
}

RaisedModule Raise(const Module& module, Arch arch, const RaiseObserver& after) {
  RaisedModule raised{module, arch};
  for (const Kernel& kernel : module.kernels) {
    raised.kernels.push_back({module, kernel});
  }
  for (const RaisePass& pass : RaisePasses()) {
    pass.run(raised);
    if (after) {
      after(pass.name, raised);
    }
  }
  if (after) {
    after("raise", raised);
  }
  return raised;
}

}  // namespace etc
