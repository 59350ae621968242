#include "ir/walk.h"

#include <doctest/doctest.h>

#include <string>

#include "ir/evaluate.h"
#include "text/parser.h"

namespace etc {
namespace {

const std::string kText = R"(etir 1;
dim n in 1..8;
device @f(%x: f32[n, 8], %y: out f32[n, 8], %v: out f32[n, 2], %p: out i32[n, 2]) tasks (i: n) {
  for (j: 8) {
    if (j < n) { %y[i, j] = %x[i, j] + 1.0; } else { %y[i, j] = 0.0; }
  }
  (%v[i, s], %p[i, s]) = topk(s: 2; k: 8) %x[i, k];
}
graph @g(%x: f32[n, 8], %y: out f32[n, 8], %v: out f32[n, 2], %p: out i32[n, 2]) {
  repeat l in 0..2 {
    region schedule(static) { call @f(%x, %y, %v, %p); }
  }
  call @f(%x, %y, %v, %p);
}
)";

struct Walked {
  Walked() : source("t.etir", kText), module(Parse(source, diagnostics)) {
    INFO(RenderText(diagnostics, &source));
    REQUIRE(module != nullptr);
  }

  SourceFile source;
  Diagnostics diagnostics;
  std::unique_ptr<Module> module;
};

TEST_CASE("nodes are visited at any depth, those around others first") {
  Walked walked;
  const Module& module = *walked.module;
  std::string kinds;
  VisitNodes(module, module.graphs[GraphId{0}].body, [&](NodeId id) {
    kinds += std::visit(
        Overloaded{
            [](const Repeat&) { return 'r'; },
            [](const Region&) { return 'g'; },
            [](const CallNode&) { return 'c'; },
            [](const OneOf<BufferDecl, EventDecl, Share, Dispatch> auto&) { return '?'; },
        },
        module.nodes[id]);
  });
  CHECK(kinds == "rgcc");
}

void AddStored(const Module& module, const std::vector<StmtId>& body, std::string& names) {
  for (StmtId id : body) {
    VisitStored(module.stmts[id], [&](TensorId tensor) { names += module.tensors[tensor].name; });
    VisitBlocks(module.stmts[id],
                [&](const std::vector<StmtId>& inside) { AddStored(module, inside, names); });
  }
}

TEST_CASE("stores are found in both branches, and both of a top-k") {
  Walked walked;
  std::string names;
  AddStored(*walked.module, walked.module->devices[DeviceId{0}].body, names);
  CHECK(names == "yyvp");
}

TEST_CASE("every expression of a body is visited") {
  Walked walked;
  const Module& module = *walked.module;
  int loads = 0, literals = 0;
  VisitExprs(module, module.devices[DeviceId{0}].body, [&](ExprId id) {
    loads += std::holds_alternative<Load>(module.exprs[id]) ? 1 : 0;
    literals += std::holds_alternative<FloatLiteral>(module.exprs[id]) ? 1 : 0;
  });
  CHECK(loads == 2);
  CHECK(literals == 2);
}

TEST_CASE("an intrinsic has the kind and the value that its row says") {
  CHECK(KindOf(Intrinsic::Max) == IntrinsicKind::Number);
  CHECK(KindOf(Intrinsic::Align) == IntrinsicKind::Quotient);
  CHECK(KindOf(Intrinsic::Erf) == IntrinsicKind::Float);
  CHECK(KindOf(Intrinsic::Select) == IntrinsicKind::Choice);
  CHECK(KindOf(Intrinsic::Upper) == IntrinsicKind::Limit);
  CHECK(FunctionName(Intrinsic::ExpBase2) == "ExpBase2");
  CHECK(Apply(Intrinsic::Min, 3, -4) == -4);
  CHECK(Apply(Intrinsic::Abs, -3, -3) == 3);
  CHECK(Apply(Intrinsic::CeilDiv, 7, 2) == 4);
  CHECK(Apply(Intrinsic::Align, 7, 4) == 8);
  CHECK_FALSE(Apply(Intrinsic::Align, 7, 0));
  CHECK_FALSE(Apply(Intrinsic::Exp, 1, 1));
}

}  // namespace
}  // namespace etc
