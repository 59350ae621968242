#include "analysis/events_in_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analysis/ranks.h"
#include "analysis/sets/task_pairs.h"
#include "ir/evaluate.h"
#include "ir/phased.h"
#include "ir/walk.h"

namespace etc {
namespace {

const Share& ShareAt(const Module& module, const ShareSite& site) {
  return std::get<Share>(module.nodes[site.share]);
}

std::vector<const EventRef*> RefsTo(EventId event,
                                    std::initializer_list<const std::vector<EventRef>*> lists) {
  std::vector<const EventRef*> refs;
  for (const std::vector<EventRef>* list : lists) {
    for (const EventRef& ref : *list) {
      if (ref.event == event) {
        refs.push_back(&ref);
      }
    }
  }
  return refs;
}
std::vector<const EventRef*> Notifies(const Share& share, EventId event) {
  return RefsTo(event, {&share.notifies, &share.leave_notifies});
}
std::vector<const EventRef*> Waits(const Share& share, EventId event) {
  return RefsTo(event, {&share.enter_waits, &share.waits});
}

class WordsSearch {
 public:
  WordsSearch(const Module& module, const Kernel& kernel, EventId event)
      : module_(module), event_(event), sites_(SharesOf(module, kernel)) {}

  std::optional<TensorId> Words() {
    FindNotifier();
    return words_ ? std::optional(words_) : std::nullopt;
  }

  std::optional<ViaObstacle> Run() {
    const Event& event = module_.events[event_];
    if (event.trigger) {
      return ViaObstacle{event.range, "a trigger counts what all SMs are given"};
    }
    if (event.dims.size() != 1) {
      return ViaObstacle{event.range, "its elements are not those of one axis, the turns"};
    }
    if (ReadsTensor(module_, event.count)) {
      return ViaObstacle{module_.RangeOf(event.count), "its count depends on data"};
    }
    FindNotifier();
    if (notifiers_ != 1) {
      return ViaObstacle{event.range, "not exactly one share notifies it"};
    }
    if (auto obstacle = InNotifier()) {
      return obstacle;
    }
    for (size_t i = 0; i < sites_.size(); ++i) {
      if (auto obstacle = InShare(i)) {
        return obstacle;
      }
    }
    return std::nullopt;
  }

 private:
  const Share& At(size_t site) const { return ShareAt(module_, sites_[site]); }

  void FindNotifier() {
    for (size_t i = 0; i < sites_.size(); ++i) {
      if (!Notifies(At(i), event_).empty()) {
        ++notifiers_;
        notifier_ = i;
        for (const Argument& arg : At(i).args) {
          words_ = module_.tensors[arg.tensor].phased ? arg.tensor : words_;
        }
      }
    }
  }

  /// The notifier writes words of one buffer and nothing else, the same in each iteration of one
  /// repeat, and each iteration is a turn.
  std::optional<ViaObstacle> InNotifier() {
    const ShareSite& site = sites_[notifier_];
    const Share& share = At(notifier_);
    const Device& callee = module_.devices[share.callee];
    std::vector<const EventRef*> refs = Notifies(share, event_);
    SourceRange range = refs.front()->range;
    if (!words_) {
      return ViaObstacle{range, fmt::format("`@{}` writes no phased buffer", callee.name)};
    }
    for (size_t i = 0; i < share.args.size(); ++i) {
      if (module_.tensors[callee.params[i]].access != Access::In &&
          share.args[i].tensor != words_) {
        return ViaObstacle{range,
                           fmt::format("`@{}` also writes `%{}`, which needs a fence", callee.name,
                                       module_.tensors[share.args[i].tensor].name)};
      }
    }
    if (site.repeats.size() != 1) {
      return ViaObstacle{range, "its turns are not the iterations of one `repeat`"};
    }
    const auto& repeat = std::get<Repeat>(module_.nodes[site.repeats.front()]);
    turn_ = repeat.var;
    if (EvaluateInt(module_, repeat.lo, {}) != 0) {
      return ViaObstacle{module_.RangeOf(repeat.lo), "the `repeat` does not begin at 0"};
    }
    bool is_turn = refs.size() == 1 && !refs.front()->guard && IsTurn(*refs.front(), 0);
    if (!is_turn) {
      return ViaObstacle{range, fmt::format("what is notified in an iteration is not its element "
                                            "`{}` alone",
                                            module_.symbols[turn_].name)};
    }
    for (const Axis& axis : share.axes) {
      for (ExprId bound : {axis.lo, axis.hi}) {
        if (bound && (Mentions(module_, bound, {turn_}) || ReadsTensor(module_, bound))) {
          return ViaObstacle{module_.RangeOf(bound),
                             "its tasks may be others from iteration to iteration"};
        }
      }
    }
    for (ExprId scalar : share.scalars) {
      if (Mentions(module_, scalar, {turn_}) || ReadsTensor(module_, scalar)) {
        return ViaObstacle{module_.RangeOf(scalar),
                           "what its tasks write may depend on the iteration"};
      }
    }
    return std::nullopt;
  }

