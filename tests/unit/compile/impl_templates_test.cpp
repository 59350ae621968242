// What is said of an impl whose header does not have the template.
#include "compile/impl_templates.h"

#include <doctest/doctest.h>

#include "compile/front.h"
#include "compile/pipeline.h"
#include "compile/program_builder.h"
#include "support/scratch_directory.h"

namespace etc {
namespace {

constexpr const char* kSource = R"(etir 1;
dim n in 1..64;
device @copy(%x: f32[n], %y: out f32[n]) tasks (i: n) {
  impl sm_90a "copy.cuh" Copy;
  %y[i] = %x[i];
}
graph @g(%x: f32[n], %y: out f32[n]) specialise (n: 1..8, 9..64) {
  call @copy(%x, %y);
}
)";

/// The notes of the error with which NVRTC refuses the program, where the header has this text.
std::vector<Note> NotesWith(const std::string& header) {
  ScratchDirectory scratch;
  REQUIRE(scratch.Write("m.etir", kSource));
  REQUIRE(scratch.Write("copy.cuh", header));
  Session session(DiagnosticsFormat::Text);
  SourceOptions source;
  source.file = scratch.path() + "/m.etir";
  auto module = LoadModule(source, session);
  REQUIRE(module != nullptr);
  PhaseTimer timer;
  REQUIRE(RunPasses(*module, StaticPipeline(), {}, timer, session));
  ProgramBuilder builder(session, {scratch.path()});
  CHECK_FALSE(builder.Build(*module, {}, "m"));
  REQUIRE(session.diagnostics().all().size() == 1);
  return session.diagnostics().all().front().notes;
}

TEST_CASE("a template that the header does not define is said where the impl is") {
  for (const char* header :
       {"", "namespace etc { template <class Config, class Args> class Copy; }",
        "namespace etc { class Copy {}; }"}) {
    CAPTURE(header);
    std::vector<Note> notes = NotesWith(header);
    REQUIRE(notes.size() == 3);  // one for both kernels, and what NVRTC said
    CHECK(notes[0].message ==
          "header `copy.cuh` defines no class template `etc::Copy`, which is to implement `@copy`");
    CHECK(notes[0].range.IsValid());
    CHECK(notes[1].message.starts_with("it said:\n"));
  }
}

TEST_CASE("a template that is there is not said to be missing") {
  const char* header = "namespace etc { template <class Config, class Args> class Copy {}; }";
  std::vector<Note> notes = NotesWith(header);
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].message.starts_with("it said:\n"));
}

TEST_CASE("what a template asks for and does not get is said in front of the log") {
  const char* header = R"(namespace etc {
template <class Config, class Args>
struct Copy {
  static_assert(sizeof(Args) == 1, "a copy has one byte");
};
})";
  std::vector<Note> notes = NotesWith(header);
  REQUIRE(notes.size() == 3);
  CHECK(notes[0].message ==
        "the tile kernel of `@copy` asks of the program that a copy has one byte");
  CHECK(notes[0].range.IsValid());
  CHECK(notes[1].message.starts_with("it said:\n"));
}

}  // namespace
}  // namespace etc
