#include "runtime/json_object.h"

#include <cmath>

namespace etc::runtime {

using Kind = JsonValue::Kind;

Status Bad(const JsonValue& value, const std::string& what) {
  return value.parent == nullptr ? Fail(ETC_ERROR_MANIFEST, "the JSON text ", what)
                                 : Fail(ETC_ERROR_MANIFEST, "`", PlaceOf(value), "` ", what);
}

std::string_view KindOf(const JsonValue& value) {
  switch (value.kind) {
    case Kind::Null:
      return "null";
    case Kind::Object:
      return "an object";
    case Kind::Array:
      return "an array";
    case Kind::String:
      return "a string";
    case Kind::Bool:
      return "a boolean";
    case Kind::Integer:
    case Kind::Large:
      return "an integer";
    case Kind::Float:
      break;
  }
  // The reader has integers of more than 64 bits as floats.
  return std::abs(value.number) >= 0x1p63 ? "a number of more than 64 bits"
                                          : "a number with a fraction";
}

Status WrongKind(const JsonValue& value, std::string_view expected) {
  return Bad(value, Cat("is ", KindOf(value), ", but ", expected, " is expected"));
}

Status Read(const JsonValue& value, std::string* out) {
  if (value.kind != Kind::String) {
    return WrongKind(value, "a string");
  }
  // Names go out as C strings.
  if (value.text.find('\0') != std::string_view::npos) {
    return Bad(value, "has a null character");
  }
  out->assign(value.text);
  return {};
}

Status Read(const JsonValue& value, int64_t* out) {
  if (value.kind == Kind::Large) {
    return Bad(value, Cat("is ", value.large, ", which is too large"));
  }
  if (value.kind != Kind::Integer) {
    return WrongKind(value, "an integer");
  }
  *out = value.integer;
  return {};
}

Status Read(const JsonValue& value, bool* out) {
  if (value.kind != Kind::Bool) {
    return WrongKind(value, "a boolean");
  }
  *out = value.boolean;
  return {};
}

Status ReadWithin(const JsonValue& value, int64_t min, int64_t max, int64_t* out) {
  ETC_RETURN_IF_BAD(Read(value, out));
  if (*out < min || *out > max) {
    return Bad(value, Cat("is ", *out, ", but must be in ", min, "..", max));
  }
  return {};
}

Status JsonObject::Open(const JsonValue& value, JsonObject* object) {
  if (value.kind != Kind::Object) {
    return WrongKind(value, "an object");
  }
  object->value_ = &value;
  return {};
}

const JsonValue* JsonObject::Find(std::string_view key) const {
  for (const JsonValue* member = value_->first; member != nullptr; member = member->next) {
    if (member->key == key) {
      member->is_read = true;
      return member;
    }
  }
  return nullptr;
}

Status JsonObject::Need(std::string_view key, const JsonValue** value) const {
  *value = Find(key);
  if (*value != nullptr) {
    return {};
  }
  return Fail(ETC_ERROR_MANIFEST, "`", PlaceOf(*value_, key), "` is missing");
}

Status JsonObject::CheckKeys() const {
  for (const JsonValue* member = value_->first; member != nullptr; member = member->next) {
    if (!member->is_read) {
      return Bad(*member, "is a key that has no meaning here to this library");
    }
  }
  return {};
}

Status JsonObject::Get(std::string_view key, int64_t min, int64_t max, int64_t* out) const {
  const JsonValue* value = nullptr;
  ETC_RETURN_IF_BAD(Need(key, &value));
  return ReadWithin(*value, min, max, out);
}

Status JsonObject::GetObject(std::string_view key, JsonObject* out) const {
  const JsonValue* value = nullptr;
  ETC_RETURN_IF_BAD(Need(key, &value));
  return Open(*value, out);
}

}  // namespace etc::runtime
