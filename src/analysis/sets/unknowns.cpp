#include "analysis/sets/unknowns.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/sets/convert.h"
#include "analysis/sets/used_dims.h"
#include "analysis/sets/written_once.h"
#include "ir/requirements.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// The sets of one piece that its domains are made of.
isl_size CountPieces(const PwAff& value) {
  return isl_set_n_basic_set(Set(isl_pw_aff_domain(value.copy())).get());
}

}  // namespace

Unknowns::Unknowns(const Module& module, const CallProgram& program, IslContext& context)
    : module_(module), program_(program), context_(context), sizes_(All()), unused_(All()) {
  const std::set<SymbolId> used = UsedDims(module, program);
  for (const Item& item : module.items) {
    const auto* id = std::get_if<SymbolId>(&item);
    if (id == nullptr || module.symbols[*id].kind != SymbolKind::Dim) {
      continue;
    }
    dims_.push_back(*id);
    Set& sizes = used.contains(*id) ? sizes_ : unused_;
    PwAff dim = Param(DimName(*id));
    if (auto range = RangeOfDim(module, *id, program.ranges)) {
      sizes = sizes & Le(Constant(range->lo), dim) & Le(dim, Constant(range->hi));
    }
    if (auto size = program.sizes.find(*id); size != program.sizes.end()) {
      sizes = sizes & Eq(dim, Constant(size->second));
    }
    ExprId multiple = module.symbols[*id].multiple;
    auto step = multiple ? EvaluateInt(module, multiple, {}) : std::nullopt;
    if (step && *step > 1) {
      PwAff rest(isl_pw_aff_mod_val(dim.copy(), isl_val_int_from_si(ctx(), *step)));
      sizes = sizes & Eq(rest, Constant(0));
    }
  }
  AddRequirements(used);
  for (const Tensor& tensor : module.tensors) {
    for (ExprId bound : {tensor.value_lo, tensor.value_hi}) {
      VisitExprs(module, bound, [&](ExprId id) {
        if (const auto* load = std::get_if<Load>(&module.exprs[id])) {
          bounds_.insert(load->tensor);
        }
      });
    }
  }
  once_ = WrittenOnce(*this);
  flat_ = FindFlatAxes(*this);
}

/// What is affine narrows the sizes. Of a product or a quotient of sizes it is known where one
/// occurs.
void Unknowns::AddRequirements(const std::set<SymbolId>& used) {
  Converter converter(*this);
  for (ExprId condition : LaunchRequirements(module_)) {
    Set holds = converter.Where(condition, true).set;
    std::vector<const Term*> terms = TermsIn(holds);
    // At fixed sizes it holds or not, whatever is used.
    std::vector<SymbolId> dims = DimsIn(module_, condition);
    if (program_.sizes.empty() &&
        std::none_of(dims.begin(), dims.end(), [&](SymbolId dim) { return used.contains(dim); })) {
      unused_ = terms.empty() ? unused_ & holds : unused_;
      continue;
    }
    if (terms.empty()) {
      sizes_ = sizes_ & holds;
      joined_.clear();
      continue;
    }
    for (const Term* term : terms) {
      SetFacts(term->name, facts_.at(term->name) & holds);
    }
  }
  size_values_ = {};  // what was found without these facts
}

PwAff Unknowns::Constant(int64_t value) const {
  PwAff& constant = constants_[value];
  if (!constant) {
    constant = PwAff(isl_pw_aff_val_on_domain(All().copy(), isl_val_int_from_si(ctx(), value)));
  }
  return constant;
}

PwAff Unknowns::Param(const std::string& name) const {
  PwAff& param = params_[name];
  if (!param) {
    param = PwAff(
        isl_pw_aff_param_on_domain_id(All().copy(), isl_id_alloc(ctx(), name.c_str(), nullptr)));
  }
  return param;
}

Set Unknowns::All() const { return Set(isl_set_universe(isl_space_params_alloc(ctx(), 0))); }

std::string Unknowns::Fresh(const std::string& stem) {
  return fmt::format("{}#{}", stem, fresh_++);
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
    for (const std::string& inner : Involved(arg)) {
      bool given = std::find(variables.begin(), variables.end(), inner) != variables.end();
      if (!given && !IsDim(inner) && !DependsOnlyOn(inner, variables)) {
        return false;
      }
    }
  }
  return term->kind != Term::Kind::Any;
}

std::string Unknowns::VariableOf(const PwAff& value) const {
  std::vector<std::string> names = Involved(value);
  bool is_variable =
      names.size() == 1 && Find(names[0]) == nullptr && IsEmpty(Ne(value, Param(names[0])));
  return is_variable ? names[0] : "";
}

void Unknowns::AddNames(const Term& term, std::set<std::string>& names) const {
  names.insert(term.name);
  for (const PwAff& arg : term.args) {
    for (const std::string& inner : Involved(arg)) {
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

std::vector<std::string> Unknowns::Involved(const PwAff& value) const {
  std::vector<std::string> names;
  isl_size count = isl_pw_aff_dim(value.get(), isl_dim_param);
  for (isl_size i = 0; i < count; ++i) {
    if (isl_pw_aff_involves_dims(value.get(), isl_dim_param, i, 1) != isl_bool_false) {
      names.emplace_back(isl_pw_aff_get_dim_name(value.get(), isl_dim_param, i));
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
  for (const std::string& name : Involved(value)) {
    if (auto found = facts_.find(name); found != facts_.end()) {
      facts = facts & found->second;
    }
  }
  facts = CloseVariables(facts);
  PwAff possible = Coalesce(PwAff(isl_pw_aff_intersect_params(value.copy(), facts.copy())));
  PwAff simple = Coalesce(PwAff(isl_pw_aff_gist_params(possible.copy(), facts.copy())));
  for (const std::string& name : Involved(simple)) {
    if (CountPieces(simple) > 2) {
      simple = AlongTwoValues(name, simple, facts);
    }
  }
  return simple;
}

/// Where the facts leave a parameter two neighbouring values, and what each makes of `value`
/// differs by a constant, that is a line along the parameter: one piece for those of both.
PwAff Unknowns::AlongTwoValues(const std::string& name, const PwAff& value,
                               const Set& facts) const {
  PwAff parameter = Param(name);
  Bounds bounds = BoundsOf(parameter);
  if (!bounds.lo || !bounds.hi || *bounds.hi - *bounds.lo != 1) {
    return value;
  }
  auto at = [&](int64_t number) {
    Set there = facts & Eq(parameter, Constant(number));
    PwAff part(isl_pw_aff_intersect_params(value.copy(), there.copy()));
    return Coalesce(PwAff(isl_pw_aff_gist_params(part.copy(), there.copy())));
  };
  PwAff low = at(*bounds.lo);
  PwAff step = at(*bounds.hi) - low;
  std::vector<std::string> left = Involved(low + step);
  if (!IsConstant(step) || std::find(left.begin(), left.end(), name) != left.end()) {
    return value;
  }
  PwAff line = Coalesce(low + (parameter - Constant(*bounds.lo)) * step);
  const bool is_shorter = CountPieces(line) < CountPieces(value);
  // What else the facts say of the others may leave one of both undefined for some of them.
  return is_shorter && AreEqualOn(facts, line, value) ? line : value;
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
