#include "runtime/binding.h"

#include <algorithm>

#include "runtime/dtype.h"
#include "runtime/manifest_expr.h"

namespace etc::runtime {
namespace {

using manifest::Expr;
using manifest::Graph;
using manifest::Param;

template <class... Parts>
Status Misfit(const Param& param, const Parts&... parts) {
  return Fail(ETC_ERROR_BIND, "parameter `", param.name, "`: ", parts...);
}

Status ExtentValue(const Graph& graph, const Param& param, size_t axis,
                   const std::vector<int64_t>& dims, int64_t* value) {
  Status status = Evaluate(param.shape[axis], dims, value);
  return status.Ok() ? Status{}
                     : Fail(status.code, "parameter `", param.name, "`: extent ", axis, ", `",
                            ToText(param.shape[axis], graph.dims), "`, ", status.message);
}

/// `reason` is asked where the extent is wrong.
template <class Reason>
Status CheckExtent(const Graph& graph, const Param& param, size_t axis, int64_t given,
                   const std::vector<int64_t>& dims, Reason reason) {
  const Expr& extent = param.shape[axis];
  if (extent.kind == Expr::Kind::Dim && dims[static_cast<size_t>(extent.value)] == given) {
    return {};
  }
  int64_t expected = 0;
  ETC_RETURN_IF_BAD(ExtentValue(graph, param, axis, dims, &expected));
  if (given == expected) {
    return {};
  }
  const Expr& expr = param.shape[axis];
  if (expr.kind == Expr::Kind::Int) {
    return Misfit(param, "extent ", axis, " is ", given, ", but must be ", expected);
  }
  return Misfit(param, "extent ", axis, " is ", given, ", but `", ToText(expr, graph.dims), "` is ",
                expected, reason());
}

Status CheckKnownExtents(const Graph& graph, const Param& param, const KnownDims& known,
                         const std::vector<int64_t>& shape) {
  std::vector<int64_t> dims;
  for (const std::optional<int64_t>& value : known) {
    dims.push_back(value.value_or(0));
  }
  for (size_t axis = 0; axis < param.shape.size(); ++axis) {
    const Expr& expr = param.shape[axis];
    const int64_t given = shape[axis];
    if (given < 0) {
      return Misfit(param, "extent ", axis, " is ", given);
    }
    if (IsKnown(expr, known)) {
      ETC_RETURN_IF_BAD(CheckExtent(graph, param, axis, given, dims, [] { return ""; }));
    } else if (expr.kind == Expr::Kind::Dim) {
      if (Status status = CheckDim(graph.dims[static_cast<size_t>(expr.value)], given);
          !status.Ok()) {
        return Misfit(param, "extent ", axis, ", `", ToText(expr, graph.dims), "`, ",
                      status.message);
      }
    }
  }
  return {};
}

Status CheckSize(const Param& param, const std::vector<int64_t>& shape, int64_t element_bytes,
                 int64_t* elements) {
  int64_t bytes = element_bytes;
  const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  for (size_t axis = 0; axis < shape.size() && !is_empty; ++axis) {
    if (__builtin_mul_overflow(bytes, shape[axis], &bytes)) {
      return Misfit(param, "its size in bytes overflows");
    }
  }
  *elements = is_empty ? 0 : bytes / element_bytes;
  return {};
}

Status CheckDense(const Param& param, const etc_tensor& tensor, int64_t elements) {
  if (tensor.strides == nullptr || elements == 0) {
    return {};
  }
  int64_t dense = 1;
  for (int32_t axis = tensor.rank - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != dense) {
      return Misfit(param, "stride ", axis, " is ", tensor.strides[axis],
                    ", but a dense row-major tensor of its shape has ", dense);
    }
    dense *= tensor.shape[axis];
  }
  return {};
}

Status CheckData(const Param& param, const void* data, int64_t bytes) {
  if (bytes == 0) {
    return {};
  }
  if (data == nullptr) {
    return Misfit(param, "the data is null");
  }
  const auto address = reinterpret_cast<uintptr_t>(data);
  if (address % static_cast<uintptr_t>(param.alignment) != 0) {
    return Misfit(param, "the data is at ", data, ", but must be aligned to ", param.alignment,
                  " bytes");
  }
  if (address > UINTPTR_MAX - static_cast<uintptr_t>(bytes)) {
    return Misfit(param, "the data goes beyond the end of the address space");
  }
  return {};
}

/// Who gave the dims of an extent their values, as far as tensors did.
std::string Reason(const Graph& graph, const std::vector<Binding>& bindings, const KnownDims& set,
                   const Expr& expr) {
  if (expr.kind != Expr::Kind::Dim || set[static_cast<size_t>(expr.value)]) {
    return "";
  }
  for (size_t i = 0; i < bindings.size(); ++i) {
    const std::vector<Expr>& shape = graph.params[i].shape;
    for (size_t axis = 0; axis < shape.size() && bindings[i].is_bound; ++axis) {
      if (shape[axis].kind == Expr::Kind::Dim && shape[axis].value == expr.value) {
        return Cat(" by extent ", axis, " of parameter `", graph.params[i].name, "`");
      }
    }
  }
  return "";
}

Status CheckOverlaps(const Graph& graph, const std::vector<Binding>& bindings,
                     const PlacePairs& allowed) {
  struct Span {
    uintptr_t begin;
    uintptr_t end;
    size_t param;
  };
  std::vector<Span> spans;
  for (size_t i = 0; i < bindings.size(); ++i) {
    const auto begin = reinterpret_cast<uintptr_t>(bindings[i].data);
    const int64_t bytes = bindings[i].elements * FindDType(graph.params[i].dtype)->bytes;
    if (bytes > 0) {
      spans.push_back({begin, begin + static_cast<uintptr_t>(bytes), i});
    }
  }
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::vector<const Span*> open;  // that end behind the beginning of the span
  for (const Span& span : spans) {
    std::erase_if(open, [&](const Span* other) { return other->end <= span.begin; });
    const bool is_written = graph.params[span.param].access != ETC_IN;
    for (const Span* other : open) {
      const auto [first, second] = std::minmax(other->param, span.param);
      if ((is_written || graph.params[other->param].access != ETC_IN) &&
          !allowed.contains({first, second})) {
        return Fail(ETC_ERROR_BIND, "parameters `", graph.params[first].name, "` and `",
                    graph.params[second].name, "` overlap in memory, and `",
                    graph.params[is_written ? span.param : other->param].name, "` is written");
      }
    }
    open.push_back(&span);
  }
  return {};
}

Status CheckWorkspace(const Graph& graph, const std::vector<Binding>& bindings,
                      const MemorySpan& workspace) {
  const auto begin = reinterpret_cast<uintptr_t>(workspace.data);
  const uintptr_t end = begin + static_cast<uintptr_t>(workspace.bytes);
  for (size_t i = 0; i < bindings.size(); ++i) {
    const auto data = reinterpret_cast<uintptr_t>(bindings[i].data);
    const int64_t bytes = bindings[i].elements * FindDType(graph.params[i].dtype)->bytes;
    if (bytes > 0 && data < end && begin < data + static_cast<uintptr_t>(bytes)) {
      return Misfit(graph.params[i], "the data overlaps the workspace that is bound");
    }
  }
  return {};
}

}  // namespace

