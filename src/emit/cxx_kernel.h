// C++ text of the names inside a kernel: constants, the launch block, buffers, events.
#pragma once

#include <string>

#include "emit/cxx_expr.h"
#include "emit/text_writer.h"

namespace etc {

/// Inside a kernel, parameters are members of `params`, and buffers are named pointers.
class KernelScope : public CxxScope {
 public:
  explicit KernelScope(const RaisedKernel& raised) : CxxScope(raised) {}

  /// Whether arguments have a record of failed checks.
  bool ChecksAccesses() const { return raised().kernel.check_accesses.has_value(); }

  std::string Pointer(TensorId tensor) const override;
  std::string Extent(TensorId tensor, size_t axis) const override;
  /// A value of the kernel is its expression: as a variable it would take registers from the first
  /// task on, where the compiler computes it anew if that is cheaper.
  std::string Scalar(SymbolId symbol) const override;
};

/// `constexpr i64 k_NAME = …;` for every constant of the module, as a kernel for these ranges has
/// it.
void WriteConstants(TextWriter& out, const RaisedKernel& raised);

/// `struct Dims` and `struct Params`, the launch block of docs/runtime.md; for launches with the
/// iterations of the repeats around them.
void WriteParams(TextWriter& out, const RaisedKernel& raised);

/// Pointers to the buffers and first counters of the events, as the walks use them.
void WriteDeclarations(TextWriter& out, const KernelScope& scope);

}  // namespace etc
