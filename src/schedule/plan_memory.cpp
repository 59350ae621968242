// Offsets in the workspace. Buffers are grouped into slots; a slot is as large as its largest
// buffer, and holds only buffers whose uses the events keep apart; in a list of launches, where one
// follows the other, the program order does.

#include <algorithm>
#include <limits>
#include <set>

#include "analysis/control_tensors.h"
#include "analysis/fresh_buffers.h"
#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/lower.h"

namespace etc {
namespace {

constexpr int64_t kAlignment = 256;  // what the allocator of the workspace gives as well

/// The order of whole shares, by events or, of launches, by program order: Before(x, y) when every
/// task of x completes before any task of y starts. Shares inside a repeat stand for any one
/// iteration, and, as `next`, for the iteration after it. In a repeat of a repeat events order
/// nothing here: the next iteration may be one of the outer repeat.
class ShareOrder {
 public:
  ShareOrder(Module& module, const std::vector<ShareSite>& sites, bool launches)
      : module_(module), sites_(sites), size_(sites.size()), before_(2 * size_ * 2 * size_) {
    for (size_t x = 0; x < size_; ++x) {
      for (size_t y = 0; y < size_; ++y) {
        NodeId repeat = sites[x].Innermost();
        if (repeat != sites[y].Innermost() || (sites[x].repeats.size() > 1 && !launches)) {
          continue;
        }
        if (x < y && (launches || Joins(x, y, {}))) {
          Set(x, y);
          Set(x + size_, y + size_);
        }
        if (repeat) {
          SymbolId var = std::get<Repeat>(module_.nodes[repeat]).var;
          ExprId next = MakeAdd(module_, MakeRef(module_, var), MakeInt(module_, 1));
          if (launches || Joins(x, y, {{var, next}})) {
            Set(x, y + size_);
          }
        }
      }
    }
    for (size_t k = 0; k < 2 * size_; ++k) {
      // Without a task in between, what waits for it waits for nothing.
      if (!launches && !HasTasks(ShareAt(k % size_))) {
        continue;
      }
      for (size_t x = 0; x < 2 * size_; ++x) {
        for (size_t y = 0; Get(x, k) && y < 2 * size_; ++y) {
          if (Get(k, y)) {
            Set(x, y);
          }
        }
      }
    }
  }

  bool Before(size_t x, size_t y) const { return Get(x, y); }
  bool BeforeNext(size_t x, size_t y) const { return Get(x, y + size_); }

 private:
  const Share& ShareAt(size_t site) const {
    return std::get<Share>(module_.nodes[sites_[site].share]);
  }

  bool Get(size_t x, size_t y) const { return before_[x * 2 * size_ + y]; }
  void Set(size_t x, size_t y) { before_[x * 2 * size_ + y] = true; }

  /// Whether there is a task whatever the sizes and the data.
  bool HasTasks(const Share& share) const {
    return std::all_of(share.axes.begin(), share.axes.end(), [&](const Axis& axis) {
      auto lo = axis.lo ? Bounds(module_, axis.lo, {}) : Interval{0, 0};
      auto hi = Bounds(module_, axis.hi, {});
      return lo && hi && lo->hi < hi->lo;
    });
  }

  /// Whether every task of `y` waits for what every task of `x` notifies.
  bool Joins(size_t site_x, size_t site_y, const Substitution& shift) {
    const Share& x = ShareAt(site_x);
    const Share& y = ShareAt(site_y);
    auto joins = [&](const std::vector<EventRef>& notifies) {
      for (const EventRef& notify : notifies) {
        for (const auto* waits : {&y.range_waits, &y.enter_waits}) {
          for (const EventRef& wait : *waits) {
            if (notify.event == wait.event && !notify.guard && !wait.guard && notify.axes.empty() &&
                wait.axes.empty() && Covers(x, notify, wait, shift)) {
              return true;
            }
          }
        }
      }
      return false;
    };
    return joins(x.leave_notifies) || joins(x.notifies);
  }

  bool Covers(const Share& x, const EventRef& notify, const EventRef& wait,
              const Substitution& shift) {
    std::vector<SymbolId> vars;
    for (const Axis& axis : x.axes) {
      vars.push_back(axis.var);
    }
    for (size_t i = 0; i < wait.indices.size(); ++i) {
      const EventIndex& w = wait.indices[i];
      const EventIndex& n = notify.indices[i];
      if (w.all) {
        continue;
      }
      bool element = !w.hi && !n.all && !n.hi && !Mentions(module_, n.lo, vars);
      if (!element || !Same(n.lo, Clone(module_, w.lo, shift))) {
        return false;
      }
    }
    return true;
  }

  bool Same(ExprId a, ExprId b) const {
    auto x = EvaluateInt(module_, a, {});
    auto y = EvaluateInt(module_, b, {});
    return x && y ? *x == *y : Print(module_, a) == Print(module_, b);
  }

  Module& module_;
  const std::vector<ShareSite>& sites_;
  size_t size_;
  std::vector<bool> before_;
};

/// The shares that touch one buffer.
struct Lifetime {
  std::vector<size_t> uses;
  bool one_block = true;  // all in the same repeat, or all outside
};

class Planner {
 public:
  Planner(Module& module, Kernel& kernel)
      : module_(module),
        kernel_(kernel),
        sites_(SharesOf(module, kernel)),
        control_(ControlTensors(module, kernel)),
        fresh_(module, kernel) {}

