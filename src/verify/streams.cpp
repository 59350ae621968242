// What loaders copy ahead of every wait: nothing in the launch may write it.
//
// A parameter that is both streamed and written (a cache that a task reads and appends to) is right
// where no read of any task can meet a write of any task. This is proved by contradiction: from the
// assumption that a read and a write have the same indices follow further equalities, until a
// variable of the read equals what it is below.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "ir/evaluate.h"
#include "verify/accesses.h"
#include "verify/checks.h"

namespace etc {
namespace {

bool Contains(const std::vector<TensorId>& tensors, TensorId id) {
  return std::find(tensors.begin(), tensors.end(), id) != tensors.end();
}

/// Whether a read and a write of one tensor are of different elements, whichever tasks they are of.
class Apart {
 public:
  /// `constant` are the parameters that nothing in the launch writes; the elements of `distinct`,
  /// some of these, all differ.
  Apart(const Module& module, const ElementAccess& read, const ElementAccess& write,
        const std::vector<TensorId>& constant, const std::vector<TensorId>& distinct)
      : module_(module), read_(read), write_(write), constant_(constant), distinct_(distinct) {}

  bool Proven() {
    for (size_t i = 0; i < read_.indices.size(); ++i) {
      Assume(read_.indices[i], write_.indices[i]);
    }
    for (size_t i = 0; i < equal_.size(); ++i) {
      CombineQuotient(equal_[i]);
    }
    return std::any_of(equal_.begin(), equal_.end(),
                       [&](const Equality& equality) { return Contradicts(equality); });
  }

 private:
  /// An expression of the read, and one of the write that has the same value.
  using Equality = std::pair<ExprId, ExprId>;

  void Assume(ExprId read, ExprId write) {
    read = Value(read_, read);
    write = Value(write_, write);
    equal_.push_back({read, write});
    const auto* a = std::get_if<Load>(&module_.exprs[read]);
    const auto* b = std::get_if<Load>(&module_.exprs[write]);
    if (a != nullptr && b != nullptr && a->tensor == b->tensor && Contains(distinct_, a->tensor)) {
      for (size_t i = 0; i < a->indices.size(); ++i) {
        Assume(a->indices[i], b->indices[i]);
      }
    }
  }

  /// x = y follows from x / c = y / c and x % c = y % c.
  void CombineQuotient(Equality equality) {
    const Binary* read_quotient = Operation(equality.first, BinaryOp::Div);
    const Binary* write_quotient = Operation(equality.second, BinaryOp::Div);
    if (read_quotient == nullptr || write_quotient == nullptr) {
      return;
    }
    auto divisor = EvaluateInt(module_, read_quotient->right, {});
    if (!divisor || *divisor <= 0 || EvaluateInt(module_, write_quotient->right, {}) != divisor) {
      return;
    }
    bool found = std::any_of(equal_.begin(), equal_.end(), [&](const Equality& other) {
      const Binary* a = Operation(other.first, BinaryOp::Mod);
      const Binary* b = Operation(other.second, BinaryOp::Mod);
      return a != nullptr && b != nullptr && EvaluateInt(module_, a->right, {}) == divisor &&
             EvaluateInt(module_, b->right, {}) == divisor &&
             Same(read_, read_quotient->left, read_, a->left) &&
             Same(write_, write_quotient->left, write_, b->left);
    });
    if (found) {
      Assume(read_quotient->left, write_quotient->left);
    }
  }

  const Binary* Operation(ExprId id, BinaryOp op) const {
    const auto* binary = std::get_if<Binary>(&module_.exprs[id]);
    return binary != nullptr && binary->op == op ? binary : nullptr;
  }

  /// Whether the equality cannot hold: the read's side is a loop variable, below the write's side.
  bool Contradicts(const Equality& equality) const {
    const auto* ref = std::get_if<SymbolRef>(&module_.exprs[equality.first]);
    const BodyVariable* variable = ref == nullptr ? nullptr : Find(read_, ref->symbol);
    return variable != nullptr && !variable->is_let && AtMost(variable->hi, equality.second);
  }

  /// Whether `bound`, of the read, is at most `limit`, of the write.
  bool AtMost(ExprId bound, ExprId limit) const {
    bound = Value(read_, bound);
    if (Same(read_, bound, write_, limit)) {
      return true;
    }
    const auto* call = std::get_if<Call>(&module_.exprs[bound]);
    return call != nullptr && call->op == Intrinsic::Min &&
           std::any_of(call->args.begin(), call->args.end(),
                       [&](ExprId arg) { return AtMost(arg, limit); });
  }

