// Offsets in the workspace. Buffers are grouped into slots; a slot is as large as its largest
// buffer, and holds only buffers whose uses the events keep apart; in a list of launches, where one
// follows the other, the program order does.

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "analysis/control_tensors.h"
#include "analysis/fresh_buffers.h"
#include "analysis/order/order.h"
#include "ir/evaluate.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/lower.h"
#include "schedule/name_value.h"

namespace etc {
namespace {

constexpr int64_t kAlignment = 256;  // what the allocator of the workspace gives as well

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
        program_(MakeCallProgram(module, kernel)),
        order_(module, program_),
        control_(ControlTensors(module, program_)),
        fresh_(module, kernel) {}

  /// Places the buffers without flags and gives the end of the last.
  ExprId PlaceShared() {
    std::vector<std::vector<TensorId>> slots;
    for (NodeId id : kernel_.declarations) {
      const auto* declaration = std::get_if<BufferDecl>(&module_.nodes[id]);
      if (declaration == nullptr || HasFlags(module_.tensors[declaration->tensor]) ||
          module_.tensors[declaration->tensor].symmetric) {
        continue;
      }
      TensorId buffer = declaration->tensor;
      lifetimes_[buffer] = LifetimeOf(buffer);
      auto fits = [&](const std::vector<TensorId>& slot) {
        return std::all_of(slot.begin(), slot.end(),
                           [&](TensorId other) { return Disjoint(buffer, other); });
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
      offset = PlaceOf(slot.front(), offset);
      for (TensorId buffer : slot) {
        module_.tensors[buffer].offset = offset;
        ExprId mine = SizeOf(buffer);
        size = size ? module_.AddExpr(Call{Intrinsic::Max, {size, mine}}) : mine;
      }
      offset = MakeAdd(module_, offset, MakeAlign(module_, size, kAlignment));
    }
    return offset;
  }

  /// Places the symmetric buffers without flags one behind the other, in a memory of their
  /// own, and gives the end of the last.
  ExprId PlaceSymmetric() {
    ExprId offset = MakeInt(module_, 0);
    for (NodeId id : kernel_.declarations) {
      const auto* declaration = std::get_if<BufferDecl>(&module_.nodes[id]);
      if (declaration != nullptr && module_.tensors[declaration->tensor].symmetric &&
          !HasFlags(module_.tensors[declaration->tensor])) {
        offset = PlaceOf(declaration->tensor, offset);
        module_.tensors[declaration->tensor].offset = offset;
        ExprId size = MakeAlign(module_, SizeOf(declaration->tensor), kAlignment);
        offset = MakeAdd(module_, offset, size);
      }
    }
    return offset;
  }

  /// Places the buffers with flags one behind the other, after their header.
  void PlaceFlags(ExprId offset) {
    for (NodeId id : kernel_.declarations) {
      const auto* declaration = std::get_if<BufferDecl>(&module_.nodes[id]);
      if (declaration != nullptr && HasFlags(module_.tensors[declaration->tensor])) {
        offset = PlaceOf(declaration->tensor, offset);
        module_.tensors[declaration->tensor].offset = offset;
        ExprId size = MakeAlign(module_, SizeOf(declaration->tensor), kAlignment);
        offset = MakeAdd(module_, offset, size);
      }
    }
  }

  /// A buffer with flags, if there is one. All of a kernel are in one memory.
  std::optional<TensorId> AnyWithFlags() const {
    for (NodeId id : kernel_.declarations) {
      const auto* declaration = std::get_if<BufferDecl>(&module_.nodes[id]);
      if (declaration != nullptr && HasFlags(module_.tensors[declaration->tensor])) {
        return declaration->tensor;
      }
    }
    return std::nullopt;
  }

 private:
  ExprId PlaceOf(TensorId buffer, ExprId offset) {
    return NameValue(module_, kernel_, "place_of_" + module_.tensors[buffer].name, offset);
  }

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
    for (const ProgramCall& call : program_.calls) {
      for (const Argument& argument : call.args) {
        if (argument.tensor != buffer) {
          continue;
        }
        life.one_block &= life.uses.empty() || BlockOf(life) == call.Innermost();
        life.uses.push_back(call.index);
      }
    }
    return life;
  }

  /// The repeat in which the first use stands, or none.
  NodeId BlockOf(const Lifetime& life) const {
    return program_.calls[life.uses.front()].Innermost();
  }

  /// Whether the two never hold a value at the same time.
  bool Disjoint(TensorId first, TensorId second) {
    const Lifetime& a = lifetimes_.at(first);
    const Lifetime& b = lifetimes_.at(second);
    // The proofs see the memory of all ranks as one, in which no event orders the uses of two
    // buffers on different ranks.
    if (a.uses.empty() || b.uses.empty() || !a.one_block || !b.one_block || module_.mesh) {
      return false;
    }
    NodeId repeat = BlockOf(a);
    if (repeat != BlockOf(b)) {
      return false;
    }
    auto all = [&](const Lifetime& x, const Lifetime& y, bool next) {
      return std::all_of(x.uses.begin(), x.uses.end(), [&](size_t i) {
        return std::all_of(y.uses.begin(), y.uses.end(), [&](size_t j) {
          return next ? order_.BeforeNext(i, j) : order_.Before(i, j);
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
  CallProgram program_;
  Order order_;
  std::set<TensorId> control_;
  FreshBuffers fresh_;
  std::map<TensorId, Lifetime> lifetimes_;
};

/// How far the buffers without flags reach at most, in each of the two memories.
struct PlainEnds {
  int64_t workspace = 0;
  int64_t symmetric = 0;
};

void Extend(int64_t& most, const Module& module, ExprId end) {
  auto bounds = Bounds(module, end, {});
  most = bounds ? std::max(most, bounds->hi) : std::numeric_limits<int64_t>::max();
}

}  // namespace

bool PlanMemory(Module& module, const ScheduleOptions&, Diagnostics& diagnostics) {
  // The kernels of a graph share a workspace, and their symmetric memory. Whatever the sizes, only
  // words with flags may stand where one is looked for: plain data would look like data that
  // has arrived.
  std::map<std::string, PlainEnds> plain;
  for (KernelId id : module.kernels.Ids()) {
    Planner planner(module, module.kernels[id]);
    PlainEnds& ends = plain[module.kernels[id].graph];
    Extend(ends.symmetric, module, planner.PlaceSymmetric());
    Extend(ends.workspace, module, planner.PlaceShared());
  }
  for (KernelId id : module.kernels.Ids()) {
    Planner planner(module, module.kernels[id]);
    std::optional<TensorId> flagged = planner.AnyWithFlags();
    if (!flagged) {
      continue;
    }
    const PlainEnds& ends = plain.at(module.kernels[id].graph);
    int64_t begin = module.tensors[*flagged].symmetric ? ends.symmetric : ends.workspace;
    if (begin == std::numeric_limits<int64_t>::max()) {
      diagnostics.Error(DiagnosticKind::Unsupported, module.kernels[id].range,
                        "the buffers without flags have no largest size");
      return false;
    }
    planner.PlaceFlags(MakeInt(module, begin + kFlagHeaderBytes));
  }
  for (KernelId id : module.kernels.Ids()) {
    InlineSingleUses(module, module.kernels[id]);
  }
  return true;
}

}  // namespace etc
