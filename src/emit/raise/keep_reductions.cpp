// Which reductions a statement of a generated body has several times: an argument of a function may
// stand in several places of its formula. Such a one is computed once, in front of the statement,
// unless the statement may leave out all of them.

#include <algorithm>
#include <map>

#include "analysis/same_reductions.h"
#include "emit/raise/passes.h"
#include "ir/walk.h"

namespace etc {
namespace {

class ReductionKeeper {
 public:
  explicit ReductionKeeper(RaisedKernel& raised) : raised_(raised), module_(raised.module) {}

  void Keep(const Device& device) {
    VisitStmts(module_, device.body, [&](StmtId id) {
      std::visit(Overloaded{
                     [&](const Let& let) { Keep(id, let.value); },
                     [&](const Assign& assign) { Keep(id, assign.value); },
                     [](const OneOf<For, If, LetPair, LocalDecl, TopK> auto&) {},
                 },
                 module_.stmts[id]);
    });
  }

 private:
  /// Reductions that are the same.
  struct Group {
    std::vector<ExprId> places;
    bool certain = false;  // one of them is computed whenever the statement is
  };

  void Keep(StmtId id, ExprId value) {
    std::vector<Group> groups;
    Find(value, true, groups);
    for (const Group& group : groups) {
      if (group.places.size() > 1 && group.certain) {
        const size_t number = kept_++;
        raised_.keeping[id].push_back(group.places[0]);
        for (ExprId place : group.places) {
          raised_.kept_reductions[place] = number;
        }
      }
    }
  }

  /// The reductions of an expression that are in no other.
  void Find(ExprId id, bool certain, std::vector<Group>& groups) const {
    const Expr& expr = module_.exprs[id];
    if (const auto* reduce = std::get_if<Reduce>(&expr)) {
      if (raised_.shared_reductions.contains(id)) {
        return;
      }
      auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& other) {
        return SameReductions(module_, std::get<Reduce>(module_.exprs[other.places[0]]), *reduce);
      });
      group = group == groups.end() ? groups.insert(groups.end(), Group{}) : group;
      group->places.push_back(id);
      group->certain |= certain;
      return;
    }
    const auto* binary = std::get_if<Binary>(&expr);
    const auto* call = std::get_if<Call>(&expr);
    const bool may_leave_out =
        (binary != nullptr && (binary->op == BinaryOp::And || binary->op == BinaryOp::Or)) ||
        (call != nullptr && KindOf(call->op) == IntrinsicKind::Choice);
    bool first = true;
    VisitOperands(expr, [&](ExprId inner) {
      Find(inner, certain && (first || !may_leave_out), groups);
      first = false;
    });
  }

  RaisedKernel& raised_;
  const Module& module_;
  size_t kept_ = 0;
};

}  // namespace

void KeepReductions(RaisedModule& raised) {
  for (RaisedKernel& kernel : raised.kernels) {
    ReductionKeeper keeper(kernel);
    for (const RaisedDevice& device : kernel.devices) {
      if (device.impl == nullptr) {
        keeper.Keep(device.device);
      }
    }
  }
}

}  // namespace etc
