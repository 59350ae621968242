#include "compile/json_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "support/source.h"

namespace etc {
namespace {

using Json = nlohmann::json;

/// Goes through a text and takes no notice.
class Visitor : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }
};

/// Counts bytes up to the one where a text stopped making sense.
class ProblemFinder : public Visitor {
 public:
  bool parse_error(size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    constexpr int kNumberOverflow = 406;
    overflow_ = error.id == kNumberOverflow ? token : "";
    position_ = position;
    return false;
  }
  size_t position() const { return position_; }
  /// A number that no float of 64 bits holds; empty where that is not the problem.
  const std::string& overflow() const { return overflow_; }

 private:
  size_t position_ = 0;
  std::string overflow_;
};

/// Stops at a key that its object has already.
class TwiceFinder : public Visitor {
 public:
  bool start_object(size_t) override {
    keys_.emplace_back();
    return true;
  }
  bool key(string_t& name) override {
    if (!keys_.back().insert(name).second) {
      twice_ = name;
    }
    return twice_.empty();
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  const std::string& twice() const { return twice_; }

 private:
  std::vector<std::set<std::string>> keys_;  // of the objects around
  std::string twice_;
};

}  // namespace

std::string JsonProblem(std::string_view text) {
  ProblemFinder finder;
  (void)Json::sax_parse(text, &finder);
  SourceFile source("", std::string(text));
  const size_t length = std::max<size_t>(finder.overflow().size(), 1);
  const size_t offset = finder.position() - std::min(finder.position(), length);
  const LineColumn at = source.Locate(static_cast<uint32_t>(std::min(offset, text.size())));
  return finder.overflow().empty()
             ? fmt::format("is not JSON: line {}, column {} cannot be read", at.line, at.column)
             : fmt::format("has a number beyond 64-bit floats, `{}`, on line {}, column {}",
                           finder.overflow(), at.line, at.column);
}

std::string KeyGivenTwice(std::string_view text) {
  TwiceFinder finder;
  (void)Json::sax_parse(text, &finder);
  return finder.twice();
}

}  // namespace etc
