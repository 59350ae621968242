// What programs give back and what they read of their own memory is written by some call. This
// holds of a text: a pass leaves out calls without tasks, also where their buffers have elements
// that nobody reads. Coverage, element by element, is proved (analysis/proofs).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/evaluate.h"
#include "ir/walk.h"
#include "verify/checks.h"
#include "verify/wording.h"

namespace etc {
namespace {

class WrittenChecks {
 public:
  WrittenChecks(const Module& module, const std::vector<Where>& where, Diagnostics& diagnostics)
      : module_(module), ranges_(RangesOf(module, where)), diagnostics_(diagnostics) {}

  void Run(const std::vector<NodeId>& body, const std::vector<TensorId>& params) {
    VisitNodes(module_, body, [&](NodeId id) {
      if (const auto* call = std::get_if<CallNode>(&module_.nodes[id])) {
        Call(module_.RangeOf(id), module_.devices[call->callee], call->args);
      } else if (const auto* share = std::get_if<Share>(&module_.nodes[id])) {
        Call(module_.RangeOf(id), module_.devices[share->callee], share->args);
      }
    });
    for (TensorId param : params) {
      const Tensor& tensor = module_.tensors[param];
      if (tensor.access == Access::Out && IsMissing(param)) {
        diagnostics_.Error(
            DiagnosticKind::Access, tensor.range,
            fmt::format("`%{}` is an `out` parameter, but no call writes it", tensor.name));
      }
    }
  }

 private:
  void Call(SourceRange range, const Device& callee, const std::vector<Argument>& args) {
    if (args.size() != callee.params.size()) {
      for (const Argument& arg : args) {
        written_.insert(arg.tensor);  // perhaps; one error is enough
      }
      return;
    }
    for (size_t i = 0; i < args.size(); ++i) {
      if (module_.tensors[callee.params[i]].access != Access::Out) {
        Read(args[i].range.IsValid() ? args[i].range : range, callee, args[i].tensor);
      }
    }
    for (size_t i = 0; i < args.size(); ++i) {
      if (module_.tensors[callee.params[i]].access != Access::In) {
        written_.insert(args[i].tensor);
      }
    }
  }

  void Read(SourceRange range, const Device& callee, TensorId id) {
    const Tensor& tensor = module_.tensors[id];
    bool undefined = tensor.kind == TensorKind::Buffer || tensor.access == Access::Out;
    if (undefined && IsMissing(id)) {
      diagnostics_
          .Error(DiagnosticKind::Access, range,
                 fmt::format("`@{}` reads `%{}`, {} that no earlier call has written", callee.name,
                             tensor.name, Describe(tensor)))
          .notes.push_back(DeclaredHere(tensor));
      written_.insert(id);  // once is enough
    }
  }

  /// Whether the tensor has elements, at some size, and no call so far writes any.
  bool IsMissing(TensorId id) const {
    const std::vector<ExprId>& shape = module_.tensors[id].shape;
    return !written_.contains(id) && std::none_of(shape.begin(), shape.end(), [&](ExprId extent) {
      auto range = Bounds(module_, extent, {}, ranges_);
      return range && range->hi <= 0;
    });
  }

  const Module& module_;
  DimRanges ranges_;
  Diagnostics& diagnostics_;
  std::set<TensorId> written_;
};

}  // namespace

void CheckWritten(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  WrittenChecks(module, graph.where, diagnostics).Run(graph.body, graph.params);
}

void CheckWritten(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  WrittenChecks(module, kernel.where, diagnostics).Run(kernel.body, kernel.params);
}

}  // namespace etc
