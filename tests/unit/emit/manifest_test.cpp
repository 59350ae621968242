// The manifest as the runtime reads it.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "emit/emit.h"
#include "runtime/manifest_expr.h"
#include "runtime/manifest_reader.h"
#include "runtime/manifest_seal.h"
#include "text/parser.h"

namespace etc {
namespace {

TEST_CASE("the runtime reads the sizes of a kernel with hundreds of buffers and events") {
  constexpr int kBuffers = 300;
  std::string text =
      "etir 1;\ndim n in 1..64;\n"
      "device @copy(%x: f32[n], %y: out f32[n]) tasks (i: n) { %y[i] = %x[i]; }\n"
      "kernel @g(%x: f32[n], %y: out f32[n]) of @g static {\n"
      "  launch consumers 8 shared 225280;\n";
  for (int i = 0; i < kBuffers; ++i) {
    text += "  %b" + std::to_string(i) + " = workspace f32[n] at " + std::to_string(i * 256) +
            ";\n  event %e" + std::to_string(i) + "[n] count 1 via counter at n * " +
            std::to_string(i) + ";\n";
  }
  text += "  on sm { share (i: n) from 0 { run @copy[i](%x, %y); } }\n}\n";
  SourceFile source("test.etir", text);
  Diagnostics diagnostics;
  std::unique_ptr<Module> module = Parse(source, diagnostics);
  INFO(RenderText(diagnostics, &source));
  REQUIRE(module);

  ManifestInfo info;
  info.arch = Arch::Host;
  info.binary_file = "g.so";
  info.binary_xxh3_128 = std::string(32, '0');
  manifest::Manifest manifest;
  const std::string sealed = runtime::SealManifest(EmitManifest(*module, info));
  const runtime::Status status = runtime::ReadManifest(sealed, &manifest);
  INFO(status.message);
  REQUIRE(status.Ok());
  const manifest::Kernel& kernel = manifest.graphs.at(0).kernels.at(0);
  int64_t workspace = 0, counters = 0;
  REQUIRE(runtime::Evaluate(kernel.workspace_bytes, {64}, &workspace).Ok());
  REQUIRE(runtime::Evaluate(kernel.event_counters, {64}, &counters).Ok());
  CHECK(workspace == kBuffers * 256);
  CHECK(counters == kBuffers * 64);
}

}  // namespace
}  // namespace etc
