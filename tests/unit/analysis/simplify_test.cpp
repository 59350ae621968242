// Piecewise values in fewer pieces, the same at all sizes that a program has.
#include <doctest/doctest.h>

#include "analysis/sets/unknowns.h"
#include "proving.h"

namespace etc {
namespace {

const char* const kProgram = R"(etir 1;
dim q in 0..1;
dim r in 0..1;
dim t in 0..2;
dim p in 1..10;
require p <= 10 - 5 * r;
device @copy(%a: f32[p, q + 1, r + t + 1], %b: out f32[p, q + 1, r + t + 1]) tasks (i: p) {
  for (j: q + 1, k: r + t + 1) %b[i, j, k] = %a[i, j, k];
}
graph @g(%a: f32[p, q + 1, r + t + 1], %b: out f32[p, q + 1, r + t + 1]) {
  call @copy(%a, %b);
}
)";

struct Sizes {
  Sizes()
      : source("t.etir", kProgram),
        module(Read(source)),
        program(MakeCallProgram(*module, module->graphs[GraphId{0}])),
        unknowns(*module, program, context) {}

  PwAff Value(const std::string& text) const {
    return PwAff(isl_pw_aff_read_from_str(context.get(), ("[q, r, t, p] -> " + text).c_str()));
  }
  /// The sets of one piece on which it has one affine form.
  static int Pieces(const PwAff& value) {
    return isl_set_n_basic_set(Set(isl_pw_aff_domain(value.copy())).get());
  }

  SourceFile source;
  std::unique_ptr<Module> module;
  CallProgram program;
  IslContext context;
  Unknowns unknowns;
};

TEST_CASE("two values of a size on a line are one piece") {
  Sizes sizes;
  PwAff value = sizes.Value("{ [(1)] : p <= 5 or (q = 0 and p >= 6); [(3)] : q = 1 and p >= 6 }");
  PwAff simple = sizes.unknowns.Simplify(value);
  CHECK(Sizes::Pieces(value) == 3);
  CHECK(Sizes::Pieces(simple) == 2);
  CHECK(AreEqualOn(sizes.unknowns.SizeFacts(), simple, value));
}

TEST_CASE("a line is the value wherever the sizes may be") {
  Sizes sizes;
  for (const char* text :
       {"{ [(1)] : r = 0 and p <= 5; [(2)] : r = 0 and p >= 6; [(3)] : r = 1 }",
        "{ [(p)] : r = 0 and p <= 5; [(2)] : r = 0 and p >= 6; [(3)] : r = 1 }"}) {
    CAPTURE(text);
    PwAff value = sizes.Value(text);
    CHECK(AreEqualOn(sizes.unknowns.SizeFacts(), sizes.unknowns.Simplify(value), value));
  }
}

TEST_CASE("what is on no line stays in pieces") {
  Sizes sizes;
  const char* other_line_for_each_p =
      "{ [(1)] : p <= 5 or (q = 0 and p >= 6); [(p)] : q = 1 and p >= 6 }";
  const char* three_values =
      "{ [(1)] : p <= 2 or (t = 0 and p >= 3); [(3)] : t = 1 and p >= 3; [(9)] : t = 2 and p >= 3 "
      "}";
  for (const char* text : {other_line_for_each_p, three_values}) {
    CAPTURE(text);
    PwAff value = sizes.Value(text);
    PwAff simple = sizes.unknowns.Simplify(value);
    CHECK(Sizes::Pieces(simple) == Sizes::Pieces(value));
    CHECK(AreEqualOn(sizes.unknowns.SizeFacts(), simple, value));
  }
}

}  // namespace
}  // namespace etc