  /// A share that waits for the event or uses the buffer.
  std::optional<ViaObstacle> InShare(size_t i) const {
    const ShareSite& site = sites_[i];
    const Share& share = At(i);
    auto elsewhere = RefsTo(
        event_, {&share.range_waits, &share.after_waits, &share.arrivals, &share.after_arrivals});
    if (!elsewhere.empty()) {
      return ViaObstacle{elsewhere.front()->range, "this wait is not one of tasks"};
    }
    std::vector<const EventRef*> waits = Waits(share, event_);
    bool reads = false, writes = false;
    const Device& callee = module_.devices[share.callee];
    TensorId other;  // that it reads
    for (size_t a = 0; a < share.args.size(); ++a) {
      Access access = module_.tensors[callee.params[a]].access;
      if (share.args[a].tensor != words_) {
        bool read = access == Access::In && module_.tensors[share.args[a].tensor].phased;
        other = read ? share.args[a].tensor : other;
        continue;
      }
      if (!share.args[a].indices.empty() || access == Access::InOut ||
          !TakesPhased(callee, callee.params[a])) {
        return ViaObstacle{share.args[a].range,
                           fmt::format("no implementation of `@{}` takes `%{}` phased", callee.name,
                                       module_.tensors[callee.params[a]].name)};
      }
      (access == Access::In ? reads : writes) = true;
    }
    if (waits.empty() && !reads && !writes) {
      return std::nullopt;
    }
    SourceRange range = waits.empty() ? module_.RangeOf(site.share) : waits.front()->range;
    if (site.dispatch) {
      return ViaObstacle{range, "tasks of a dispatch wait for counters"};
    }
    if (waits.empty() != !reads || waits.size() > 1) {
      return ViaObstacle{range, fmt::format("`@{}` does not read `%{}` behind one wait for it",
                                            callee.name, module_.tensors[words_].name)};
    }
    if (reads && other) {
      return ViaObstacle{range, fmt::format("`@{}` reads `%{}`, which has turns of its own",
                                            callee.name, module_.tensors[other].name)};
    }
    if (reads && std::any_of(callee.impls.begin(), callee.impls.end(),
                             [](const Impl& impl) { return !impl.fetched.empty(); })) {
      return ViaObstacle{range,
                         fmt::format("the loader of `@{}` fetches behind its waits", callee.name)};
    }
    if (writes && i != notifier_ && (!site.repeats.empty() || i > notifier_)) {
      return ViaObstacle{range, fmt::format("`@{}` writes `%{}` between its turns", callee.name,
                                            module_.tensors[words_].name)};
    }
    if (reads && !WaitsForLast(i, *waits.front())) {
      return ViaObstacle{range, "this is not the turn that was written last"};
    }
    return std::nullopt;
  }

  /// Whether a task waits for what was written last before it in program order.
  bool WaitsForLast(size_t i, const EventRef& wait) const {
    const ShareSite& notifier = sites_[notifier_];
    if (sites_[i].repeats == notifier.repeats) {
      return i > notifier_ ? !wait.guard && IsTurn(wait, 0)
                           : IsFromOneOn(wait.guard) && IsTurn(wait, 1);
    }
    const auto& repeat = std::get<Repeat>(module_.nodes[notifier.repeats.front()]);
    if (!sites_[i].repeats.empty() || i < notifier_ || wait.guard || !IsOneElement(wait)) {
      return false;
    }
    auto last = EvaluateInt(module_, wait.indices.front().lo, {});
    auto end = EvaluateInt(module_, repeat.hi, {});
    return last.value_or(-1) >= 0 && end == last.value_or(-1) + 1;
  }

