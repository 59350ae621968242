#include "compile/program_builder.h"

#include "compile/backend.h"
#include "support/files.h"

namespace etc {

std::optional<Program> ProgramBuilder::Build(const Module& module, const TargetOptions& target,
                                             const std::string& name) {
  IncludePath include_path(include_dirs_);
  auto emitted = Emit(module, target, include_path, session_);
  auto binary = emitted ? Compile(module, *emitted, target, name, session_) : std::nullopt;
  return binary ? std::optional<Program>(std::in_place, *binary) : std::nullopt;
}

std::optional<std::string> ProgramBuilder::Compile(const Module& module, const Emitted& emitted,
                                                   const TargetOptions& target,
                                                   const std::string& name, Session& session,
                                                   const std::atomic<bool>* in_vain) {
  const ScratchDirectory& scratch = Scratch();
  if (scratch.path().empty()) {
    session.diagnostics().Error(DiagnosticKind::File, {}, scratch.error());
    return std::nullopt;
  }
  auto compiled = Assemble(emitted, target, session, in_vain);
  if (!compiled) {
    return std::nullopt;
  }
  std::string binary = scratch.path() + "/" + name + BinaryExtension(target);
  if (!WriteFiles(MakeArtifact(module, binary, emitted, std::move(*compiled), target, {}, session),
                  session.diagnostics())) {
    return std::nullopt;
  }
  return binary;
}

const ScratchDirectory& ProgramBuilder::Scratch() {
  std::lock_guard lock(making_);
  return scratch_ ? *scratch_ : scratch_.emplace();
}

}  // namespace etc
