// C++ text of debug checks: of parameters before the first task, and of accesses in bodies.
#pragma once

#include <set>

#include "emit/cxx_body.h"
#include "emit/cxx_kernel.h"
#include "emit/emit.h"

namespace etc {

/// The values that the record of a failure has room for, in kernels/engine/checks.cuh.
inline constexpr size_t kRecordValues = 12;

/// A body whose indices that depend on data are held against their extents, and the elements of
/// computed parameters with a declared range against it; divisors and shifts, too.
class CheckedScope : public DeviceScope {
 public:
  CheckedScope(const RaisedKernel& raised, ArgsNames names, const RaisedDevice& device,
               CheckTexts& texts);

  std::string Guard(TensorId tensor, const std::vector<ExprId>& indices) const override;
  std::string Checked(TensorId tensor, const std::vector<ExprId>& indices,
                      std::string value) const override;
  std::string RankCheck(const TopK& topk) const override;
  std::string CheckedDivisor(ExprId division, std::string divisor) const override;
  std::string CheckedPlaces(ExprId shift, std::string places) const override;

 private:
  std::string name_;         // `@f, task [{}, {}]`
  std::string coordinates_;  // `, i_x, i_y`: its values
  size_t values_ = 0;        // how many
  const std::set<ExprId>& from_data_;
  CheckTexts& texts_;
};

/// The number of a text; equal texts have one.
size_t CheckNumber(CheckTexts& texts, const std::string& text);

/// That a tensor is what `check` says, by `threads` of which this is number `thread`, in a scope
/// where `checks` is the record. `who` stands before the tensor's name in messages.
void WriteCheck(TextWriter& out, const KernelScope& scope, const Check& check,
                const std::string& who, const std::string& thread, const std::string& threads);

/// `CheckParams(params, checks, thread, threads)`: this thread's part of the kernel's checks.
void WriteParamChecks(TextWriter& out, const KernelScope& scope, const Kernel& kernel);

}  // namespace etc
