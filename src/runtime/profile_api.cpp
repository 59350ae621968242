// Profiles of include/etc/runtime.h.
#include <mutex>

#include "etc/runtime.h"
#include "runtime/c_api.h"
#include "runtime/handles.h"
#include "runtime/sized.h"

using namespace etc::runtime;  // the file is the C face of these
namespace trace = etc::trace;

namespace {

etc_span_kind KindOf(trace::Kind kind) {
  switch (kind) {
    case trace::Kind::Task:
      return ETC_SPAN_TASK;
    case trace::Kind::Load:
      return ETC_SPAN_LOAD;
    case trace::Kind::Reduce:
      return ETC_SPAN_REDUCE;
    case trace::Kind::Wait:
      return ETC_SPAN_WAIT;
    case trace::Kind::Signal:
      return ETC_SPAN_SIGNAL;
  }
  return ETC_SPAN_TASK;
}

}  // namespace

void etc_profile_free(etc_profile* profile) { delete profile; }

etc_status etc_profile_describe(etc_profile* profile, etc_profile_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(profile, info);
    const std::lock_guard lock(profile->mutex);
    if (profile->summary.empty()) {
      profile->summary = trace::Summarise(profile->trace);
    }
    return GiveSized("info",
                     etc_profile_info{0, static_cast<int64_t>(profile->trace.spans.size()),
                                      static_cast<int64_t>(profile->trace.lost),
                                      static_cast<int32_t>(profile->trace.tracks.size()),
                                      profile->summary.c_str()},
                     info);
  });
}

etc_status etc_profile_span(const etc_profile* profile, int64_t index, etc_span_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(profile, info);
    const std::vector<trace::Span>& spans = profile->trace.spans;
    if (index < 0 || static_cast<uint64_t>(index) >= spans.size()) {
      return Fail(ETC_ERROR_NOT_FOUND, "there is no span ", index, ": there are ", spans.size(),
                  ", counted from 0");
    }
    const trace::Span& span = spans[static_cast<size_t>(index)];
    return GiveSized(
        "info",
        etc_span_info{0, KindOf(span.kind), static_cast<int32_t>(span.track),
                      profile->trace.tracks[span.track].name.c_str(), span.call.c_str(),
                      span.name.c_str(), span.begin, span.end, span.data},
        info);
  });
}

etc_status etc_profile_json(etc_profile* profile, const char** json) {
  return Guard([&]() -> Status {
    ETC_NEED(profile, json);
    const std::lock_guard lock(profile->mutex);
    if (profile->json.empty()) {
      profile->json = trace::ToJson(profile->trace);
    }
    *json = profile->json.c_str();
    return {};
  });
}
