// Looks for an integer point of linear constraints by the bounds of single variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace etc {

/// A conjunction of equalities and inequalities over integers. It decides nothing where a number
/// would take more than a word.
class PointSearch {
 public:
  explicit PointSearch(size_t variables)
      : bounds_(variables, {-kUnbounded, kUnbounded}), rows_of_(variables) {}

  /// The next constraint: its constant and a coefficient for each variable. The sum is 0, or at
  /// least 0.
  void Add(std::span<const int64_t> row, bool equality);

  /// A value of each variable, of which there is at least one; no values where there is certainly
  /// no point. Nothing where bounds do not tell. To be called once.
  std::optional<std::vector<int64_t>> Find();

  /// Narrows the bounds of variables by all constraints, in the place of `Find`.
  void NarrowBounds();
  /// Whether the sum of a row, times 1 or -1, is at least 0 wherever the constraints hold, as far
  /// as the bounds show that. The row may leave out variables at the end.
  bool IsAtLeast0(std::span<const int64_t> row, int64_t sign) const;

 private:
  static constexpr int64_t kUnbounded = INT64_MAX;

  struct Bounds {
    int64_t lo;
    int64_t hi;
  };
  struct Row {
    int64_t constant = 0;
    std::vector<std::pair<size_t, int64_t>> terms;  // a variable and its coefficient, not 0
  };
  enum class State { Open, Empty, Unknown };

  void AddAtLeast(Row row);
  bool Holds(const std::vector<int64_t>& point) const;
  State Narrow();
  State Narrow(const Row& row);
  bool SetLo(size_t variable, int64_t lo);
  bool SetHi(size_t variable, int64_t hi);
  void Ask(size_t variable);

  bool fits_ = true;
  bool is_empty_ = false;  // certainly
  std::vector<Bounds> bounds_;
  std::vector<Row> rows_;                     // each sum is at least 0
  std::vector<std::vector<size_t>> rows_of_;  // those with the variable in them
  std::vector<size_t> queue_;                 // rows whose variables have other bounds now
  std::vector<char> queued_;
};

}  // namespace etc
