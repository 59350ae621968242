// Copies of device functions, with names of their own.
#pragma once

#include <vector>

#include "ir/module.h"
#include "ir/rewrite.h"

namespace etc {

/// Copies parts of one device function; what is copied uses the copies of what was copied before.
class DeviceCopier {
 public:
  explicit DeviceCopier(Module& module) : module_(module) {}

  /// What symbols and tensors become, beside what is copied.
  Substitution symbols;
  TensorSubstitution tensors;

  SymbolId CopySymbol(SymbolId id);
  /// The parameter as it is, in terms of the copies; adds no tensor.
  Tensor ParamOf(TensorId id);
  TensorId CopyParam(TensorId id);
  ExprId Expr(ExprId id) { return Clone(module_, id, symbols, tensors); }
  std::vector<ExprId> Exprs(const std::vector<ExprId>& ids);
  std::vector<Axis> Axes(const std::vector<Axis>& axes);
  std::vector<StmtId> Block(const std::vector<StmtId>& body);
  std::vector<Impl> Impls(const std::vector<Impl>& impls);

 private:
  Axis OneAxis(const Axis& axis);
  For Copy(const For& loop);
  If Copy(const If& branch);
  Let Copy(const Let& let);
  LetPair Copy(const LetPair& pair);
  LocalDecl Copy(const LocalDecl& local);
  Argument Target(TensorId id) const;
  Assign Copy(const Assign& assign);
  TopK Copy(const TopK& topk);

  Module& module_;
};

/// All of a device function but the parameters that are not in `params` and `scalars`, in terms of
/// `symbols`, which has what its generic parameters are.
Device CopyDevice(Module& module, DeviceId id, const std::vector<TensorId>& params,
                  const std::vector<SymbolId>& scalars, Substitution symbols, std::string name);

}  // namespace etc
