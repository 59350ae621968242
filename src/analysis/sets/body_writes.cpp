#include "analysis/sets/body_writes.h"

#include <algorithm>

#include "analysis/sets/task_scope.h"
#include "ir/body_visitor.h"

namespace etc {
namespace {

class Reads : BodyVisitor {
 public:
  Reads(const Module& module, const std::vector<StmtId>& body) : BodyVisitor(module) {
    VisitBlock(body);
  }

  std::set<TensorId> tensors;

 private:
  void OnElement(const BodyElement& element) override {
    if (!element.IsWrite()) {
      tensors.insert(element.tensor);
    }
  }
};

}  // namespace

std::set<TensorId> ReadBy(const Module& module, const std::vector<StmtId>& body) {
  return Reads(module, body).tensors;
}

void BodyWrites::EnterLoop(bool sequential) {
  loops_.push_back({unknowns_.Mark(), sequential, writes_.size(), reads_.size()});
}

void BodyWrites::AddVariable(SymbolId variable, const std::string& name) {
  loops_.back().variables.emplace_back(variable, name);
}

/// Iterations of a `for` see nothing of each other, those of a `scan` what those before wrote.
/// What stands behind the loop sees what any iteration wrote.
void BodyWrites::LeaveLoop() {
  Loop loop = std::move(loops_.back());
  loops_.pop_back();
  std::map<TensorId, Both> written = Since(loop.first_write, writes_.size());
  writes_.resize(loop.first_write);
  for (auto& [memory, sets] : written) {
    auto depth = depths_.find(memory);
    if (depth != depths_.end() && depth->second > loops_.size()) {
      continue;  // each iteration has its own
    }
    sets.certain = WhateverTerms(memory, sets.certain, loop.mark);
    for (size_t i = loop.first_read; loop.sequential && i < reads_.size(); ++i) {
      BodyRead& read = reads_[i];
      if (read.memory == memory) {
        Set earlier = InEarlier(loop, sets.certain);
        read.open = earlier ? read.open - earlier : read.open;
        read.never = read.never - InEarlier(loop, sets.possible);
      }
    }
    Add(memory, ProjectOut(sets.certain, MadeSince(loop.mark, sets.certain)),
        ProjectOut(sets.possible, MadeSince(loop.mark, sets.possible)));
  }
  if (!IsInScan()) {
    for (BodyRead& read : std::exchange(reads_, {})) {
      read.doubt = doubts_[read.memory];
      on_read_(read);
    }
  }
}

/// Where the sides are not told apart exactly, what both write is written, and what one of them
/// writes where the other can't run.
void BodyWrites::Join(const Sides& sides) {
  if (sides.exact) {
    return;
  }
  std::map<TensorId, Both> first = Since(sides.begin[0], sides.begin[1]);
  std::map<TensorId, Both> second = Since(sides.begin[1], writes_.size());
  for (const auto& each : second) {
    first.try_emplace(each.first, Both{None(), None()});
  }
  writes_.resize(sides.begin[0]);
  for (auto& [memory, a] : first) {
    doubts_[memory] = "a condition on data";
    const Both& b = second.try_emplace(memory, Both{None(), None()}).first->second;
    Add(memory,
        (a.certain & b.certain) | (a.certain - sides.scopes[1]) | (b.certain - sides.scopes[0]),
        a.possible | b.possible);
  }
}

void BodyWrites::Read(BodyRead read) {
  for (const Loop& loop : loops_) {
    read.variables.insert(read.variables.end(), loop.variables.begin(), loop.variables.end());
  }
  Set elements = std::move(read.open);
  Set written = Written(read.memory, true);
  read.open = IsSubset(elements, written) ? None() : unknowns_.Close(elements - written);
  if (IsEmpty(read.open)) {
    read.never = read.open;
    on_read_(read);
    return;
  }
  read.never = elements - Written(read.memory, false);
  read.doubt = doubts_[read.memory];
  if (IsInScan()) {
    reads_.push_back(std::move(read));
  } else {
    on_read_(read);
  }
}

std::map<TensorId, BodyWrites::Both> BodyWrites::Since(size_t first, size_t end) const {
  std::map<TensorId, Both> written;
  for (size_t i = first; i < end; ++i) {
    const Elements& each = writes_[i];
    Both& both = written.try_emplace(each.memory, Both{None(), None()}).first->second;
    both.possible = both.possible | each.set;
    if (each.certain && each.set) {
      both.certain = both.certain | each.set;
    }
  }
  return written;
}

Set BodyWrites::Written(TensorId memory, bool certainly) const {
  Set written = None();
  for (const Elements& each : writes_) {
    if (each.memory == memory && (!certainly || (each.certain && each.set))) {
      written = written | each.set;
    }
  }
  return written;
}

void BodyWrites::Add(TensorId memory, const Set& certain, const Set& possible) {
  bool both = certain && IsSubset(possible, certain);
  if (certain) {
    writes_.push_back({memory, CoalesceQuickly(certain), true});
  }
  if (!both) {
    writes_.push_back({memory, CoalesceQuickly(possible), false});
  }
}

/// The parameters of the set that belong to one iteration of the loop that was entered there.
std::vector<std::string> BodyWrites::MadeSince(size_t mark, const Set& set) const {
  std::vector<std::string> names = unknowns_.Involved(set);
  std::erase_if(names, [&](const std::string& name) { return !unknowns_.IsSince(mark, name); });
  return names;
}

/// The points that are in the set whatever the values of the terms of an iteration are: else data
/// decide whether an element is written.
Set BodyWrites::WhateverTerms(TensorId memory, const Set& set, size_t mark) {
  std::vector<std::string> terms = MadeSince(mark, set);
  std::erase_if(terms, [&](const std::string& name) { return unknowns_.Find(name) == nullptr; });
  if (terms.empty()) {
    return set;
  }
  Set some = ProjectOut(set, terms);
  Set open = unknowns_.Close(some - set);
  if (!IsEmpty(open)) {
    doubts_[memory] = unknowns_.Find(terms.front())->text;
  }
  return some - ProjectOut(open, terms);
}

/// The elements of the set that an earlier iteration has: over the variables of this one.
Set BodyWrites::InEarlier(const Loop& loop, const Set& set) const {
  if (!set) {
    return set;
  }
  std::map<std::string, std::string> names;
  Set earlier = unknowns_.RenameSince(loop.mark, set, names);
  Set before = None();
  Set same = unknowns_.All();
  for (const auto& variable : loop.variables) {
    const std::string& name = variable.second;
    auto twin = names.find(name);
    if (twin == names.end()) {
      return None();  // nothing is written
    }
    PwAff now = unknowns_.Param(name);
    PwAff then = unknowns_.Param(twin->second);
    before = before | (same & Lt(then, now));
    same = same & Eq(then, now);
  }
  earlier = Coalesce(earlier & before);
  std::vector<std::string> gone = MadeSince(loop.mark, earlier);
  std::erase_if(gone, [&](const std::string& name) {
    return std::any_of(loop.variables.begin(), loop.variables.end(),
                       [&](const auto& variable) { return variable.second == name; });
  });
  return Coalesce(ProjectOut(earlier, gone));
}

bool BodyWrites::IsInScan() const {
  return std::any_of(loops_.begin(), loops_.end(),
                     [](const Loop& loop) { return loop.sequential; });
}

}  // namespace etc
