// The expressions of which a kernel's text is made.
#pragma once

#include "emit/raise/raised.h"
#include "ir/share_refs.h"
#include "ir/walk.h"

namespace etc {

/// Calls `visit` with every statement of a body, at any depth.
template <class F>
void VisitStmts(const Module& module, const std::vector<StmtId>& body, const F& visit) {
  for (StmtId id : body) {
    visit(id);
    VisitBlocks(module.stmts[id],
                [&](const std::vector<StmtId>& inside) { VisitStmts(module, inside, visit); });
  }
}

/// Calls `expr` with every expression that the text of a kernel and of its device functions may
/// hold. An expression may come more than once.
template <class E>
void VisitTexts(const RaisedKernel& raised, const E& expr) {
  const Module& module = raised.module;
  const Kernel& kernel = raised.kernel;
  auto one = [&](ExprId id) { VisitExprs(module, id, expr); };
  auto all = [&](const std::vector<ExprId>& ids) { std::for_each(ids.begin(), ids.end(), one); };
  auto axis = [&](const Axis& each) {
    one(each.lo);
    one(each.hi);
  };
  auto tensor = [&](TensorId id) {
    all(module.tensors[id].shape);
    one(module.tensors[id].value_lo);
    one(module.tensors[id].value_hi);
    one(module.tensors[id].offset);
  };
  auto event = [&](const Event& each) {
    for (const EventDim& dim : each.dims) {
      one(dim.extent);
    }
    one(each.count);
    one(each.first);
  };
  auto checks = [&](const std::vector<Check>& list) {
    for (const Check& check : list) {
      one(check.value_lo);
      one(check.value_hi);
      all(check.slice);
      all(check.counts_slice);
    }
  };
  auto share = [&](const Share& each) {
    std::for_each(each.axes.begin(), each.axes.end(), axis);
    one(each.first);
    for (const auto* refs : RefsOf(each)) {
      for (const EventRef& ref : *refs) {
        VisitExprs(module, ref, expr);
      }
    }
    checks(each.range_checks);
    checks(each.enter_checks);
    checks(each.task_checks);
    for (const Argument& argument : each.args) {
      all(argument.indices);
    }
    all(each.scalars);
  };
  std::for_each(kernel.params.begin(), kernel.params.end(), tensor);
  for (SymbolId value : kernel.values) {
    one(module.symbols[value].value);
  }
  checks(kernel.checks);
  auto node = [&](NodeId id) {
    std::visit(Overloaded{
                   [&](const BufferDecl& buffer) { tensor(buffer.tensor); },
                   [&](const EventDecl& declared) { event(module.events[declared.event]); },
                   [&](const Repeat& repeat) {
                     one(repeat.lo);
                     one(repeat.hi);
                   },
                   [&](const Share& each) { share(each); },
                   [&](const Dispatch& each) {
                     one(each.capacity);
                     one(each.tickets);
                   },
                   [](const OneOf<CallNode, Region> auto&) {},
               },
               module.nodes[id]);
  };
  std::for_each(kernel.declarations.begin(), kernel.declarations.end(), node);
  VisitNodes(module, kernel.body, node);
  for (const RaisedDevice& each : raised.devices) {
    std::for_each(each.device.params.begin(), each.device.params.end(), tensor);
    VisitExprs(module, each.device.body, expr);
  }
}

}  // namespace etc
