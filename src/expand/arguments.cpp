#include "expand/arguments.h"

#include <fmt/format.h>

#include <string>

#include "analysis/shapes.h"
#include "ir/printer.h"

namespace etc {
namespace {

std::string TypeText(Module& module, DType type, const std::vector<ExprId>& shape,
                     const Substitution& generics) {
  std::string extents;
  for (ExprId extent : shape) {
    extents += (extents.empty() ? "" : ", ") + Print(module, Clone(module, extent, generics));
  }
  return fmt::format("`{}[{}]`", Spelling(type), extents);
}

}  // namespace

bool ArgumentsFit(Module& module, const Callee& callee, const CallNode& call,
                  const Deduced& deduced, Diagnostics& diagnostics) {
  const auto& [generics, params] = deduced;
  bool ok = true;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Tensor param = module.tensors[params[i]];
    const Tensor tensor = module.tensors[call.args[i].tensor];
    std::vector<ExprId> shape = ShapeOf(module, call.args[i]);
    bool same = tensor.type == param.type && shape.size() == param.shape.size();
    for (size_t axis = 0; same && axis < shape.size(); ++axis) {
      same = SameSize(module, shape[axis], Clone(module, param.shape[axis], generics));
    }
    if (!same) {
      diagnostics
          .Error(DiagnosticKind::Argument, call.args[i].range,
                 fmt::format("`%{}` is {}, but parameter `%{}` of `@{}` is {}", tensor.name,
                             TypeText(module, tensor.type, shape, {}), param.name, callee.name,
                             TypeText(module, param.type, param.shape, generics)))
          .notes.push_back({param.range, "the parameter is declared here"});
      ok = false;
    }
  }
  return ok;
}

}  // namespace etc
