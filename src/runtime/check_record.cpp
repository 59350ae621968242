#include "runtime/check_record.h"

#include "runtime/status.h"

namespace etc::runtime {

static_assert(sizeof(CheckRecord) == 104, "generated code writes the record at fixed places");

std::string FailureText(const std::vector<std::string>& checks, const CheckRecord& record) {
  if (record.check >= checks.size()) {
    return Cat("debug check ", record.check, " failed, of which the manifest says nothing");
  }
  std::string text = checks[record.check];
  size_t at = 0;
  for (const int64_t value : record.values) {
    at = text.find("{}", at);
    if (at == std::string::npos) {
      break;
    }
    const std::string number = std::to_string(value);
    text.replace(at, 2, number);
    at += number.size();
  }
  return text;
}

}  // namespace etc::runtime
