// The pairs of tasks that conflict, for each dependence between two calls.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/proofs/between.h"

namespace etc {

/// What a dependence comes from, and the pairs of tasks that do not follow from others: sets over
/// tasks 1 and 2.
struct Conflict {
  Set pairs;
  Set fixed;              // those of them that no data decide
  std::vector<Set> data;  // the others, with the elements and the data that they depend on
  /// A tensor that makes it, and what the calls do with that.
  struct Cause {
    TensorId tensor;
    bool from_writes;
    bool to_writes;
  };
  Cause cause{};
};

/// In a chain of calls most neighbours are alike, so sets of one form are one object here, and what
/// was found for two of these objects is kept for all pairs that have them.
class ConflictSets {
 public:
  /// What follows from the tasks of `unknowns`, which must outlive it, and what they access.
  ConflictSets(Unknowns& unknowns, ProgramAccesses accesses);

  /// Whether some task of one call conflicts with one of the other, which costs less than to know
  /// which.
  bool Exists(const Dependence& dependence);
  const Conflict& Of(const Dependence& dependence);
  /// All pairs of tasks that the dependence may connect.
  Set AllPairs(const Dependence& dependence) const;
  /// The tasks of what two calls touch.
  const Set& TasksOf(const Dependence& dependence, const Set& touched);
  /// Of a conflict's sets of pairs, from tasks to tasks.
  const Map& MapOf(const Dependence& dependence, const Set& pairs);

  /// The tasks of a call, with all that is known of sizes.
  const Set& FirstDomain(size_t call) const { return first_domains_[call]; }
  const Set& SecondDomain(size_t call) const { return second_domains_[call]; }

 private:
  using Names = std::vector<std::string>;

  void AddControlReads();
  bool Meet(size_t x, size_t y) const;
  Set InOrder(const Dependence& d) const;
  template <class Visit>
  bool AnyConflict(const Dependence& d, const Visit& visit);
  Set DomainOf(const ProgramCall& call, int instance) const;
  Set Known(const Set& set) const;
  Set OneOfEqual(const Set& set);
  const Set& Touched(const Dependence& d, const AccessRegion& a, const AccessRegion& b,
                     const Set& base);
  const Set& Joined(const Set& a, const Set& b);

  Unknowns& unknowns_;
  const CallProgram& program_;
  std::unordered_multimap<uint32_t, Set> objects_;
  Set sizes_;
  ProgramAccesses accesses_;
  Between between_;
  std::vector<Set> first_domains_;
  std::vector<Set> second_domains_;
  std::map<std::tuple<isl_set*, isl_set*, size_t, bool>, Set> touched_;
  std::map<std::pair<isl_set*, Names>, std::pair<Set, Set>> tasks_;  // keeps the key's object
  std::map<std::pair<isl_set*, isl_set*>, Set> joined_;
  std::map<std::tuple<isl_set*, Names, Names>, Map> maps_;  // of what `conflicts_` keeps
  std::map<Dependence, bool> exists_;
  std::map<Dependence, Conflict> conflicts_;
};

}  // namespace etc
