#include "emit/host_binary.h"

#include <doctest/doctest.h>

#include <memory>

#include "emit/emit.h"
#include "schedule/passes.h"
#include "text/parser.h"
#include "verify/verify.h"

namespace etc {

CompileOutput HostBinaryOf(const std::string& text) {
  SourceFile source("test.etir", text);
  Diagnostics diagnostics;
  std::unique_ptr<Module> module = Parse(source, diagnostics);
  bool ok = module && Verify(*module, diagnostics);
  for (const Pass& pass : StaticPipeline()) {
    ok = ok && pass.run(*module, {}, diagnostics);
  }
  INFO(RenderText(diagnostics, &source));
  REQUIRE(ok);
  std::optional<Emitted> code = EmitHost(*module, diagnostics);
  REQUIRE(code);
  CompileOutput output = CompileHost(code->text, {});
  INFO(output.log);
  REQUIRE(output.ok);
  return output;
}

}  // namespace etc
