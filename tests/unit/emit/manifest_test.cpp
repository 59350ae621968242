// The manifest as the runtime reads it.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "emit/emit.h"
#include "runtime/manifest_expr.h"
#include "runtime/manifest_reader.h"
#include "runtime/manifest_seal.h"
#include "runtime/tensor_maps.h"
#include "text/parser.h"

namespace etc {
namespace {

/// What the runtime reads of the manifest of a program.
manifest::Manifest ManifestOf(const std::string& text, Arch arch) {
  SourceFile source("test.etir", text);
  Diagnostics diagnostics;
  std::unique_ptr<Module> module = Parse(source, diagnostics);
  INFO(RenderText(diagnostics, &source));
  REQUIRE(module);
  ManifestInfo info;
  info.arch = arch;
  info.binary_file = "g.so";
  info.binary_xxh3_128 = std::string(32, '0');
  manifest::Manifest manifest;
  const std::string sealed = runtime::SealManifest(EmitManifest(*module, info));
  const runtime::Status status = runtime::ReadManifest(sealed, &manifest);
  INFO(status.message);
  REQUIRE(status.Ok());
  return manifest;
}

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
  const manifest::Manifest manifest = ManifestOf(text, Arch::Host);
  const manifest::Kernel& kernel = manifest.graphs.at(0).kernels.at(0);
  int64_t workspace = 0, counters = 0;
  REQUIRE(runtime::Evaluate(kernel.workspace_bytes, {64}, &workspace).Ok());
  REQUIRE(runtime::Evaluate(kernel.event_counters, {64}, &counters).Ok());
  CHECK(workspace == kBuffers * 256);
  CHECK(counters == kBuffers * 64);
}

TEST_CASE("the map of a tensor in tiles counts rows of tiles, in words") {
  const manifest::Manifest manifest = ManifestOf(
      "etir 1;\ndim n in 1..8;\n"
      "device @f(%x: bf16[8, 48, 64] layout tile(8, 32), %y: out bf16[64]) tasks (i: 1) {\n"
      "  impl sm_90a \"f.cuh\" F preloaded (%x) boxes (%x[24, 64]);\n"
      "  for (j: 64) %y[j] = %x[0, 0, j];\n"
      "}\n"
      "kernel @g(%x: bf16[n, 8, 48, 64] layout tile(8, 32), %y: out bf16[64]) of @g static {\n"
      "  launch consumers 8 shared 225280;\n"
      "  on sm { share (i: 1) from 0 { run @f[i](%x[0], %y); } }\n"
      "}\n",
      Arch::Sm90a);
  const manifest::Kernel& kernel = manifest.graphs.at(0).kernels.at(0);
  REQUIRE(kernel.tensor_maps.size() == 1);
  runtime::TensorBox box;
  int64_t offset = 0;
  REQUIRE(runtime::SizeBox(kernel.tensor_maps[0], {5}, &box, &offset).Ok());
  CHECK(box.element_bytes == 8);
  // Eight rows of 64 elements of two bytes are 128 words.
  CHECK(box.shape == std::array<int64_t, 3>{5 * 8, 48 / 8, 128});
  CHECK(box.box_rows == 3);
  CHECK(box.box_columns == 128);
}

}  // namespace
}  // namespace etc
