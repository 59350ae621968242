// Profiles as a caller in C gets them: the structs, whatever size the caller knows them with.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/fault_table.h"
#include "runtime/gather_run.h"
#include "runtime/handles.h"

namespace etc::test {
namespace {

constexpr etc_status kArgument = ETC_ERROR_ARGUMENT;

struct Free {
  void operator()(etc_profile* profile) const { etc_profile_free(profile); }
};
using ProfilePtr = std::unique_ptr<etc_profile, Free>;

ProfilePtr OneSpan() {
  ProfilePtr profile(new etc_profile{});
  profile->trace.processes = {"kernel @k"};
  profile->trace.tracks = {{0, "SM 0 consumers", true}, {0, "SM 0 loader", false}};
  profile->trace.spans = {{1, trace::Kind::Load, "@f", "load @f[2]", 10, 30, 5}};
  profile->trace.lost = 3;
  return profile;
}

/// A struct of which the caller knows the first `size` bytes; the others are not its own.
template <class Struct>
Struct Known(size_t size) {
  Struct made;
  std::memset(static_cast<void*>(&made), 0xee, sizeof made);
  made.struct_size = size;
  return made;
}

template <class Struct>
bool IsUntouchedFrom(const Struct& given, size_t size) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
  for (size_t at = size; at < sizeof given; ++at) {
    if (bytes[at] != 0xee) {
      return false;
    }
  }
  return true;
}

TEST_CASE("a caller of this version gets each field") {
  const ProfilePtr profile = OneSpan();
  auto info = Known<etc_profile_info>(sizeof(etc_profile_info));
  REQUIRE(etc_profile_describe(profile.get(), &info) == ETC_OK);
  CHECK(info.struct_size == sizeof(etc_profile_info));
  CHECK(info.spans == 1);
  CHECK(info.lost == 3);
  CHECK(info.tracks == 2);
  CHECK(std::string(info.summary).find("idle") != std::string::npos);

  auto span = Known<etc_span_info>(sizeof(etc_span_info));
  REQUIRE(etc_profile_span(profile.get(), 0, &span) == ETC_OK);
  CHECK(span.struct_size == sizeof(etc_span_info));
  CHECK(span.kind == ETC_SPAN_LOAD);
  CHECK(span.track == 1);
  CHECK(std::string(span.track_name) == "SM 0 loader");
  CHECK(std::string(span.call) == "@f");
  CHECK(std::string(span.name) == "load @f[2]");
  CHECK(span.begin == 10);
  CHECK(span.end == 30);
  CHECK(span.data == 5);
}

TEST_CASE(
    "a caller of an earlier version has shorter structs, and nothing is written behind them") {
  const ProfilePtr profile = OneSpan();
  const size_t to_summary = offsetof(etc_profile_info, summary);
  auto info = Known<etc_profile_info>(to_summary);
  REQUIRE(etc_profile_describe(profile.get(), &info) == ETC_OK);
  CHECK(info.struct_size == to_summary);
  CHECK(info.spans == 1);
  CHECK(info.tracks == 2);
  CHECK(IsUntouchedFrom(info, to_summary));

  const size_t to_data = offsetof(etc_span_info, data);
  auto span = Known<etc_span_info>(to_data);
  REQUIRE(etc_profile_span(profile.get(), 0, &span) == ETC_OK);
  CHECK(span.struct_size == to_data);
  CHECK(span.end == 30);
  CHECK(IsUntouchedFrom(span, to_data));

  // One of a version without profiles.
  const Gather gather;
  const size_t to_profile = offsetof(etc_program_info, profile);
  auto program = Known<etc_program_info>(to_profile);
  REQUIRE(etc_program_describe(gather.program.get(), &program) == ETC_OK);
  CHECK(program.struct_size == to_profile);
  CHECK(program.proofs == 0);
  CHECK(IsUntouchedFrom(program, to_profile));
}

TEST_CASE("a caller of a later version has longer structs, and what is not known becomes zeros") {
  const ProfilePtr profile = OneSpan();
  struct LaterProfile {
    etc_profile_info info;
    int64_t added = 9;
  } later_profile{};
  later_profile.info.struct_size = sizeof(later_profile);
  REQUIRE(etc_profile_describe(profile.get(), &later_profile.info) == ETC_OK);
  CHECK(later_profile.info.struct_size == sizeof(later_profile));
  CHECK(later_profile.info.lost == 3);
  CHECK(later_profile.added == 0);

  struct LaterSpan {
    etc_span_info info;
    int64_t added = 9;
  } later_span{};
  later_span.info.struct_size = sizeof(later_span);
  REQUIRE(etc_profile_span(profile.get(), 0, &later_span.info) == ETC_OK);
  CHECK(later_span.info.struct_size == sizeof(later_span));
  CHECK(later_span.info.data == 5);
  CHECK(later_span.added == 0);
}

TEST_CASE("threads that ask for the texts of a profile at once get the same ones") {
  const ProfilePtr profile = OneSpan();
  std::vector<std::thread> threads;
  std::vector<std::pair<const char*, const char*>> texts(4);
  for (auto& [summary, json] : texts) {
    threads.emplace_back([&profile, &summary = summary, &json = json] {
      auto info = Known<etc_profile_info>(sizeof(etc_profile_info));
      CHECK(etc_profile_describe(profile.get(), &info) == ETC_OK);
      summary = info.summary;
      CHECK(etc_profile_json(profile.get(), &json) == ETC_OK);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const auto& text : texts) {
    CHECK(text == texts.front());
  }
}

TEST_CASE("what a caller of a profile gets wrong") {
  const ProfilePtr profile = OneSpan();
  auto info = Known<etc_profile_info>(0);
  auto span = Known<etc_span_info>(SIZE_MAX);
  auto good = Known<etc_span_info>(sizeof(etc_span_info));
  CheckFaults({
      {"a profile's struct without a size",
       [&] { return etc_profile_describe(profile.get(), &info); }, kArgument,
       "`info->struct_size` is 0"},
      {"a span's struct of an absurd size",
       [&] { return etc_profile_span(profile.get(), 0, &span); }, kArgument,
       "`info->struct_size` is 18446744073709551615"},
      {"a span behind the last", [&] { return etc_profile_span(profile.get(), 1, &good); },
       ETC_ERROR_NOT_FOUND, "there is no span 1: there are 1"},
      {"a span before the first", [&] { return etc_profile_span(profile.get(), -1, &good); },
       ETC_ERROR_NOT_FOUND, "there is no span -1"},
      {"no struct for a profile", [&] { return etc_profile_describe(profile.get(), nullptr); },
       kArgument, "`info` is null"},
      {"no struct for a span", [&] { return etc_profile_span(profile.get(), 0, nullptr); },
       kArgument, "`info` is null"},
      {"no profile", [&] { return etc_profile_span(nullptr, 0, &good); }, kArgument,
       "`profile` is null"},
      {"no place for the trace", [&] { return etc_profile_json(profile.get(), nullptr); },
       kArgument, "`json` is null"},
  });
  CHECK(IsUntouchedFrom(info, sizeof(size_t)));
  CHECK(IsUntouchedFrom(span, sizeof(size_t)));
}

}  // namespace
}  // namespace etc::test
