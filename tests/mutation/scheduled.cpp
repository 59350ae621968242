#include "scheduled.h"

#include <functional>

#include "check.h"
#include "ir/lower_slices.h"
#include "ir/printer.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "random.h"
#include "schedule/lower.h"
#include "schedule/passes.h"

namespace etc::mutation {
namespace {

/// `place` changes the kernel before its events are realised.
void Lower(
    Base& base, const std::string& name, ScheduleKind kind,
    const std::function<void(Module&)>& prepare,
    const std::function<void(Module&)>& place = [](Module&) {}) {
  CheckResult check = Check(base.text, base.constants);
  Diagnostics diagnostics;
  bool ok = check.Accepted();
  if (ok) {
    LowerSlices(*check.module);
    prepare(*check.module);
  }
  ScheduleOptions schedule;
  schedule.schedule = kind;
  for (const Pass& pass : StaticPipeline(schedule)) {
    if (pass.run == RealiseEvents) {
      place(*check.module);
    }
    ok = ok && pass.run(*check.module, schedule, diagnostics);
  }
  if (ok) {
    base.name += ", " + name;
    base.text = Print(*check.module);
  }
}

}  // namespace

void Schedule(Base& base, ScheduleKind kind) {
  Lower(base,
        kind == ScheduleKind::Drain     ? "a drain"
        : kind == ScheduleKind::Dynamic ? "a queue"
                                        : "scheduled",
        kind, [](Module&) {});
}

void ScheduleAtOnePlace(Base& base) {
  Lower(
      base, "at one place", ScheduleKind::Static, [](Module&) {},
      [](Module& module) {
        for (NodeId id : module.nodes.Ids()) {
          if (std::holds_alternative<Share>(module.nodes[id])) {
            ExprId zero = MakeInt(module, 0);
            std::get<Share>(module.nodes[id]).first = zero;
          }
        }
      });
}

void ScheduleHybrid(Base& base, uint64_t seed) {
  Lower(base, "a hybrid", ScheduleKind::Dynamic, [&](Module& module) {
    Random random(seed);
    for (NodeId id : module.nodes.Ids()) {
      if (auto* call = std::get_if<CallNode>(&module.nodes[id])) {
        call->schedule = random.Pick<ScheduleKind>({ScheduleKind::Static, ScheduleKind::Drain,
                                                    ScheduleKind::Dynamic, ScheduleKind::Dynamic});
      }
    }
  });
}

}  // namespace etc::mutation
