#include "runtime/json_object.h"

#include <utility>

namespace etc::runtime {

using nlohmann::json;

Status Bad(const std::string& where, const std::string& what) {
  return Fail(ETC_ERROR_MANIFEST, "`", where, "` ", what);
}

std::string_view KindOf(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::object:
      return "an object";
    case json::value_t::array:
      return "an array";
    case json::value_t::string:
      return "a string";
    case json::value_t::boolean:
      return "a boolean";
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
      return "an integer";
    default:
      return "a number with a fraction";
  }
}

Status WrongKind(const std::string& where, const json& value, std::string_view expected) {
  return Bad(where, Cat("is ", KindOf(value), ", but ", expected, " is expected"));
}

Status Read(const json& value, const std::string& where, std::string* out) {
  if (!value.is_string()) {
    return WrongKind(where, value, "a string");
  }
  *out = value.get<std::string>();
  // Names go out as C strings.
  if (out->find('\0') != std::string::npos) {
    return Bad(where, "has a null character");
  }
  return {};
}

Status Read(const json& value, const std::string& where, int64_t* out) {
  if (!value.is_number_integer()) {
    return WrongKind(where, value, "an integer");
  }
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX}) {
    return Bad(where, Cat("is ", value.get<uint64_t>(), ", which is too large"));
  }
  *out = value.get<int64_t>();
  return {};
}

Status JsonObject::Open(const json& value, std::string where, JsonObject* object) {
  if (!value.is_object()) {
    return WrongKind(where, value, "an object");
  }
  object->value_ = &value;
  object->where_ = std::move(where);
  return {};
}

std::string JsonObject::At(std::string_view key) const {
  return where_.empty() ? std::string(key) : Cat(where_, ".", key);
}

const json* JsonObject::Find(const char* key) const {
  const auto found = value_->find(key);
  return found == value_->end() ? nullptr : &*found;
}

Status JsonObject::Need(const char* key, const json** value) const {
  *value = Find(key);
  return *value != nullptr ? Status{} : Bad(At(key), "is missing");
}

Status JsonObject::Get(const char* key, int64_t min, int64_t max, int64_t* out) const {
  ETC_RETURN_IF_BAD(Get(key, out));
  if (*out < min || *out > max) {
    return Bad(At(key), Cat("is ", *out, ", but must be in ", min, "..", max));
  }
  return {};
}

Status JsonObject::GetObject(const char* key, JsonObject* out) const {
  const json* value = nullptr;
  ETC_RETURN_IF_BAD(Need(key, &value));
  return Open(*value, At(key), out);
}

}  // namespace etc::runtime
