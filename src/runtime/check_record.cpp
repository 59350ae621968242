#include "runtime/check_record.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

namespace etc::runtime {

static_assert(sizeof(CheckRecord) == 104, "generated code writes the record at fixed places");

namespace {

/// "rank 1, which has" or "ranks 0, 1 and 3, which have", by a bit for each.
std::string NameRanks(uint64_t ranks) {
  std::string names;
  int left = std::popcount(ranks);
  const bool is_one = left == 1;
  for (size_t rank = 0; left > 0; ++rank) {
    if ((ranks >> rank & 1) != 0) {
      --left;
      names += (names.empty() ? "" : left == 0 ? " and " : ", ") + std::to_string(rank);
    }
  }
  return (is_one ? "rank " + names + ", which has" : "ranks " + names + ", which have");
}

/// The next value for `{}`, as a number, or for `{ranks}`.
std::string FillIn(std::string text, const CheckRecord& record) {
  constexpr std::string_view kNumber = "{}";
  constexpr std::string_view kRanks = "{ranks}";
  size_t at = 0;
  for (const int64_t value : record.values) {
    const size_t number = text.find(kNumber, at);
    const size_t ranks = text.find(kRanks, at);
    at = std::min(number, ranks);
    if (at == std::string::npos) {
      break;
    }
    const std::string filled =
        ranks < number ? NameRanks(static_cast<uint64_t>(value)) : std::to_string(value);
    text.replace(at, (ranks < number ? kRanks : kNumber).size(), filled);
    at += filled.size();
  }
  return text;
}

}  // namespace

bool MayFail(const manifest::Manifest& manifest) {
  return manifest.debug_checks || manifest.watchdog ||
         std::any_of(manifest.graphs.begin(), manifest.graphs.end(), [](const auto& graph) {
           return std::any_of(graph.kernels.begin(), graph.kernels.end(),
                              [](const auto& kernel) { return kernel.schedule == "dynamic"; });
         });
}

Status FailureOf(const manifest::Manifest& manifest, const CheckRecord& record) {
  if (record.check == kLeftOut) {
    return Fail(ETC_ERROR_VALUE, "data ask for ", record.values[0],
                " tasks of a queue, which has places for ", record.values[1],
                ": some are left out. A tensor that says how many tasks there are breaks what is "
                "declared of it; --debug-checks says which");
  }
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
