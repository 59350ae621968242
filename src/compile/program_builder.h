// From a scheduled module to a loaded program.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compile/options.h"
#include "compile/session.h"
#include "emit/emit.h"
#include "etc/runtime.hpp"
#include "ir/module.h"
#include "support/scratch_directory.h"

namespace etc {

/// Its programs must not outlive it: their artifacts are in a temporary folder that goes with it.
class ProgramBuilder {
 public:
  /// `include_dirs`: where headers of impls are looked for first.
  ProgramBuilder(Session& session, std::vector<std::string> include_dirs)
      : session_(session), include_dirs_(std::move(include_dirs)) {}

  /// Emits, compiles and loads the module under a name that no other program of this builder has.
  /// Reports what keeps it from that.
  [[nodiscard]] std::optional<Program> Build(const Module& module, const TargetOptions& target,
                                             const std::string& name);

  /// The part of it between the text and the loading, which several threads may do at once: yields
  /// the path of the artifact. `session` gets the errors; NVRTC ends early once `in_vain` is set.
  [[nodiscard]] std::optional<std::string> Compile(const Module& module, const Emitted& emitted,
                                                   const TargetOptions& target,
                                                   const std::string& name, Session& session,
                                                   const std::atomic<bool>* in_vain = nullptr);

 private:
  const ScratchDirectory& Scratch();

  Session& session_;
  std::vector<std::string> include_dirs_;
  std::mutex making_;
  std::optional<ScratchDirectory> scratch_;  // made when first used
};

}  // namespace etc
