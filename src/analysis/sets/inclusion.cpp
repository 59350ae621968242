// Whether a set is inside of another one. isl subtracts the second from the first for that, by
// linear programs over each constraint. Mostly the constraints of the second stand in the first, or
// follow from the bounds of single variables, and to see that takes a tenth of it.
#include <algorithm>
#include <optional>

#include "analysis/sets/isl.h"
#include "analysis/sets/isl_constraints.h"
#include "analysis/sets/point_search.h"

namespace etc {
namespace {

constexpr isl_size kMostPieces = 4;  // of each

struct Reading {
  std::vector<Constraints> pieces = {};
  bool may_be_quantified;
};

template <class BasicSet, auto dim, auto free>
isl_stat ReadPiece(BasicSet* set, void* to) {
  auto& reading = *static_cast<Reading*>(to);
  bool reads = reading.may_be_quantified || dim(set, isl_dim_div) == 0;
  auto piece = reads ? ConstraintsOf(set) : std::nullopt;
  free(set);
  if (!piece) {
    return isl_stat_error;
  }
  reading.pieces.push_back(*std::move(piece));
  return isl_stat_ok;
}

isl_stat ReadPieces(const Set& set, Reading& reading) {
  return isl_set_foreach_basic_set(
      set.get(), ReadPiece<isl_basic_set, isl_basic_set_dim, isl_basic_set_free>, &reading);
}

isl_stat ReadPieces(const Map& map, Reading& reading) {
  return isl_map_foreach_basic_map(
      map.get(), ReadPiece<isl_basic_map, isl_basic_map_dim, isl_basic_map_free>, &reading);
}

isl_size CountPieces(const Set& set) { return isl_set_n_basic_set(set.get()); }
isl_size CountPieces(const Map& map) { return isl_map_n_basic_map(map.get()); }

/// Nothing where there are many pieces, or numbers that take more than a word.
template <class T>
std::optional<std::vector<Constraints>> PiecesOf(const T& set, bool may_be_quantified) {
  Reading reading{.may_be_quantified = may_be_quantified};
  bool read = CountPieces(set) <= kMostPieces && ReadPieces(set, reading) == isl_stat_ok;
  return read ? std::optional(std::move(reading.pieces)) : std::nullopt;
}

/// What holds at all points of a piece.
class Premises {
 public:
  explicit Premises(const Constraints& piece) : piece_(piece) {}

  /// Whether they show each of the constraints, of which no variable is quantified.
  bool Show(const Constraints& conclusions) {
    for (size_t i = 0; i < conclusions.rows(); ++i) {
      auto row = conclusions.row(i);
      if (!Shows({row, 1}) || (i < conclusions.equalities && !Shows({row, -1}))) {
        return false;
      }
    }
    return true;
  }

 private:
  /// A sum, or with the other sign.
  struct Sum {
    std::span<const int64_t> row;
    int64_t sign;
  };

  /// That a sum is at least 0.
  bool Shows(const Sum& sum) { return Stands(sum) || Bounds().IsAtLeast0(sum.row, sum.sign); }

  /// Whether a constraint says that of the same coefficients and no greater constant.
  bool Stands(const Sum& sum) const {
    for (size_t i = 0; i < piece_.rows(); ++i) {
      if (Says(piece_.row(i), sum, 1) || (i < piece_.equalities && Says(piece_.row(i), sum, -1))) {
        return true;
      }
    }
    return false;
  }

  static bool Says(std::span<const int64_t> known, const Sum& sum, int64_t sign) {
    for (size_t i = known.size(); i-- > 1;) {
      if (sign * known[i] != (i < sum.row.size() ? sum.sign * sum.row[i] : 0)) {
        return false;
      }
    }
    return sign * known[0] <= sum.sign * sum.row[0];
  }

  const PointSearch& Bounds() {
    if (!bounds_) {
      bounds_.emplace(piece_.columns - 1);
      for (size_t i = 0; i < piece_.rows(); ++i) {
        bounds_->Add(piece_.row(i), i < piece_.equalities);
      }
      bounds_->NarrowBounds();
    }
    return *bounds_;
  }

  const Constraints& piece_;
  std::optional<PointSearch> bounds_;  // where they were asked for
};

/// Whether each piece of `a` is in one of `b`, as far as constraints show that. Both have the same
/// space.
template <class T>
bool IsPlainlyInside(const T& a, const T& b) {
  auto outer = PiecesOf(b, false);
  auto inner = outer ? PiecesOf(a, true) : std::nullopt;
  return inner && std::all_of(inner->begin(), inner->end(), [&](const Constraints& piece) {
           Premises premises(piece);
           return std::any_of(outer->begin(), outer->end(),
                              [&](const Constraints& each) { return premises.Show(each); });
         });
}

}  // namespace

bool IsSubset(const Set& a, const Set& b) {
  Set aligned(isl_set_align_params(b.copy(), isl_set_get_space(a.get())));
  return (isl_set_has_equal_space(a.get(), aligned.get()) == isl_bool_true &&
          IsPlainlyInside(a, aligned)) ||
         isl_set_is_subset(a.get(), aligned.get()) == isl_bool_true;
}

bool IsSubset(const Map& a, const Map& b) {
  Map aligned(isl_map_align_params(b.copy(), isl_map_get_space(a.get())));
  return (isl_map_has_equal_space(a.get(), aligned.get()) == isl_bool_true &&
          IsPlainlyInside(a, aligned)) ||
         isl_map_is_subset(a.get(), aligned.get()) == isl_bool_true;
}

}  // namespace etc
