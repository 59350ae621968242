// An intersection of isl's brings both sets to the same parameters, copies the first one twice, and
// joins the rows of the second to it. Here the rows of both are written where they are to be.
#include "analysis/sets/isl_join.h"

#include <isl/id.h>
#include <isl/space.h>
#include <isl/vec.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "analysis/sets/isl_layout.h"
#include "analysis/sets/small_numbers.h"

namespace etc {
namespace {

/// Steps of the budget that isl takes more to intersect two basic sets, as measured for Qwen3.
constexpr int kStepsForRows = 4;

/// A row, which is to be brought to the joined space; there, equal coefficients have equal hashes.
struct Row {
  mpz_t* numbers;
  const Placement* placement;
  uint64_t hash = 0;
};

class RowJoin {
 public:
  RowJoin(isl_space* joined, isl_basic_set* a, const Placement& of_a, isl_basic_set* b,
          const Placement& of_b)
      : joined_(joined),
        params_(ParamsOf(joined)),
        a_set_(a),
        a_(*IslRows::Of(a)),
        b_(*IslRows::Of(b)),
        of_a_(of_a),
        of_b_(of_b) {}

  isl_basic_set* Run() {
    FindPoint();
    rows_.reserve(a_.inequality_count + b_.inequality_count);
    for (mpz_t* row : a_.inequalities()) {
      rows_.push_back({row, &of_a_});
    }
    for (mpz_t* row : b_.inequalities()) {
      rows_.push_back({row, &of_b_});
    }
    if (a_.equality_count + b_.equality_count > 0) {
      return Made(true);
    }
    DropLooser();
    bool is_a = (a_.flags & IslRows::kFinal) != 0 && AreThoseOfA();
    bool is_a_itself = is_a && of_a_.is_same && (point_ == nullptr || point_ == a_.sample);
    return is_a_itself ? isl_basic_set_copy(a_set_) : Made(!is_a);
  }

 private:
  /// A point that isl knows of one set, and that is in both. One with other parameters is lost.
  void FindPoint() {
    for (auto [set, placement] : {std::pair{&a_, &of_a_}, std::pair{&b_, &of_b_}}) {
      isl_vec* point = placement->is_same ? set->sample : nullptr;
      if (point_ == nullptr && point != nullptr && Has(a_, of_a_, point) && Has(b_, of_b_, point)) {
        point_ = point;
      }
    }
  }

  bool Has(const IslRows& rows, const Placement& placement, const isl_vec* point) const {
    const IslVector& vector = *IslVector::Of(point);
    if (vector.size != 1 + params_) {
      return false;
    }
    mpz_t sum;
    mpz_init(sum);
    auto sign = [&](mpz_t* row) {
      mpz_mul(sum, row[0], vector.elements[0]);
      for (size_t i = 0; i < placement.places.size(); ++i) {
        mpz_addmul(sum, row[1 + i], vector.elements[1 + placement.places[i]]);
      }
      return mpz_sgn(sum);
    };
    auto equalities = rows.equalities();
    auto inequalities = rows.inequalities();
    bool has = std::all_of(equalities.begin(), equalities.end(),
                           [&](mpz_t* row) { return sign(row) == 0; }) &&
               std::all_of(inequalities.begin(), inequalities.end(),
                           [&](mpz_t* row) { return sign(row) >= 0; });
    mpz_clear(sum);
    return has;
  }

  bool AreThoseOfA() const {
    return std::equal(rows_.begin(), rows_.end(), a_.inequalities().begin(),
                      a_.inequalities().end(),
                      [](const Row& row, mpz_t* other) { return row.numbers == other; });
  }

  /// Of rows with the same coefficients one stays, in the place and the order in which isl leaves
  /// them.
  void DropLooser() {
    for (Row& row : rows_) {
      row.hash = HashOf(row);
    }
    for (size_t k = 1; k < rows_.size();) {
      auto before = rows_.begin() + static_cast<std::ptrdiff_t>(k);
      auto same = std::find_if(rows_.begin(), before,
                               [&](const Row& row) { return HaveSameCoefficients(row, rows_[k]); });
      if (same == before) {
        ++k;
        continue;
      }
      if (mpz_cmp(rows_[k].numbers[0], same->numbers[0]) < 0) {
        std::swap(rows_[k], *same);
      }
      rows_[k] = rows_.back();
      rows_.pop_back();
    }
  }

  /// A sum over the coefficients, as sets have their parameters in different orders.
  static uint64_t HashOf(const Row& row) {
    uint64_t hash = 0;
    for (size_t i = 0; i < row.placement->places.size(); ++i) {
      mpz_srcptr number = row.numbers[1 + i];
      if (number->_mp_size != 0) {
        uint64_t signed_word = *number->_mp_d ^ (number->_mp_size < 0 ? uint64_t{1} << 63U : 0);
        uint64_t mixed = (signed_word + row.placement->places[i]) * 0x9E3779B97F4A7C15U;
        hash += mixed ^ (mixed >> 29U);
      }
    }
    return hash;
  }

  bool HaveSameCoefficients(const Row& x, const Row& y) const {
    if (x.hash != y.hash) {
      return false;
    }
    std::vector<mpz_srcptr> numbers(params_, nullptr);
    size_t open = 0;
    for (size_t i = 0; i < x.placement->places.size(); ++i) {
      if (x.numbers[1 + i]->_mp_size != 0) {
        numbers[x.placement->places[i]] = x.numbers[1 + i];
        ++open;
      }
    }
    for (size_t i = 0; i < y.placement->places.size(); ++i) {
      if (y.numbers[1 + i]->_mp_size != 0) {
        mpz_srcptr other = numbers[y.placement->places[i]];
        if (other == nullptr || mpz_cmp(y.numbers[1 + i], other) != 0) {
          return false;
        }
        --open;
      }
    }
    return open == 0;
  }

