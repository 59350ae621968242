#include "analysis/ranks.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "ir/evaluate.h"
#include "ir/lower_slices.h"
#include "ir/overloaded.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// Leaves of `where` what is said of other dimensions. Whether these are the sizes of so many
/// ranks.
bool TakeRanks(const Module& module, SymbolId size, int64_t ranks, std::vector<Where>& where) {
  bool meant = true;
  std::erase_if(where, [&](const Where& one) {
    if (one.dim != size) {
      return false;
    }
    auto lo = EvaluateInt(module, one.lo, {}), hi = EvaluateInt(module, one.hi, {});
    meant = meant && (!lo || *lo <= ranks) && (!hi || ranks <= *hi);
    return true;
  });
  return meant;
}

/// `lower(tp)` and `upper(tp)` are the number itself.
void FoldLimits(Module& module, SymbolId size, int64_t ranks) {
  for (ExprId id : module.exprs.Ids()) {
    const auto* call = std::get_if<Call>(&module.exprs[id]);
    if (call == nullptr || KindOf(call->op) != IntrinsicKind::Limit || call->args.empty()) {
      continue;
    }
    if (IsSymbol(module, call->args[0], size)) {
      module.exprs[id] = IntLiteral{ranks};
    }
  }
}

class Joining {
 public:
  Joining(Module& module, int64_t ranks)
      : module_(module),
        ranks_(MakeInt(module, ranks)),
        rank_(MakeRef(module, module.rank)),
        axis_{module.rank, {}, ranks_} {}

  void Run() {
    module_.symbols[module_.rank].kind = SymbolKind::Index;
    for (ExprId id : module_.exprs.Ids()) {
      if (auto* load = std::get_if<Load>(&module_.exprs[id]); load != nullptr) {
        Place(load->tensor, load->indices, rank_);
      }
    }
    for (StmtId id : module_.stmts.Ids()) {
      Join(module_.stmts[id]);
    }
    const std::set<TensorId> given = Given();
    for (TensorId id : module_.tensors.Ids()) {
      Tensor& tensor = module_.tensors[id];
      tensor.distinct = tensor.distinct && given.contains(id);
      Join(tensor);
    }
    for (EventId id : module_.events.Ids()) {
      JoinEvent(id);
    }
    for (DeviceId id : module_.devices.Ids()) {
      Device& device = module_.devices[id];
      device.tasks.insert(device.tasks.begin(), axis_);
    }
    for (NodeId id : module_.nodes.Ids()) {
      Join(module_.nodes[id]);
    }
    for (KernelId id : module_.kernels.Ids()) {
      module_.kernels[id].checks.clear();
      module_.kernels[id].check_accesses.reset();
    }
  }

 private:
  /// What the callers of graphs and kernels promise something of.
  std::set<TensorId> Given() const {
    std::set<TensorId> given;
    for (GraphId id : module_.graphs.Ids()) {
      given.insert(module_.graphs[id].params.begin(), module_.graphs[id].params.end());
    }
    for (KernelId id : module_.kernels.Ids()) {
      given.insert(module_.kernels[id].params.begin(), module_.kernels[id].params.end());
    }
    return given;
  }

  /// Names the rank in front of the indices of an element. A task's locals are its own.
  void Place(TensorId tensor, std::vector<ExprId>& indices, ExprId whose) {
    if (module_.tensors[tensor].kind != TensorKind::Local) {
      indices.insert(indices.begin(), whose);
    }
  }

  void Join(Stmt& stmt) {
    std::visit(Overloaded{
                   [&](Assign& assign) {
                     Place(assign.tensor, assign.indices, assign.peer ? assign.peer : rank_);
                     assign.peer = {};
                   },
                   [&](TopK& topk) {
                     Place(topk.values, topk.value_indices, rank_);
                     Place(topk.positions, topk.position_indices, rank_);
                   },
                   [](const OneOf<For, If, Let, LetPair, LocalDecl> auto&) {},
               },
               stmt);
  }

  void Join(Tensor& tensor) {
    if (tensor.kind == TensorKind::Local) {
      return;
    }
    if (tensor.value_lo && !(tensor.indices.empty() && IsUniform(module_, tensor))) {
      tensor.indices.resize(tensor.shape.size());
      tensor.indices.insert(tensor.indices.begin(), module_.rank);
    }
    tensor.shape.insert(tensor.shape.begin(), ranks_);
    if (tensor.offset) {
      ExprId offset = MakeMul(module_, tensor.offset, ranks_);
      tensor.offset = tensor.symmetric ? MakeOffset(module_, offset, kBehindWorkspaces) : offset;
    }
    tensor.tile.clear();
    tensor.sources.clear();
    tensor.shard.reset();
    tensor.in_parts = tensor.swizzled = tensor.symmetric = tensor.array = false;
    tensor.counts = {};
  }

