// Events inside of an SM: `via shared`, whose counters are in the shared memory of each CTA, and
// `via none`, which the order of an SM's own tasks stands for. docs/events-of-an-sm.md says what
// they need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/module.h"

namespace etc {

/// What a counter takes in shared memory.
inline constexpr int64_t kCtaCounterBytes = 4;

/// Whether tasks of one SM alone may notify and wait for an element of the event.
bool IsOfSm(const Event& event);

/// What keeps an event from being realised so, wherever its tasks run.
struct ViaObstacle {
  SourceRange range;
  std::string why;  // behind `, but `
};

/// The first obstacle that the kernel's text shows for an event to be `via shared` or `via none`;
/// nothing where it may be, if its tasks run on one SM (SmPlaces).
std::optional<ViaObstacle> FindViaObstacle(const Module& module, const Kernel& kernel,
                                           EventId event, Realisation via);

/// How many counters a CTA of the kernel has in shared memory, enough at all sizes; 0 where no
/// event is `via shared`. Nothing where no bound is known.
std::optional<int64_t> CtaCounters(const Module& module, const Kernel& kernel);

/// How many counters the event has at all sizes of the kernel; nothing where no bound is known.
std::optional<int64_t> MostCounters(const Module& module, const Kernel& kernel, const Event& event);

}  // namespace etc
