#include "ir/loader_reads.h"

#include <algorithm>

namespace etc {

bool IsReadBehindWait(const Module& module, const Device& device, TensorId param,
                      TensorId argument) {
  return module.tensors[argument].kind == TensorKind::Buffer &&
         module.tensors[argument].type == DType::I32 &&
         std::any_of(device.impls.begin(), device.impls.end(), [&](const Impl& impl) {
           return std::find(impl.preloaded.begin(), impl.preloaded.end(), param) !=
                  impl.preloaded.end();
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
