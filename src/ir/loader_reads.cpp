#include "ir/loader_reads.h"

#include <algorithm>

namespace etc {

bool IsReadBehindWait(const Module& module, const Device& device, TensorId param,
                      TensorId argument) {
  const Tensor& tensor = module.tensors[argument];
  bool computed = tensor.kind == TensorKind::Buffer || tensor.access == Access::Out;
  return computed && std::any_of(device.impls.begin(), device.impls.end(), [&](const Impl& impl) {
           bool preloaded = std::find(impl.preloaded.begin(), impl.preloaded.end(), param) !=
                            impl.preloaded.end();
           bool decides = tensor.type == DType::I32 ||
                          (tensor.type == DType::F32 && impl.preloaded.size() > 1);
           return preloaded && decides;
         });
}

bool LoadsBehindWait(const Module& module, const Device& device,
                     const std::vector<Argument>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (IsReadBehindWait(module, device, device.params[i], args[i].tensor)) {
      return true;
    }
  }
  return false;
}

}  // namespace etc
