#include "compile/program_builder.h"

#include "compile/backend.h"
#include "support/files.h"

namespace etc {

std::optional<Program> ProgramBuilder::Build(const Module& module, const TargetOptions& target,
                                             const std::string& name) {
  if (!scratch_) {
    scratch_.emplace();
  }
  if (scratch_->path().empty()) {
    session_.diagnostics().Error(DiagnosticKind::File, {}, scratch_->error());
    return std::nullopt;
  }
  IncludePath include_path(include_dirs_);
  auto emitted = Emit(module, target, include_path, session_);
  auto compiled = emitted ? Assemble(*emitted, target, session_) : std::nullopt;
  if (!compiled) {
    return std::nullopt;
  }
  std::string binary = scratch_->path() + "/" + name + BinaryExtension(target);
  if (!WriteFiles(
          MakeArtifact(module, binary, *emitted, std::move(*compiled), target, {}, session_),
          session_.diagnostics())) {
    return std::nullopt;
  }
  return Program(binary);
}

}  // namespace etc
