#include "schedule/iteration_choices.h"

namespace etc {
namespace {

/// How many iterations of the repeat inside of those of the dependence, which is around both
/// calls as well, pass before what they have in common is used again; 0 where there is no such
/// repeat.
int64_t PlacesOfRing(const CallProgram& program, RangeDependences& dependences,
                     const Dependence& dependence) {
  const ProgramCall& from = program.calls[dependence.from];
  const ProgramCall& to = program.calls[dependence.to];
  size_t inside = dependence.Related();
  bool one = from.repeats.size() == inside + 1 && to.repeats.size() == inside + 1 &&
             CommonRepeats(from, to) == inside + 1;
  Dependence around{dependence.from, dependence.to, inside, true};
  return one && dependence.carried && dependences.Exists(around)
             ? dependences.Distance(around).value_or(0)
             : 0;
}

}  // namespace

std::vector<Iterations> IterationChoices(const CallProgram& program, RangeDependences& dependences,
                                         const Dependence& dependence) {
  std::vector<Iterations> choices;
  int64_t distance = dependence.carried ? dependences.Distance(dependence).value_or(0) : 0;
  bool known = !dependence.carried || distance > 0;
  bool from = program.calls[dependence.from].repeats.size() > dependence.Related();
  bool to = program.calls[dependence.to].repeats.size() > dependence.Related();
  for (bool first_to : {true, false}) {
    for (bool latest_from : {true, false}) {
      if (known && first_to <= to && latest_from <= from &&
          (first_to || latest_from || distance > 0)) {
        choices.push_back({latest_from ? 1 : 0, first_to ? 1 : 0, distance});
      }
    }
  }
  if (int64_t places = known ? PlacesOfRing(program, dependences, dependence) : 0; places > 1) {
    choices.insert(choices.begin(), {places, places, distance});
  }
  choices.push_back({});
  return choices;
}

}  // namespace etc
