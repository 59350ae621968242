// Files of the safetensors format for tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace etc::test {

/// The file of a header and the tensors' bytes.
inline std::string SafetensorsOf(const std::string& header, const std::string& data) {
  std::string file;
  for (size_t i = 0, length = header.size(); i < 8; ++i, length >>= 8) {
    file += static_cast<char>(length & 0xff);
  }
  return file + header + data;
}

/// Adds tensors one behind the other.
class SafetensorsWriter {
 public:
  SafetensorsWriter& Add(const std::string& name, const std::string& dtype,
                         const nlohmann::json& shape, const std::string& bytes) {
    header_[name] = {{"dtype", dtype},
                     {"shape", shape},
                     {"data_offsets", {data_.size(), data_.size() + bytes.size()}}};
    data_ += bytes;
    return *this;
  }
  template <class Element>
  SafetensorsWriter& Add(const std::string& name, const std::string& dtype,
                         const nlohmann::json& shape, const std::vector<Element>& elements) {
    return Add(name, dtype, shape,
               std::string(reinterpret_cast<const char*>(elements.data()),
                           elements.size() * sizeof(Element)));
  }
  std::string File() const { return SafetensorsOf(header_.dump(), data_); }

 private:
  nlohmann::json header_ = {{"__metadata__", {{"format", "pt"}}}};
  std::string data_;
};

}  // namespace etc::test
