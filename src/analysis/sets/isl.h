// Owning handles for isl's C objects. isl reports errors and spent budgets by null objects, which
// its functions pass on; so a question to a null object has no answer, and no proof follows.
#pragma once

#include <isl/aff.h>
#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/ilp.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/polynomial.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/sets/isl_numbers.h"

namespace etc {

template <class T>
struct IslTraits;

#define ETC_ISL_TYPE(type)                                                            \
  template <>                                                                         \
  struct IslTraits<isl_##type> {                                                      \
    static isl_##type* Copy(isl_##type* object) { return isl_##type##_copy(object); } \
    static void Free(isl_##type* object) { isl_##type##_free(object); }               \
  };
ETC_ISL_TYPE(ast_build)
ETC_ISL_TYPE(ast_expr)
ETC_ISL_TYPE(id)
ETC_ISL_TYPE(map)
ETC_ISL_TYPE(pw_aff)
ETC_ISL_TYPE(pw_qpolynomial)
ETC_ISL_TYPE(qpolynomial)
ETC_ISL_TYPE(set)
ETC_ISL_TYPE(val)
#undef ETC_ISL_TYPE

/// Owns one reference. `get` lends it (isl's __isl_keep), `copy` gives a new one away (__isl_take).
template <class T>
class Isl {
 public:
  Isl() = default;
  explicit Isl(T* object) : object_(object) {}
  Isl(const Isl& other) : object_(other.copy()) {}
  Isl(Isl&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Isl& operator=(Isl other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Isl() { IslTraits<T>::Free(object_); }

  T* get() const { return object_; }
  T* copy() const { return IslTraits<T>::Copy(object_); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

using AstBuild = Isl<isl_ast_build>;
using AstExpr = Isl<isl_ast_expr>;
using Set = Isl<isl_set>;
using Map = Isl<isl_map>;
using PwAff = Isl<isl_pw_aff>;
using PwPoly = Isl<isl_pw_qpolynomial>;
using Val = Isl<isl_val>;

/// isl's own intersection asks first whether both are equal, which costs several times as much as
/// the rest, and of two basic sets as well whether the result is empty, which is for who needs it.
Set operator&(const Set& a, const Set& b);
/// The same of several. Which parts are empty is asked once, of the result.
Set Join(const std::vector<Set>& sets);
inline Set operator|(const Set& a, const Set& b) { return Set(isl_set_union(a.copy(), b.copy())); }
inline Set operator-(const Set& a, const Set& b) {
  return Set(isl_set_subtract(a.copy(), b.copy()));
}
inline Map operator|(const Map& a, const Map& b) { return Map(isl_map_union(a.copy(), b.copy())); }
inline Map operator-(const Map& a, const Map& b) {
  return Map(isl_map_subtract(a.copy(), b.copy()));
}

/// Where both values have one affine form, as nearly all have, isl looks at these alone: its own
/// comparisons and sums of piecewise values ask of each pair of pieces what their domains have in
/// common, and for the equalities in it, which takes several times as long.
Set Eq(const PwAff& a, const PwAff& b);
Set Le(const PwAff& a, const PwAff& b);
Set Lt(const PwAff& a, const PwAff& b);
inline Set Ne(const PwAff& a, const PwAff& b) { return Set(isl_pw_aff_ne_set(a.copy(), b.copy())); }
PwAff operator+(const PwAff& a, const PwAff& b);
PwAff operator-(const PwAff& a, const PwAff& b);
/// One side must be constant.
PwAff operator*(const PwAff& a, const PwAff& b);

/// Whether all pieces of the value are constants.
inline bool IsConstant(const PwAff& value) {
  return isl_pw_aff_is_cst(value.get()) == isl_bool_true;
}
/// Whether the object is certainly empty.
inline bool IsEmpty(const Set& set) { return isl_set_is_empty(set.get()) == isl_bool_true; }
inline bool IsEmpty(const Map& map) { return isl_map_is_empty(map.get()) == isl_bool_true; }
/// Whether `a` is certainly inside of `b`. Many sets are asked about one `a`; isl keeps a point of
/// each of its pieces where it need not bring `a` to other parameters.
bool IsSubset(const Set& a, const Set& b);
bool IsSubset(const Map& a, const Map& b);
/// Nothing where it is no integer, and after an error.
inline std::optional<int64_t> ToInt(const Val& value) {
  bool is_int = isl_val_is_int(value.get()) == isl_bool_true;
  return is_int ? std::optional<int64_t>(isl_val_get_num_si(value.get())) : std::nullopt;
}
/// The sets of one piece that it is the union of.
std::vector<Set> PartsOf(const Set& set);
/// Whether the sets are equal in form; equal sets may differ in it.
inline bool IsPlainlyEqual(const Set& a, const Set& b) {
  return isl_set_plain_is_equal(a.get(), b.get()) == isl_bool_true;
}
/// Whether two values are certainly equal on a set, and whether the first is no greater there:
/// asked of each pair of pieces, where a set of all such points would take much longer. Equal forms
/// with a value everywhere need no isl.
bool AreEqualOn(const Set& where, const PwAff& a, const PwAff& b);
bool IsAtMostOn(const Set& where, const PwAff& a, const PwAff& b);
/// The same set in fewer pieces, where isl finds such. isl 0.25 joins pieces to more than their
/// union where one has strides: of { [x] : 0 <= x <= 1 or (x mod 2 = 0 and 0 <= x <= 6) } it makes
/// 0 <= x <= 7. So what it makes of strided pieces is taken only if it has no further point. Each
/// change that it makes to pieces leaves one piece less, so an equal number needs no such question.
Set Coalesce(const Set& set);
Map Coalesce(const Map& map);
/// The same in a part of the time, but for pieces that only wrapping joins: for the many sets of a
/// body that is being read.
Set CoalesceQuickly(const Set& set);
/// Strided pieces stay as they are.
PwAff Coalesce(const PwAff& value);

/// A context that reports errors by null objects and gives up after a number of steps.
class IslContext {
 public:
  IslContext() {
    UseBlocksForNumbers();
    ctx_ = isl_ctx_alloc();
    isl_options_set_on_error(ctx_, ISL_ON_ERROR_CONTINUE);
  }
  IslContext(const IslContext&) = delete;
  IslContext& operator=(const IslContext&) = delete;
  ~IslContext() { isl_ctx_free(ctx_); }

  isl_ctx* get() const { return ctx_; }
  /// Allows as many steps from here on, by default those that one fact may take; an earlier error
  /// is forgotten. Facts of the library's models take 460,000 at most. Each time that it did not
  /// suffice, later facts get half as many, down to a sixteenth, so that a program with many such
  /// facts takes not much longer than one with a few.
  void SetBudget(unsigned long steps = 2'000'000) {
    constexpr int kMostHalvings = 4;
    halvings_ += of_fact_ && GaveUp() && halvings_ < kMostHalvings ? 1 : 0;
    SetExactBudget(steps >> halvings_);
    of_fact_ = true;
  }
  /// The same with these steps, whatever did not suffice before. 0 is no bound.
  void SetExactBudget(unsigned long steps) {
    isl_ctx_reset_error(ctx_);
    isl_ctx_reset_operations(ctx_);
    isl_ctx_set_max_operations(ctx_, steps);
    of_fact_ = false;
  }
  /// Whether the budget was too small.
  bool GaveUp() const { return isl_ctx_last_error(ctx_) == isl_error_quota; }

 private:
  isl_ctx* ctx_;
  bool of_fact_ = false;  // what the steps are for
  int halvings_ = 0;
};

}  // namespace etc
