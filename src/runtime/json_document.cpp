#include "runtime/json_document.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace etc::runtime {
namespace {

using nlohmann::json;
using Kind = JsonValue::Kind;

// What safetensors allows the head of a file. A program of thousands of launches has a thousandth.
constexpr size_t kMaxBytes = 100'000'000;
constexpr size_t kMaxDepth = 400;
constexpr size_t kMaxShown = 80;

constexpr int kOutOfRange = 406;  // nlohmann's number of this error

/// Takes the parser's events. The values and the texts have the room that they need from the start,
/// so that pointers to them hold.
class Builder {
 public:
  Builder(std::string_view text, std::vector<JsonValue>* values, std::string* texts)
      : text_(text), values_(*values), texts_(*texts) {}

  const Status& status() const { return status_; }

  bool null() {
    Add(Kind::Null);
    return true;
  }
  bool boolean(bool value) {
    Add(Kind::Bool).boolean = value;
    return true;
  }
  bool number_integer(json::number_integer_t value) {
    Add(Kind::Integer).integer = value;
    return true;
  }
  bool number_unsigned(json::number_unsigned_t value) {
    if (value > static_cast<uint64_t>(INT64_MAX)) {
      Add(Kind::Large).large = value;
      return true;
    }
    return number_integer(static_cast<int64_t>(value));
  }
  bool number_float(json::number_float_t value, const json::string_t& /*spelling*/) {
    Add(Kind::Float).number = value;
    return true;
  }
  bool string(json::string_t& value) {
    Add(Kind::String).text = Keep(value);
    return true;
  }
  bool binary(json::binary_t& /*value*/) { return false; }  // no JSON text has one
  bool start_object(size_t /*size*/) { return Open(Kind::Object); }
  bool start_array(size_t /*size*/) { return Open(Kind::Array); }
  bool key(json::string_t& value) {
    key_ = Keep(value);
    return true;
  }
  bool end_object() {
    const JsonValue& object = *open_.back().value;
    open_.pop_back();
    return CheckKeys(object);
  }
  bool end_array() {
    open_.pop_back();
    return true;
  }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) {
    if (error.id == kOutOfRange) {
      status_ = Fail(ETC_ERROR_MANIFEST, "the JSON text has a number that is out of range");
      return false;
    }
    const std::string_view before = text_.substr(0, std::min(position, text_.size()));
    const bool has_lines = text_.find('\n') != std::string_view::npos;
    const std::string place =
        has_lines ? Cat("in line ", std::count(before.begin(), before.end(), '\n') + 1)
                  : Cat("at byte ", before.size(), " of ", text_.size());
    status_ = Fail(ETC_ERROR_MANIFEST, "what stands ", place, " is no JSON");
    return false;
  }

 private:
  struct OpenValue {
    JsonValue* value;
    JsonValue* last;  // its latest element or member
  };

  JsonValue& Add(Kind kind) {
    JsonValue& value = values_.emplace_back();
    value.kind = kind;
    if (open_.empty()) {
      return value;
    }
    OpenValue& outer = open_.back();
    value.parent = outer.value;
    value.index = outer.value->size++;
    if (outer.value->kind == Kind::Object) {
      value.key = key_;
    }
    (outer.last == nullptr ? outer.value->first : outer.last->next) = &value;
    outer.last = &value;
    return value;
  }

  bool Open(Kind kind) {
    if (open_.size() == kMaxDepth) {
      status_ =
          Fail(ETC_ERROR_MANIFEST, "the JSON text is nested more than ", kMaxDepth, " levels deep");
      return false;
    }
    open_.push_back({&Add(kind), nullptr});
    return true;
  }

  std::string_view Keep(const std::string& text) {
    const size_t at = texts_.size();
    texts_ += text;
    return std::string_view(texts_).substr(at);
  }

  bool CheckKeys(const JsonValue& object) {
    keys_.clear();
    for (const JsonValue* member = object.first; member != nullptr; member = member->next) {
      keys_.push_back(member->key);
    }
    std::sort(keys_.begin(), keys_.end());
    const auto twice = std::adjacent_find(keys_.begin(), keys_.end());
    if (twice == keys_.end()) {
      return true;
    }
    status_ = Fail(ETC_ERROR_MANIFEST, "`", PlaceOf(object, *twice), "` is given twice");
    return false;
  }

  std::string_view text_;
  std::vector<JsonValue>& values_;
  std::string& texts_;
  std::vector<OpenValue> open_;
  std::vector<std::string_view> keys_;
  std::string_view key_;  // of the member that comes next
  Status status_;
};

/// No fewer than the text has: each value begins it, or follows a comma or an opening bracket.
size_t MostValues(std::string_view text) {
  size_t count = 1;
  for (const char c : text) {
    count += c == ',' || c == '[' || c == '{' ? 1 : 0;
  }
  return count;
}

}  // namespace

Status JsonDocument::Parse(std::string_view text) {
  if (text.size() > kMaxBytes) {
    return Fail(ETC_ERROR_MANIFEST, "the JSON text has ", text.size(),
                " bytes, but must not have more than ", kMaxBytes);
  }
  // The parser would take it for the end of the text.
  if (const size_t at = text.find('\0'); at != std::string_view::npos) {
    return Fail(ETC_ERROR_MANIFEST, "the JSON text has a null character as its byte ", at + 1);
  }
  values_.reserve(MostValues(text));
  texts_.reserve(text.size());  // no escape is shorter than what it stands for
  Builder builder(text, &values_, &texts_);
  json::sax_parse(text.begin(), text.end(), &builder);
  return builder.status();
}

std::string Shown(std::string_view text) {
  if (text.size() <= kMaxShown) {
    return std::string(text);
  }
  size_t end = kMaxShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;  // not within a character
  }
  return Cat(text.substr(0, end), "…");
}

std::string PlaceOf(const JsonValue& value) {
  if (value.parent == nullptr) {
    return "";
  }
  return value.parent->kind == Kind::Array ? Cat(PlaceOf(*value.parent), "[", value.index, "]")
                                           : PlaceOf(*value.parent, value.key);
}

std::string PlaceOf(const JsonValue& object, std::string_view key) {
  return Cat(PlaceOf(object), object.parent == nullptr ? "" : ".", Shown(key));
}

}  // namespace etc::runtime
