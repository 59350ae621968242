#include "caller_data.h"

#include "ir/types.h"
#include "ir/walk.h"

namespace etc::mutation {
namespace {

uint64_t Mix(uint64_t x) {
  x ^= x >> 31;
  x *= 0x9e3779b97f4a7c15U;
  return x ^ (x >> 29);
}

}  // namespace

CallerData::CallerData(const Module& module, Interpreter& interpreter, const DataChoice& choice)
    : module_(module), interpreter_(interpreter), choice_(choice) {
  for (NodeId id : module.nodes.Ids()) {
    if (const auto* call = std::get_if<CallNode>(&module.nodes[id])) {
      FindAsked(call->args, call->callee);
    } else if (const auto* share = std::get_if<Share>(&module.nodes[id])) {
      FindAsked(share->args, share->callee);
    }
  }
}

void CallerData::FindAsked(const std::vector<Argument>& args, DeviceId callee) {
  for (size_t i = 0; i < args.size(); ++i) {
    TensorId param = module_.devices[callee].params[i];
    if (!HasPrecondition(module_.tensors[args[i].tensor]) &&
        HasPrecondition(module_.tensors[param]) && args[i].indices.empty()) {
      asked_.emplace(args[i].tensor, param);
    }
  }
}

const Tensor& CallerData::Precondition(TensorId tensor) const {
  auto asked = asked_.find(tensor);
  return module_.tensors[asked == asked_.end() ? tensor : asked->second];
}

Value CallerData::Element(TensorId id, const std::vector<int64_t>& index) {
  const Tensor& tensor = Precondition(id);
  if (!IsUniform(module_, tensor) || tensor.counts) {
    return std::nullopt;  // it depends on other tensors
  }
  bool least = choice_.kind == DataChoice::Kind::Least;
  bool greatest = choice_.kind == DataChoice::Kind::Greatest;
  std::vector<int64_t> shape = interpreter_.Shape(module_.tensors[id]);
  int64_t number = 0;
  int64_t size = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    number = number * shape[i] + index[i];
    size *= shape[i];
  }
  // Of what has no range of values, the least and the greatest are outside of most extents.
  Value lo = tensor.value_lo ? interpreter_.Eval(tensor.value_lo) : least ? -1 : 0;
  Value hi = tensor.value_hi ? interpreter_.Eval(tensor.value_hi) : greatest ? 1000 : size;
  if (!lo || !hi || *lo >= *hi) {
    return std::nullopt;
  }
  int64_t width = *hi - *lo;
  if (!tensor.distinct && !tensor.monotone) {
    return *lo + Choose(width, id.value, number);
  }
  if (tensor.distinct && width < size) {
    return std::nullopt;
  }
  if (!tensor.distinct) {
    return *lo + (least ? 0 : greatest ? width - 1 : index.back() * (width - 1) / shape.back());
  }
  if (tensor.monotone) {
    return *lo + number + (least ? 0 : greatest ? width - size : (width - size) / 2);
  }
  int64_t turned = (number + static_cast<int64_t>(choice_.seed)) % width;
  return *lo + (least ? number : greatest ? width - 1 - number : turned);
}

int64_t CallerData::Choose(int64_t n, uint64_t what, int64_t number) const {
  if (choice_.kind != DataChoice::Kind::Random) {
    return choice_.kind == DataChoice::Kind::Least ? 0 : n - 1;
  }
  uint64_t hash = Mix(Mix(choice_.seed + what) + static_cast<uint64_t>(number));
  return static_cast<int64_t>(hash % static_cast<uint64_t>(n));
}

}  // namespace etc::mutation
