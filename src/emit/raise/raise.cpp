#include "emit/raise/raise.h"

#include "emit/raise/passes.h"

namespace etc {

const std::vector<RaisePass>& RaisePasses() {
  static const std::vector<RaisePass> kPasses = {
      // First: all others go through the device functions and the shares of a kernel.
      {"gather-callees", "the device functions that each kernel runs, and what they are given",
       GatherCallees},
      // Anywhere: no other pass looks at launches.
      {"lay-out-launches", "the sizes in the launch block, and the launches", LayOutLaunches},
      // Behind gather-callees: it goes through what the device functions declare.
      {"fold-sizes", "the numbers that are known at all sizes: constants, extents, tiles",
       FoldSizes},
      // Behind fold-sizes, which knows the boxes.
      {"map-tensors", "the tensor maps of the launch block, and whose loader fetches", MapTensors},
      // Behind gather-callees, which makes an entry for each share.
      {"number-tasks", "loops or a box for the tasks of each share, and how wide their numbers are",
       NumberTasks},
      // Behind gather-callees, which finds implementations, map-tensors, whose shares wait for
      // what they fetch, and number-tasks: the first task of a box is found without a walk.
      {"walk-roles",
       "what the loader walks, what is prefetched, and the objects and barriers of a share",
       WalkRoles},
      // Behind lay-out-launches, number-tasks and walk-roles, which know whether the sizes alone
      // say
      // how many tasks a launch has.
      {"size-launches", "the memory that a launch needs, and its number of tasks", SizeLaunches},
      // Behind walk-roles, which knows the shares whose ranges data decide.
      {"place-signals", "the thread that waits and notifies, and which elements are checked",
       PlaceSignals},
      // Behind place-signals, whose waits and notifies get numbers.
      {"number-spans", "what a profile writes down, and in how many bits", NumberSpans},
      // Behind fold-sizes, which knows how large the locals are.
      {"share-bodies", "how the threads of a CTA run a generated body, and the barriers in it",
       ShareBodies},
      // Behind share-bodies, whose reductions have variables already.
      {"keep-reductions", "the reductions that a statement has several times and computes once",
       KeepReductions},
      // Behind gather-callees only.
      {"trace-data", "the indices that depend on data, which debug checks hold against extents",
       TraceData},
      // Behind number-tasks and fold-sizes, whose numbers it asks for. It decides about every
      // expression that the text may hold.
      {"choose-divisions", "the width of each division, and what divides by zero or shifts too far",
       ChooseDivisions},
      // Behind place-signals, trace-data and choose-divisions, which know what is checked.
      {"word-checks", "what debug checks say when they fail", WordChecks},
      // Behind place-signals, which knows the waits.
      {"word-waits", "where waits stand in program order, and what a watchdog says of them",
       WordWaits},
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
