// What is known of the parameters of a set, each by itself.
#include "analysis/sets/unknowns.h"

namespace etc {

Set Unknowns::Close(const Set& set) const { return Close(set, false); }

Set Unknowns::CloseVariables(const Set& set) const { return Close(set, true); }

Set Unknowns::Close(const Set& set, bool variables) const {
  // What facts are about is known before they are joined to the set, which has many parts at times.
  std::vector<std::string> ahead = Involved(set);
  std::set<std::string> seen;
  std::vector<std::string> known;
  for (size_t i = 0; i < ahead.size(); ++i) {
    std::string name = ahead[i];
    auto facts = facts_.find(name);
    if (facts != facts_.end() && (variables || Find(name)) && seen.insert(name).second) {
      std::vector<std::string> more = Involved(facts->second);
      ahead.insert(ahead.end(), more.begin(), more.end());
      known.push_back(std::move(name));
    }
  }
  return set & FactsOf(known);
}

/// And the sizes' ranges.
const Set& Unknowns::FactsOf(const std::vector<std::string>& names) const {
  auto [known, fresh] = joined_.try_emplace(names, sizes_);
  if (fresh) {
    for (const std::string& name : names) {
      known->second = known->second & facts_.at(name);
    }
  }
  return known->second;
}

void Unknowns::SetFacts(const std::string& name, Set facts) {
  auto [known, fresh] = facts_.insert_or_assign(name, std::move(facts));
  if (!fresh) {
    joined_.clear();
  }
}

Set Unknowns::GlobalFacts() const {
  Set facts = sizes_;
  for (const Term& term : terms_) {
    if (term.global) {
      facts = facts & facts_.at(term.name);
    }
  }
  return facts;
}

}  // namespace etc
