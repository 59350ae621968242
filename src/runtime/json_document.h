// A JSON text as a tree whose values know their places. Made for manifests: two allocations for a
// whole text, and a key that is given twice is an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/status.h"

namespace etc::runtime {

struct JsonValue {
  enum class Kind : uint8_t { Null, Bool, Integer, Large, Float, String, Array, Object };

  Kind kind = Kind::Null;
  mutable bool is_read = false;  // of a member, for finding keys that nobody reads
  uint32_t index = 0;            // of an element in its array
  uint32_t size = 0;             // elements of an array, members of an object
  const JsonValue* parent = nullptr;
  const JsonValue* first = nullptr;  // element or member; the others follow by `next`
  const JsonValue* next = nullptr;
  std::string_view key;   // of a member
  std::string_view text;  // of a string
  union {
    bool boolean;
    int64_t integer = 0;
    uint64_t large;  // above the range of int64_t
    double number;
  };
};

class JsonDocument {
 public:
  JsonDocument() = default;
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  /// Reads the text, which need not outlive the document.
  Status Parse(std::string_view text);

  const JsonValue& root() const { return values_.front(); }

 private:
  std::vector<JsonValue> values_;
  std::string texts_;  // what strings say
};

/// `graphs[0].dims[1].min`; empty for the root.
std::string PlaceOf(const JsonValue& value);
/// Of a member, be it there or not.
std::string PlaceOf(const JsonValue& object, std::string_view key);

/// A name or a text for a message: a very long one is cut.
std::string Shown(std::string_view text);

}  // namespace etc::runtime
