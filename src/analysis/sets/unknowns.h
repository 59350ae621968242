// The parameters of all sets of one program: sizes, variables, and terms. A term stands for a value
// that is no affine function of the others: a product of variables, a quotient by one, an element
// of a tensor. It is one more parameter, about which only facts are known; so what holds for all of
// its values holds.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/program.h"
#include "analysis/sets/flat_axes.h"
#include "analysis/sets/isl.h"

namespace etc {

struct TaskScope;

struct Term {
  enum class Kind { Quotient, CeilQuotient, Product, Element, Any };
  Kind kind = Kind::Any;
  std::string name;  // of its parameter
  std::vector<PwAff> args;
  TensorId tensor;  // Element
  // Element: the tensor is an input, or is written once before anybody reads it
  bool stable = false;
  bool promised = false;  // Element: of an input, and each value of the facts is allowed
  bool global = false;    // a function of the dimensions
  int depth = 0;          // how many products of it are factors of each other, 1 for data itself
  std::string text;       // for messages: `%ids[…]`, `a / b`
  std::string scope;      // the task that it belongs to
  // Element: what is promised of elements of which this many leading indices are equal
  size_t slice = 0;
  bool distinct = false;
  bool monotone = false;
  bool related = false;  // its range depends on other elements
};

/// What is declared of the elements of a tensor, or of its slices at leading indices.
struct Precondition {
  struct Range {
    PwAff lo;
    PwAff hi;  // not included
  };
  std::vector<Range> ranges;  // the element is in all of them
  bool related = false;       // they depend on other elements
  bool free = false;          // the caller of the program chooses the elements
  size_t slice = 0;           // indices of the slice
  bool distinct = false;
  bool monotone = false;
};

/// Values of parameters.
using Point = std::map<std::string, int64_t>;

/// Stands for a value that is stored.
inline constexpr const char* kStoredValue = "stored@";

class Unknowns {
 public:
  Unknowns(const Module& module, const CallProgram& program, IslContext& context);

  const Module& module() const { return module_; }
  const CallProgram& program() const { return program_; }
  IslContext& context() const { return context_; }
  isl_ctx* ctx() const { return context_.get(); }

  PwAff Constant(int64_t value) const;
  PwAff Param(const std::string& name) const;
  /// All values of all parameters.
  Set All() const;
  /// The ranges of the dimensions that the program uses. The others would be in every set, and
  /// each question to isl would cost so much more.
  const Set& sizes() const { return sizes_; }
  /// And of those that it does not use.
  Set AllSizes() const { return sizes_ & unused_; }
  const std::vector<SymbolId>& dims() const { return dims_; }
  std::string DimName(SymbolId dim) const { return module_.symbols[dim].name; }

  /// The values of expressions over sizes and constants, which stand in many places. By the
  /// expression, as what is known of its form; and by the form.
  struct SizeValues {
    std::map<ExprId, std::optional<PwAff>> by_id;  // nothing of one that is over other things too
    std::map<std::string, PwAff> by_form;
  };
  SizeValues& size_values() { return size_values_; }

  /// The tasks of a call that were asked for, by its number and the instance.
  using TaskScopes = std::map<std::pair<size_t, int>, std::shared_ptr<const TaskScope>>;
  TaskScopes& task_scopes() { return task_scopes_; }

  /// A name that no other parameter has.
  std::string Fresh(const std::string& stem);
  /// A mark that tells what is made from here on from what was made before.
  size_t Mark() const { return fresh_; }
  /// Whether a variable was made since the mark, or a term of one.
  bool IsSince(size_t mark, const std::string& name) const;
  /// Terms made from here on belong to this task: those of others may have other ranges.
  void SetScope(std::string scope) { scope_ = std::move(scope); }
  /// Says what holds of a variable wherever it has a value, in the scope.
  void SetFacts(const std::string& name, Set facts);
  const Set& FactsAbout(const std::string& name) const { return facts_.at(name); }

  /// The term for an operation on `args`, the same for the same arguments.
  PwAff Quotient(const PwAff& a, const PwAff& b);
  PwAff CeilQuotient(const PwAff& a, const PwAff& b);
  PwAff Product(const PwAff& a, const PwAff& b);
  PwAff Element(TensorId tensor, const std::vector<PwAff>& indices,
                const Precondition& precondition);
  /// What all elements of a tensor that the program computes are, over `kStoredValue` and sizes.
  void SetStored(TensorId tensor, Set values) { stored_[tensor] = std::move(values); }
  /// A value of which nothing but `facts` is known.
  using Facts = std::function<Set(const PwAff&)>;
  PwAff Any(const std::string& text, const Facts& facts);

  /// Whether all reads of an element that events put in order see one value: the tensor is an
  /// input, or `WrittenOnce` has it.
  bool IsStable(TensorId tensor) const;

  /// How sets have the elements of a tensor with flat axes; null for one that has none.
  const FlatAxes* FlatAxesOf(TensorId tensor) const {
    auto found = flat_.find(tensor);
    return found == flat_.end() ? nullptr : &found->second;
  }