  isl_basic_set* Made(bool simplify) {
    made_ =
        isl_basic_map_alloc_space(isl_space_copy(joined_), 0, a_.equality_count + b_.equality_count,
                                  static_cast<unsigned>(rows_.size()));
    if (made_ == nullptr) {
      return nullptr;
    }
    if (of_a_.is_same) {
      IslRows::Of(made_)->flags = a_.flags & ~IslRows::kFinal;
    }
    isl_vec* point = point_ != nullptr ? point_ : of_a_.is_same ? a_.sample : nullptr;
    IslRows::Of(made_)->sample = point == nullptr ? nullptr : isl_vec_copy(point);
    // With its parameters in another order, the first set has its equalities for others of them.
    bool is_in_steps = a_.equality_count > 0 && !of_a_.is_in_order;
    PutEqualities(a_, of_a_);
    if (!is_in_steps) {
      PutEqualities(b_, of_b_);
    }
    for (const Row& row : rows_) {
      if (!is_in_steps || row.placement == &of_a_) {
        PutInequality(row);
      }
    }
    if (is_in_steps) {
      made_ = isl_basic_map_gauss(made_, nullptr);
      if (made_ == nullptr) {
        return nullptr;
      }
      PutEqualities(b_, of_b_);
      for (const Row& row : rows_) {
        if (row.placement == &of_b_) {
          PutInequality(row);
        }
      }
    }
    return isl_basic_map_finalize(simplify ? isl_basic_map_simplify(made_) : made_);
  }

  void PutEqualities(const IslRows& from, const Placement& placement) {
    for (mpz_t* row : from.equalities()) {
      int at = isl_basic_map_alloc_equality(made_);
      Put({row, &placement}, IslRows::Of(made_)->equality_rows[at]);
    }
  }

  void PutInequality(const Row& row) {
    int at = isl_basic_map_alloc_inequality(made_);
    Put(row, IslRows::Of(made_)->inequality_rows[at]);
  }

  void Put(const Row& row, mpz_t* to) const {
    const std::vector<unsigned>& places = row.placement->places;
    CopyNumber(to[0], row.numbers[0]);
    for (unsigned i = 0; i < params_; ++i) {
      to[1 + i]->_mp_size = 0;
    }
    for (size_t i = 0; i < places.size(); ++i) {
      CopyNumber(to[1 + places[i]], row.numbers[1 + i]);
    }
  }

  isl_space* joined_;
  unsigned params_;
  isl_basic_set* a_set_;
  const IslRows& a_;
  const IslRows& b_;
  const Placement& of_a_;
  const Placement& of_b_;
  isl_vec* point_ = nullptr;
  std::vector<Row> rows_;  // inequalities
  isl_basic_set* made_ = nullptr;
};

/// Whether the rows of a set are all that there is to it.
bool IsPlain(const IslRows& rows) {
  return rows.division_count == 0 && (rows.flags & IslRows::kEmpty) == 0;
}

}  // namespace

isl_space* Behind(isl_space* first, isl_space* second) {
  if (isl_space_has_equal_params(first, second) == isl_bool_true) {
    isl_space_free(first);
    return second;
  }
  if (isl_space_is_params(first) != isl_bool_true || isl_space_is_params(second) != isl_bool_true) {
    return isl_space_align_params(second, first);
  }
  isl_size count = isl_space_dim(second, isl_dim_param);
  for (isl_size i = 0; i < count; ++i) {
    isl_id* id = isl_space_get_dim_id(second, isl_dim_param, static_cast<unsigned>(i));
    if (isl_space_find_dim_by_id(first, isl_dim_param, id) < 0) {
      first = isl_space_add_param_id(first, id);
    } else {
      isl_id_free(id);
    }
  }
  isl_space_free(second);
  return first;
}

Placement::Placement(isl_space* own, isl_space* joined) : places(ParamsOf(own)) {
  if (isl_space_has_equal_params(own, joined) == isl_bool_true) {
    std::iota(places.begin(), places.end(), 0U);
    return;
  }
  is_same = places.size() == ParamsOf(joined);
  unsigned last = 0;
  for (unsigned i = 0; i < places.size(); ++i) {
    isl_id* id = isl_space_get_dim_id(own, isl_dim_param, i);
    places[i] = static_cast<unsigned>(isl_space_find_dim_by_id(joined, isl_dim_param, id));
    isl_id_free(id);
    is_same = is_same && places[i] == i;
    is_in_order = is_in_order && (i == 0 || places[i] > last);
    last = places[i];
  }
}

isl_basic_set* JoinRows(isl_space* joined, isl_basic_set* a, const Placement& of_a,
                        isl_basic_set* b, const Placement& of_b) {
  const IslRows& x = *IslRows::Of(a);
  const IslRows& y = *IslRows::Of(b);
  bool is_left = !IslRows::AreKnown() || isl_space_is_params(joined) != isl_bool_true ||
                 !IsPlain(x) || !IsPlain(y) || (y.equality_count > 0 && !of_b.is_in_order);
  return is_left || !Spend(x.ctx, kStepsForRows) ? nullptr
                                                 : RowJoin(joined, a, of_a, b, of_b).Run();
}

}  // namespace etc