Places::Places(const Graph& whole) {
  graph.name = whole.name;
  graph.dims = whole.dims;
  for (const Param& param : whole.params) {
    first.push_back(graph.params.size());
    if (!param.array) {
      graph.params.push_back(param);
      continue;
    }
    Param one = param;
    one.array = false;
    one.shape.erase(one.shape.begin());
    for (int64_t i = 0; i < param.shape[0].value; ++i) {
      one.name = Cat(param.name, "[", i, "]");
      graph.params.push_back(one);
    }
  }
}

size_t Places::CountOf(size_t param) const {
  return (param + 1 < first.size() ? first[param + 1] : graph.params.size()) - first[param];
}

Status CheckDim(const manifest::Dim& dim, int64_t value) {
  if (value < dim.min || value > dim.max) {
    return Fail(ETC_ERROR_DIM, "is ", value, ", but must be in ", dim.min, "..", dim.max);
  }
  if (value % dim.multiple != 0) {
    return Fail(ETC_ERROR_DIM, "is ", value, ", but must be a multiple of ", dim.multiple);
  }
  return {};
}

Status ShapeOf(const Param& param, const etc_tensor& tensor, std::vector<int64_t>* shape) {
  const size_t rank = param.shape.size();
  const size_t bound_rank = rank + (param.tile ? 2 : 0);
  if (tensor.rank != static_cast<int32_t>(bound_rank)) {
    const std::string packed = param.tile
                                   ? Cat(": a packed tensor (etc_pack) has the shape [..., n / ",
                                         param.tile->rows, ", k / ", param.tile->columns, ", ",
                                         param.tile->rows, ", ", param.tile->columns, "]")
                                   : "";
    return Misfit(param, "the rank is ", tensor.rank, ", but must be ", bound_rank, packed);
  }
  if (tensor.rank > 0 && tensor.shape == nullptr) {
    return Misfit(param, "the shape is null");
  }
  shape->assign(tensor.shape, tensor.shape + rank);
  if (!param.tile) {
    return {};
  }
  const int64_t tile[] = {param.tile->rows, param.tile->columns};
  for (size_t i = 0; i < 2; ++i) {
    const size_t axis = rank - 2 + i;
    const int64_t given = tensor.shape[rank + i];
    if (given != tile[i]) {
      return Misfit(param, "extent ", rank + i, " is ", given, ", but its tiles have ", tile[i]);
    }
    if (__builtin_mul_overflow(tensor.shape[axis], tile[i], &(*shape)[axis])) {
      return Misfit(param, "its size in bytes overflows");
    }
  }
  return {};
}

