#include "ir/peers.h"

#include <algorithm>

#include "ir/walk.h"

namespace etc {
namespace {

bool WritesAtPeers(const Module& module, const std::vector<StmtId>& body) {
  return std::any_of(body.begin(), body.end(), [&](StmtId id) {
    const auto* assign = std::get_if<Assign>(&module.stmts[id]);
    bool found = assign != nullptr && assign->peer;
    VisitBlocks(module.stmts[id], [&](const std::vector<StmtId>& inside) {
      found = found || WritesAtPeers(module, inside);
    });
    return found;
  });
}

}  // namespace

bool ReachesPeers(const Module& module, const Share& share) {
  auto has_peer = [](const EventRef& ref) { return bool{ref.peer}; };
  return std::any_of(share.notifies.begin(), share.notifies.end(), has_peer) ||
         std::any_of(share.leave_notifies.begin(), share.leave_notifies.end(), has_peer) ||
         WritesAtPeers(module, module.devices[share.callee].body);
}

int64_t RanksAt(const Module& module, const Env& sizes) {
  auto found = module.mesh ? sizes.find(module.mesh->size) : sizes.end();
  return found == sizes.end() ? 1 : found->second;
}

bool FitsMesh(ScheduleKind kind) { return kind != ScheduleKind::Kernels; }

}  // namespace etc
