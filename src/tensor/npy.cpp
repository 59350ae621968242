#include "tensor/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

namespace etc {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;

/// Reads the header, a Python dict literal such as
/// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  bool Parse(NpyArray& array, bool& fortran_order) {
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    if (!Take("{")) {
      return false;
    }
    while (!Take("}")) {
      std::string key;
      if (!String(key) || !Take(":")) {
        return false;
      }
      if (key == "descr") {
        has_descr = String(array.descr);
      } else if (key == "fortran_order") {
        fortran_order = Take("True");
        has_order = fortran_order || Take("False");
      } else if (key == "shape") {
        has_shape = Shape(array.shape);
      } else {
        return false;
      }
      if (!Take(",") && !rest_.starts_with('}')) {
        return false;
      }
    }
    return has_descr && has_order && has_shape;
  }

 private:
  bool Take(std::string_view token) {
    SkipBlanks();
    if (!rest_.starts_with(token)) {
      return false;
    }
    rest_.remove_prefix(token.size());
    SkipBlanks();
    return true;
  }

  void SkipBlanks() {
    size_t n = rest_.find_first_not_of(" \n");
    rest_.remove_prefix(n == std::string_view::npos ? rest_.size() : n);
  }

  bool String(std::string& value) {
    SkipBlanks();
    if (!rest_.starts_with('\'') && !rest_.starts_with('"')) {
      return false;
    }
    size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) {
      return false;
    }
    value = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return true;
  }

  bool Shape(std::vector<int64_t>& shape) {
    if (!Take("(")) {
      return false;
    }
    while (!Take(")")) {
      int64_t extent = 0;
      auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc() || extent < 0) {
        return false;
      }
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      shape.push_back(extent);
      if (!Take(",") && !rest_.starts_with(')')) {
        return false;
      }
    }
    return true;
  }

  std::string_view rest_;
};

/// Bytes of one element of a plain number type.
std::optional<int64_t> ElementBytes(std::string_view descr) {
  int64_t bytes = 0;
  if (descr.size() < 3 || std::string_view("biufc").find(descr[1]) == std::string_view::npos) {
    return std::nullopt;
  }
  auto [end, error] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), bytes);
  if (error != std::errc() || end != descr.data() + descr.size() || bytes < 1 || bytes > 64) {
    return std::nullopt;
  }
  return bytes;
}

std::optional<int64_t> TotalBytes(const std::vector<int64_t>& shape, int64_t element) {
  int64_t total = element;
  for (int64_t extent : shape) {
    if (__builtin_mul_overflow(total, extent, &total)) {
      return std::nullopt;
    }
  }
  return total;
}

uint32_t LittleEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

}  // namespace

namespace {

/// The header; `data_at` and `data_bytes` are where the elements begin, and how many bytes they
/// have.
std::optional<NpyArray> ParseHeader(std::string_view bytes, std::string& error, size_t& data_at,
                                    int64_t& data_bytes) {
  if (!bytes.starts_with(kMagic)) {
    error = "is not a .npy file";
    return std::nullopt;
  }
  size_t version_at = kMagic.size();
  int version = bytes.size() > version_at ? bytes[version_at] : 0;
  size_t length_bytes = version == 1 ? 2 : 4;
  size_t header_at = version_at + 2 + length_bytes;
  if (bytes.size() < header_at) {
    error = "is cut short: its header is not complete";
    return std::nullopt;
  }
  if (version < 1 || version > 3) {
    error = fmt::format("has version {} of the .npy format; expected 1, 2 or 3", version);
    return std::nullopt;
  }
  size_t header_bytes = LittleEndian(bytes.substr(version_at + 2, length_bytes));
  if (bytes.size() - header_at < header_bytes) {
    error = "is cut short: its header is not complete";
    return std::nullopt;
  }
  NpyArray array;
  bool fortran_order = false;
  if (!HeaderParser(bytes.substr(header_at, header_bytes)).Parse(array, fortran_order)) {
    error = "has a .npy header that cannot be read";
    return std::nullopt;
  }
  if (fortran_order && array.shape.size() > 1) {
    error = "is in Fortran order; expected row-major order (`numpy.ascontiguousarray`)";
    return std::nullopt;
  }
  auto element = ElementBytes(array.descr);
  auto total = element ? TotalBytes(array.shape, *element) : std::nullopt;
  if (!total) {
    error = fmt::format("has elements of type `{}` and shape {}, which is not supported",
                        array.descr, ShapeText(array.shape));
    return std::nullopt;
  }
  data_at = header_at + header_bytes;
  data_bytes = *total;
  return array;
}

}  // namespace

std::optional<NpyArray> ParseNpyHeader(std::string_view bytes, std::string& error) {
  size_t data_at = 0;
  int64_t data_bytes = 0;
  return ParseHeader(bytes, error, data_at, data_bytes);
}

std::optional<NpyArray> ParseNpy(std::string_view bytes, std::string& error) {
  size_t data_at = 0;
  int64_t data_bytes = 0;
  auto array = ParseHeader(bytes, error, data_at, data_bytes);
  if (!array) {
    return std::nullopt;
  }
  std::string_view data = bytes.substr(data_at);
  if (data.size() != static_cast<size_t>(data_bytes)) {
    error =
        fmt::format("{}: it holds {} bytes of elements; its shape {} of `{}` needs {}",
                    data.size() < static_cast<size_t>(data_bytes) ? "is cut short" : "is too long",
                    data.size(), ShapeText(array->shape), array->descr, data_bytes);
    return std::nullopt;
  }
  array->data = data;
  return array;
}

std::string PrintNpy(const NpyArray& array) {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", array.descr,
                  fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  size_t prefix = kMagic.size() + 4;
  size_t unpadded = prefix + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += '\x01';
  bytes += '\x00';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + array.data;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

}  // namespace etc
