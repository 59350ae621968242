// How the consumer threads of a CTA run a generated body together, and where they wait for each
// other. A reduction that is the same for all of them, in a `let` or in what one of them stores, is
// shared: each thread takes a part of its points.

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "emit/raise/passes.h"
#include "emit/raise/pending_reads.h"
#include "emit/raise/texts.h"
#include "ir/evaluate.h"
#include "ir/rewrite.h"
#include "ir/task_count.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// Points of a reduction up to which two barriers take longer than a thread alone.
constexpr int64_t kMostPointsOfOne = 32;
/// A word of 8 bytes for each warp that a CTA may have.
constexpr int64_t kReductionBytes = 8 * 32;

class BodySharer {
 public:
  BodySharer(RaisedKernel& raised, RaisedDevice& device)
      : raised_(raised),
        module_(raised.module),
        device_(device),
        ranges_(RangesOf(raised.module, raised.kernel)),
        pending_(raised.module, device.device) {
    VisitStmts(module_, device_.device.body, [&](StmtId id) { CountExprs(id); });
  }

  void Run() {
    Steps steps;
    Add(device_.device.body, steps);
    if (pending_.HasLocals()) {
      Barrier(steps);
    }
    device_.steps = std::move(steps);
  }

 private:
  /// Those of the statement itself. An argument of a function may stand in several places.
  void CountExprs(StmtId id) {
    std::set<ExprId> found;
    VisitOwnExprs(module_, module_.stmts[id], [&](ExprId each) { found.insert(each); });
    for (ExprId each : found) {
      ++statements_[each];
    }
  }

  void Add(const std::vector<StmtId>& body, Steps& to) {
    for (StmtId id : body) {
      bool looks_itself =  // at each statement in it
          std::visit(
              Overloaded{
                  [](const If&) { return true; },
                  [&](const For& loop) { return IsShared(loop); },
                  [](const OneOf<Let, LetPair, LocalDecl, Assign, TopK> auto&) { return false; },
              },
              module_.stmts[id]);
      if (!looks_itself && pending_.MeetStores(id)) {
        Barrier(to);
      }
      std::visit([&](const auto& stmt) { Add(id, stmt, to); }, module_.stmts[id]);
    }
  }

  void Barrier(Steps& to) {
    to.emplace_back(BarrierStep{});
    pending_.Clear();
  }

  /// Whether a scan has something to share among threads; else one of them runs all of it.
  bool IsShared(const For& loop) const { return loop.sequential && HasParallel(loop.body); }

  bool HasParallel(const std::vector<StmtId>& body) const {
    return std::any_of(body.begin(), body.end(), [&](StmtId id) {
      return std::visit(
          Overloaded{
              [&](const For& loop) { return !loop.sequential || HasParallel(loop.body); },
              [&](const If& branch) {
                return HasParallel(branch.body) || HasParallel(branch.otherwise);
              },
              [](const OneOf<Let, LetPair, LocalDecl, Assign, TopK> auto&) { return false; },
          },
          module_.stmts[id]);
    });
  }

  void Add(StmtId id, const For& stmt, Steps& to) {
    if (IsShared(stmt)) {
      Scan(id, stmt, to);
    } else if (stmt.sequential) {
      One(id, to);
    } else {
      Divide(id, stmt, to);
    }
  }

  void Scan(StmtId id, const For& stmt, Steps& to) {
    Together together{id, {}};
    pending_.Add(stmt.axes);
    PendingReads without = pending_;
    Add(stmt.body, together.body);
    pending_.Add(stmt.axes);  // the bounds of inner axes, once more
    if (pending_.MeetStores(stmt.body)) {
      Barrier(together.body);  // in front of the next iteration
    }
    pending_.Add(without);  // there may be no iteration
    to.emplace_back(std::move(together));
  }

  /// The number of axes to divide: those whose bounds depend on an earlier one stay serial.
  size_t Flat(const std::vector<Axis>& axes) const {
    std::vector<SymbolId> vars;
    for (const Axis& axis : axes) {
      if ((axis.lo && Mentions(module_, axis.lo, vars)) || Mentions(module_, axis.hi, vars)) {
        break;
      }
      vars.push_back(axis.var);
    }
    return vars.size();
  }

  void Divide(StmtId id, const For& stmt, Steps& to) {
    ShareInvariants(stmt, to);
    size_t flat = Flat(stmt.axes);
    for (size_t i = 0; i < flat; ++i) {
      pending_.Add(stmt.axes[i].lo);
      pending_.Add(stmt.axes[i].hi);
    }
    to.emplace_back(Divided{id, flat, pending_.MeetStores(stmt.body)});
    Barrier(to);
  }

  /// Reductions in a loop that do not depend on it come before it, where it has a point at least.
  void ShareInvariants(const For& loop, Steps& to) {
    if (!HavePoints(loop.axes)) {
      return;
    }
    std::vector<SymbolId> inside = VariablesOf(loop.axes);
    auto share = [&](ExprId value) {
      ShareReductions(value, to, [&](ExprId reduce) {
        PendingReads reads(module_, device_.device);
        reads.Add(reduce);
        return !Mentions(module_, reduce, inside) && !reads.MeetStores(loop.body);
      });
    };
    for (StmtId id : loop.body) {
      std::visit(Overloaded{
                     [&](const Let& let) {
                       share(let.value);
                       inside.push_back(let.symbol);
                     },
                     [&](const Assign& assign) { share(assign.value); },
                     [&](const LetPair& pair) {
                       inside.insert(inside.end(), {pair.value, pair.index});
                     },
                     [](const OneOf<For, If, LocalDecl, TopK> auto&) {},
                 },
                 module_.stmts[id]);
    }
  }

