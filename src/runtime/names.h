// Names that must differ within a list.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/json_object.h"

namespace etc::runtime {

/// The `name` of an object, which no earlier element of the list has.
template <class T>
Status ReadNewName(const JsonObject& object, const std::vector<T>& earlier, std::string* name) {
  const JsonValue* value = nullptr;
  ETC_RETURN_IF_BAD(object.Need("name", &value));
  ETC_RETURN_IF_BAD(Read(*value, name));
  if (name->empty()) {
    return Bad(*value, "is empty");
  }
  const bool is_new = std::none_of(earlier.begin(), earlier.end(),
                                   [&](const T& item) { return item.name == *name; });
  return is_new ? Status{}
                : Bad(*value, Cat("is `", Shown(*name), "`, which an earlier element has too"));
}

}  // namespace etc::runtime
