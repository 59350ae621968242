// The back half: from a scheduled module to the text of its target, its binary and its manifest.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "analysis/proofs/proofs.h"
#include "compile/include_path.h"
#include "compile/options.h"
#include "compile/session.h"
#include "emit/emit.h"
#include "ir/module.h"
#include "support/files.h"
#include "toolchain/toolchain.h"

namespace etc {

/// The CUDA or host C++ text of the module. After the raise passes in `print_after`, or after
/// all of them for `raise` and `all`, what they decided goes to stderr.
[[nodiscard]] std::optional<Emitted> Emit(const Module& module, const TargetOptions& target,
                                          IncludePath& include_path, Session& session,
                                          const std::vector<std::string>& print_after = {});

/// Whether `--print-after` may name it: `raise`, or a pass of it.
[[nodiscard]] bool IsRaisePass(const std::string& name);

/// Compiles the text, or its units at once; reports [toolchain] errors with the compiler's own
/// messages. NVRTC ends early once `in_vain` is set.
[[nodiscard]] std::optional<CompileOutput> Assemble(const Emitted& emitted,
                                                    const TargetOptions& target, Session& session,
                                                    const std::atomic<bool>* in_vain = nullptr);

/// The proofs of the source, and of the kernels that are made of its graphs.
struct ModuleProofs {
  std::optional<ProofReport> source;
  std::optional<ProofReport> kernels;
};

/// The binary at `path` and the manifest beside it, in the order in which they must appear; or both
/// in one file, where `path` asks for that.
[[nodiscard]] std::vector<OutputFile> MakeArtifact(const Module& module, const std::string& path,
                                                   const Emitted& emitted, CompileOutput compiled,
                                                   const TargetOptions& target,
                                                   const ModuleProofs& proofs,
                                                   const Session& session);

/// Whether an output of that name holds the binary and the manifest.
[[nodiscard]] bool IsContainerPath(const std::string& path);

/// `path` with its extension replaced.
[[nodiscard]] std::string WithExtension(const std::string& path, const std::string& extension);

/// ".cubin" or ".so"; ".cu" or ".cpp".
[[nodiscard]] std::string BinaryExtension(const TargetOptions& target);
[[nodiscard]] std::string TextExtension(const TargetOptions& target);

}  // namespace etc
