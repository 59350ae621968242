// C++ text of debug checks: of parameters before the first task, and of accesses in bodies.
#pragma once

#include <set>

#include "emit/cxx_body.h"
#include "emit/cxx_kernel.h"

namespace etc {

/// A body whose indices that depend on data are held against their extents, and the elements of
/// computed parameters with a declared range against it; divisors and shifts, too.
class CheckedScope : public DeviceScope {
 public:
  CheckedScope(const RaisedKernel& raised, ArgsNames names, const RaisedDevice& device);

  std::string Guard(TensorId tensor, const std::vector<ExprId>& indices,
                    ExprId peer) const override;
  std::string Checked(TensorId tensor, const std::vector<ExprId>& indices,
                      std::string value) const override;
  std::string RankCheck(const TopK& topk) const override;
  std::string CheckedDivisor(ExprId division, std::string divisor) const override;
  std::string CheckedPlaces(ExprId shift, std::string places) const override;

 private:
  std::string coordinates_;  // what messages say of the task, as arguments: `, i_x, i_y`
  const std::set<ExprId>& from_data_;
  const BodyMessages& says_;
};

/// That a tensor is what `check` says, by `threads` of which this is number `thread`, in a scope
/// where `checks` is the record.
void WriteCheck(TextWriter& out, const KernelScope& scope, const RaisedCheck& check,
                const std::string& thread, const std::string& threads);

/// `CheckParams(params, checks, thread, threads)`: this thread's part of the kernel's checks.
void WriteParamChecks(TextWriter& out, const KernelScope& scope);

}  // namespace etc
