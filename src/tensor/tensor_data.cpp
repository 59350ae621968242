#include "tensor/tensor_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "support/files.h"
#include "support/parallel.h"
#include "tensor/float16.h"
#include "tensor/float8.h"
#include "tensor/npy.h"

namespace etc {
namespace {

/// The element types of .npy files that fit a dtype; the first is the one that is written.
std::vector<std::string_view> NpyTypes(etc_dtype dtype) {
  switch (dtype) {
    case ETC_F32:
      return {"<f4"};
    case ETC_F16:
      return {"<f2", "<u2"};
    case ETC_BF16:
      return {"<u2"};  // NumPy has no bfloat16: the bit patterns
    case ETC_I64:
      return {"<i8"};
    case ETC_I32:
      return {"<i4"};
    case ETC_U8:
      return {"|u1"};
    case ETC_BOOL:
      return {"|b1"};
    case ETC_U16:
      return {"<u2"};
    case ETC_I8:
      return {"|i1"};
    case ETC_U32:
      return {"<u4"};
    case ETC_F64:
      return {"<f8"};
    case ETC_F8E4M3:
    case ETC_F8E5M2:
      return {"|u1"};  // bit patterns, too
  }
  InternalError(__FILE__, __LINE__, "a dtype without a type in .npy files");
}

template <class T>
T At(const char* bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void Put(char* bytes, int64_t index, T value) {
  std::memcpy(bytes + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

void PutFloat(etc_dtype dtype, char* bytes, int64_t index, double value) {
  auto narrow = static_cast<float>(value);
  switch (dtype) {
    case ETC_F64:
      return Put(bytes, index, value);
    case ETC_F32:
      return Put(bytes, index, narrow);
    case ETC_BF16:
      return Put(bytes, index, Bf16FromFloat(narrow));
    case ETC_F8E4M3:
      return Put(bytes, index, F8E4M3FromFloat(narrow));
    case ETC_F8E5M2:
      return Put(bytes, index, F8E5M2FromFloat(narrow));
    default:
      return Put(bytes, index, F16FromFloat(narrow));
  }
}

void PutInt(etc_dtype dtype, char* bytes, int64_t index, int64_t value) {
  switch (etc_dtype_bytes(dtype)) {
    case 8:
      return Put(bytes, index, value);
    case 4:
      return Put(bytes, index, static_cast<int32_t>(value));
    case 2:
      return Put(bytes, index, static_cast<uint16_t>(value));
    default:
      return Put(bytes, index, static_cast<uint8_t>(value));
  }
}

/// A permutation of the 64-bit integers that leaves no pattern (the finaliser of splitmix64).
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t KeyOf(uint64_t seed, const std::string& name) {
  uint64_t key = Mix(seed + 0x9e3779b97f4a7c15);
  for (char c : name) {
    key = Mix(key ^ static_cast<unsigned char>(c));
  }
  return key;
}

/// A nearly normal number of mean 0 and standard deviation 1: the sum of four uniform ones.
/// Integers until the last step, so that it is the same on every machine, and quick for gigabytes
/// of weights.
double NormalFrom(uint64_t random) {
  static const double kDeviation = std::sqrt((65536.0 * 65536.0 - 1) / 3);
  constexpr int64_t kMean = 131070;  // of four words of 16 bits
  auto sum = static_cast<int64_t>((random & 0xffff) + (random >> 16 & 0xffff) +
                                  (random >> 32 & 0xffff) + (random >> 48));
  return static_cast<double>(sum - kMean) / kDeviation;
}

int64_t UniformFrom(uint64_t random, int64_t min, int64_t max) {
  uint64_t span = static_cast<uint64_t>(max) - static_cast<uint64_t>(min) + 1;  // 0: all words
  uint64_t offset = span == 0 ? random : random % span;
  return static_cast<int64_t>(static_cast<uint64_t>(min) + offset);
}

/// Calls `work(begin, end)` for parts of 0..count, on all cores when there is much to do.
template <class Work>
void ForParts(int64_t count, Work work) {
  constexpr int64_t kWorthAThread = 65536;
  int64_t parts = std::clamp<int64_t>(count / kWorthAThread, 1, static_cast<int64_t>(Cores()));
  ForEachInParallel(static_cast<size_t>(parts), [&](size_t i) {
    const auto part = static_cast<int64_t>(i);
    work(count * part / parts, count * (part + 1) / parts);
  });
}

bool ReportData(const std::string& file, const TensorData& tensor, const std::string& what,
                Diagnostics& diagnostics) {
  diagnostics.Error(DiagnosticKind::Data, {},
                    fmt::format("`{}` for parameter `%{}` {}", file, tensor.name, what));
  return false;
}

}  // namespace

int64_t TensorData::Elements() const {
  int64_t elements = 1;
  for (int64_t extent : shape) {
    // So that the bytes of the widest type fit in 64 bits too.
    if (__builtin_mul_overflow(elements, extent, &elements) || elements > INT64_MAX / 8) {
      throw std::bad_alloc();
    }
  }
  return elements;
}

bool IsFloat(etc_dtype dtype) {
  switch (dtype) {
    case ETC_F64:
    case ETC_F32:
    case ETC_F16:
    case ETC_BF16:
    case ETC_F8E4M3:
    case ETC_F8E5M2:
      return true;
    default:
      return false;
  }
}

std::pair<int64_t, int64_t> IntegersOf(etc_dtype dtype) {
  auto all_of = [](auto type) {
    using Limits = std::numeric_limits<decltype(type)>;
    return std::pair<int64_t, int64_t>(Limits::min(), Limits::max());
  };
  switch (dtype) {
    case ETC_I32:
      return all_of(int32_t{});
    case ETC_U32:
      return all_of(uint32_t{});
    case ETC_U16:
      return all_of(uint16_t{});
    case ETC_I8:
      return all_of(int8_t{});
    case ETC_U8:
      return all_of(uint8_t{});
    case ETC_BOOL:
      return all_of(bool{});
    default:
      return all_of(int64_t{});
  }
}

double ElementAsDouble(etc_dtype dtype, const char* bytes, int64_t index) {
  switch (dtype) {
    case ETC_F64:
      return At<double>(bytes, index);
    case ETC_F32:
      return At<float>(bytes, index);
    case ETC_F16:
      return FloatFromF16(At<uint16_t>(bytes, index));
    case ETC_BF16:
      return FloatFromBf16(At<uint16_t>(bytes, index));
    case ETC_F8E4M3:
      return FloatFromF8E4M3(At<uint8_t>(bytes, index));
    case ETC_F8E5M2:
      return FloatFromF8E5M2(At<uint8_t>(bytes, index));
    default:
      return static_cast<double>(ElementAsInt(dtype, bytes, index));
  }
}

int64_t ElementAsInt(etc_dtype dtype, const char* bytes, int64_t index) {
  switch (dtype) {
    case ETC_I64:
      return At<int64_t>(bytes, index);
    case ETC_I32:
      return At<int32_t>(bytes, index);
    case ETC_U32:
      return At<uint32_t>(bytes, index);
    case ETC_U16:
      return At<uint16_t>(bytes, index);
    case ETC_I8:
      return At<int8_t>(bytes, index);
    default:
      return At<uint8_t>(bytes, index);
  }
}

namespace {

/// Replaces integers by distinct ones: one from each of as many parts of the range, shuffled. A
/// range with fewer integers than the tensor has elements is left alone.
void MakeDistinct(TensorData& tensor, const RandomFill& fill, uint64_t key) {
  int64_t count = tensor.Elements();
  uint64_t span = static_cast<uint64_t>(fill.int_max) - static_cast<uint64_t>(fill.int_min);
  if (count == 0 || span < static_cast<uint64_t>(count) - 1) {
    return;
  }
  uint64_t part = span / static_cast<uint64_t>(count) + (span + 1 == static_cast<uint64_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    auto index = static_cast<uint64_t>(i);
    uint64_t first = static_cast<uint64_t>(fill.int_min) + index * part;
    PutInt(tensor.dtype, tensor.bytes.data(), i,
           UniformFrom(Mix(key ^ index), static_cast<int64_t>(first),
                       static_cast<int64_t>(first + part - 1)));
  }
  for (int64_t i = count - 1; i > 0; --i) {
    int64_t other = UniformFrom(Mix(key + static_cast<uint64_t>(i)), 0, i);
    int64_t value = ElementAsInt(tensor.dtype, tensor.bytes.data(), i);
    PutInt(tensor.dtype, tensor.bytes.data(), i,
           ElementAsInt(tensor.dtype, tensor.bytes.data(), other));
    PutInt(tensor.dtype, tensor.bytes.data(), other, value);
  }
}

void SortRows(TensorData& tensor) {
  int64_t row = tensor.shape.back();
  for (int64_t begin = 0; begin < tensor.Elements(); begin += row) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < row; ++i) {
      values.push_back(ElementAsInt(tensor.dtype, tensor.bytes.data(), begin + i));
    }
    std::sort(values.begin(), values.end());
    for (int64_t i = 0; i < row; ++i) {
      PutInt(tensor.dtype, tensor.bytes.data(), begin + i, values[static_cast<size_t>(i)]);
    }
  }
}

}  // namespace

void FillRandom(TensorData& tensor, const RandomFill& fill) {
  tensor.bytes.resize(static_cast<size_t>(tensor.Elements() * etc_dtype_bytes(tensor.dtype)));
  uint64_t key = KeyOf(fill.seed, tensor.name);
  bool is_float = IsFloat(tensor.dtype);
  ForParts(tensor.Elements(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      uint64_t random = Mix(key + static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15);
      if (is_float) {
        PutFloat(tensor.dtype, tensor.bytes.data(), i, fill.scale * NormalFrom(random));
      } else {
        PutInt(tensor.dtype, tensor.bytes.data(), i,
               UniformFrom(random, fill.int_min, fill.int_max));
      }
    }
  });
  if (fill.distinct) {
    MakeDistinct(tensor, fill, key);
  }
  if (fill.monotone) {
    SortRows(tensor);
  }
}

void FillPoison(TensorData& tensor) {
  tensor.bytes.resize(static_cast<size_t>(tensor.Elements() * etc_dtype_bytes(tensor.dtype)));
  for (int64_t i = 0; i < tensor.Elements(); ++i) {
    switch (tensor.dtype) {
      case ETC_I64:
        Put(tensor.bytes.data(), i, std::numeric_limits<int64_t>::min());
        break;
      case ETC_I32:
        Put(tensor.bytes.data(), i, std::numeric_limits<int32_t>::min());
        break;
      case ETC_U8:
        Put(tensor.bytes.data(), i, uint8_t{0xff});
        break;
      case ETC_U16:
        Put(tensor.bytes.data(), i, uint16_t{0xffff});
        break;
      case ETC_U32:
        Put(tensor.bytes.data(), i, uint32_t{0xffffffff});
        break;
      case ETC_I8:
        Put(tensor.bytes.data(), i, std::numeric_limits<int8_t>::min());
        break;
      case ETC_BOOL:
        Put(tensor.bytes.data(), i, uint8_t{1});
        break;
      default:
        PutFloat(tensor.dtype, tensor.bytes.data(), i, std::numeric_limits<double>::quiet_NaN());
    }
  }
}

bool IsNpyFile(const std::string& file) { return file.ends_with(".npy"); }

bool ReadTensor(const std::string& file, TensorData& tensor, Diagnostics& diagnostics) {
  auto contents = ReadInput(file, diagnostics, std::numeric_limits<int64_t>::max());
  if (!contents) {
    return false;
  }
  if (!IsNpyFile(file)) {
    int64_t expected = tensor.Elements() * etc_dtype_bytes(tensor.dtype);
    if (contents->size() != static_cast<size_t>(expected)) {
      return ReportData(file, tensor,
                        fmt::format("has {} bytes; {} needs {}", contents->size(),
                                    TypeText(tensor.dtype, tensor.shape), expected),
                        diagnostics);
    }
    tensor.bytes.assign(contents->begin(), contents->end());
    return true;
  }
  std::string error;
  auto array = ParseNpy(*contents, error);
  if (!array) {
    return ReportData(file, tensor, error, diagnostics);
  }
  auto types = NpyTypes(tensor.dtype);
  if (std::find(types.begin(), types.end(), array->descr) == types.end()) {
    return ReportData(file, tensor,
                      fmt::format("has elements of type `{}`; {} needs `{}`", array->descr,
                                  etc_dtype_name(tensor.dtype), types.front()),
                      diagnostics);
  }
  tensor.shape = array->shape;
  tensor.bytes.assign(array->data.begin(), array->data.end());
  return true;
}

void CheckNpyHeader(const std::string& file, const std::string& param, std::string_view dtype,
                    const std::vector<std::optional<int64_t>>& extents, Diagnostics& diagnostics) {
  constexpr size_t kMostOfHeader = 1 << 16;
  auto start = ReadStart(file, kMostOfHeader);
  std::string error;
  auto array = start ? ParseNpyHeader(*start, error) : std::nullopt;
  if (!start || (!array && start->size() == kMostOfHeader)) {
    return;
  }
  auto wrong = [&](const std::string& text) {
    diagnostics.Error(DiagnosticKind::Data, {},
                      fmt::format("`{}` for parameter `%{}` {}", file, param, text));
  };
  if (!array) {
    return wrong(error);
  }
  for (int i = 0; etc_dtype_bytes(static_cast<etc_dtype>(i)) > 0; ++i) {
    auto candidate = static_cast<etc_dtype>(i);
    if (etc_dtype_name(candidate) != dtype) {
      continue;
    }
    auto types = NpyTypes(candidate);
    if (std::find(types.begin(), types.end(), array->descr) == types.end()) {
      return wrong(fmt::format("has elements of type `{}`; {} needs `{}`", array->descr, dtype,
                               types.front()));
    }
  }
  if (array->shape.size() != extents.size()) {
    return wrong(fmt::format("has the shape {}, but the parameter has {} {}",
                             ShapeText(array->shape), extents.size(),
                             extents.size() == 1 ? "dimension" : "dimensions"));
  }
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] && *extents[i] != array->shape[i]) {
      return wrong(fmt::format("has the shape {}, but extent {} must be {}",
                               ShapeText(array->shape), i, *extents[i]));
    }
  }
}

std::string FileContents(const std::string& file, const TensorData& tensor, const Bytes& bytes) {
  std::string data(bytes.begin(), bytes.end());
  if (!IsNpyFile(file)) {
    return data;
  }
  return PrintNpy({std::string(NpyTypes(tensor.dtype).front()), tensor.shape, std::move(data)});
}

std::string TypeText(etc_dtype dtype, const std::vector<int64_t>& shape) {
  return TypeText(etc_dtype_name(dtype), shape);
}

std::string TypeText(std::string_view dtype, const std::vector<int64_t>& shape) {
  return fmt::format("{}[{}]", dtype, shape.empty() ? "" : ShapeText(shape));
}

}  // namespace etc