  /// Places the unflagged buffers and gives the end of the last.
  ExprId PlaceShared() {
    ShareOrder order(module_, sites_, kernel_.schedule == ScheduleKind::Kernels);
    std::vector<std::vector<TensorId>> slots;
    for (NodeId id : kernel_.declarations) {
      const auto* declaration = std::get_if<BufferDecl>(&module_.nodes[id]);
      if (declaration == nullptr || module_.tensors[declaration->tensor].flagged) {
        continue;
      }
      TensorId buffer = declaration->tensor;
      lifetimes_[buffer] = LifetimeOf(buffer);
      auto fits = [&](const std::vector<TensorId>& slot) {
        return std::all_of(slot.begin(), slot.end(),
                           [&](TensorId other) { return Disjoint(order, buffer, other); });
      };
      auto slot = std::find_if(slots.begin(), slots.end(), fits);
      if (slot == slots.end()) {
        slots.push_back({buffer});
      } else {
        slot->push_back(buffer);
      }
    }
    ExprId offset = MakeInt(module_, 0);
    for (const std::vector<TensorId>& slot : slots) {
      ExprId size;
      for (TensorId buffer : slot) {
        module_.tensors[buffer].offset = offset;
        ExprId mine = SizeOf(buffer);
        size = size ? module_.AddExpr(Call{Intrinsic::Max, {size, mine}}) : mine;
      }
      offset = MakeAdd(module_, offset, MakeAlign(module_, size, kAlignment));
    }
    return offset;
  }

  /// Places the flagged buffers one behind the other, after their header.
  void PlaceFlagged(ExprId offset) {
    for (NodeId id : kernel_.declarations) {
      const auto* declaration = std::get_if<BufferDecl>(&module_.nodes[id]);
      if (declaration != nullptr && module_.tensors[declaration->tensor].flagged) {
        module_.tensors[declaration->tensor].offset = offset;
        ExprId size = MakeAlign(module_, SizeOf(declaration->tensor), kAlignment);
        offset = MakeAdd(module_, offset, size);
      }
    }
  }

  bool HasFlagged() const {
    return std::any_of(kernel_.declarations.begin(), kernel_.declarations.end(), [&](NodeId id) {
      const auto* declaration = std::get_if<BufferDecl>(&module_.nodes[id]);
      return declaration != nullptr && module_.tensors[declaration->tensor].flagged;
    });
  }

 private:
  ExprId SizeOf(TensorId buffer) {
    const std::vector<ExprId> shape = module_.tensors[buffer].shape;
    ExprId size = MakeInt(module_, BytesPerElement(module_.tensors[buffer]));
    for (ExprId extent : shape) {
      size = MakeMul(module_, size, extent);
    }
    return size;
  }

  Lifetime LifetimeOf(TensorId buffer) const {
    Lifetime life;
    if (control_.contains(buffer)) {
      return life;  // not only tasks read it
    }
    for (size_t i = 0; i < sites_.size(); ++i) {
      const Share& share = std::get<Share>(module_.nodes[sites_[i].share]);
      for (size_t a = 0; a < share.args.size(); ++a) {
        if (share.args[a].tensor != buffer) {
          continue;
        }
        life.one_block &=
            life.uses.empty() || sites_[life.uses[0]].Innermost() == sites_[i].Innermost();
        life.uses.push_back(i);
      }
    }
    return life;
  }

  /// Whether the two never hold a value at the same time.
  bool Disjoint(const ShareOrder& order, TensorId first, TensorId second) {
    const Lifetime& a = lifetimes_.at(first);
    const Lifetime& b = lifetimes_.at(second);
    if (a.uses.empty() || b.uses.empty() || !a.one_block || !b.one_block) {
      return false;
    }
    NodeId repeat = sites_[a.uses[0]].Innermost();
    if (repeat != sites_[b.uses[0]].Innermost()) {
      return false;
    }
    auto all = [&](const Lifetime& x, const Lifetime& y, bool next) {
      return std::all_of(x.uses.begin(), x.uses.end(), [&](size_t i) {
        return std::all_of(y.uses.begin(), y.uses.end(), [&](size_t j) {
          return next ? order.BeforeNext(i, j) : order.Before(i, j);
        });
      });
    };
    if (!repeat) {
      return all(a, b, false) || all(b, a, false);
    }
    // No iteration may read what the one before it left.
    bool ordered = (all(a, b, false) && all(b, a, true)) || (all(b, a, false) && all(a, b, true));
    return ordered && fresh_.Has(first) && fresh_.Has(second);
  }

  Module& module_;
  Kernel& kernel_;
  std::vector<ShareSite> sites_;
  std::set<TensorId> control_;
  FreshBuffers fresh_;
  std::map<TensorId, Lifetime> lifetimes_;
};

}  // namespace

bool PlanMemory(Module& module, const ScheduleOptions&, Diagnostics& diagnostics) {
  // The kernels of a graph share a workspace. Whatever the sizes, only flagged words may stand
  // where a flag is looked for: unflagged data would look like data that has arrived.
  std::map<std::string, int64_t> shared_ends;
  for (KernelId id : module.kernels.Ids()) {
    ExprId end = Planner(module, module.kernels[id]).PlaceShared();
    int64_t& shared_end = shared_ends[module.kernels[id].graph];
    auto bounds = Bounds(module, end, {});
    shared_end = bounds ? std::max(shared_end, bounds->hi) : std::numeric_limits<int64_t>::max();
  }
  for (KernelId id : module.kernels.Ids()) {
    Planner planner(module, module.kernels[id]);
    if (!planner.HasFlagged()) {
      continue;
    }
    int64_t begin = shared_ends.at(module.kernels[id].graph);
    if (begin == std::numeric_limits<int64_t>::max()) {
      diagnostics.Error(DiagnosticKind::Unsupported, module.kernels[id].range,
                        "the buffers that are not flagged have no largest size");
      return false;
    }
    planner.PlaceFlagged(MakeInt(module, begin + kFlagHeaderBytes));
  }
  return true;
}

}  // namespace etc
