// Calls of which all tasks come after all tasks of another call.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "analysis/order/happens_before.h"

namespace etc {

/// What barriers ask of the calls of a program, whatever its events are. Keeps the answers about
/// single events: where events come and go, most of them stay.
class GridCalls {
 public:
  /// `unknowns` must outlive it.
  explicit GridCalls(Unknowns& unknowns);

  /// How far apart the iterations of two tasks are.
  enum class Step { Same, Next, Across };

  const std::vector<ProgramCall>& calls() const { return calls_; }
  /// Whether the call has tasks at all sizes, in each iteration and whatever the data.
  bool Links(size_t call) const { return links_[call]; }
  /// Whether each repeat around it has an iteration at all sizes.
  bool Runs(size_t call) const { return runs_[call]; }
  /// Whether both stand in the same repeat, or both in none.
  bool InOneBlock(size_t x, size_t y) const;

  /// Whether the relation has all pairs of a task of `x` and one of `y` that are so far apart.
  bool HasAll(size_t x, size_t y, Step step, const Map& pairs);
  /// A relation from one call to another, of which the pairs count that are so far apart.
  struct Leg {
    const Map& pairs;
    Step step;
  };
  /// The same of one relation behind another, from `x` to a call and from there to `y`; one of them
  /// is in one iteration of the repeat around all three.
  bool HasAllThrough(size_t x, size_t y, Leg before, Leg behind);

 private:
  Map Pairs(size_t x, size_t y, Step step) const;

  /// What was asked, with the relations, which are compared as objects.
  struct Known {
    Map before;
    Map behind;
    bool holds;
  };
  using Question = std::tuple<size_t, size_t, Step, isl_map*, Step, isl_map*>;

  Unknowns& unknowns_;
  const std::vector<ProgramCall>& calls_;
  std::vector<Map> tasks_;  // of each call, as a range
  std::vector<bool> links_;
  std::vector<bool> runs_;
  std::map<Question, Known> known_;
};

/// Most events let every task of a call wait for every task of another. Where such events lead from
/// call to call, so do the calls: that needs no relations between tasks, which cost much to
/// compose. Only repeats that stand in no other are looked at.
class GridBarriers {
 public:
  /// Both must outlive it.
  GridBarriers(GridCalls& grids, const HappensBefore& order);

  /// Whether each task of `y` comes after each of `x` that stands before it in program order: in
  /// the same iteration of a repeat around both, where the call does, and in an earlier one.
  bool Orders(const ProgramCall& x, const ProgramCall& y) const;
  /// Whether that holds of tasks in one iteration of the repeats around both.
  bool OrdersInIteration(const ProgramCall& x, const ProgramCall& y) const;
  /// Whether that holds of tasks in different iterations.
  bool OrdersIterations(const ProgramCall& x, const ProgramCall& y) const;

 private:
  using Step = GridCalls::Step;

  /// For each call, those that come after it.
  class Table {
   public:
    explicit Table(size_t calls) : words_((calls + 63) / 64), bits_(calls * words_) {}

    bool Has(size_t x, size_t y) const { return ((bits_[At(x, y)] >> (y % 64)) & 1) != 0; }
    void Add(size_t x, size_t y) { bits_[At(x, y)] |= uint64_t{1} << (y % 64); }
    /// Adds to those behind `x` all that `other` has behind `k`. Whether that is more.
    bool AddAll(size_t x, const Table& other, size_t k);

   private:
    size_t At(size_t x, size_t y) const { return x * words_ + y / 64; }

    size_t words_;
    std::vector<uint64_t> bits_;
  };

  /// A call of which single events order tasks behind those of another one.
  struct Successor {
    size_t call;
    const Map* pairs;
  };

  void AddDirect();
  void AddThroughOne();
  bool AreAllThroughOne(size_t x, size_t y, Step first, Step second);
  void Close();
  void CloseStraight();
  bool OrdersBlocks(const ProgramCall& x, const ProgramCall& y) const;
  /// Whether the tasks of the call in an iteration come after those in each earlier one.
  bool IsSpine(size_t call) const { return grids_.Links(call) && next_.Has(call, call); }
  /// Whether order goes through it, from the first iteration to the last where it is in a repeat.
  bool Passes(size_t call) const { return calls_[call].repeats.empty() || IsSpine(call); }
  bool IsOrSame(size_t x, size_t y) const { return x == y || same_.Has(x, y); }

  GridCalls& grids_;
  const std::vector<ProgramCall>& calls_;
  const HappensBefore& order_;
  std::vector<std::vector<Successor>> behind_;  // of each call
  std::vector<std::vector<size_t>> after_;      // the same for all of its tasks
  Table same_;    // in one iteration of the repeat around both, or outside of repeats
  Table next_;    // in the next iteration of it
  Table across_;  // from the last iteration of one to the first of the other
};

}  // namespace etc
