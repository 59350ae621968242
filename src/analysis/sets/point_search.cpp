#include "analysis/sets/point_search.h"

#include <algorithm>

namespace etc {
namespace {

/// How often a row is looked at, on average: bounds that follow from each other may creep for ever.
constexpr size_t kLooksAtRow = 32;

int64_t FloorDiv(int64_t a, int64_t b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}

}  // namespace

void PointSearch::Add(std::span<const int64_t> row, bool equality) {
  // Else there is no number of one word with the other sign.
  fits_ = fits_ && std::find(row.begin(), row.end(), INT64_MIN) == row.end();
  if (!fits_) {
    return;
  }
  Row at_least;
  at_least.constant = row[0];
  for (size_t i = 1; i < row.size(); ++i) {
    if (row[i] != 0) {
      at_least.terms.emplace_back(i - 1, row[i]);
    }
  }
  if (equality) {
    Row at_most = at_least;
    at_most.constant = -at_most.constant;
    for (auto& term : at_most.terms) {
      term.second = -term.second;
    }
    AddAtLeast(std::move(at_most));
  }
  AddAtLeast(std::move(at_least));
}

void PointSearch::AddAtLeast(Row row) {
  for (const auto& term : row.terms) {
    rows_of_[term.first].push_back(rows_.size());
  }
  queue_.push_back(rows_.size());
  queued_.push_back(1);
  rows_.push_back(std::move(row));
}

/// Narrows bounds first, which may show that there is no point. Then each variable gets the value
/// next to 0 that its bounds leave it, and what follows from that for the others is taken first.
std::optional<std::vector<int64_t>> PointSearch::Find() {
  State state = fits_ ? Narrow() : State::Unknown;
  if (state == State::Empty) {
    return std::vector<int64_t>();
  }
  std::vector<int64_t> point;
  for (size_t i = 0; state == State::Open && i < bounds_.size(); ++i) {
    Bounds& bounds = bounds_[i];
    int64_t value = std::clamp<int64_t>(0, bounds.lo, bounds.hi);
    if (bounds.lo != bounds.hi) {
      bounds = {value, value};
      Ask(i);
      state = Narrow();
    }
    point.push_back(value);
  }
  return state == State::Open && Holds(point) ? std::optional(std::move(point)) : std::nullopt;
}

void PointSearch::NarrowBounds() {
  is_empty_ = fits_ && Narrow() == State::Empty;  // bounds hold however far they were narrowed
}

bool PointSearch::IsAtLeast0(std::span<const int64_t> row, int64_t sign) const {
  int64_t least = sign * row[0];
  for (size_t i = 1; i < row.size(); ++i) {
    const Bounds& bounds = bounds_[i - 1];
    int64_t coefficient = sign * row[i], product = 0;
    int64_t bound = coefficient > 0 ? bounds.lo : bounds.hi;
    bool is_bounded = bound != kUnbounded && bound != -kUnbounded;
    if (coefficient != 0 && (!is_bounded || __builtin_mul_overflow(bound, coefficient, &product) ||
                             __builtin_add_overflow(least, product, &least))) {
      return is_empty_;
    }
  }
  return is_empty_ || least >= 0;
}

bool PointSearch::Holds(const std::vector<int64_t>& point) const {
  return std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) {
    int64_t sum = row.constant;
    for (const auto& [variable, coefficient] : row.terms) {
      int64_t product = 0;
      if (__builtin_mul_overflow(point[variable], coefficient, &product) ||
          __builtin_add_overflow(sum, product, &sum)) {
        return false;
      }
    }
    return sum >= 0;
  });
}

void PointSearch::Ask(size_t variable) {
  for (size_t row : rows_of_[variable]) {
    if (queued_[row] == 0) {
      queued_[row] = 1;
      queue_.push_back(row);
    }
  }
}

/// Empty: some constraint does not hold whatever the values in the bounds. Open: no bound follows
/// any more.
PointSearch::State PointSearch::Narrow() {
  size_t looks = kLooksAtRow * rows_.size();
  for (size_t next = 0; next < queue_.size(); ++next) {
    size_t row = queue_[next];
    queued_[row] = 0;
    State state = looks-- == 0 ? State::Unknown : Narrow(rows_[row]);
    if (state != State::Open) {
      return state;
    }
  }
  queue_.clear();
  return State::Open;
}

PointSearch::State PointSearch::Narrow(const Row& row) {
  // The largest value of the sum, of the terms that have one, and how many have none.
  int64_t most = row.constant;
  size_t unbounded = 0;
  auto most_of = [&](size_t variable, int64_t coefficient, int64_t& product) {
    int64_t bound = coefficient > 0 ? bounds_[variable].hi : bounds_[variable].lo;
    bool is_bounded = bound != kUnbounded && bound != -kUnbounded &&
                      !__builtin_mul_overflow(bound, coefficient, &product);
    product = is_bounded ? product : 0;
    return is_bounded;
  };
  for (const auto& [variable, coefficient] : row.terms) {
    int64_t product = 0;
    if (!most_of(variable, coefficient, product)) {
      ++unbounded;
    } else if (__builtin_add_overflow(most, product, &most)) {
      return State::Unknown;
    }
  }
  if (unbounded == 0 && most < 0) {
    return State::Empty;
  }
  for (const auto& [variable, coefficient] : row.terms) {
    int64_t product = 0, rest = 0;
    bool is_bounded = most_of(variable, coefficient, product);
    if (unbounded > (is_bounded ? 0 : 1)) {
      continue;
    }
    if (__builtin_sub_overflow(most, product, &rest) || rest == INT64_MIN) {
      return State::Unknown;
    }
    bool right = coefficient > 0 ? SetLo(variable, -FloorDiv(rest, coefficient))
                                 : SetHi(variable, FloorDiv(rest, -coefficient));
    if (!right) {
      return State::Empty;
    }
  }
  return State::Open;
}

/// False where no value is left.
bool PointSearch::SetLo(size_t variable, int64_t lo) {
  Bounds& bounds = bounds_[variable];
  if (lo > bounds.lo) {
    bounds.lo = lo;
    Ask(variable);
  }
  return bounds.lo <= bounds.hi;
}

bool PointSearch::SetHi(size_t variable, int64_t hi) {
  Bounds& bounds = bounds_[variable];
  if (hi < bounds.hi) {
    bounds.hi = hi;
    Ask(variable);
  }
  return bounds.lo <= bounds.hi;
}

}  // namespace etc