  const std::vector<Term>& terms() const { return terms_; }
  const Term* Find(const std::string& name) const;
  bool IsDim(const std::string& name) const;
  /// Whether the name is of a term made of nothing but dimensions and these variables.
  bool DependsOnlyOn(const std::string& name, const std::vector<std::string>& variables) const;

  /// The set with other variables, as `names` says; what is made of them gets a twin of its own,
  /// with the same facts, and a place in `names`.
  Set Rename(const Set& set, std::map<std::string, std::string>& names);
  /// The set with a twin for each variable that was made since `mark`, and for what is made of
  /// them: the rest has one value in both.
  Set RenameSince(size_t mark, const Set& set, std::map<std::string, std::string>& names);

  /// A set over the unknowns of another program at the same sizes, in the same context, over these:
  /// sizes and tasks have the same names in both. Terms become those of the scope here, with what
  /// is known of them there; those in the set must be of one scope there, and of tensors of both
  /// programs. `names` says what each name is called here.
  Set Adopt(const Unknowns& other, const Set& set, std::map<std::string, std::string>& names);

  /// Whether the set and what is known of its parameters is over sizes and terms of one task alone.
  bool IsOfScope(const Set& set, const std::string& scope) const;

  /// The variable that the value is; empty where it is none.
  std::string VariableOf(const PwAff& value) const;

  /// Adds the names of the term and of all that it is made of.
  void AddNames(const Term& term, std::set<std::string>& names) const;

  /// Adds the facts about all terms that occur in the set, and the sizes' ranges.
  Set Close(const Set& set) const;
  /// And those about these variables, whether they occur in it or not.
  Set CloseOver(const Set& set, const std::vector<std::string>& names) const;
  /// And those about variables, which hold in the body that is being read.
  Set CloseVariables(const Set& set) const;
  /// The facts about the terms that are functions of the sizes.
  Set GlobalFacts() const;
  /// Those of the sizes alone.
  const Set& SizeFacts() const { return sizes_; }
  /// Names of the parameters that occur in it.
  std::vector<std::string> Involved(const Set& set) const;
  std::vector<std::string> Involved(const PwAff& value) const;
  std::vector<const Term*> TermsIn(const Set& set) const;
  /// Adds what is known of terms together: functions of equal arguments are equal, tiles of one
  /// size do not overlap, distinct elements differ, monotone ones ascend.
  Set WithAxioms(Set set) const;

  /// The smallest and the largest value that the facts leave, nothing where there is none.
  struct Bounds {
    std::optional<int64_t> lo;
    std::optional<int64_t> hi;
  };
  Bounds BoundsOf(const PwAff& value) const;
  /// The same wherever all facts hold, in fewer pieces.
  PwAff Simplify(const PwAff& value) const;

 private:
  void AddRequirements(const std::set<SymbolId>& used);
  bool IsGlobal(const Term& term) const;
  int DepthOf(const std::vector<PwAff>& args) const;
  Set Close(const Set& set, bool variables) const;
  const Set& FactsOf(const std::vector<std::string>& names) const;
  std::string OperationOf(const Term& term);
  PwAff Add(Term term, const Facts& facts);
  PwAff AlongTwoValues(const std::string& name, const PwAff& value, const Set& facts) const;
  Set StoredFacts(TensorId tensor, const PwAff& value) const;
  Set BelowFacts(const PwAff& quotient, const PwAff& a, const PwAff& b) const;
  Set MultipleFacts(const PwAff& quotient, const PwAff& b, const PwAff& product) const;
  PwAff Rename(const PwAff& value, std::map<std::string, std::string>& names);
  std::string AdoptedName(const Unknowns& other, const std::string& name,
                          std::map<std::string, std::string>& names);
  void KeepOlder(size_t mark, const Set& set, std::map<std::string, std::string>& names) const;
  /// Calls `visit` with each parameter of the set, and of what is known of those for which it gives
  /// true.
  template <class Visit>
  void VisitKnown(const Set& set, const Visit& visit) const;
  std::string TwinOf(const std::string& name, std::map<std::string, std::string>& names);

  const Module& module_;
  const CallProgram& program_;
  IslContext& context_;
  // Those that were asked for.
  mutable std::map<std::string, PwAff> params_;
  mutable std::map<int64_t, PwAff> constants_;
  Set sizes_;
  Set unused_;                 // the ranges of the other dimensions
  std::set<TensorId> once_;    // buffers that are written once
  std::set<TensorId> bounds_;  // tensors that the ranges of others are read from
  std::map<TensorId, FlatAxes> flat_;
  std::map<TensorId, Set> stored_;
  std::vector<SymbolId> dims_;
  std::map<std::string, Set> facts_;
  /// The facts about all of some names, as the same sets are closed again and again.
  mutable std::map<std::vector<std::string>, Set> joined_;
  SizeValues size_values_;
  TaskScopes task_scopes_;
  std::map<std::string, size_t> by_key_;
  std::map<std::string, size_t> by_name_;
  std::vector<Term> terms_;
  std::string scope_;
  size_t fresh_ = 0;
};

/// The largest value of a function on a set.
std::optional<int64_t> LargestOn(const Set& set, const PwAff& value, const Unknowns& unknowns);

}  // namespace etc
