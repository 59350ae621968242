// The boxes of tasks that a task needs: for each coordinate, bounds that are affine in the
// reader's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/derivation/bounds.h"
#include "analysis/derivation/needs.h"

namespace etc {

/// What is needed of one coordinate.
struct NeedsLine : AffineBounds {
  bool whole = true;
  std::optional<int64_t> length = std::nullopt;
  std::optional<PwAff> chunk = std::nullopt;

  bool IsFine() const { return !whole && length && *length <= kMostWaits; }
};

struct NeedsBox {
  Set pairs;
  Set consumers;                 // the tasks that wait
  std::vector<NeedsLine> lines;  // as the names of tasks
  bool guarded = false;          // not all tasks do
  bool fine = false;             // some coordinate is
  int64_t volume = 1;            // of the fine ones
};

class BoxFinder {
 public:
  explicit BoxFinder(const NeedsScope& scope);

  NeedsBox BoxOf(const Set& pairs) const;

 protected:
  const NeedsScope& scope_;
  const Unknowns& unknowns_;
  std::vector<std::string> tasks_;

 private:
  struct Extent {
    PwAff lo;
    PwAff last;
  };

  std::vector<std::string> Others(const std::string& name) const;
  bool WaitsForAll(const NeedsBox& box) const;
  bool DependsOnSizesOnly(const Set& consumers) const;
  void FindLines(NeedsBox& box) const;
  void KeepBefore(const Set& consumers, NeedsLine& line) const;
  static bool IsThere(const NeedsBox& box);
  NeedsLine LineOf(const NeedsBox& box, size_t task) const;
  void Measure(const Set& consumers, const Extent& all, NeedsLine& line) const;
  std::optional<int64_t> LengthOf(const Set& consumers, const NeedsLine& line) const;
  void Simplify(const Set& consumers, NeedsLine& line) const;
  size_t Mixed(const PwAff& bound) const;
  void FindChunk(const Set& consumers, const Extent& all, NeedsLine& line) const;

  std::vector<Extent> all_;  // of each of the names
};

/// The quotient by a positive number, rounded down.
PwAff FloorBy(const PwAff& value, int64_t divisor);

}  // namespace etc
