// What a profile writes down: tasks, waits and notifies, and the numbers that go with them.

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "analysis/events_of_sm.h"
#include "emit/raise/known_values.h"
#include "emit/raise/passes.h"
#include "ir/printer.h"
#include "ir/walk.h"

namespace etc {
namespace {

constexpr size_t kFieldBits = 48;  // of a record; the other 16 say which span it is
// At the end of the shared memory: how long the roles have waited, and which of them wait.
constexpr int64_t kProfileSharedBytes = 64;

class Numberer {
 public:
  explicit Numberer(RaisedKernel& raised)
      : raised_(raised), module_(raised.module), known_(raised) {}

  void Run() {
    for (const ShareSite& site : SharesOf(module_, raised_.kernel)) {
      RaisedShare& share = raised_.shares.at(site.share);
      share_ = &share;
      intervals_.clear();
      repeats_.clear();
      for (NodeId id : site.repeats) {
        const Repeat& repeat = std::get<Repeat>(module_.nodes[id]);
        Bound({repeat.var, repeat.lo, repeat.hi});
        repeats_.push_back(repeat.var);
      }
      for (const Axis& axis : share.share.axes) {
        Bound(axis);
      }
      range_ = module_.RangeOf(site.share);
      share.span = AddTask();
      for (auto* waits : {&share.range_waits, &share.enter_waits, &share.waits}) {
        AddSignals(RaisedSpan::Kind::Wait, "wait", *waits);
      }
      for (auto* notifies : {&share.notifies, &share.leave_notifies}) {
        AddSignals(RaisedSpan::Kind::Signal, "notify", *notifies);
      }
    }
  }

 private:
  std::string Callee() const { return "@" + raised_.devices[share_->device].device.name; }

  /// Remembers what values a variable has.
  void Bound(const Axis& axis) {
    auto lo = axis.lo ? Bounds(module_, axis.lo, intervals_, known_.Sizes())
                      : std::optional(Interval{0, 0});
    auto hi = Bounds(module_, axis.hi, intervals_, known_.Sizes());
    if (lo && hi && lo->lo < hi->hi) {
      intervals_[axis.var] = {lo->lo, hi->hi - 1};
    }
  }

  std::optional<Interval> BoundsOf(const std::variant<SymbolId, ExprId>& value) const {
    if (const auto* expr = std::get_if<ExprId>(&value)) {
      return Bounds(module_, *expr, intervals_, known_.Sizes());
    }
    auto found = intervals_.find(std::get<SymbolId>(value));
    return found != intervals_.end() ? std::optional(found->second) : std::nullopt;
  }

  size_t AddTask() {
    RaisedSpan span{RaisedSpan::Kind::Task, Callee(), Callee(), {}, range_};
    std::string places;
    for (const Axis& axis : share_->share.axes) {
      places += places.empty() ? "[{}" : ", {}";
      span.fields.push_back({module_.symbols[axis.var].name, axis.var});
    }
    span.text += places.empty() ? "" : places + "]";
    return Add(std::move(span));
  }

  void AddSignals(RaisedSpan::Kind kind, const char* word, std::vector<RaisedSignal>& signals) {
    for (RaisedSignal& signal : signals) {
      RaisedSpan span{kind, Callee(), "", {}, range_};
      const Event& event = module_.events[signal.ref.event];
      span.text = fmt::format("{} %{}", word, event.name);
      for (size_t i = 0; i < signal.ref.indices.size(); ++i) {
        span.text += (i == 0 ? "[" : ", ") + IndexText(signal.ref, i, span.fields);
      }
      span.text += signal.ref.indices.empty() ? "" : "]";
      signal.span = Add(std::move(span));
      signal.guards_span =
          signal.ref.guard && !Mentions(module_, signal.ref.guard, Loops(signal.ref));
    }
  }

  static std::vector<SymbolId> Loops(const EventRef& ref) {
    std::vector<SymbolId> loops;
    for (const Axis& axis : ref.axes) {
      loops.push_back(axis.var);
    }
    return loops;
  }

  /// An index that is one number when the role gets there, or else its text.
  std::string IndexText(const EventRef& ref, size_t i, std::vector<RaisedField>& fields) const {
    const EventIndex& index = ref.indices[i];
    const std::vector<SymbolId> loops = Loops(ref);
    auto one = [&](ExprId id, const char* name) -> std::string {
      if (Mentions(module_, id, loops) || ReadsTensor(module_, id)) {
        return Print(module_, id);
      }
      fields.push_back({fmt::format("{} {}", name, i), id});
      return "{}";
    };
    return index.all  ? "*"
           : index.hi ? one(index.lo, "from") + ".." + one(index.hi, "to")
                      : one(index.lo, "index");
  }

  size_t Add(RaisedSpan span) {
    for (SymbolId repeat : repeats_) {
      const std::string& name = module_.symbols[repeat].name;
      span.text += fmt::format(", {} = {{}}", name);
      span.fields.push_back({name, repeat});
    }
    FitFields(span.fields);
    raised_.spans.push_back(std::move(span));
    return raised_.spans.size() - 1;
  }

  /// Each gets the bits that it needs, or, where there are too few, what the others leave.
  void FitFields(std::vector<RaisedField>& fields) const {
    std::vector<RaisedField*> by_need;
    for (RaisedField& field : fields) {
      auto bounds = BoundsOf(field.value);
      // One more value than there are: all ones say that a number is too large.
      field.bits = bounds && bounds->lo >= 0 && bounds->hi < INT64_MAX
                       ? static_cast<size_t>(std::bit_width(static_cast<uint64_t>(bounds->hi) + 1))
                       : kFieldBits;
      field.fits = field.bits < kFieldBits;
      by_need.push_back(&field);
    }
    std::stable_sort(by_need.begin(), by_need.end(),
                     [](const auto* a, const auto* b) { return a->bits < b->bits; });
    size_t room = kFieldBits;
    for (size_t i = 0; i < by_need.size(); ++i) {
      const size_t part = room / (by_need.size() - i);
      by_need[i]->fits &= by_need[i]->bits <= part;
      by_need[i]->bits = std::min(by_need[i]->bits, part);
      room -= by_need[i]->bits;
    }
  }

  RaisedKernel& raised_;
  const Module& module_;
  KnownValues known_;
  RaisedShare* share_ = nullptr;
  SourceRange range_;
  std::vector<SymbolId> repeats_;
  std::map<SymbolId, Interval> intervals_;
};

}  // namespace

void NumberSpans(RaisedModule& raised) {
  for (RaisedKernel& kernel : raised.kernels) {
    kernel.block_bytes = kernel.kernel.shared_bytes;
    if (raised.has_profile) {  // the headers are common to all kernels: each says when it waits
      kernel.block_bytes = std::max<int64_t>(0, kernel.block_bytes - kProfileSharedBytes) / 16 * 16;
    }
    if (kernel.kernel.profile) {
      Numberer(kernel).Run();
    }
    if (kernel.cta_counters > 0) {
      int64_t counters = kernel.cta_counters * kCtaCounterBytes;
      kernel.block_bytes = std::max<int64_t>(0, kernel.block_bytes - counters) / 16 * 16;
    }
  }
}

}  // namespace etc
