// Events `via words`: nobody counts. Whoever notifies writes words of a phased buffer, which say in
// which turn they were written, and whoever waits looks at them. docs/events-in-words.md says what
// that needs, and why it is enough.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "analysis/events.h"
#include "analysis/events_of_sm.h"
#include "ir/module.h"

namespace etc {

/// The phased buffer that the event's notifier writes, where there is one of either.
std::optional<TensorId> WordsOf(const Module& module, const Kernel& kernel, EventId event);

/// Of one `via words`, the pairs of a task that notifies an element and a task that waits for it of
/// which the second is not known to read a word of the first. `written` is what the notifier's task
/// 1 accesses, and `read` what the waiter's task 2 does, of phased buffers at least.
Map UnseenTasks(const Unknowns& unknowns, const EdgeRelation& notify, const EdgeRelation& wait,
                const std::vector<AccessRegion>& written, const std::vector<AccessRegion>& read);

/// The events `via words` of a kernel of which there may be such pairs, over all ranks.
std::set<EventId> NotAllSeen(const Module& module, KernelId kernel);

/// The first obstacle that the kernel's text shows for an event to be `via words`; nothing where it
/// may be, if each task that waits reads a word of each that notifies (ProveWords).
std::optional<ViaObstacle> FindWordsObstacle(const Module& module, const Kernel& kernel,
                                             EventId event);

}  // namespace etc
