// Terms, and what is known of each when it is made.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "analysis/sets/task_scope.h"
#include "analysis/sets/unknowns.h"
#include "ir/checked.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

/// Only bounds are known of a product of what has this depth. Indices that data decide have less of
/// it, and each question about a deeper polynomial would be one about all of its products.
constexpr int kDeepProduct = 3;

std::string Text(const PwAff& value) {
  char* text = isl_pw_aff_to_str(value.get());
  std::string result = text == nullptr ? "?" : text;
  std::free(text);
  return result;
}

}  // namespace

/// What the term is of what, the same for the same arguments.
std::string Unknowns::OperationOf(const Term& term) {
  switch (term.kind) {
    case Term::Kind::Quotient:
      return fmt::format("/ {} {}", Text(term.args[0]), Text(term.args[1]));
    case Term::Kind::CeilQuotient:
      return fmt::format("ceil {} {}", Text(term.args[0]), Text(term.args[1]));
    case Term::Kind::Product: {
      std::string first = Text(term.args[0]);
      std::string second = Text(term.args[1]);
      bool swap = second < first;
      return fmt::format("* {} {}", swap ? second : first, swap ? first : second);
    }
    case Term::Kind::Element: {
      std::string operation = fmt::format("[] {}", term.tensor.value);
      for (const PwAff& index : term.args) {
        operation += " " + Text(index);
      }
      return operation;
    }
    case Term::Kind::Any:
      return Fresh("any");
  }
  ETC_CHECK(!"unknown kind of term");
}

PwAff Unknowns::Quotient(const PwAff& a, const PwAff& b) {
  Term term;
  term.kind = Term::Kind::Quotient;
  term.args = {a, b};
  term.text = "a quotient by a size";
  return Add(std::move(term), [&](const PwAff& q) {
    Bounds x = BoundsOf(a);
    Bounds y = BoundsOf(b);
    Set facts = All();
    if (!x.lo || *x.lo < 0 || !y.lo || *y.lo < 1) {
      return facts;
    }
    facts = Le(Constant(y.hi ? *x.lo / *y.hi : 0), q) & Le(q, a) & BelowFacts(q, a, b);
    return x.hi ? facts & Le(q, Constant(*x.hi / *y.lo)) : facts;
  });
}

PwAff Unknowns::CeilQuotient(const PwAff& a, const PwAff& b) {
  Term term;
  term.kind = Term::Kind::CeilQuotient;
  term.args = {a, b};
  term.text = "a quotient by a size";
  return Add(std::move(term), [&](const PwAff& q) {
    Bounds x = BoundsOf(a);
    Bounds y = BoundsOf(b);
    Set facts = All();
    if (!x.lo || *x.lo < 0 || !y.lo || *y.lo < 1) {
      return facts;
    }
    facts = Le(Constant(*x.lo > 0 ? 1 : 0), q) & Le(q, a);
    return x.hi ? facts & Le(q, Constant(*CheckedCeilDiv(*x.hi, *y.lo))) : facts;
  });
}

/// Of a quotient of `x` by `b`, times `b`: less than `b` below `x`, or above where it rounds up.
Set Unknowns::MultipleFacts(const PwAff& quotient, const PwAff& b, const PwAff& product) const {
  std::vector<std::string> names = Involved(quotient);
  const Term* term = names.size() == 1 ? Find(names[0]) : nullptr;
  bool rounds = term != nullptr &&
                (term->kind == Term::Kind::Quotient || term->kind == Term::Kind::CeilQuotient);
  if (!rounds || Text(quotient) != Text(Param(term->name)) || Text(term->args[1]) != Text(b)) {
    return All();
  }
  Bounds divisor = BoundsOf(b);
  if (!divisor.lo || *divisor.lo < 1) {
    return All();
  }
  const PwAff& x = term->args[0];
  return term->kind == Term::Kind::Quotient ? Le(product, x) & Lt(x, product + b)
                                            : Le(x, product) & Lt(product, x + b);
}

