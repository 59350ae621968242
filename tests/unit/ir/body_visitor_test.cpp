#include "ir/body_visitor.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "ir/printer.h"
#include "text/parser.h"

namespace etc {
namespace {

/// Writes down what it hears: `read x`, `write y`, braces around what is inside of a scope.
class Recorder : BodyVisitor {
 public:
  explicit Recorder(const Module& module) : BodyVisitor(module), module_(module) {
    VisitBlock(module.devices[DeviceId{0}].body);
  }

  std::string heard;

 private:
  void Hear(const std::string& what) { heard += (heard.empty() ? "" : " ") + what; }
  void Scope(const std::string& what, const Inside& inside) {
    Hear(what + " {");
    inside();
    Hear("}");
  }

  void AroundLoop(StmtId, const For& loop, const Inside& inside) override {
    Scope(loop.sequential ? "scan" : "for", inside);
  }
  void AroundIf(StmtId, const If&, const Inside& inside) override { Scope("if", inside); }
  void AroundRanks(StmtId, const TopK&, const Inside& inside) override { Scope("ranks", inside); }
  void AroundElements(const TopK&, const Inside& inside) override { Scope("elements", inside); }
  void AroundReduction(const Reduce&, const Inside& inside) override { Scope("reduce", inside); }
  void AroundSide(const BodySide& side, const Inside& inside) override {
    Scope(fmt::format("{}{}{}", side.of_statement ? "branch " : "", side.wanted ? "" : "not ",
                      Print(module_, side.condition)),
          inside);
  }
  void OnVariable(const Axis& axis, AxisOf) override {
    Hear("over " + module_.symbols[axis.var].name);
  }
  void OnLet(const Let& let) override { Hear("let " + module_.symbols[let.symbol].name); }
  void OnLetPair(const LetPair& pair) override {
    Hear("let " + module_.symbols[pair.value].name + "," + module_.symbols[pair.index].name);
  }
  void OnLocal(const LocalDecl& local) override {
    Hear("local " + module_.tensors[local.tensor].name);
  }
  void OnElement(const BodyElement& element) override {
    using Use = BodyElement::Use;
    std::string use = element.use == Use::Read    ? "read "
                      : element.use == Use::Write ? "write "
                                                  : "add to ";
    Hear(use + module_.tensors[element.tensor].name);
  }

  const Module& module_;
};

std::string Heard(const std::string& body) {
  SourceFile source("t.etir",
                    "etir 1;\n"
                    "device @f(%x: f32[8, 8], %n: i32[8], %y: inout f32[8], %v: out f32[2], "
                    "%p: out i32[2]) tasks (i: 8) {\n" +
                        body + "\n}\n");
  Diagnostics diagnostics;
  std::unique_ptr<Module> module = Parse(source, diagnostics);
  INFO(RenderText(diagnostics, &source));
  REQUIRE(module != nullptr);
  return Recorder(*module).heard;
}

TEST_CASE("an assignment evaluates its value, then its indices, and then writes") {
  CHECK(Heard("%y[%n[i]] = %x[i, 0];") == "read x read n write y");
  CHECK(Heard("%y[%n[i]] += %x[i, 0];") == "read x read n add to y write y");
}

TEST_CASE("the bounds of an axis come before its variable, and that before the next axis") {
  CHECK(Heard("for (a: %n[i], b: %n[a]) { %y[b] = 1.0; }") ==
        "for { read n over a read n over b write y }");
  CHECK(Heard("scan (a: 8) { %y[a] = sum(k: %n[a]) %x[a, k]; }") ==
        "scan { over a reduce { read n over k read x } write y }");
}

TEST_CASE("both sides of a choice are visited, each under its condition") {
  CHECK(Heard("if (%n[i] < 4) { %y[i] = 1.0; } else { %y[0] = 2.0; }") ==
        "read n if { branch %n[i] < 4 { write y } branch not %n[i] < 4 { write y } }");
  CHECK(Heard("%y[i] = select(i < 4, %x[i, 0], 0.0);") == "i < 4 { read x } not i < 4 { } write y");
  CHECK(Heard("if (i < 4 && %n[i] < 2 || %n[0] < 1) { %y[i] = 1.0; }") ==
        "i < 4 { read n } not i < 4 && %n[i] < 2 { read n } if { branch i < 4 && %n[i] < 2 || "
        "%n[0] < 1 { write y } branch not i < 4 && %n[i] < 2 || %n[0] < 1 { } }");
}

TEST_CASE("topk reads its elements for each rank anew, and then stores") {
  CHECK(Heard("(%v[s], %p[s]) = topk(s: 2; k: 8) %x[i, k];") ==
        "ranks { over s elements { over k read x } write v write p }");
}

TEST_CASE("names and locals are heard where they begin") {
  CHECK(Heard("local %t: f32[2]; let a = %n[i]; let (b, c) = argmax(k: 8) %x[a, k]; %y[c] = b;") ==
        "local t read n let a reduce { over k read x } let b,c write y");
}

}  // namespace
}  // namespace etc
