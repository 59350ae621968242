// Numbers and texts in the messages of ranks.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/status.h"

namespace etc::runtime {

class WireWriter {
 public:
  void Number(int64_t number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void Text(std::string_view text) {
    Number(static_cast<int64_t>(text.size()));
    text_ += text;
  }
  void Numbers(const std::vector<int64_t>& numbers) {
    Number(static_cast<int64_t>(numbers.size()));
    for (const int64_t number : numbers) {
      Number(number);
    }
  }
  void Outcome(const Status& status) {
    Number(status.code);
    Text(status.message);
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

/// Reads zeros and nothing behind the end, and says so.
class WireReader {
 public:
  explicit WireReader(std::string_view text) : text_(text) {}

  int64_t Number() {
    int64_t number = 0;
    if (Has(sizeof number)) {
      std::memcpy(&number, text_.data(), sizeof number);
      text_.remove_prefix(sizeof number);
    }
    return number;
  }
  std::string Text() {
    const auto size = static_cast<uint64_t>(Number());
    std::string text;
    if (Has(size)) {
      text = text_.substr(0, size);
      text_.remove_prefix(size);
    }
    return text;
  }
  std::vector<int64_t> Numbers() {
    const auto size = static_cast<uint64_t>(Number());
    std::vector<int64_t> numbers;
    while (numbers.size() < size && !is_bad_) {
      numbers.push_back(Number());
    }
    return numbers;
  }
  Status Outcome() {
    const auto code = static_cast<etc_status>(Number());
    return {code, Text()};
  }
  /// That all of the text was read, and no more: else its writer meant something else.
  Status CheckWhole() const {
    return !is_bad_ && text_.empty()
               ? Status{}
               : Fail(ETC_ERROR_GROUP, "a rank is in another call of the group");
  }

 private:
  bool Has(uint64_t bytes) {
    is_bad_ |= text_.size() < bytes;
    return !is_bad_;
  }

  std::string_view text_;
  bool is_bad_ = false;
};

}  // namespace etc::runtime
