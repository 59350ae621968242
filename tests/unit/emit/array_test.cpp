// Arrays of tensors in the launch block and in the arguments of calls.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "emit/builtin_headers.h"
#include "emit/emit.h"
#include "text/parser.h"

namespace etc {
namespace {

constexpr char kText[] = R"(etir 1;
dim n in 1..64;
const layers = 3;
device @copy(%x: f32[8, n], %row: f32[n], %y: out f32[n]) tasks (i: n) {
  %y[i] = %x[0, i] + %row[i];
}
kernel @g(%x: array[layers] of f32[8, n], %y: out array[2] of f32[n]) of @g static {
  launch consumers 8 shared 225280;
  on sm {
    repeat l in 0..layers {
      share (i: n) from 0 { run @copy[i](%x[l], %x[l - 1 + 1, 7], %y[l % 2]); }
    }
  }
}
)";

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void CheckText(const std::string& text) {
  CHECK(Has(text, "const float* t_x[3];"));
  CHECK(Has(text, "float* t_y[2];"));
  CHECK(Has(text, "args.p_x = params.t_x[i_l];"));
  CHECK(Has(text, "args.p_row = params.t_x[(i_l - 1LL + 1LL)] + (7LL) * dims.d_n;"));
  CHECK(Has(text, "args.p_y = params.t_y[SmallMod(i_l, 2LL)];"));
}

TEST_CASE("a launch has the addresses of an array, and a call takes one of them") {
  SourceFile source("test.etir", kText);
  Diagnostics diagnostics;
  std::unique_ptr<Module> module = Parse(source, diagnostics);
  INFO(RenderText(diagnostics, &source));
  REQUIRE(module);
  auto host = EmitHost(*module, diagnostics);
  REQUIRE(host);
  CheckText(host->text);
  auto cuda = EmitCuda(*module, Arch::Sm90a, BuiltinHeader, diagnostics);
  REQUIRE(cuda);
  CheckText(cuda->text);
}

}  // namespace
}  // namespace etc
