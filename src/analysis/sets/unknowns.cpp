#include "analysis/sets/unknowns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>

#include "analysis/sets/convert.h"
#include "analysis/sets/task_scope.h"
#include "analysis/sets/written_once.h"
#include "ir/checked.h"
#include "ir/requirements.h"

namespace etc {
namespace {

std::string Text(const PwAff& value) {
  char* text = isl_pw_aff_to_str(value.get());
  std::string result = text == nullptr ? "?" : text;
  std::free(text);
  return result;
}

std::vector<std::string> InvolvedIn(const PwAff& value) {
  std::vector<std::string> names;
  isl_size count = isl_pw_aff_dim(value.get(), isl_dim_param);
  for (isl_size i = 0; i < count; ++i) {
    if (isl_pw_aff_involves_dims(value.get(), isl_dim_param, i, 1) != isl_bool_false) {
      names.emplace_back(isl_pw_aff_get_dim_name(value.get(), isl_dim_param, i));
    }
  }
  return names;
}

std::optional<int64_t> ToInt(const Val& value) {
  bool is_int = isl_val_is_int(value.get()) == isl_bool_true;
  return is_int ? std::optional<int64_t>(isl_val_get_num_si(value.get())) : std::nullopt;
}

}  // namespace

Unknowns::Unknowns(const Module& module, const CallProgram& program, IslContext& context)
    : module_(module), program_(program), context_(context), sizes_(All()) {
  for (const Item& item : module.items) {
    const auto* id = std::get_if<SymbolId>(&item);
    if (id == nullptr || module.symbols[*id].kind != SymbolKind::Dim) {
      continue;
    }
    dims_.push_back(*id);
    PwAff dim = Param(DimName(*id));
    if (auto range = RangeOfDim(module, *id, program.ranges)) {
      sizes_ = sizes_ & Le(Constant(range->lo), dim) & Le(dim, Constant(range->hi));
    }
    if (auto size = program.sizes.find(*id); size != program.sizes.end()) {
      sizes_ = sizes_ & Eq(dim, Constant(size->second));
    }
    ExprId multiple = module.symbols[*id].multiple;
    auto step = multiple ? EvaluateInt(module, multiple, {}) : std::nullopt;
    if (step && *step > 1) {
      PwAff rest(isl_pw_aff_mod_val(dim.copy(), isl_val_int_from_si(ctx(), *step)));
      sizes_ = sizes_ & Eq(rest, Constant(0));
    }
  }
  AddRequirements();
  once_ = WrittenOnce(*this);
  flat_ = FindFlatAxes(*this);
}

/// What is affine narrows the sizes. Of a product or a quotient of sizes it is known where one
/// occurs.
void Unknowns::AddRequirements() {
  Converter converter(*this);
  for (ExprId condition : LaunchRequirements(module_)) {
    Set holds = converter.Where(condition, true).set;
    std::vector<const Term*> terms = TermsIn(holds);
    if (terms.empty()) {
      sizes_ = sizes_ & holds;
      joined_.clear();
      continue;
    }
    for (const Term* term : terms) {
      SetFacts(term->name, facts_.at(term->name) & holds);
    }
  }
}

PwAff Unknowns::Constant(int64_t value) const {
  return PwAff(isl_pw_aff_val_on_domain(All().copy(), isl_val_int_from_si(ctx(), value)));
}

PwAff Unknowns::Param(const std::string& name) const {
  return PwAff(
      isl_pw_aff_param_on_domain_id(All().copy(), isl_id_alloc(ctx(), name.c_str(), nullptr)));
}

Set Unknowns::All() const { return Set(isl_set_universe(isl_space_params_alloc(ctx(), 0))); }

std::string Unknowns::Fresh(const std::string& stem) {
  return fmt::format("{}#{}", stem, fresh_++);
}

PwAff Unknowns::Quotient(const PwAff& a, const PwAff& b) {
  Term term;
  term.kind = Term::Kind::Quotient;
  term.args = {a, b};
  term.text = "a quotient by a size";
  return Add(std::move(term), fmt::format("/ {} {}", Text(a), Text(b)), [&](const PwAff& q) {
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
  return Add(std::move(term), fmt::format("ceil {} {}", Text(a), Text(b)), [&](const PwAff& q) {
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
  std::vector<std::string> names = InvolvedIn(quotient);
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
  std::string first = Text(a);
  std::string second = Text(b);
  bool swap = second < first;
  Term term;
  term.kind = Term::Kind::Product;
  term.args = {swap ? b : a, swap ? a : b};
  term.text = "a product of sizes or variables";
  std::string key = fmt::format("* {} {}", swap ? second : first, swap ? first : second);
  return Add(std::move(term), key, [&](const PwAff& p) {
    Bounds x = BoundsOf(a);
    Bounds y = BoundsOf(b);
    Set facts = MultipleFacts(a, b, p) & MultipleFacts(b, a, p);
    if (!x.lo || *x.lo < 0 || !y.lo || *y.lo < 0) {
      return facts;
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
  std::string key = fmt::format("[] {}", tensor.value);
  for (const PwAff& index : indices) {
    key += " " + Text(index);
  }
  Term term;
  term.kind = Term::Kind::Element;
  term.args = indices;
  term.tensor = tensor;
  term.text = fmt::format("the values of `%{}`", declared.name);
  term.stable = IsStable(tensor);
  term.promised = precondition.free && !precondition.ranges.empty() && !precondition.related;
  term.slice = precondition.slice;
  term.distinct = precondition.distinct;
  term.monotone = precondition.monotone;
  term.related = precondition.related;
  return Add(std::move(term), key, [&](const PwAff& value) {
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
  return Add(std::move(term), Fresh("any"), facts);
}

PwAff Unknowns::Add(Term term, const std::string& operation, const Facts& facts) {
  term.global = IsGlobal(term);
  std::string key = term.global ? operation : scope_ + ": " + operation;
  if (auto known = by_key_.find(key); known != by_key_.end()) {
    return Param(terms_[known->second].name);
  }
  term.name = Fresh("$");
  PwAff value = Param(term.name);
  facts_[term.name] = facts(value);
  by_key_[key] = terms_.size();
  by_name_[term.name] = terms_.size();
  terms_.push_back(std::move(term));
  return value;
}

/// Whether the term is a function of the dimensions, through other such terms or not.
bool Unknowns::IsGlobal(const Term& term) const {
  if (term.kind == Term::Kind::Element || term.kind == Term::Kind::Any) {
    return false;
  }
  for (const PwAff& arg : term.args) {
    for (const std::string& inner : InvolvedIn(arg)) {
      const Term* part = Find(inner);
      if (!IsDim(inner) && (part == nullptr || !part->global)) {
        return false;
      }
    }
  }
  return true;
}

Set Unknowns::Rename(const Set& set, std::map<std::string, std::string>& names) {
  Set renamed(isl_set_drop_unused_params(set.copy()));
  isl_size count = isl_set_dim(renamed.get(), isl_dim_param);
  for (isl_size i = 0; i < count; ++i) {
    auto at = static_cast<unsigned>(i);
    std::string name = TwinOf(isl_set_get_dim_name(renamed.get(), isl_dim_param, at), names);
    renamed = Set(isl_set_set_dim_id(renamed.copy(), isl_dim_param, at,
                                     isl_id_alloc(ctx(), name.c_str(), nullptr)));
  }
  return renamed;
}

PwAff Unknowns::Rename(const PwAff& value, std::map<std::string, std::string>& names) {
  PwAff renamed(isl_pw_aff_drop_unused_params(value.copy()));
  isl_size count = isl_pw_aff_dim(renamed.get(), isl_dim_param);
  for (isl_size i = 0; i < count; ++i) {
    auto at = static_cast<unsigned>(i);
    std::string name = TwinOf(isl_pw_aff_get_dim_name(renamed.get(), isl_dim_param, at), names);
    renamed = PwAff(isl_pw_aff_set_dim_id(renamed.copy(), isl_dim_param, at,
                                          isl_id_alloc(ctx(), name.c_str(), nullptr)));
  }
  return renamed;
}

/// The name that stands for `name`: itself, where nothing is renamed that it is made of.
std::string Unknowns::TwinOf(const std::string& name, std::map<std::string, std::string>& names) {
  if (auto known = names.find(name); known != names.end()) {
    return known->second;
  }
  auto facts = facts_.find(name);
  const Term* found = Find(name);
  if (facts == facts_.end() || (found != nullptr && found->global)) {
    return name;
  }
  std::string twin = Fresh(name.substr(0, name.find('#')));
  names[name] = twin;
  // A copy, as the twins of what it is made of join the terms, and move them.
  std::optional<Term> term = found == nullptr ? std::nullopt : std::optional<Term>(*found);
  facts_[twin] = Rename(facts->second, names);
  if (term) {
    term->name = twin;
    for (PwAff& arg : term->args) {
      arg = Rename(arg, names);
    }
    by_name_[twin] = terms_.size();
    terms_.push_back(std::move(*term));
  }
  return twin;
}

Set Unknowns::RenameSince(size_t mark, const Set& set, std::map<std::string, std::string>& names) {
  KeepOlder(mark, set, names);
  return Rename(set, names);
}

/// Has what is older than the mark, in the set and in the facts about what it is made of, stand for
/// itself.
void Unknowns::KeepOlder(size_t mark, const Set& set,
                         std::map<std::string, std::string>& names) const {
  std::vector<std::string> ahead = Involved(set);
  std::set<std::string> seen;
  for (size_t i = 0; i < ahead.size(); ++i) {
    std::string name = ahead[i];
    if (!seen.insert(name).second) {
      continue;
    }
    if (!IsSince(mark, name)) {
      names.emplace(name, name);
      continue;
    }
    if (auto facts = facts_.find(name); facts != facts_.end()) {
      std::vector<std::string> more = Involved(facts->second);
      ahead.insert(ahead.end(), more.begin(), more.end());
    }
    if (const Term* term = Find(name)) {
      for (const PwAff& arg : term->args) {
        std::vector<std::string> more = InvolvedIn(arg);
        ahead.insert(ahead.end(), more.begin(), more.end());
      }
    }
  }
}

bool Unknowns::IsSince(size_t mark, const std::string& name) const {
  const Term* term = Find(name);
  if (term != nullptr && term->kind != Term::Kind::Any) {
    return std::any_of(term->args.begin(), term->args.end(), [&](const PwAff& arg) {
      std::vector<std::string> inner = InvolvedIn(arg);
      return std::any_of(inner.begin(), inner.end(),
                         [&](const std::string& part) { return IsSince(mark, part); });
    });
  }
  size_t number = name.find('#');
  return number != std::string::npos && std::stoull(name.substr(number + 1)) >= mark;
}

bool Unknowns::IsDim(const std::string& name) const {
  return std::any_of(dims_.begin(), dims_.end(),
                     [&](SymbolId dim) { return DimName(dim) == name; });
}

bool Unknowns::DependsOnlyOn(const std::string& name,
                             const std::vector<std::string>& variables) const {
  const Term* term = Find(name);
  if (term == nullptr) {
    return false;
  }
  for (const PwAff& arg : term->args) {
    for (const std::string& inner : InvolvedIn(arg)) {
      bool given = std::find(variables.begin(), variables.end(), inner) != variables.end();
      if (!given && !IsDim(inner) && !DependsOnlyOn(inner, variables)) {
        return false;
      }
    }
  }
  return term->kind != Term::Kind::Any;
}

std::string Unknowns::VariableOf(const PwAff& value) const {
  std::vector<std::string> names = InvolvedIn(value);
  bool is_variable =
      names.size() == 1 && Find(names[0]) == nullptr && IsEmpty(Ne(value, Param(names[0])));
  return is_variable ? names[0] : "";
}

void Unknowns::AddNames(const Term& term, std::set<std::string>& names) const {
  names.insert(term.name);
  for (const PwAff& arg : term.args) {
    for (const std::string& inner : InvolvedIn(arg)) {
      if (const Term* part = Find(inner)) {
        AddNames(*part, names);
      } else {
        names.insert(inner);
      }
    }
  }
}

const Term* Unknowns::Find(const std::string& name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &terms_[found->second];
}

std::vector<std::string> Unknowns::Involved(const Set& set) const {
  std::vector<std::string> names;
  isl_size count = isl_set_dim(set.get(), isl_dim_param);
  for (isl_size i = 0; i < count; ++i) {
    if (isl_set_involves_dims(set.get(), isl_dim_param, i, 1) != isl_bool_false) {
      names.emplace_back(isl_set_get_dim_name(set.get(), isl_dim_param, i));
    }
  }
  return names;
}

std::vector<const Term*> Unknowns::TermsIn(const Set& set) const {
  std::vector<const Term*> terms;
  for (const std::string& name : Involved(set)) {
    if (const Term* term = Find(name)) {
      terms.push_back(term);
    }
  }
  return terms;
}

PwAff Unknowns::Simplify(const PwAff& value) const {
  if (isl_pw_aff_n_piece(value.get()) < 2) {
    return value;
  }
  Set facts = All();
  for (const std::string& name : InvolvedIn(value)) {
    if (auto found = facts_.find(name); found != facts_.end()) {
      facts = facts & found->second;
    }
  }
  facts = CloseVariables(facts);
  PwAff possible(isl_pw_aff_coalesce(isl_pw_aff_intersect_params(value.copy(), facts.copy())));
  return PwAff(isl_pw_aff_coalesce(isl_pw_aff_gist_params(possible.copy(), facts.copy())));
}

Unknowns::Bounds Unknowns::BoundsOf(const PwAff& value) const {
  PwAff variable = Param("value@");
  Set values = CloseVariables(Eq(variable, value));
  isl_size count = isl_set_dim(values.get(), isl_dim_param);
  int position = isl_set_find_dim_by_name(values.get(), isl_dim_param, "value@");
  if (count < 0 || position < 0) {
    return {};
  }
  Set moved(isl_set_move_dims(isl_set_from_params(values.copy()), isl_dim_set, 0, isl_dim_param, 0,
                              static_cast<unsigned>(count)));
  Val lo(isl_set_dim_min_val(moved.copy(), position));
  Val hi(isl_set_dim_max_val(moved.copy(), position));
  return {ToInt(lo), ToInt(hi)};
}

}  // namespace etc