  static const BodyVariable* Find(const ElementAccess& access, SymbolId symbol) {
    auto it = std::find_if(access.variables.begin(), access.variables.end(),
                           [&](const BodyVariable& v) { return v.symbol == symbol; });
    return it == access.variables.end() ? nullptr : &*it;
  }

  /// What a name stands for where it is a `let`.
  ExprId Value(const ElementAccess& access, ExprId id) const {
    while (const auto* ref = std::get_if<SymbolRef>(&module_.exprs[id])) {
      const BodyVariable* variable = Find(access, ref->symbol);
      if (variable == nullptr || !variable->is_let) {
        break;
      }
      id = variable->lo;
    }
    return id;
  }

  /// Whether two expressions always have the same value. Variables do that are the same access's,
  /// or that were found to be equal.
  bool Same(const ElementAccess& a_access, ExprId a, const ElementAccess& b_access,
            ExprId b) const {
    a = Value(a_access, a);
    b = Value(b_access, b);
    auto same = [&](ExprId x, ExprId y) { return Same(a_access, x, b_access, y); };
    auto all = [&](const std::vector<ExprId>& x, const std::vector<ExprId>& y) {
      return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
    };
    const Expr& x = module_.exprs[a];
    const Expr& y = module_.exprs[b];
    if (x.index() != y.index()) {
      return false;
    }
    if (const auto* literal = std::get_if<IntLiteral>(&x)) {
      return literal->value == std::get<IntLiteral>(y).value;
    }
    if (const auto* ref = std::get_if<SymbolRef>(&x)) {
      SymbolId other = std::get<SymbolRef>(y).symbol;
      bool varies = Find(a_access, ref->symbol) != nullptr;
      return varies && &a_access != &b_access ? EqualVariables(ref->symbol, other)
                                              : ref->symbol == other;
    }
    if (const auto* load = std::get_if<Load>(&x)) {
      const auto& other = std::get<Load>(y);
      return load->tensor == other.tensor && Contains(constant_, load->tensor) &&
             all(load->indices, other.indices);
    }
    if (const auto* unary = std::get_if<Unary>(&x)) {
      const auto& other = std::get<Unary>(y);
      return unary->op == other.op && same(unary->operand, other.operand);
    }
    if (const auto* binary = std::get_if<Binary>(&x)) {
      const auto& other = std::get<Binary>(y);
      return binary->op == other.op && same(binary->left, other.left) &&
             same(binary->right, other.right);
    }
    if (const auto* call = std::get_if<Call>(&x)) {
      const auto& other = std::get<Call>(y);
      return call->op == other.op && all(call->args, other.args);
    }
    return false;
  }

  bool EqualVariables(SymbolId read, SymbolId write) const {
    return std::any_of(equal_.begin(), equal_.end(), [&](const Equality& equality) {
      const auto* a = std::get_if<SymbolRef>(&module_.exprs[equality.first]);
      const auto* b = std::get_if<SymbolRef>(&module_.exprs[equality.second]);
      return a != nullptr && b != nullptr && a->symbol == read && b->symbol == write;
    });
  }

  const Module& module_;
  const ElementAccess& read_;
  const ElementAccess& write_;
  const std::vector<TensorId>& constant_;
  const std::vector<TensorId>& distinct_;
  std::vector<Equality> equal_;
};

/// A call or a share.
struct Site {
  NodeId node;
  DeviceId callee;
  const std::vector<Argument>* args;
  SourceRange range;
};

class StreamChecks {
 public:
  StreamChecks(const Module& module, Diagnostics& diagnostics)
      : module_(module), diagnostics_(diagnostics) {}

  /// Calls without tasks at the sizes in `ranges` neither stream nor write there.
  void Check(const std::vector<NodeId>& body, const DimRanges& ranges) {
    sites_.clear();
    Collect(body, ranges);
    for (const Site& site : sites_) {
      for (const Impl& impl : module_.devices[site.callee].impls) {
        for (TensorId param : impl.streams) {
          Check(site, impl, param);
        }
      }
    }
  }

