#include "analysis/control_tensors.h"

#include "ir/walk.h"

namespace etc {
namespace {

class Search {
 public:
  explicit Search(const Module& module) : module_(module) {}

  void Block(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      const Node& node = module_.nodes[id];
      if (const auto* decl = std::get_if<EventDecl>(&node)) {
        VisitExprs(module_, module_.events[decl->event].count, [&](ExprId e) { Add(e); });
      } else if (const auto* repeat = std::get_if<Repeat>(&node)) {
        Block(repeat->body);
      } else if (const auto* share = std::get_if<Share>(&node)) {
        Add(*share);
      }
    }
  }

  std::set<TensorId> tensors;

 private:
  void Add(const Share& share) {
    for (const Axis& axis : share.axes) {
      VisitExprs(module_, axis.lo, [&](ExprId e) { Add(e); });
      VisitExprs(module_, axis.hi, [&](ExprId e) { Add(e); });
    }
    for (const auto* refs : {&share.range_waits, &share.enter_waits, &share.waits, &share.notifies,
                             &share.leave_notifies}) {
      for (const EventRef& ref : *refs) {
        VisitExprs(module_, ref, [&](ExprId e) { Add(e); });
      }
    }
  }

  void Add(ExprId id) {
    if (const auto* load = std::get_if<Load>(&module_.exprs[id])) {
      tensors.insert(load->tensor);
    }
  }

  const Module& module_;
};

}  // namespace

std::set<TensorId> ControlTensors(const Module& module, const Kernel& kernel) {
  Search search(module);
  search.Block(kernel.declarations);
  search.Block(kernel.body);
  return std::move(search.tensors);
}

}  // namespace etc
