// The elements that a task has written itself when its body reads one. They show that memory which
// holds nothing when a task starts is written before it is read.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/sets/unknowns.h"

namespace etc {

/// A read in a body, with variables of the loops around it.
struct BodyRead {
  TensorId tensor;  // as the body names it
  TensorId memory;  // a tensor of the program, or the local
  SourceRange range;
  bool exact;                                                    // of where it happens
  std::vector<std::pair<SymbolId, std::string>> variables = {};  // and the parameters for them
  Set open;        // the elements that the task may not have written before
  Set never = {};  // of these, those that it certainly has not; no set where that is not known
  std::string doubt = {};  // what decides whether others are written: `the values of `%p``
};

/// The tensors that a body reads, as it names them.
std::set<TensorId> ReadBy(const Module& module, const std::vector<StmtId>& body);

class BodyWrites {
 public:
  /// Sees each read when all is known of what is written before it.
  using OnRead = std::function<void(const BodyRead&)>;

  /// The unknowns must outlive it.
  BodyWrites(Unknowns& unknowns, OnRead on_read)
      : unknowns_(unknowns), on_read_(std::move(on_read)) {}

  /// A local holds nothing from here on.
  void Declare(TensorId local) { depths_[local] = loops_.size(); }
  void EnterLoop(bool sequential);
  /// A variable of the innermost loop, the first one first.
  void AddVariable(SymbolId variable, const std::string& name);
  void LeaveLoop();

  /// The two sides of an `if`: where each may run, and where its writes begin.
  struct Sides {
    Set scopes[2] = {};
    size_t begin[2] = {};
    bool exact = true;  // of both scopes
  };
  /// Of what is written from here on.
  size_t Mark() const { return writes_.size(); }
  void Join(const Sides& sides);

  void Write(TensorId memory, const Set& elements) { writes_.push_back({memory, elements, true}); }
  /// `read.open` are the elements that are read.
  void Read(BodyRead read);

 private:
  struct Loop {
    size_t mark;  // terms and variables made from here on belong to one iteration
    bool sequential;
    size_t first_write;
    size_t first_read;
    std::vector<std::pair<SymbolId, std::string>> variables = {};
  };
  struct Elements {
    TensorId memory;
    Set set;       // over the variables of the loops around
    bool certain;  // else they may be written
  };
  struct Both {
    Set certain;
    Set possible;
  };

  Set None() const { return unknowns_.All() - unknowns_.All(); }
  std::map<TensorId, Both> Since(size_t first, size_t end) const;
  Set Written(TensorId memory, bool certainly) const;
  void Add(TensorId memory, const Set& certain, const Set& possible);
  std::vector<std::string> MadeSince(size_t mark, const Set& set) const;
  Set WhateverTerms(TensorId memory, const Set& set, size_t mark);
  Set InEarlier(const Loop& loop, const Set& set) const;
  bool IsInScan() const;

  Unknowns& unknowns_;
  OnRead on_read_;
  std::vector<Loop> loops_;
  std::vector<Elements> writes_;
  std::vector<BodyRead> reads_;  // in scans, which may have written more in an iteration before
  std::map<TensorId, size_t> depths_;       // how many loops are around a local
  std::map<TensorId, std::string> doubts_;  // what decides which elements are written
};

}  // namespace etc
