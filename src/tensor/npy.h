// The .npy file format of NumPy: a header that names element type and shape, then the elements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etc {

/// A dense array in row-major order.
struct NpyArray {
  std::string descr;  // byte order, kind and size of an element: "<f4", "|b1"
  std::vector<int64_t> shape;
  std::string data;
};

/// Parses the bytes of a .npy file of version 1, 2 or 3. On failure `error` says what is wrong, in
/// words that follow the file's name: "is cut short: …".
[[nodiscard]] std::optional<NpyArray> ParseNpy(std::string_view bytes, std::string& error);

/// The same of the header alone: the elements may be cut short, and `data` stays empty.
[[nodiscard]] std::optional<NpyArray> ParseNpyHeader(std::string_view bytes, std::string& error);

/// The bytes of a .npy file of version 1.0.
[[nodiscard]] std::string PrintNpy(const NpyArray& array);

/// "3x4", "scalar" for no axis: a shape as messages show it.
[[nodiscard]] std::string ShapeText(const std::vector<int64_t>& shape);

}  // namespace etc