  /// The first axis is the rank that waits, by whose data an element may count.
  void JoinEvent(EventId id) {
    Symbol waiting = module_.symbols[module_.rank];
    SymbolId var = module_.symbols.Add(std::move(waiting));
    ExprId count =
        Clone(module_, module_.events[id].count, {{module_.rank, MakeRef(module_, var)}});
    bool named = Mentions(module_, count, {var});
    Event& event = module_.events[id];
    event.count = count;
    event.dims.insert(event.dims.begin(), {named ? var : SymbolId{}, ranks_});
    // What is said of SMs is proved of one rank.
    if (event.realisation != Realisation::Words) {
      event.realisation = Realisation::Unset;
    }
    event.first = {};
    event.symmetric = false;
  }

  void Join(std::vector<Argument>& args) {
    for (Argument& arg : args) {
      if (!arg.indices.empty()) {
        arg.indices.insert(arg.indices.begin(), ExprId{});
      }
    }
  }

  void Join(EventRef& ref) {
    ref.indices.insert(ref.indices.begin(), {ref.peer ? ref.peer : rank_, {}, false});
    ref.peer = {};
  }
  void Join(std::vector<EventRef>& refs) {
    for (EventRef& ref : refs) {
      Join(ref);
    }
  }

  void Join(std::vector<Edge>& edges) {
    for (Edge& edge : edges) {
      edge.coords.insert(edge.coords.begin(), module_.rank);
      Join(edge.refs);
    }
  }

  void Join(Node& node) {
    std::visit(Overloaded{
                   [&](CallNode& call) {
                     Join(call.args);
                     Join(call.waits);
                     Join(call.notifies);
                   },
                   [&](Share& share) {
                     share.axes.insert(share.axes.begin(), axis_);
                     share.awaits_peers = false;
                     share.range_checks.clear();
                     share.enter_checks.clear();
                     share.task_checks.clear();
                     Join(share.args);
                     for (auto* refs : {&share.range_waits, &share.enter_waits, &share.waits,
                                        &share.notifies, &share.leave_notifies, &share.arrivals,
                                        &share.after_waits, &share.after_arrivals}) {
                       Join(*refs);
                     }
                     if (share.pushed_by) {
                       Join(*share.pushed_by);
                     }
                   },
                   [&](Dispatch& dispatch) {
                     dispatch.tickets = {};
                     if (dispatch.capacity) {
                       dispatch.capacity = MakeMul(module_, dispatch.capacity, ranks_);
                     }
                   },
                   [](const OneOf<BufferDecl, EventDecl, Repeat, Region> auto&) {},
               },
               node);
  }

  Module& module_;
  const ExprId ranks_;
  const ExprId rank_;
  const Axis axis_;
};

}  // namespace

Module AtRanks(const Module& module, int64_t ranks) {
  Module at = module;
  SymbolId size = module.mesh->size;
  FoldLimits(at, size, ranks);
  Symbol& symbol = at.symbols[size];
  symbol.kind = SymbolKind::Const;
  symbol.value = at.AddExpr(IntLiteral{ranks}, module.mesh->range);
  symbol.lo = symbol.hi = {};
  at.mesh.reset();
  std::erase_if(at.items, [&](const Item& item) {
    if (const auto* graph = std::get_if<GraphId>(&item)) {
      return !TakeRanks(at, size, ranks, at.graphs[*graph].where);
    }
    const auto* kernel = std::get_if<KernelId>(&item);
    return kernel != nullptr && !TakeRanks(at, size, ranks, at.kernels[*kernel].where);
  });
  return at;
}

int64_t MostRanks(const Module& module, const Kernel& kernel) {
  if (!module.mesh) {
    return 1;
  }
  auto ranks = RangeOfDim(module, module.mesh->size, RangesOf(module, kernel));
  return ranks ? ranks->hi : module.mesh->values.front();
}

Module JoinRanks(Module module, int64_t ranks, JoinedFor whom) {
  if (whom == JoinedFor::Proofs) {
    for (DeviceId id : module.devices.Ids()) {
      module.devices[id].impls.clear();
    }
  }
  Joining(module, ranks).Run();
  if (whom == JoinedFor::Proofs) {
    LowerSlices(module);
  }
  return module;
}

bool IsOfAllRanks(const Module& module) {
  return module.symbols[module.rank].kind == SymbolKind::Index;
}

void NameAsWritten(Module& module) {
  std::map<uint32_t, std::string> names;  // by the place of the name in the text
  for (DeviceId id : module.devices.Ids()) {
    Device& device = module.devices[id];
    const std::string& name = names.emplace(device.range.begin, device.name).first->second;
    if (device.name.starts_with(name + "_strided")) {
      device.name = name;
    }
  }
}

}  // namespace etc
