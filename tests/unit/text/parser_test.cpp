// Every construct of the grammar, parsed and printed.
#include "parse.h"

namespace etc {
namespace {

/// Checks that a program in canonical form prints as it is.
void CheckCanonical(const std::string& text) { CHECK(Formatted(text) == text); }

TEST_CASE("constants, dimensions and requirements") {
  CheckCanonical(
      "etir 1;\n\nconst n = 4;\nconst eps = 1e-6;\nconst wide = !false;\n"
      "dim batch in 1..16 multiple n;\nrequire n % 4 == 0 && wide;\n");
}

TEST_CASE("device functions, parameters and tasks") {
  CheckCanonical(
      "etir 1;\ndim n in 1..64;\n\n"
      "device @f(%x: f32[n, 4], %i: i32[n] in 0..9, %y: out bf16[n], %z: inout u8[]) "
      "tasks (b: 2..4) {\n}\n\n"
      "device @g(%x: bool[n], %p: i64[n + 1], %u: u8[n]) tasks (e: n, m: %p[e] .. %p[e + 1]) {\n"
      "}\n");
}

TEST_CASE("statements") {
  CheckCanonical(
      "etir 1;\n\n"
      "device @f(%x: f32[8, 4], %v: out f32[8, 2], %i: out i32[8, 2]) tasks (t: 8) {\n"
      "  local %s: f32[4, 2];\n"
      "  let k = t + 1;\n"
      "  for (r: 4, c: r..4) %s[r, 0] = %x[t, c];\n"
      "  for (r: 4) {\n"
      "    let y = %x[t, r];\n"
      "    %s[r, 1] = y * y;\n"
      "  }\n"
      "  if (t > 0) %v[t, 0] = 1.0;\n"
      "  if (t == 0 || k < 4) {\n"
      "    for (r: 2) %v[t, r] = 0.0;\n"
      "  }\n"
      "  (%v[t, r], %i[t, r]) = topk(r: 2; e: 4) %s[e, 1];\n"
      "}\n");
}

TEST_CASE("implementations") {
  CheckCanonical(
      "etir 1;\nconst n = 4;\ndim batch in 1..8;\n\n"
      "device @f(%x: f32[batch], %w: f32[n], %y: out f32[batch]) tasks (i: batch) {\n"
      "  impl sm_90a \"tile/f.cuh\" F;\n"
      "  impl sm_90a \"tile/f.cuh\"\n      F<rows = n, count = upper(batch), mode = 'fast_path, "
      "wide = (n > 3)> preloaded (%x, %w);\n"
      "  impl sm_90a cuda \"\"\"\n__device__ void f() { a > b; }\n  // \"quoted\"\n\"\"\";\n"
      "  %y[i] = 0.0;\n"
      "}\n");
}

TEST_CASE("graphs") {
  CheckCanonical(
      "etir 1;\ndim n in 1..64;\n\n"
      "device @f(%x: f32[n], %y: out f32[n]) tasks (i: n, j: 4) {\n}\n\n"
      "graph @g(\n  %x: f32[n],\n  %w: f32[3, n],\n  %k: i32[n, 8] in 0..n,\n  %y: out f32[n]\n"
      ") schedule(static) specialise (n: 1..8, 9..64) {\n"
      "  %p = buffer f32[n, 4];\n"
      "  event %all count n * 4;\n"
      "  event %rows[n] count 4 via counter;\n"
      "  event %routed[e: n, 8] count %k[e, 0];\n"
      "  call @f(%x, %p);\n"
      "  call @f(%w[0], %y) schedule(dynamic) notify (i, j) => %rows[i], %all;\n"
      "  repeat l in 0..3 {\n"
      "    call @f(%w[l], %y) wait (i, j) => %all wait (i, j) => %rows[0..i];\n"
      "    call @f(%x, %y)\n"
      "        wait (i, j) => %rows[*] if i > 0\n"
      "        notify (i, j) => %routed[%k[i, s], s] for (s: 8) if s < j, %rows[i .. i + 1];\n"
      "  }\n"
      "  region schedule(kernels) {\n"
      "    region schedule(auto) {\n"
      "    }\n"
      "  }\n"
      "}\n");
}

TEST_CASE("kernels") {
  CheckCanonical(
      "etir 1;\ndim n in 1..64;\n\n"
      "device @f(%x: f32[n], %y: out f32[n]) tasks (i: n, j: 4) {\n}\n\n"
      "kernel @g__n_1_8(%x: f32[n], %w: f32[3, n]) of @g static where (n in 1..8) {\n"
      "  launch consumers 8 shared 225280;\n"
      "  %p = workspace f32[n, 4] at 0;\n"
      "  %q = workspace bf16[n] at align(n * 16, 128);\n"
      "  event %done[3, n] count 4 via counter;\n"
      "  on sm {\n"
      "    share (i: n, j: 4) from 0 {\n"
      "      run @f[i, j](%x, %p);\n"
      "      notify %done[0, i];\n"
      "    }\n"
      "    repeat l in 1..3 {\n"
      "      share (i: n, j: 4) from n * 4 * l % sms {\n"
      "        enter { wait %done[l - 1, *]; }\n"
      "        wait %done[l - 1, i];\n"
      "        run @f[i, j](%w[l], %p);\n"
      "        notify %done[l, i] if j == 0;\n"
      "        leave {\n"
      "          notify %done[l, 0];\n"
      "          notify %done[l, k] for (k: n);\n"
      "        }\n"
      "      }\n"
      "    }\n"
      "  }\n"
      "}\n");
}

TEST_CASE("the axes of a share are not known in its first SM") {
  Parsed parsed = ParseText(
      "etir 1; device @f(%x: f32[4]) tasks (i: 4) {}\n"
      "kernel @k(%x: f32[4]) of @g static { launch consumers 8 shared 0; on sm {\n"
      "  share (i: 4) from i { run @f[i](%x); } } }");
  CHECK(parsed.kinds == std::vector{DiagnosticKind::UnknownName});
}

TEST_CASE("a run names the variables of its share in order") {
  for (const char* coordinates : {"j, i", "i", "i, j + 1", "i, 3"}) {
    Parsed parsed = ParseText(
        std::string("etir 1; device @f(%x: f32[4]) tasks (i: 4, j: 4) {}\n"
                    "kernel @k(%x: f32[4]) of @g static { launch consumers 8 shared 0; on sm {\n"
                    "  share (i: 4, j: 4) from 0 { run @f[") +
        coordinates + "](%x); } } }");
    CHECK(parsed.report.find("expected the variables of the share, in their order") !=
          std::string::npos);
  }
}

TEST_CASE("the version comes first") {
  CHECK(ParseText("etir 2;\nanything at all").kinds == std::vector{DiagnosticKind::Version});
  CHECK(ParseText("const a = 1;").kinds == std::vector{DiagnosticKind::Syntax});
  CHECK(ParseText("").kinds == std::vector{DiagnosticKind::Syntax});
  CHECK(ParseText("etir 1;").module != nullptr);
}

TEST_CASE("ranges cover what they name") {
  std::string text = "etir 1;\nconst abc = 12 + 3 * 4;\n";
  Parsed parsed = ParseText(text);
  REQUIRE(parsed.module);
  const Symbol& symbol = parsed.module->symbols[std::get<SymbolId>(parsed.module->items[0])];
  auto slice = [&](SourceRange range) { return text.substr(range.begin, range.end - range.begin); };
  CHECK(slice(symbol.range) == "abc");
  CHECK(slice(parsed.module->RangeOf(symbol.value)) == "12 + 3 * 4");
  const auto& sum = std::get<Binary>(parsed.module->exprs[symbol.value]);
  CHECK(slice(parsed.module->RangeOf(sum.right)) == "3 * 4");
}

}  // namespace
}  // namespace etc