PwAff Unknowns::Product(const PwAff& a, const PwAff& b) {
  bool swap = Text(b) < Text(a);
  Term term;
  term.kind = Term::Kind::Product;
  term.args = {swap ? b : a, swap ? a : b};
  term.text = "a product of sizes or variables";
  return Add(std::move(term), [&](const PwAff& p) {
    Bounds x = BoundsOf(a);
    Bounds y = BoundsOf(b);
    bool is_related = DepthOf({a, b}) < kDeepProduct;
    Set facts = is_related ? MultipleFacts(a, b, p) & MultipleFacts(b, a, p) : All();
    if (!x.lo || *x.lo < 0 || !y.lo || *y.lo < 0) {
      return facts;
    }
    if (!is_related) {
      auto most = x.hi && y.hi ? CheckedMul(*x.hi, *y.hi) : std::nullopt;
      facts = Le(Constant(0), p);
      return most ? facts & Le(p, Constant(*most)) : facts;
    }
    // Between the bounds of one factor times the other: (a - x.lo) * b >= 0, and so on.
    auto bound = [&](std::optional<int64_t> limit, const PwAff& other, bool below) {
      if (limit) {
        PwAff side = Constant(*limit) * other;
        facts = facts & (below ? Le(side, p) : Le(p, side));
      }
    };
    bound(x.lo, b, true);
    bound(x.hi, b, false);
    bound(y.lo, a, true);
    bound(y.hi, a, false);
    return facts;
  });
}

PwAff Unknowns::Element(TensorId tensor, const std::vector<PwAff>& indices,
                        const Precondition& precondition) {
  const Tensor& declared = module_.tensors[tensor];
  Term term;
  term.kind = Term::Kind::Element;
  term.args = indices;
  term.tensor = tensor;
  term.text = fmt::format("the values of `%{}`", declared.name);
  term.stable = IsStable(tensor);
  term.promised = precondition.free && !precondition.ranges.empty() && !precondition.related &&
                  !(precondition.distinct && precondition.monotone) && !declared.counts &&
                  !bounds_.contains(tensor);
  term.slice = precondition.slice;
  term.distinct = precondition.distinct;
  term.monotone = precondition.monotone;
  term.related = precondition.related;
  return Add(std::move(term), [&](const PwAff& value) {
    if (stored_.contains(tensor) || !precondition.ranges.empty()) {
      Set facts = StoredFacts(tensor, value);
      for (const Precondition::Range& range : precondition.ranges) {
        facts = facts & Le(range.lo, value) & Lt(value, range.hi);
      }
      return facts;
    }
    auto range = RangeOfType(declared.type);
    return range ? Le(Constant(range->lo), value) & Le(value, Constant(range->hi)) : All();
  });
}

Set Unknowns::StoredFacts(TensorId tensor, const PwAff& value) const {
  auto stored = stored_.find(tensor);
  return stored == stored_.end()
             ? All()
             : ProjectOut(stored->second & Eq(Param(kStoredValue), value), {kStoredValue});
}

/// A race with the writer would be found as a race on the tensor itself.
bool Unknowns::IsStable(TensorId tensor) const {
  const Tensor& declared = module_.tensors[tensor];
  return declared.kind == TensorKind::Param ? declared.access == Access::In
                                            : once_.contains(tensor);
}

PwAff Unknowns::Any(const std::string& text, const Facts& facts) {
  Term term;
  term.kind = Term::Kind::Any;
  term.text = text;
  return Add(std::move(term), facts);
}

PwAff Unknowns::Add(Term term, const Facts& facts) {
  std::string operation = OperationOf(term);
  term.global = IsGlobal(term);
  bool is_data = term.kind == Term::Kind::Element || term.kind == Term::Kind::Any;
  term.depth = is_data ? 1 : DepthOf(term.args);
  if (term.kind == Term::Kind::Product && term.depth > 0) {
    ++term.depth;
  }
  std::string key = term.global ? operation : scope_ + ": " + operation;
  if (auto known = by_key_.find(key); known != by_key_.end()) {
    return Param(terms_[known->second].name);
  }
  term.name = Fresh("$");
  term.scope = scope_;
  PwAff value = Param(term.name);
  facts_[term.name] = facts(value);
  by_key_[key] = terms_.size();
  by_name_[term.name] = terms_.size();
  terms_.push_back(std::move(term));
  return value;
}

/// 0 where data have no part in it.
int Unknowns::DepthOf(const std::vector<PwAff>& args) const {
  int depth = 0;
  for (const PwAff& arg : args) {
    for (const std::string& name : Involved(arg)) {
      const Term* part = Find(name);
      depth = std::max(depth, part == nullptr ? 0 : part->depth);
    }
  }
  return depth;
}

/// Whether the term is a function of the dimensions, through other such terms or not.
bool Unknowns::IsGlobal(const Term& term) const {
  if (term.kind == Term::Kind::Element || term.kind == Term::Kind::Any) {
    return false;
  }
  for (const PwAff& arg : term.args) {
    for (const std::string& inner : Involved(arg)) {
      const Term* part = Find(inner);
      if (!IsDim(inner) && (part == nullptr || !part->global)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace etc
