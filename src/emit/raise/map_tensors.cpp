// Tensor maps: what tensor copies know of the tensors that they read.

#include <algorithm>

#include "emit/raise/passes.h"

namespace etc {
namespace {

/// Whether the launch itself may write the tensor.
bool IsComputed(const Tensor& tensor) {
  return tensor.kind == TensorKind::Buffer || tensor.access != Access::In;
}

/// The number of a map among those of the kernel, which has each once.
size_t NumberOf(RaisedKernel& kernel, const RaisedMap& map) {
  auto found = std::find(kernel.maps.begin(), kernel.maps.end(), map);
  if (found == kernel.maps.end()) {
    found = kernel.maps.insert(found, map);
  }
  return static_cast<size_t>(found - kernel.maps.begin());
}

/// Of the launch block, beside the maps (docs/runtime.md).
size_t WordsOf(const RaisedKernel& raised) {
  size_t words = raised.dims.size() + 3 + raised.iterations;
  for (TensorId id : raised.kernel.params) {
    words += static_cast<size_t>(raised.tensors.at(id).array.value_or(1));
  }
  if (raised.kernel.profile) {
    words += raised.launches.empty() ? 3 : 4;
  }
  return words + (raised.module.mesh ? 6 : 0);
}

}  // namespace

void MapTensors(RaisedModule& raised) {
  for (RaisedKernel& kernel : raised.kernels) {
    for (const ShareSite& site : SharesOf(raised.module, kernel.kernel)) {
      RaisedShare& share = kernel.shares.at(site.share);
      const RaisedDevice& callee = kernel.devices[share.device];
      for (size_t i = 0; callee.impl != nullptr && i < share.share.args.size(); ++i) {
        TensorId param = callee.device.params[i], argument = share.share.args[i].tensor;
        if (auto box = callee.boxes.find(param); box != callee.boxes.end()) {
          share.maps[i] = NumberOf(kernel, {argument, box->second[0], box->second[1]});
        }
        const std::vector<TensorId>& fetched = callee.impl->fetched;
        if (std::find(fetched.begin(), fetched.end(), param) != fetched.end() &&
            IsComputed(raised.module.tensors[argument])) {
          share.fetched.insert(i);
        }
      }
      kernel.fetches |= !share.fetched.empty();
    }
    kernel.unused_words = kernel.maps.empty() ? 0 : (8 - WordsOf(kernel) % 8) % 8;
  }
}

}  // namespace etc
