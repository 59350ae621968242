#include "ir/equal.h"

#include <doctest/doctest.h>

#include "support/source.h"
#include "text/parser.h"

namespace etc {
namespace {

Module Example() {
  SourceFile source("a.etir", R"(etir 1;
dim n in 1..64;
device @f(%x: f32[n], %y: out f32[n]) tasks (i: n) { let a = %x[i]; %y[i] = a * 2.0; }
graph @g(%x: f32[n], %y: out f32[n]) {
  %b = buffer f32[n];
  event %e[n] count 1;
  call @f(%x, %b) notify (i) => %e[i];
  call @f(%b, %y) wait (i) => %e[i];
})");
  Diagnostics diagnostics;
  auto module = Parse(source, diagnostics);
  REQUIRE(module != nullptr);
  return *module;
}

TEST_CASE("a copy says the same, with more tables behind it as well") {
  const Module before = Example();
  Module after = before;
  after.AddExpr(IntLiteral{7});
  after.tensors.Add(after.tensors[TensorId{0}]);
  CHECK(AreDevicesEqual(before, after));
  CHECK(AreProgramsEqual(before, after));
}

TEST_CASE("what changes in a body, a parameter or a dimension is outside of graphs") {
  const Module before = Example();
  Module body = before;
  std::get<Assign>(body.stmts[body.devices[DeviceId{0}].body.back()]).adds = true;
  CHECK_FALSE(AreDevicesEqual(before, body));
  CHECK(AreProgramsEqual(before, body));

  Module param = before;
  param.tensors[param.devices[DeviceId{0}].params[0]].distinct = true;
  CHECK_FALSE(AreDevicesEqual(before, param));

  Module impl = before;
  impl.devices[DeviceId{0}].impls.emplace_back().arch = "sm_90a";
  CHECK_FALSE(AreDevicesEqual(before, impl));

  Module literal = before;
  for (ExprId id : literal.exprs.Ids()) {
    if (auto* number = std::get_if<FloatLiteral>(&literal.exprs[id])) {
      number->value = 3;
    }
  }
  CHECK_FALSE(AreDevicesEqual(before, literal));

  Module dims = before;
  dims.items.pop_back();
  dims.items.erase(dims.items.begin());
  CHECK_FALSE(AreDevicesEqual(before, dims));
}

TEST_CASE("what changes in a node, an event or a buffer is in a graph") {
  const Module before = Example();
  Module node = before;
  for (NodeId id : node.graphs[GraphId{0}].body) {
    if (auto* call = std::get_if<CallNode>(&node.nodes[id])) {
      call->waits.clear();
    }
  }
  CHECK(AreDevicesEqual(before, node));
  CHECK_FALSE(AreProgramsEqual(before, node));

  Module event = before;
  event.events[EventId{0}].realisation = Realisation::Counter;
  CHECK(AreDevicesEqual(before, event));
  CHECK_FALSE(AreProgramsEqual(before, event));

  Module buffer = before;
  for (uint32_t i = 0; i < buffer.tensors.size(); ++i) {
    buffer.tensors[TensorId{i}].flagged = buffer.tensors[TensorId{i}].kind == TensorKind::Buffer;
  }
  CHECK(AreDevicesEqual(before, buffer));
  CHECK_FALSE(AreProgramsEqual(before, buffer));
}

}  // namespace
}  // namespace etc
