// C++ text of a device function: the struct of its arguments, and its generated body.
#pragma once

#include "emit/cxx_expr.h"
#include "emit/cxx_kernel.h"
#include "emit/cxx_names.h"
#include "emit/text_writer.h"

namespace etc {

/// Inside a device function, its parameters are members of `args`.
class DeviceScope : public CxxScope {
 public:
  DeviceScope(const RaisedKernel& raised, ArgsNames names) : CxxScope(raised), names_(names) {}

  const ArgsNames& names() const { return names_; }

  std::string Pointer(TensorId tensor) const override;
  std::string Extent(TensorId tensor, size_t axis) const override;

  /// A statement that holds the number of elements of a `topk` against what it takes; empty when
  /// that is proved or refuted.
  virtual std::string RankCheck(const TopK& /*topk*/) const { return ""; }

 private:
  ArgsNames names_;
};

/// `struct Args_NAME`: for each parameter its pointer and extents, those that are constant as
/// constants; the scalar parameters, as members of `scalars`; and the values of the dimensions.
/// With `checks` there is a record of failed ones.
void WriteArgs(TextWriter& out, const DeviceScope& scope, const RaisedDevice& raised_device,
               bool checks);

/// `args`: that struct for the tasks of a share, as a role needs it.
void WriteArguments(TextWriter& out, const KernelScope& scope, const RaisedShare& share,
                    const RaisedRole& role);

/// `struct Body_NAME` with the interface of a tile kernel, generated from the statements.
void WriteBody(TextWriter& out, const DeviceScope& scope, const RaisedDevice& device);

/// `, i64 i_x, i64 i_y`: the task coordinates as parameters.
std::string CoordinateParameters(const Module& module, const Device& device);

}  // namespace etc
