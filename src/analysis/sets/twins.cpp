// Sets with other variables, and terms of their own for what is made of those.
#include <algorithm>

#include "analysis/sets/unknowns.h"

namespace etc {

namespace {

/// The set with the names of its parameters as `name_of` has them; null where one has none, as the
/// budget is spent.
template <class NameOf>
Set Named(const Set& set, const NameOf& name_of) {
  Set renamed(isl_set_drop_unused_params(set.copy()));
  isl_size count = isl_set_dim(renamed.get(), isl_dim_param);
  for (isl_size i = 0; i < count; ++i) {
    auto at = static_cast<unsigned>(i);
    const char* old = isl_set_get_dim_name(renamed.get(), isl_dim_param, at);
    std::string name = old == nullptr ? "" : name_of(old);
    if (name.empty()) {
      return {};
    }
    renamed =
        Set(isl_set_set_dim_id(renamed.copy(), isl_dim_param, at,
                               isl_id_alloc(isl_set_get_ctx(set.get()), name.c_str(), nullptr)));
  }
  return renamed;
}

template <class NameOf>
PwAff Named(const PwAff& value, const NameOf& name_of) {
  PwAff renamed(isl_pw_aff_drop_unused_params(value.copy()));
  isl_size count = isl_pw_aff_dim(renamed.get(), isl_dim_param);
  for (isl_size i = 0; i < count; ++i) {
    auto at = static_cast<unsigned>(i);
    const char* old = isl_pw_aff_get_dim_name(renamed.get(), isl_dim_param, at);
    std::string name = old == nullptr ? "" : name_of(old);
    if (name.empty()) {
      return {};
    }
    renamed = PwAff(isl_pw_aff_set_dim_id(
        renamed.copy(), isl_dim_param, at,
        isl_id_alloc(isl_pw_aff_get_ctx(value.get()), name.c_str(), nullptr)));
  }
  return renamed;
}

}  // namespace

Set Unknowns::Rename(const Set& set, std::map<std::string, std::string>& names) {
  return Named(set, [&](const char* name) { return TwinOf(name, names); });
}

PwAff Unknowns::Rename(const PwAff& value, std::map<std::string, std::string>& names) {
  return Named(value, [&](const char* name) { return TwinOf(name, names); });
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

template <class Visit>
void Unknowns::VisitKnown(const Set& set, const Visit& visit) const {
  std::vector<std::string> ahead = Involved(set);
  std::set<std::string> seen;
  for (size_t i = 0; i < ahead.size(); ++i) {
    std::string name = ahead[i];
    if (!seen.insert(name).second || !visit(name)) {
      continue;
    }
    if (auto facts = facts_.find(name); facts != facts_.end()) {
      std::vector<std::string> more = Involved(facts->second);
      ahead.insert(ahead.end(), more.begin(), more.end());
    }
    if (const Term* term = Find(name)) {
      for (const PwAff& arg : term->args) {
        std::vector<std::string> more = Involved(arg);
        ahead.insert(ahead.end(), more.begin(), more.end());
      }
    }
  }
}

/// Has what is older than the mark, in the set and in the facts about what it is made of, stand for
/// itself.
void Unknowns::KeepOlder(size_t mark, const Set& set,
                         std::map<std::string, std::string>& names) const {
  VisitKnown(set, [&](const std::string& name) {
    bool is_since = IsSince(mark, name);
    if (!is_since) {
      names.emplace(name, name);
    }
    return is_since;
  });
}

bool Unknowns::IsOfScope(const Set& set, const std::string& scope) const {
  bool is_of_scope = true;
  VisitKnown(set, [&](const std::string& name) {
    const Term* term = Find(name);
    is_of_scope = is_of_scope && (term == nullptr || term->global || term->scope == scope);
    return is_of_scope;
  });
  return is_of_scope;
}

Set Unknowns::Adopt(const Unknowns& other, const Set& set,
                    std::map<std::string, std::string>& names) {
  return Named(set, [&](const char* name) { return AdoptedName(other, name, names); });
}

std::string Unknowns::AdoptedName(const Unknowns& other, const std::string& name,
                                  std::map<std::string, std::string>& names) {
  if (auto known = names.find(name); known != names.end()) {
    return known->second;
  }
  const Term* found = other.Find(name);
  if (found == nullptr) {
    bool of_body = name.find('#') != std::string::npos;
    std::string mine = of_body ? Fresh(name.substr(0, name.find('#'))) : name;
    names[name] = mine;
    if (of_body) {
      facts_[mine] = Adopt(other, other.FactsAbout(name), names);
    }
    return mine;
  }
  Term term = *found;
  if (term.tensor) {  // an input has one name in both
    const std::string& called = other.module().tensors[term.tensor].name;
    term.tensor =
        *std::find_if(program_.params.begin(), program_.params.end(),
                      [&](TensorId param) { return module_.tensors[param].name == called; });
  }
  for (PwAff& arg : term.args) {
    arg = Named(arg, [&](const char* inner) { return AdoptedName(other, inner, names); });
  }
  auto name_of = [&](const PwAff& value) {
    std::vector<std::string> involved = Involved(value);
    return involved.empty() ? "" : involved[0];
  };
  PwAff value = Add(std::move(term), [&](const PwAff& made) {
    names[name] = name_of(made);
    return Adopt(other, other.FactsAbout(name), names);
  });
  return names[name] = name_of(value);
}

bool Unknowns::IsSince(size_t mark, const std::string& name) const {
  const Term* term = Find(name);
  if (term != nullptr && term->kind != Term::Kind::Any) {
    return std::any_of(term->args.begin(), term->args.end(), [&](const PwAff& arg) {
      std::vector<std::string> inner = Involved(arg);
      return std::any_of(inner.begin(), inner.end(),
                         [&](const std::string& part) { return IsSince(mark, part); });
    });
  }
  size_t number = name.find('#');
  return number != std::string::npos && std::stoull(name.substr(number + 1)) >= mark;
}

}  // namespace etc