  static bool IsOneElement(const EventRef& ref) {
    return ref.indices.size() == 1 && !ref.indices.front().all && !ref.indices.front().hi;
  }

  /// Whether a reference names the element of the iteration that is so many before this one.
  bool IsTurn(const EventRef& ref, int64_t before) const {
    if (!IsOneElement(ref)) {
      return false;
    }
    ExprId index = ref.indices.front().lo;
    if (before == 0) {
      return IsSymbol(module_, index, turn_);
    }
    const auto* difference = std::get_if<Binary>(&module_.exprs[index]);
    return difference != nullptr && difference->op == BinaryOp::Sub &&
           IsSymbol(module_, difference->left, turn_) &&
           EvaluateInt(module_, difference->right, {}) == before;
  }

  /// `l >= 1`
  bool IsFromOneOn(ExprId guard) const {
    const auto* least = guard ? std::get_if<Binary>(&module_.exprs[guard]) : nullptr;
    return least != nullptr && least->op == BinaryOp::Ge && IsSymbol(module_, least->left, turn_) &&
           EvaluateInt(module_, least->right, {}) == 1;
  }

  const Module& module_;
  EventId event_;
  std::vector<ShareSite> sites_;
  size_t notifiers_ = 0;
  size_t notifier_ = 0;  // site
  TensorId words_;
  SymbolId turn_;
};

}  // namespace

Map UnseenTasks(const Unknowns& unknowns, const EdgeRelation& notify, const EdgeRelation& wait,
                const std::vector<AccessRegion>& written, const std::vector<AccessRegion>& read) {
  const std::vector<ProgramCall>& calls = unknowns.program().calls;
  std::vector<std::string> first = TaskNames(calls[notify.call], 1);
  std::vector<std::string> second = TaskNames(calls[wait.call], 2);
  Map unseen = After(notify.elements, Map(isl_map_reverse(wait.elements.copy())));
  for (const AccessRegion& a : written) {
    for (const AccessRegion& b : read) {
      if (a.write && a.exact && !b.write && b.exact && a.tensor == b.tensor &&
          unknowns.module().tensors[a.tensor].phased) {
        unseen = unseen - ToMap(unknowns, a.set & b.set, first, second);
      }
    }
  }
  return unseen;
}

std::set<EventId> NotAllSeen(const Module& module, KernelId id) {
  const int64_t ranks = MostRanks(module, module.kernels[id]);
  const Module joined = module.mesh ? JoinRanks(AtRanks(module, ranks), ranks) : module;
  const CallProgram program = MakeCallProgram(joined, joined.kernels[id]);
  IslContext context;
  Unknowns unknowns(joined, program, context);
  context.SetBudget();
  std::set<TensorId> phased;
  for (TensorId tensor : joined.tensors.Ids()) {
    if (joined.tensors[tensor].phased) {
      phased.insert(tensor);
    }
  }
  const EventRelations relations = MakeEventRelations(unknowns);
  std::set<EventId> open;
  for (const EdgeRelation& notify : relations.notifies) {
    EventId event = notify.ref->event;
    if (joined.events[event].realisation != Realisation::Words) {
      continue;
    }
    context.SetBudget();
    std::vector<AccessRegion> written = RegionsOf(unknowns, program.calls[notify.call], phased).all;
    for (const EdgeRelation& wait : relations.waits) {
      if (wait.ref->event == event) {
        context.SetBudget();
        const ProgramCall& waiter = program.calls[wait.call];
        std::vector<AccessRegion> read =
            Twins(unknowns, waiter, RegionsOf(unknowns, waiter, phased).all);
        if (!IsEmpty(UnseenTasks(unknowns, notify, wait, written, read))) {
          open.insert(event);
        }
      }
    }
  }
  return open;
}

std::optional<TensorId> WordsOf(const Module& module, const Kernel& kernel, EventId event) {
  return WordsSearch(module, kernel, event).Words();
}

std::optional<ViaObstacle> FindWordsObstacle(const Module& module, const Kernel& kernel,
                                             EventId event) {
  return WordsSearch(module, kernel, event).Run();
}

}  // namespace etc
