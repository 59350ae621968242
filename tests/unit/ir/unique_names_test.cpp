#include "ir/unique_names.h"

#include <doctest/doctest.h>

#include <string>

#include "support/source.h"
#include "text/parser.h"

namespace etc {
namespace {

Module Parsed(const std::string& text) {
  SourceFile source("a.etir", "etir 1;\n" + text);
  Diagnostics diagnostics;
  auto module = Parse(source, diagnostics);
  REQUIRE(module != nullptr);
  return *module;
}

SymbolId Named(const Module& module, const std::string& name) {
  for (SymbolId id : module.symbols.Ids()) {
    if (module.symbols[id].name == name) {
      return id;
    }
  }
  return {};
}

TEST_CASE("a variable that would hide another gets a name of its own") {
  Module module = Parsed(R"(device @f(%y: out i32[4]) tasks (t: 4) {
  %y[t] = sum(outer: 3) sum(inner: 2) outer * inner;
})");
  SymbolId outer = Named(module, "outer");
  SymbolId inner = Named(module, "inner");
  module.symbols[inner].name = "outer";
  MakeNamesUnique(module);
  CHECK(module.symbols[outer].name == "outer");
  CHECK(module.symbols[inner].name == "outer_2");
}

TEST_CASE("variables of different scopes keep a name that they share") {
  Module module = Parsed(R"(device @f(%y: out i32[4]) tasks (t: 4) {
  %y[t] = (sum(one: 3) one) + (sum(other: 2) other);
})");
  SymbolId one = Named(module, "one");
  SymbolId other = Named(module, "other");
  module.symbols[other].name = "one";
  MakeNamesUnique(module);
  CHECK(module.symbols[one].name == "one");
  CHECK(module.symbols[other].name == "one");
}

TEST_CASE("a variable that two scopes declare hides nothing in either") {
  Module module = Parsed(R"(device @f(%y: out i32[4]) tasks (first: 4) {
  %y[first] = sum(k: 3) k;
}
device @g(%z: out i32[4]) tasks (second: 4) {
  %z[second] = 1;
})");
  SymbolId first = Named(module, "first");
  SymbolId second = Named(module, "second");
  SymbolId k = Named(module, "k");
  module.devices[DeviceId{1}].tasks[0].var = k;
  module.symbols[second].name = "other";
  module.symbols[first].name = "k";
  MakeNamesUnique(module);
  CHECK(module.symbols[k].name != module.symbols[first].name);
}

TEST_CASE("scalar parameters keep the names that implementations know") {
  Module module = Parsed(R"(const offset = 3;
device @f(%y: out i32[4], shift: int) tasks (t: 4) {
  %y[t] = shift + sum(k: 2) k;
})");
  SymbolId shift = Named(module, "shift");
  SymbolId k = Named(module, "k");
  module.symbols[shift].name = "offset";
  module.symbols[k].name = "offset";
  MakeNamesUnique(module);
  CHECK(module.symbols[shift].name == "offset");
  CHECK(module.symbols[k].name != "offset");
}

}  // namespace
}  // namespace etc
