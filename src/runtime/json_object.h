// Typed reading of JSON. What is wrong is said with its place in the text: `graphs[0].dims[1].min`.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "runtime/status.h"

namespace etc::runtime {

Status Bad(const std::string& where, const std::string& what);

/// `an object`, `a string`, …
std::string_view KindOf(const nlohmann::json& value);
Status WrongKind(const std::string& where, const nlohmann::json& value, std::string_view expected);

Status Read(const nlohmann::json& value, const std::string& where, std::string* out);
Status Read(const nlohmann::json& value, const std::string& where, int64_t* out);

/// One object and its place in the text.
class JsonObject {
 public:
  static Status Open(const nlohmann::json& value, std::string where, JsonObject* object);

  std::string At(std::string_view key) const;
  /// The member, or null.
  const nlohmann::json* Find(const char* key) const;
  Status Need(const char* key, const nlohmann::json** value) const;

  template <class T>
  Status Get(const char* key, T* out) const {
    const nlohmann::json* value = nullptr;
    ETC_RETURN_IF_BAD(Need(key, &value));
    return Read(*value, At(key), out);
  }
  Status Get(const char* key, int64_t min, int64_t max, int64_t* out) const;
  Status GetObject(const char* key, JsonObject* out) const;

  /// Calls `read(element, place)` for each element of the array.
  template <class ReadElement>
  Status ForEach(const char* key, ReadElement read) const {
    const nlohmann::json* array = nullptr;
    ETC_RETURN_IF_BAD(Need(key, &array));
    if (!array->is_array()) {
      return WrongKind(At(key), *array, "an array");
    }
    for (size_t i = 0; i < array->size(); ++i) {
      ETC_RETURN_IF_BAD(read((*array)[i], Cat(At(key), "[", i, "]")));
    }
    return {};
  }

 private:
  const nlohmann::json* value_ = nullptr;
  std::string where_;
};

}  // namespace etc::runtime
