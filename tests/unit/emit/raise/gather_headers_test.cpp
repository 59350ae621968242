// The headers in front of a kernel's text.
#include "emit/raise/gather_headers.h"

#include <map>

#include "raised_text.h"

namespace etc {
namespace {

const char* const kTwoImpls = R"(device @f(%x: f32[8], %y: out f32[8]) tasks (i: 8) {
  impl sm_90a "copy.cuh" Copy;
  %y[i] = %x[i];
}
device @h(%x: f32[8], %y: out f32[8]) tasks (i: 8) {
  impl sm_90a "more.cuh" Move;
  %y[i] = %x[i];
}
kernel @g(%a: f32[8], %b: out f32[8]) of @g static {
  launch consumers 8 shared 225280;
  on sm {
    share (i: 8) from 0 { run @f[i](%a, %b); }
    share (i: 8) from 0 { run @h[i](%a, %b); }
  }
}
)";

/// The headers of kTwoImpls, where those of the engine have no text of their own.
std::optional<std::string> Gather(const std::map<std::string, std::string>& texts,
                                  Diagnostics& diagnostics, Arch arch = Arch::Sm90a) {
  RaisedText text(kTwoImpls, arch);
  auto read = [&](const std::string& name) -> std::optional<std::string> {
    auto found = texts.find(name);
    if (found != texts.end()) {
      return found->second;
    }
    bool is_own = name == "copy.cuh" || name == "more.cuh";
    return is_own ? std::nullopt : std::optional("// " + name + "\n");
  };
  return GatherHeaders(*text.raised, read, diagnostics);
}

TEST_CASE("headers of implementations stand behind those of the engine, each text once") {
  Diagnostics diagnostics;
  auto text = Gather(
      {{"copy.cuh", "struct Copy;\n"}, {"more.cuh", "#include \"copy.cuh\"\nstruct Move;\n"}},
      diagnostics);
  REQUIRE(text);
  CHECK(text->ends_with("struct Copy;\nstruct Move;\n"));
  CHECK(text->starts_with("// arch/sm90/launch.cuh\n"));
  CHECK(text->find("engine/checks.cuh") == std::string::npos);
}

TEST_CASE("every header that is missing, or defines no implementation, is reported") {
  Diagnostics diagnostics;
  CHECK(!Gather({{"more.cuh", "struct Mover;\n"}}, diagnostics));
  REQUIRE(diagnostics.all().size() == 2);
  CHECK(diagnostics.all()[0].message ==
        "header `copy.cuh` is neither in the include path nor built in");
  CHECK(diagnostics.all()[1].message == "header `more.cuh` does not define `Move`");
}

TEST_CASE("what looks ahead is there for implementations that do not include it") {
  auto gather = [](const std::string& throttle) {
    RaisedText text(R"(device @gemm(%w: f32[8], %y: out f32[1]) tasks (m: 1) {
  impl sm_90a "gemm.cuh" Gemm preloaded (%w);
  %y[0] = %w[0];
}
device @chosen(%w: f32[8], %used: i32[1] in 0..8, %y: out f32[1]) tasks (m: 1) {
  impl sm_90a "gemm.cuh" Gemm preloaded (%w, %used);
  %y[0] = %w[%used[0]];
}
device @pick(%x: f32[1], %used: out i32[1]) tasks (one: 1) { %used[0] = i32(%x[0]); }
kernel @g(%w: f32[8], %c: out f32[1]) of @g static {
  launch consumers 8 shared 225280;
  %s = workspace f32[1] at 0;
  %used = workspace i32[1] at 256;
  event %picked[4] count 1 via counter at 0;
  on sm {
    repeat l in 0..4 {
      share (m: 1) from 0 { run @gemm[m](%w, %s); }
      share (one: 1) from 0 { run @pick[one](%s, %used); leave { notify %picked[l]; } }
      share (m: 1) from 0 {
        loader in_flight 5 interval 0)" +
                    throttle + R"(;
        enter { wait %picked[l]; }
        run @chosen[m](%w, %used, %c);
      }
    }
  }
}
)");
    auto read = [](const std::string& name) {
      return std::optional(name == "gemm.cuh" ? "struct Gemm;\n" : "// " + name + "\n");
    };
    Diagnostics diagnostics;
    return GatherHeaders(*text.raised, read, diagnostics).value_or("");
  };
  CHECK(gather(" prefetch 1400").find("engine/prefetcher.cuh") != std::string::npos);
  CHECK(gather("").find("engine/prefetcher.cuh") == std::string::npos);
}

TEST_CASE("the host has a prelude of its own and no implementations") {
  Diagnostics diagnostics;
  auto text = Gather({}, diagnostics, Arch::Host);
  REQUIRE(text);
  CHECK(*text == "// host_prelude.h\n// tile/pointwise/scalar.cuh\n");
}

}  // namespace
}  // namespace etc
