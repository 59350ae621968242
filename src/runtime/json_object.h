// Typed reading of JSON. What is wrong is said with its place in the text: `graphs[0].dims[1].min`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/json_document.h"
#include "runtime/status.h"

namespace etc::runtime {

Status Bad(const JsonValue& value, const std::string& what);

/// `an object`, `a string`, …
std::string_view KindOf(const JsonValue& value);
Status WrongKind(const JsonValue& value, std::string_view expected);

Status Read(const JsonValue& value, std::string* out);
Status Read(const JsonValue& value, int64_t* out);
Status Read(const JsonValue& value, bool* out);
/// Both bounds included.
Status ReadWithin(const JsonValue& value, int64_t min, int64_t max, int64_t* out);

/// Calls `read(element)` for each element of the array.
template <class ReadElement>
Status ReadEach(const JsonValue& array, ReadElement read) {
  if (array.kind != JsonValue::Kind::Array) {
    return WrongKind(array, "an array");
  }
  for (const JsonValue* element = array.first; element != nullptr; element = element->next) {
    ETC_RETURN_IF_BAD(read(*element));
  }
  return {};
}

/// One object. Each key has a meaning, so one that nobody asks for is an error: CheckKeys.
class JsonObject {
 public:
  static Status Open(const JsonValue& value, JsonObject* object);

  /// The member, or null.
  const JsonValue* Find(std::string_view key) const;
  Status Need(std::string_view key, const JsonValue** value) const;
  /// That every member was found.
  Status CheckKeys() const;

  template <class T>
  Status Get(std::string_view key, T* out) const {
    const JsonValue* value = nullptr;
    ETC_RETURN_IF_BAD(Need(key, &value));
    return Read(*value, out);
  }
  Status Get(std::string_view key, int64_t min, int64_t max, int64_t* out) const;
  Status GetObject(std::string_view key, JsonObject* out) const;

  template <class ReadElement>
  Status ForEach(std::string_view key, ReadElement read) const {
    const JsonValue* array = nullptr;
    ETC_RETURN_IF_BAD(Need(key, &array));
    return ReadEach(*array, read);
  }

  const JsonValue& value() const { return *value_; }

 private:
  const JsonValue* value_ = nullptr;
};

}  // namespace etc::runtime
