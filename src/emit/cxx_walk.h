// C++ text of a kernel's loop nest, which every SM and every role walks.
#pragma once

#include <set>
#include <string>

#include "emit/cxx_expr.h"
#include "emit/emit.h"
#include "emit/text_writer.h"

namespace etc {

/// Inside a kernel, parameters are members of `params`, and buffers are named pointers.
class KernelScope : public CxxScope {
 public:
  /// `texts` gets what debug checks say.
  KernelScope(const Module& module, const DimRanges& ranges, const Kernel& kernel,
              CheckTexts& texts);

  /// Whether arguments have a record of failed checks.
  bool ChecksAccesses() const { return checks_accesses_; }
  CheckTexts& Texts() const { return texts_; }

  std::string Pointer(TensorId tensor) const override;
  std::string Extent(TensorId tensor, size_t axis) const override;

 private:
  void LearnRepeats(const std::vector<NodeId>& nodes);

  bool checks_accesses_;
  CheckTexts& texts_;
};

/// The symbol by which a binary exports a kernel; the prefix keeps it apart from every name of C.
std::string EntryName(const Kernel& kernel);

/// The device functions that a kernel runs, each once, in the order of their first share.
std::vector<DeviceId> DevicesOf(const Module& module, const Kernel& kernel);

/// The parameters of device functions that are bound to tagged buffers in a kernel.
std::set<TensorId> TaggedParams(const Module& module, const Kernel& kernel);

/// `constexpr i64 k_NAME = …;` for every constant of the module, as a kernel for these ranges has
/// it.
void WriteConstants(TextWriter& out, const Module& module, const DimRanges& ranges);

/// `struct Dims` and `struct Params`, the launch block of docs/runtime.md; for launches with the
/// iterations of the repeats around them.
void WriteParams(TextWriter& out, const Module& module, const Kernel& kernel);

/// Pointers to the buffers and first counters of the events, as the walks use them.
void WriteDeclarations(TextWriter& out, const KernelScope& scope, const Kernel& kernel);

/// Prefetch stands for itself in a launch only; else it is a part of Consumer.
enum class Role { Consumer, Loader, Reducer, Prefetch };

/// The nest for one role, over `Impl_NAME` of each device function. The loader walks only the
/// shares whose implementation for `arch` streams operands.
void WriteWalk(TextWriter& out, const KernelScope& scope, const Kernel& kernel, Role role,
               const std::string& arch);

/// One launch of a kernel of the schedule `kernels`, and the repeats around it, outermost first.
struct LaunchSite {
  const Share* share;
  std::vector<const Repeat*> repeats;
};

/// The launches of a kernel in program order, each once; none of a persistent kernel.
std::vector<LaunchSite> LaunchesOf(const Module& module, const Kernel& kernel);

/// The symbol by which a binary exports launch number `index` of a kernel.
std::string LaunchName(const Module& module, const Kernel& kernel, size_t index);

/// The symbol of the launch that comes before all others of a kernel, and checks what they rely on.
std::string CheckName(const Module& module, const Kernel& kernel);

/// What one role does in a launch.
void WriteLaunch(TextWriter& out, const KernelScope& scope, const Kernel& kernel,
                 const LaunchSite& site, Role role, const std::string& arch);

}  // namespace etc
