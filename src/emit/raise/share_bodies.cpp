// How the consumer threads of a CTA run a generated body together, and where they wait for each
// other.

#include <algorithm>

#include "emit/raise/passes.h"
#include "emit/raise/pending_reads.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace etc {
namespace {

class BodySharer {
 public:
  BodySharer(const RaisedKernel& raised, RaisedDevice& device)
      : raised_(raised),
        module_(raised.module),
        device_(device),
        pending_(raised.module, device.device) {}

  void Run() {
    Steps steps;
    Add(device_.device.body, steps);
    if (pending_.HasLocals()) {
      Barrier(steps);
    }
    device_.steps = std::move(steps);
  }

 private:
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

  void Divide(StmtId id, const For& stmt, Steps& to) {
    // Axes whose bounds depend on an earlier axis of the same loop stay serial.
    std::vector<SymbolId> vars;
    size_t flat = 0;
    while (flat < stmt.axes.size()) {
      const Axis& axis = stmt.axes[flat];
      if ((axis.lo && Mentions(module_, axis.lo, vars)) || Mentions(module_, axis.hi, vars)) {
        break;
      }
      pending_.Add(axis.lo);
      pending_.Add(axis.hi);
      vars.push_back(axis.var);
      ++flat;
    }
    to.emplace_back(Divided{id, flat, pending_.MeetStores(stmt.body)});
    Barrier(to);
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
    pending_.Add(stmt.value);
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

  void Add(StmtId id, const Assign&, Steps& to) { One(id, to); }
  void Add(StmtId id, const TopK&, Steps& to) { One(id, to); }

  void One(StmtId id, Steps& to) {
    to.emplace_back(OneThread{id});
    Barrier(to);
  }

  const RaisedKernel& raised_;
  const Module& module_;
  RaisedDevice& device_;
  PendingReads pending_;
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