Status CheckTensor(const Graph& graph, const Param& param, const KnownDims& known,
                   const etc_tensor& tensor, Binding* binding) {
  const DTypeInfo* expected = FindDType(param.dtype);
  const DTypeInfo* given = FindDType(tensor.dtype);
  if (given != expected) {
    return Misfit(param, "the dtype is ", given != nullptr ? given->name : "unknown",
                  ", but must be ", expected->name);
  }
  std::vector<int64_t> shape;
  ETC_RETURN_IF_BAD(ShapeOf(param, tensor, &shape));
  ETC_RETURN_IF_BAD(CheckKnownExtents(graph, param, known, shape));
  int64_t elements = 0;
  ETC_RETURN_IF_BAD(CheckSize(param, shape, expected->bytes, &elements));
  ETC_RETURN_IF_BAD(CheckDense(param, tensor, elements));
  ETC_RETURN_IF_BAD(CheckData(param, tensor.data, elements * expected->bytes));
  *binding = {true, tensor.data, std::move(shape), elements};
  return {};
}

Status TensorsOf(const Param& param, const etc_tensor& stacked, std::vector<etc_tensor>* tensors,
                 bool* is_dense) {
  const int64_t count = param.shape[0].value;
  const auto rank = static_cast<int32_t>(param.shape.size() + (param.tile ? 2 : 0));
  if (stacked.rank != rank) {
    return Misfit(param, "the rank is ", stacked.rank, ", but must be ", rank,
                  ", as its tensors have ", rank - 1, " and are stacked here");
  }
  if (stacked.shape == nullptr) {
    return Misfit(param, "the shape is null");
  }
  if (stacked.shape[0] != count) {
    return Misfit(param, "extent 0 is ", stacked.shape[0], ", but it has ", count, " tensors");
  }
  const DTypeInfo* dtype = FindDType(stacked.dtype);
  int64_t dense = 1;
  for (int32_t axis = 1; axis < rank; ++axis) {
    if (__builtin_mul_overflow(dense, stacked.shape[axis], &dense)) {
      return Misfit(param, "its size in bytes overflows");
    }
  }
  int64_t stride = stacked.strides != nullptr ? stacked.strides[0] : dense;
  *is_dense = stride == dense;
  int64_t span = 0;
  if (__builtin_mul_overflow(stride, dtype != nullptr ? dtype->bytes : 1, &stride) ||
      __builtin_mul_overflow(stride, count, &span)) {
    return Misfit(param, "its size in bytes overflows");
  }
  const auto begin = reinterpret_cast<uintptr_t>(stacked.data);
  tensors->clear();
  for (int64_t i = 0; i < count; ++i) {
    const uintptr_t address = begin + static_cast<uintptr_t>(i * stride);
    tensors->push_back({stacked.data == nullptr ? nullptr : reinterpret_cast<void*>(address),
                        stacked.dtype, rank - 1, stacked.shape + 1,
                        stacked.strides == nullptr ? nullptr : stacked.strides + 1});
  }
  return {};
}

KnownDims InferDims(const Graph& graph, const std::vector<Binding>& bindings,
                    const KnownDims& set) {
  KnownDims dims = set;
  for (size_t i = 0; i < bindings.size(); ++i) {
    const std::vector<Expr>& shape = graph.params[i].shape;
    for (size_t axis = 0; axis < shape.size() && bindings[i].is_bound; ++axis) {
      if (shape[axis].kind == Expr::Kind::Dim) {
        std::optional<int64_t>& dim = dims[static_cast<size_t>(shape[axis].value)];
        dim = dim.value_or(bindings[i].shape[axis]);
      }
    }
  }
  return dims;
}

std::string SourcesOf(const Graph& graph, size_t dim) {
  std::string sources;
  for (const Param& param : graph.params) {
    for (size_t axis = 0; axis < param.shape.size(); ++axis) {
      if (param.shape[axis].kind == Expr::Kind::Dim &&
          static_cast<size_t>(param.shape[axis].value) == dim) {
        sources +=
            Cat(sources.empty() ? "" : ", ", "extent ", axis, " of parameter `", param.name, "`");
        break;
      }
    }
  }
  return sources.empty() ? "no parameter has it as an extent"
                         : Cat("no tensor is bound that gives it: ", sources);
}

Status CheckTogether(const Graph& graph, const std::vector<Binding>& bindings, const KnownDims& set,
                     const std::vector<int64_t>& dims, const PlacePairs& may_overlap,
                     const MemorySpan& workspace) {
  for (size_t i = 0; i < bindings.size(); ++i) {
    const Param& param = graph.params[i];
    if (!bindings[i].is_bound) {
      return Fail(ETC_ERROR_UNBOUND, "parameter `", param.name, "` has no tensor");
    }
    for (size_t axis = 0; axis < param.shape.size(); ++axis) {
      ETC_RETURN_IF_BAD(CheckExtent(graph, param, axis, bindings[i].shape[axis], dims, [&] {
        return Reason(graph, bindings, set, param.shape[axis]);
      }));
    }
  }
  ETC_RETURN_IF_BAD(CheckOverlaps(graph, bindings, may_overlap));
  return CheckWorkspace(graph, bindings, workspace);
}

}  // namespace etc::runtime
