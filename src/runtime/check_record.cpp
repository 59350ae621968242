#include "runtime/check_record.h"

#include <string>

namespace etc::runtime {

static_assert(sizeof(CheckRecord) == 104, "generated code writes the record at fixed places");

namespace {

std::string FillIn(std::string text, const CheckRecord& record) {
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

}  // namespace

Status FailureOf(const manifest::Manifest& manifest, const CheckRecord& record) {
  const bool is_wait = (record.check & kWaitBit) != 0;
  const uint32_t number = record.check & ~kWaitBit;
  const auto& texts = is_wait ? manifest.watchdog : manifest.debug_checks;
  const etc_status status = is_wait ? ETC_ERROR_TIMEOUT : ETC_ERROR_VALUE;
  if (!texts || number >= texts->size()) {
    return Fail(status, is_wait ? "wait " : "debug check ", number,
                " failed, of which the manifest says nothing");
  }
  return Fail(status, FillIn((*texts)[number], record));
}

}  // namespace etc::runtime
