#include "emit/raise/pending_reads.h"

#include <algorithm>

#include "ir/walk.h"

namespace etc {

PendingReads::PendingReads(const Module& module, const Device& device) : module_(module) {
  for (const Node& node : module.nodes) {
    const auto* share = std::get_if<Share>(&node);
    if (share == nullptr || &module.devices[share->callee] != &device) {
      continue;
    }
    for (size_t a = 0; a < share->args.size(); ++a) {
      for (size_t b = 0; b < share->args.size(); ++b) {
        if (a != b && share->args[a].tensor == share->args[b].tensor) {
          aliases_.emplace(device.params[a], device.params[b]);
        }
      }
    }
  }
}

void PendingReads::Add(ExprId expr) {
  VisitExprs(module_, expr, [&](ExprId id) {
    if (const auto* load = std::get_if<Load>(&module_.exprs[id])) {
      tensors_.insert(load->tensor);
    }
  });
}

void PendingReads::Add(const std::vector<Axis>& axes) {
  for (const Axis& axis : axes) {
    Add(axis.lo);
    Add(axis.hi);
  }
}

bool PendingReads::IsPending(TensorId stored) const {
  return std::any_of(tensors_.begin(), tensors_.end(), [&](TensorId read) {
    return read == stored || aliases_.contains({read, stored});
  });
}

bool PendingReads::MeetStores(const std::vector<StmtId>& body) const {
  return std::any_of(body.begin(), body.end(), [&](StmtId each) { return MeetStores(each); });
}

bool PendingReads::MeetStores(StmtId id) const {
  bool meet = false;
  VisitStored(module_.stmts[id], [&](TensorId stored) { meet |= IsPending(stored); });
  VisitBlocks(module_.stmts[id],
              [&](const std::vector<StmtId>& body) { meet = meet || MeetStores(body); });
  return meet;
}

bool PendingReads::HasLocals() const {
  return std::any_of(tensors_.begin(), tensors_.end(),
                     [&](TensorId id) { return module_.tensors[id].kind == TensorKind::Local; });
}

}  // namespace etc
