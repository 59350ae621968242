// Barriers between the threads that run a body together.
#include <doctest/doctest.h>

#include <string>

#include "emit/emit.h"
#include "text/parser.h"

namespace etc {
namespace {

/// How many barriers stand in the generated body of a device function that is given `args`.
int BarriersIn(const std::string& body, const std::string& args = "%a, %b") {
  SourceFile source("t.etir", R"(etir 1;
device @f(%x: f32[64], %y: inout f32[64]) tasks (one: 1) {
  )" + body + R"(
}
kernel @g(%a: inout f32[64], %b: inout f32[64]) of @g static {
  launch consumers 8 shared 225280;
  on sm { share (one: 1) from 0 { run @f[one]()" +
                                  args + R"(); } }
}
)");
  Diagnostics diagnostics;
  auto module = Parse(source, diagnostics);
  REQUIRE(module);
  auto emitted = EmitCuda(
      *module, Arch::Sm90a, [](const std::string&) { return std::string(); }, diagnostics);
  INFO(RenderText(diagnostics, &source));
  REQUIRE(emitted);
  const std::string& text = emitted->text;
  size_t end = text.find("\n};", text.find("struct Body_f "));
  int barriers = 0;
  for (size_t at = text.find("struct Body_f "); at < end; ++at) {
    barriers += text.compare(at, 16, "consumer.Sync();") == 0 ? 1 : 0;
  }
  return barriers;
}

TEST_CASE("a barrier stands behind each statement that stores") {
  CHECK(BarriersIn("for (i: 64) %y[i] = %x[i];") == 1);
  CHECK(BarriersIn("let m = max(i: 64) %x[i]; for (i: 64) %y[i] = %x[i] - m;") == 1);
  CHECK(BarriersIn("%y[0] = sum(i: 64) %y[i]; if (%x[0] > 0.0) for (i: 64) %y[i] = %x[i];") == 2);
}

TEST_CASE("a barrier stands before what stores to what all threads read") {
  CHECK(BarriersIn("let m = max(i: 8) %y[i]; for (i: 64) %y[i] = %y[i] - m;") == 2);
  CHECK(BarriersIn("let m = max(i: 64) %y[i]; for (i: 64) %y[i] = %y[i] - m;") ==
        1);  // they share it
  CHECK(BarriersIn("let m = %y[0]; %y[1] = m;") == 2);
  CHECK(BarriersIn("if (%y[0] > 0.0) { for (i: 64) %y[i] = %x[i]; }") == 2);
  CHECK(BarriersIn("for (i: i32(%y[0])) %y[i] = %x[i];") == 2);
  CHECK(BarriersIn("local %s: f32[1]; %s[0] = %x[0]; if (%s[0] > 0.0) %y[0] = 1.0;") == 3);
}

TEST_CASE("two names of one tensor") {
  std::string body = "let m = max(i: 8) %x[i]; for (i: 64) %y[i] = %x[i] - m;";
  CHECK(BarriersIn(body, "%a, %b") == 1);
  CHECK(BarriersIn(body, "%a, %a") == 2);
}

}  // namespace
}  // namespace etc
