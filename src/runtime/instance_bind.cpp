// The tensors of an instance: by name, and those of an array by their number, too.
#include <algorithm>
#include <utility>

#include "runtime/dtype.h"
#include "runtime/instance.h"

namespace etc::runtime {

/// The place of one tensor of an array.
Status Instance::FindElement(const char* name, int64_t index, size_t* place) const {
  size_t param = 0;
  ETC_RETURN_IF_BAD(FindParam(name, &param));
  if (!graph_.params[param].array) {
    return Fail(ETC_ERROR_BIND, "parameter `", name, "`: it is no array of tensors");
  }
  const size_t count = places_.CountOf(param);
  if (index < 0 || static_cast<size_t>(index) >= count) {
    return Fail(ETC_ERROR_NOT_FOUND, "parameter `", name, "`: it has ", count,
                " tensors, and none of number ", index);
  }
  *place = places_.first[param] + static_cast<size_t>(index);
  return {};
}

Status Instance::CheckPlace(const manifest::Param& param, const etc_tensor& tensor,
                            Binding* binding) const {
  ETC_RETURN_IF_BAD(CheckTensor(places_.graph, param, set_dims_, tensor, binding));
  if (binding->elements > 0) {
    const int64_t bytes = binding->elements * FindDType(param.dtype)->bytes;
    if (Status status = backend_->CheckPointer(binding->data, bytes); !status.Ok()) {
      return Fail(status.code, "parameter `", param.name, "`: the data ", status.message);
    }
  }
  return {};
}

/// Makes the bindings of a parameter, whose first place is `place`.
Status Instance::MakeBindings(const NamedTensor& tensor, size_t* place,
                              std::vector<Binding>* made) const {
  size_t index = 0;
  ETC_RETURN_IF_BAD(FindParam(tensor.name, &index));
  std::vector<etc_tensor> tensors = {tensor.tensor};
  bool is_dense = true;
  if (graph_.params[index].array) {
    ETC_RETURN_IF_BAD(TensorsOf(graph_.params[index], tensor.tensor, &tensors, &is_dense));
  }
  *place = places_.first[index];
  made->resize(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    manifest::Param param = places_.graph.params[*place + i];
    param.alignment = i > 0 && is_dense ? 1 : param.alignment;  // as in one tensor
    ETC_RETURN_IF_BAD(CheckPlace(param, tensors[i], &(*made)[i]));
  }
  return {};
}

Status Instance::Bind(const char* name, const etc_tensor& tensor) {
  return BindAll({{name, tensor}});
}

Status Instance::BindAll(const std::vector<NamedTensor>& tensors) {
  std::vector<size_t> places(tensors.size());
  std::vector<std::vector<Binding>> made(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    ETC_RETURN_IF_BAD(MakeBindings(tensors[i], &places[i], &made[i]));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::move(made[i].begin(), made[i].end(),
              bindings_.begin() + static_cast<std::ptrdiff_t>(places[i]));
  }
  is_ready_ = false;
  return {};
}

Status Instance::BindElement(const char* name, int64_t index, const etc_tensor& tensor) {
  size_t place = 0;
  Binding binding;
  ETC_RETURN_IF_BAD(FindElement(name, index, &place));
  ETC_RETURN_IF_BAD(CheckPlace(places_.graph.params[place], tensor, &binding));
  bindings_[place] = std::move(binding);
  is_ready_ = false;
  return {};
}

/// The tensor as the library's own description; `name` is what messages call it.
Status Instance::FromDlpack(const std::string& name, const etc_dl_tensor& tensor,
                            etc_tensor* made) const {
  if (Status status = backend_->CheckDlpackDevice(tensor.device.device_type,
                                                  tensor.device.device_id, tensor.data);
      !status.Ok()) {
    return Fail(status.code, "parameter `", name, "`: ", status.message);
  }
  const DTypeInfo* dtype =
      FindDlpackDType(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes);
  if (dtype == nullptr) {
    return Fail(ETC_ERROR_BIND, "parameter `", name, "`: the DLPack dtype (code ",
                int{tensor.dtype.code}, ", ", int{tensor.dtype.bits}, " bits, ", tensor.dtype.lanes,
                " lanes) has no counterpart");
  }
  const auto begin = reinterpret_cast<uintptr_t>(tensor.data);
  if (tensor.byte_offset > UINTPTR_MAX - begin) {
    return Fail(ETC_ERROR_BIND, "parameter `", name, "`: the DLPack byte offset ",
                tensor.byte_offset, " goes beyond the end of the address space");
  }
  void* data =
      tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset;
  *made = {data, dtype->dtype, tensor.ndim, tensor.shape, tensor.strides};
  return {};
}

Status Instance::BindDlpack(const char* name, const etc_dl_tensor& tensor) {
  size_t index = 0;
  etc_tensor made{};
  ETC_RETURN_IF_BAD(FindParam(name, &index));
  ETC_RETURN_IF_BAD(FromDlpack(name, tensor, &made));
  return Bind(name, made);
}

Status Instance::BindElementDlpack(const char* name, int64_t index, const etc_dl_tensor& tensor) {
  size_t place = 0;
  etc_tensor made{};
  ETC_RETURN_IF_BAD(FindElement(name, index, &place));
  ETC_RETURN_IF_BAD(FromDlpack(places_.graph.params[place].name, tensor, &made));
  return BindElement(name, index, made);
}

Status Instance::AllowOverlap(const char* a, const char* b) {
  size_t one = 0;
  size_t other = 0;
  ETC_RETURN_IF_BAD(FindParam(a, &one));
  ETC_RETURN_IF_BAD(FindParam(b, &other));
  const size_t count = places_.CountOf(one);
  if (one == other || graph_.params[one].array != graph_.params[other].array ||
      count != places_.CountOf(other)) {
    return Fail(ETC_ERROR_ARGUMENT, "parameters `", a, "` and `", b,
                "` are no two tensors, or arrays of as many tensors");
  }
  for (size_t i = 0; i < count; ++i) {
    may_overlap_.insert(std::minmax(places_.first[one] + i, places_.first[other] + i));
  }
  is_ready_ = false;
  return {};
}

}  // namespace etc::runtime
