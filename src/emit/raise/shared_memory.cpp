#include "emit/raise/shared_memory.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "emit/raise/texts.h"
#include "ir/overloaded.h"
#include "ir/types.h"

namespace etc {
namespace {

// Of `Block` (kernels/engine/roles.cuh): its barriers without a ring, and what the scratch is a
// multiple of.
constexpr int64_t kBarrierBytes = 96;
constexpr int64_t kScratchAlignment = 128;

/// Calls `visit` with each local in the steps.
template <class F>
void VisitLocals(const Steps& steps, const F& visit) {
  for (const Step& step : steps) {
    std::visit(
        Overloaded{
            [&](const SharedLocal& local) { visit(local); },
            [&](const Together& loop) { VisitLocals(loop.body, visit); },
            [&](const SameSide& side) {
              VisitLocals(side.body, visit);
              VisitLocals(side.otherwise, visit);
            },
            [](const OneOf<BarrierStep, EachThread, SharedReduction, OneThread, Divided> auto&) {},
        },
        step.AsVariant());
  }
}

class SharedMemoryChecks {
 public:
  explicit SharedMemoryChecks(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void Check(const RaisedKernel& kernel) {
    int64_t room = kernel.block_bytes - kBarrierBytes;
    if (room < 0) {
      const Kernel& text = kernel.kernel;
      Error(text.launch.IsValid() ? text.launch : text.range,
            fmt::format("`@{}` has {} bytes of shared memory, too few for the barriers of a CTA",
                        text.name, text.shared_bytes));
      return;
    }
    for (const RaisedDevice& device : kernel.devices) {
      if (device.steps) {
        Locals(kernel, device, room / kScratchAlignment * kScratchAlignment);
        LocalsOfThreads(kernel, device);
      }
    }
  }

 private:
  /// The local with which those of the body become too many stands for all.
  void Locals(const RaisedKernel& kernel, const RaisedDevice& device, int64_t room) {
    bool fits = true;
    VisitLocals(*device.steps, [&](const SharedLocal& local) {
      const Tensor& tensor = kernel.module.tensors[local.tensor];
      int64_t bytes = kernel.tensors.at(local.tensor).Elements() * SizeInBytes(tensor.type);
      if (fits && local.offset + bytes > room) {
        fits = false;
        Error(
            tensor.range,
            fmt::format("the locals of a task of `@{}` have {} bytes, and in the shared memory of "
                        "a CTA there is room for {}",
                        device.device.name, device.scratch_bytes, room));
      }
    });
  }

  /// Those that the threads do not share, as each goes through a part of a `for` by itself.
  void LocalsOfThreads(const RaisedKernel& kernel, const RaisedDevice& device) {
    std::set<TensorId> shared;
    VisitLocals(*device.steps, [&](const SharedLocal& local) { shared.insert(local.tensor); });
    VisitStmts(kernel.module, device.device.body, [&](StmtId id) {
      const auto* local = std::get_if<LocalDecl>(&kernel.module.stmts[id]);
      if (local == nullptr || shared.contains(local->tensor)) {
        return;
      }
      const Tensor& tensor = kernel.module.tensors[local->tensor];
      int64_t bytes = kernel.tensors.at(local->tensor).Elements() * SizeInBytes(tensor.type);
      if (bytes > kMostStackBytes) {
        Error(tensor.range,
              fmt::format("`%{}` of each thread of a task of `@{}` has {} bytes, and {} are the "
                          "most; outside of the `for` that the threads divide it is the task's",
                          tensor.name, device.device.name, bytes, kMostStackBytes));
      }
    });
  }

  /// What several kernels have in common is reported once.
  void Error(SourceRange range, std::string message) {
    if (reported_.insert(range.begin).second) {
      diagnostics_.Error(DiagnosticKind::Unsupported, range, std::move(message));
    }
  }

  Diagnostics& diagnostics_;
  std::set<uint32_t> reported_;
};

}  // namespace

bool SharedMemoryFits(const RaisedModule& raised, Diagnostics& diagnostics) {
  size_t before = diagnostics.error_count();
  SharedMemoryChecks checks(diagnostics);
  for (const RaisedKernel& kernel : raised.kernels) {
    checks.Check(kernel);
  }
  return diagnostics.error_count() == before;
}

}  // namespace etc