  bool HavePoints(const std::vector<Axis>& axes) const {
    return std::all_of(axes.begin(), axes.end(), [&](const Axis& axis) {
      auto count = axis.lo ? std::nullopt : Bounds(module_, axis.hi, {}, ranges_);
      return count && count->lo >= 1;
    });
  }

  static std::vector<SymbolId> VariablesOf(const std::vector<Axis>& axes) {
    std::vector<SymbolId> variables;
    for (const Axis& axis : axes) {
      variables.push_back(axis.var);
    }
    return variables;
  }

  /// The reductions of an expression that `may` be shared, but those that it may leave out. One in
  /// another that does not depend on its points comes first.
  void ShareReductions(ExprId id, Steps& to, const std::function<bool(ExprId)>& may) {
    auto within = [&](const std::vector<ExprId>& parts) {
      std::for_each(parts.begin(), parts.end(),
                    [&](ExprId part) { ShareReductions(part, to, may); });
    };
    std::visit(
        Overloaded{
            [](const OneOf<IntLiteral, FloatLiteral, BoolLiteral, SymbolRef, Load> auto&) {},
            [&](const Unary& unary) { within({unary.operand}); },
            [&](const Cast& cast) { within({cast.operand}); },
            [&](const Binary& binary) {
              bool logical = binary.op == BinaryOp::And || binary.op == BinaryOp::Or;
              within(logical ? std::vector{binary.left} : std::vector{binary.left, binary.right});
            },
            [&](const Call& call) {
              bool choice = KindOf(call.op) == IntrinsicKind::Choice;
              within(choice ? std::vector{call.args[0]} : call.args);
            },
            [&](const Reduce& reduce) {
              if (HavePoints(reduce.axes)) {
                ShareReductions(reduce.body, to, [&](ExprId inner) {
                  return may(inner) && !Mentions(module_, inner, VariablesOf(reduce.axes));
                });
              }
              if (may(id)) {
                Share(id, reduce, to);
              }
            },
        },
        module_.exprs[id]);
  }
  void ShareReductions(ExprId id, Steps& to) {
    ShareReductions(id, to, [](ExprId) { return true; });
  }

  void Share(ExprId id, const Reduce& reduce, Steps& to) {
    bool accumulates = reduce.op == Reduction::Sum || reduce.op == Reduction::Prod ||
                       reduce.op == Reduction::MaxOf || reduce.op == Reduction::MinOf;
    auto points = PointsOf(reduce.axes);
    // In several statements it may have several values.
    if (!accumulates || statements_.at(id) > 1 || raised_.shared_reductions.contains(id) ||
        (points && *points <= kMostPointsOfOne)) {
      return;
    }
    if (!reduction_at_) {
      reduction_at_ = device_.scratch_bytes;
      device_.scratch_bytes += kReductionBytes;
    }
    size_t number = raised_.shared_reductions.size();
    raised_.shared_reductions[id] = number;
    to.emplace_back(SharedReduction{id, number, Flat(reduce.axes), *reduction_at_});
    pending_.Clear();  // the threads have waited for each other
  }

  /// Nothing where the launch decides.
  std::optional<int64_t> PointsOf(const std::vector<Axis>& axes) const {
    return MostTasks(axes, [&](ExprId id) {
      auto value = EvaluateInt(module_, id, {});
      return value ? std::optional(Interval{*value, *value}) : std::nullopt;
    });
  }

  void Add(StmtId id, const If& stmt, Steps& to) {
    SameSide side{id, {}, {}};
    pending_.Add(stmt.condition);
    PendingReads without = pending_;
    Add(stmt.body, side.body);
    pending_.Swap(without);
    Add(stmt.otherwise, side.otherwise);
    pending_.Add(without);
    to.emplace_back(std::move(side));
  }

  void Add(StmtId id, const Let& stmt, Steps& to) {
    ShareReductions(stmt.value, to);
    if (!raised_.shared_reductions.contains(stmt.value)) {
      pending_.Add(stmt.value);
    }
    to.emplace_back(EachThread{id});
  }

  void Add(StmtId id, const LetPair& stmt, Steps& to) {
    pending_.Add(stmt.reduction);
    to.emplace_back(EachThread{id});
  }

  void Add(StmtId, const LocalDecl& stmt, Steps& to) {
    to.emplace_back(SharedLocal{stmt.tensor, device_.scratch_bytes});
    int64_t bytes =
        raised_.tensors.at(stmt.tensor).Elements() * SizeInBytes(module_.tensors[stmt.tensor].type);
    device_.scratch_bytes += (bytes + 15) / 16 * 16;
  }

  void Add(StmtId id, const Assign& stmt, Steps& to) {
    ShareReductions(stmt.value, to);
    One(id, to);
  }
  void Add(StmtId id, const TopK&, Steps& to) { One(id, to); }

  void One(StmtId id, Steps& to) {
    to.emplace_back(OneThread{id});
    Barrier(to);
  }

  RaisedKernel& raised_;
  const Module& module_;
  RaisedDevice& device_;
  const DimRanges ranges_;
  PendingReads pending_;
  std::map<ExprId, size_t> statements_;  // in which each expression stands
  std::optional<int64_t> reduction_at_;  // where the device function's reductions have their words
};

}  // namespace

void ShareBodies(RaisedModule& raised) {
  if (raised.arch == Arch::Host) {
    return;  // an SM is one thread
  }
  for (RaisedKernel& kernel : raised.kernels) {
    for (RaisedDevice& device : kernel.devices) {
      if (device.impl == nullptr) {
        BodySharer(kernel, device).Run();
      }
    }
  }
}

}  // namespace etc
