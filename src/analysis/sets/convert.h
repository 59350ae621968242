// From expressions to affine functions and sets over the parameters of a program.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "analysis/sets/unknowns.h"

namespace etc {

class Converter {
 public:
  explicit Converter(Unknowns& unknowns) : unknowns_(unknowns), module_(unknowns.module()) {}

  Unknowns& unknowns() { return unknowns_; }

  void Bind(SymbolId symbol, PwAff value) { values_[symbol] = std::move(value); }
  /// The expression of a scalar that is no integer.
  void BindLet(SymbolId symbol, ExprId value) { lets_[symbol] = value; }
  /// A parameter of a device: a tensor of the program, or its slice at leading indices.
  void BindTensor(TensorId param, TensorId tensor, std::vector<PwAff> slice) {
    tensors_[param] = {tensor, std::move(slice)};
  }

  /// The tensor's elements may change while the task runs.
  void AddWritten(TensorId tensor) { written_.insert(tensor); }

  /// A binding of a device's parameter; null for a local.
  struct Binding {
    TensorId tensor;
    std::vector<PwAff> slice;
  };
  const Binding* Find(TensorId tensor) const {
    auto found = tensors_.find(tensor);
    return found == tensors_.end() ? nullptr : &found->second;
  }

  /// Makes a new converter that of an iteration in which the call is given the slice that has an
  /// element; false where none is known.
  bool Enter(const ProgramCall& call, size_t arg, const std::vector<PwAff>& element);

  PwAff Times(const PwAff& a, const PwAff& b);
  PwAff ValueOf(SymbolId variable) { return Of(SymbolRef{variable}); }
  /// The value of an integer expression, a term where it is not affine.
  PwAff Int(ExprId id);

  /// Where a condition has the wanted value. Not exact: `set` is larger than that.
  struct Condition {
    Set set;
    bool exact = true;
  };
  Condition Where(ExprId id, bool wanted);

 private:
  bool AddForm(ExprId id, std::string& form) const;
  std::optional<PwAff> OfSizes(ExprId id);
  PwAff Convert(ExprId id);
  PwAff Of(const Binary& binary);
  PwAff Of(const Call& call);
  PwAff Of(const Load& load);
  PwAff Of(const Reduce& reduce);
  PwAff Of(const Cast& cast);
  PwAff Of(const SymbolRef& ref);
  PwAff Of(const Unary& unary);
  PwAff Floor(const PwAff& a, const PwAff& b);
  PwAff Min(const PwAff& a, const PwAff& b);
  PwAff Max(const PwAff& a, const PwAff& b);
  PwAff Abs(const PwAff& a, const PwAff&);
  PwAff CeilDiv(const PwAff& a, const PwAff& b);
  PwAff Align(const PwAff& a, const PwAff& b);
  PwAff Bits(BinaryOp op, const PwAff& a, const PwAff& b);
  PwAff Unknown(const std::string& text);
  PwAff Within(const std::string& text, Interval range);
  Precondition PreconditionOf(const Tensor& param, TensorId id, const std::vector<PwAff>& indices,
                              size_t slice);
  void AddRange(const Tensor& declared, const std::vector<PwAff>& indices, size_t slice,
                Precondition& precondition);
  void AddOthers(const Tensor& param, TensorId id, const std::vector<PwAff>& indices,
                 Precondition& precondition);
  bool Solve(const ProgramCall& call, ExprId index, const PwAff& value);
  bool KnowsIterations(const ProgramCall& call, ExprId index) const;
  bool ReadsStable(const Tensor& declared) const;
  Condition Compare(const Binary& binary, bool wanted);

  Unknowns& unknowns_;
  const Module& module_;
  std::map<SymbolId, PwAff> values_;
  std::map<SymbolId, ExprId> lets_;
  std::map<TensorId, Binding> tensors_;
  std::set<TensorId> written_;
  std::set<TensorId> asked_;  // of which a precondition is being read
};

}  // namespace etc