 private:
  void Collect(const std::vector<NodeId>& nodes, const DimRanges& ranges) {
    for (NodeId id : nodes) {
      const Node& node = module_.nodes[id];
      if (const auto* call = std::get_if<CallNode>(&node)) {
        if (MayHaveTasks(module_, module_.devices[call->callee].tasks, ranges)) {
          sites_.push_back({id, call->callee, &call->args, module_.RangeOf(id)});
        }
      } else if (const auto* share = std::get_if<Share>(&node)) {
        if (MayHaveTasks(module_, share->axes, ranges)) {
          sites_.push_back({id, share->callee, &share->args, module_.RangeOf(id)});
        }
      } else if (const auto* repeat = std::get_if<Repeat>(&node)) {
        Collect(repeat->body, ranges);
      } else if (const auto* region = std::get_if<Region>(&node)) {
        Collect(region->body, ranges);
      }
    }
  }

  const Argument& ArgumentOf(const Site& site, TensorId param) const {
    const std::vector<TensorId>& params = module_.devices[site.callee].params;
    size_t i = std::find(params.begin(), params.end(), param) - params.begin();
    ETC_CHECK(i < site.args->size());
    return (*site.args)[i];
  }

  void Check(const Site& site, const Impl& impl, TensorId param) {
    const Argument& argument = ArgumentOf(site, param);
    for (const Site& other : sites_) {
      for (TensorId written : module_.devices[other.callee].params) {
        if (module_.tensors[written].access == Access::In ||
            ArgumentOf(other, written).tensor != argument.tensor) {
          continue;
        }
        std::optional<ElementAccess> meets;
        if (other.callee == site.callee && written == param && SameStreams(site, other, impl)) {
          meets = Meeting(site, impl, param);
          if (!meets) {
            continue;
          }
        }
        if (reported_.insert({site.node, param}).second) {
          Report(site, argument, other, meets);
        }
        return;
      }
    }
  }

  /// Whether both calls have the same tensors for what the implementation only reads ahead.
  bool SameStreams(const Site& a, const Site& b, const Impl& impl) const {
    return std::all_of(impl.streams.begin(), impl.streams.end(), [&](TensorId param) {
      const Argument& x = ArgumentOf(a, param);
      const Argument& y = ArgumentOf(b, param);
      bool whole = x.indices.empty() && y.indices.empty();
      return x.tensor == y.tensor && (whole || module_.tensors[param].access != Access::In);
    });
  }

  /// A write of the parameter that some read of it may meet.
  std::optional<ElementAccess> Meeting(const Site& site, const Impl& impl, TensorId param) const {
    std::vector<TensorId> constant, distinct;
    for (TensorId stream : impl.streams) {
      if (module_.tensors[stream].access == Access::In) {
        constant.push_back(stream);
        if (module_.tensors[ArgumentOf(site, stream).tensor].distinct) {
          distinct.push_back(stream);
        }
      }
    }
    std::vector<ElementAccess> accesses = CollectAccesses(module_, module_.devices[site.callee]);
    std::erase_if(accesses, [&](const ElementAccess& access) { return access.tensor != param; });
    for (const ElementAccess& write : accesses) {
      for (const ElementAccess& read : accesses) {
        if (write.writes && !read.writes &&
            !Apart(module_, read, write, constant, distinct).Proven()) {
          return write;
        }
      }
    }
    return std::nullopt;
  }

  void Report(const Site& site, const Argument& argument, const Site& writer,
              const std::optional<ElementAccess>& meets) {
    const std::string& streaming = module_.devices[site.callee].name;
    const std::string& writing = module_.devices[writer.callee].name;
    const std::string& tensor = module_.tensors[argument.tensor].name;
    Diagnostic& error = diagnostics_.Error(
        DiagnosticKind::Impl, site.range,
        fmt::format("`@{}` streams `%{}` ahead of every wait, but a call of this graph writes it",
                    streaming, tensor));
    error.notes.push_back({writer.range, fmt::format("`@{}` writes `%{}` here", writing, tensor)});
    if (meets) {
      error.notes.push_back(
          {module_.RangeOf(meets->indices.front()),
           "an element that is read may be one that is written here, for all that the streamed "
           "index tensors and their `distinct` say"});
    }
  }

  const Module& module_;
  Diagnostics& diagnostics_;
  std::vector<Site> sites_;
  std::set<std::pair<NodeId, TensorId>> reported_;
};

}  // namespace

void CheckStreams(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  StreamChecks checks(module, diagnostics);
  for (const DimRanges& ranges : RangesOf(module, graph)) {
    checks.Check(graph.body, ranges);
  }
}

void CheckStreams(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  StreamChecks(module, diagnostics).Check(kernel.body, RangesOf(module, kernel));
}

}  // namespace etc
