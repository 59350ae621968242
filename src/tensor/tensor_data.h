// The elements of a parameter on this side of a launch: from and to files, random, poisoned.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etc/runtime.h"
#include "support/diagnostics.h"
#include "tensor/bytes.h"

namespace etc {

/// A parameter of a graph with its shape under the sizes of this run, and what it starts from.
struct TensorData {
  std::string name;
  etc_access access = ETC_IN;
  etc_dtype dtype = ETC_F32;
  std::vector<int64_t> shape;
  Bytes bytes;                    // row-major
  std::array<int64_t, 2> tile{};  // of a layout, in which a launch takes them; else zeros

  bool InTiles() const { return tile[0] != 0; }
  /// Throws std::bad_alloc for more than any memory holds.
  int64_t Elements() const;
};

bool IsFloat(etc_dtype dtype);

/// The least and the greatest integer that an element holds; of bool 0 and 1.
std::pair<int64_t, int64_t> IntegersOf(etc_dtype dtype);

/// Element `index` of `bytes`, read as the dtype. Integers beyond 2^53 lose digits as doubles.
double ElementAsDouble(etc_dtype dtype, const char* bytes, int64_t index);
int64_t ElementAsInt(etc_dtype dtype, const char* bytes, int64_t index);

/// How random elements are drawn.
struct RandomFill {
  uint64_t seed = 0;
  double scale = 1.0;   // standard deviation of floats; their mean is 0
  int64_t int_min = 0;  // integers are uniform, both ends included
  int64_t int_max = 1;
  bool distinct = false;  // no two integers are equal
  bool monotone = false;  // integers ascend along the last axis
};

/// Sets every element. Equal seeds, names and shapes give equal elements on every machine, whatever
/// the other parameters are.
void FillRandom(TensorData& tensor, const RandomFill& fill);

/// Sets every element to what a program never writes on purpose: NaN, or the smallest integer (the
/// largest of unsigned ones, true for bool).
void FillPoison(TensorData& tensor);

/// Reads a `.npy` file, or any other file as raw elements; raw elements have no shape of their own,
/// so `tensor.shape` is kept for them and set from a .npy. Reports [data] and [file] errors that
/// name the file and the parameter.
[[nodiscard]] bool ReadTensor(const std::string& file, TensorData& tensor,
                              Diagnostics& diagnostics);

/// Holds the header of a .npy file against a parameter, before the elements are read: `dtype` as it
/// is spelled, and the extents that are known. Reports [data] errors; a file whose header cannot be
/// read early is left to ReadTensor.
void CheckNpyHeader(const std::string& file, const std::string& param, std::string_view dtype,
                    const std::vector<std::optional<int64_t>>& extents, Diagnostics& diagnostics);

/// Whether the file gives its own shape.
bool IsNpyFile(const std::string& file);

/// The contents of a file for the elements: .npy, or raw for any other name.
[[nodiscard]] std::string FileContents(const std::string& file, const TensorData& tensor,
                                       const Bytes& bytes);

/// `f32[3x4]`
std::string TypeText(etc_dtype dtype, const std::vector<int64_t>& shape);
std::string TypeText(std::string_view dtype, const std::vector<int64_t>& shape);

}  // namespace etc
