// The numbers that are known when the text is made: of constants, extents, tiles, and arguments of
// implementations.

#include "emit/raise/passes.h"
#include "emit/raise/texts.h"
#include "ir/evaluate.h"

namespace etc {
namespace {

class Folder {
 public:
  explicit Folder(RaisedKernel& raised)
      : raised_(raised), module_(raised.module), sizes_(RangesOf(module_, raised.kernel)) {}

  void Run() {
    for (const Item& item : module_.items) {
      const auto* id = std::get_if<SymbolId>(&item);
      if (id != nullptr && module_.symbols[*id].kind == SymbolKind::Const) {
        raised_.constants.emplace_back(*id, ValueOf(module_.symbols[*id].value));
      }
    }
    for (TensorId id : raised_.kernel.params) {
      Add(id);
    }
    for (NodeId id : raised_.kernel.declarations) {
      if (const auto* buffer = std::get_if<BufferDecl>(&module_.nodes[id])) {
        Add(buffer->tensor);
      }
    }
    for (RaisedDevice& device : raised_.devices) {
      for (TensorId id : device.device.params) {
        Add(id);
      }
      AddLocals(device.device.body);
      if (device.impl != nullptr) {
        for (const ImplArg& arg : device.impl->args) {
          device.impl_args.push_back(arg.value ? std::optional(ValueOf(arg.value)) : std::nullopt);
        }
        for (const Box& box : device.impl->boxes) {
          device.boxes[box.tensor] = {EvaluateInt(module_, box.rows, {}, sizes_).value(),
                                      EvaluateInt(module_, box.columns, {}, sizes_).value()};
        }
      }
    }
  }

 private:
  Constant ValueOf(ExprId id) const {
    switch (KindOf(module_, id)) {
      case ValueKind::Int:
        return EvaluateInt(module_, id, {}, sizes_).value();
      case ValueKind::Bool:
        return EvaluateBool(module_, id, {}, sizes_).value();
      default:
        break;
    }
    double number = EvaluateFloat(module_, id, {}, sizes_).value();
    return FloatConstant{number, KindOf(module_, id) == ValueKind::Double || !FitsFloat(number)};
  }

  void Add(TensorId id) {
    const Tensor& tensor = module_.tensors[id];
    RaisedTensor raised;
    for (ExprId extent : tensor.shape) {
      raised.extents.push_back(EvaluateInt(module_, extent, {}, sizes_));
    }
    for (ExprId extent : tensor.tile) {
      raised.tile.push_back(EvaluateInt(module_, extent, {}).value());
    }
    if (tensor.array) {
      raised.array = EvaluateInt(module_, tensor.shape.front(), {}).value();
    }
    raised_.tensors[id] = std::move(raised);
  }

  void AddLocals(const std::vector<StmtId>& body) {
    VisitStmts(module_, body, [&](StmtId id) {
      if (const auto* local = std::get_if<LocalDecl>(&module_.stmts[id])) {
        Add(local->tensor);
      }
    });
  }

  RaisedKernel& raised_;
  const Module& module_;
  DimRanges sizes_;
};

}  // namespace

void FoldSizes(RaisedModule& raised) {
  for (RaisedKernel& kernel : raised.kernels) {
    Folder(kernel).Run();
  }
}

}  // namespace etc
