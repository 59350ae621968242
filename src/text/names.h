// Names in scope while a text is parsed.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/nearest_word.h"
#include "support/source.h"

namespace etc {

/// The names of one kind (scalars, `%` or `@`). No name hides another that is visible.
template <class T>
class Names {
 public:
  struct Entry {
    T value;
    SourceRange range;
  };

  /// Adds a name; where it is taken, leaves the table as it is and returns the first definition.
  const Entry* Declare(std::string_view name, T value, SourceRange range) {
    auto [it, added] = entries_.try_emplace(std::string(name), Entry{std::move(value), range});
    if (!added) {
      return &it->second;
    }
    order_.emplace_back(name);
    return nullptr;
  }

  const Entry* Find(std::string_view name) const {
    auto it = entries_.find(std::string(name));
    return it == entries_.end() ? nullptr : &it->second;
  }

  /// The visible name closest to a misspelt one, or empty where none is close.
  std::string Nearest(std::string_view name) const { return NearestWord(name, order_); }

  /// Calls `visit` with each name and its entry, in the order of their declarations.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (const std::string& name : order_) {
      visit(name, entries_.at(name));
    }
  }

  /// A scope is what is declared between Mark and Release.
  size_t Mark() const { return order_.size(); }
  void Release(size_t mark) {
    while (order_.size() > mark) {
      entries_.erase(order_.back());
      order_.pop_back();
    }
  }

 private:
  std::unordered_map<std::string, Entry> entries_;
  std::vector<std::string> order_;
};

}  // namespace etc
