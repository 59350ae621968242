// From scheduled IR to the text of a target language, and to the manifest.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "emit/raise/header_text.h"
#include "emit/raise/raise.h"
#include "ir/module.h"
#include "support/diagnostics.h"
#include "target/arch.h"

namespace etc {

/// A class template that an impl names, and the header that is to define it.
struct ImplTemplate {
  std::string device;
  std::string header;
  std::string name;
  SourceRange range;  // of the impl
};

/// A translation unit. `checks`, what debug checks say, is absent when no kernel has any, and
/// `waits`, what watchdogs say, when none has one.
struct Emitted {
  std::string text;
  std::optional<MessageTexts> checks = {};
  std::optional<MessageTexts> waits = {};
  /// The same as several units, which are compiled by themselves: for CUDA one for each kernel, if
  /// there are more than one.
  std::vector<std::string> units = {};
  std::vector<ImplTemplate> templates = {};  // that the text takes from headers, of CUDA
};

/// One self-contained CUDA C++ translation unit with an entry for each kernel of the module, and
/// its parts. Nothing when an error was reported (an impl's header that does not exist, say).
[[nodiscard]] std::optional<Emitted> EmitCuda(const Module& module, Arch arch,
                                              const HeaderReader& headers, Diagnostics& diagnostics,
                                              const RaiseObserver& after = {});

/// One C++20 translation unit with an `extern "C" void ENTRY(const uint64_t*, int, int)` for each
/// kernel of the module; bodies come from the device functions.
[[nodiscard]] std::optional<Emitted> EmitHost(const Module& module, Diagnostics& diagnostics,
                                              const RaiseObserver& after = {});

/// What is known to hold for every size: for each group how many facts are proved and how many are
/// not, under which assumptions, and what is not proved.
struct ManifestProofs {
  struct Group {
    std::string name;
    int64_t proved = 0;
    int64_t not_proved = 0;
  };
  std::vector<Group> groups;
  std::vector<std::string> assumptions;
  std::vector<std::string> not_proved;
};

/// Named numbers of a kernel, in the order in which they are printed.
struct ManifestResources {
  std::string entry;
  std::vector<std::pair<std::string, int64_t>> numbers;
};

/// Where a range of the source is, for readers: `row_sum.etir:18`, or nothing.
using Locate = std::function<std::string(SourceRange)>;

/// What the manifest says beyond the module.
struct ManifestInfo {
  Arch arch = Arch::Host;
  std::string binary_file;  // name, relative to the manifest
  uint64_t binary_bytes = 0;
  std::string binary_xxh3_128;        // hexadecimal
  std::vector<size_t> binary_images;  // where each image begins, if there are several
  std::string toolchain;              // for example "nvrtc 13.0"
  std::vector<std::string> flags;
  std::optional<MessageTexts> debug_checks;
  std::optional<MessageTexts> watchdog;
  std::optional<ManifestProofs> proofs;         // of the source; absent when they were skipped
  std::optional<ManifestProofs> kernel_proofs;  // of what the passes made of its graphs
  std::vector<ManifestResources> resources;     // empty when they were not asked for
  Locate locate = {};                           // for profiles
};

/// The manifest as JSON text, without the hash of itself (SealManifest of the runtime library adds
/// it); docs/runtime.md has its schema. Ends with a line break.
[[nodiscard]] std::string EmitManifest(const Module& module, const ManifestInfo& info);

}  // namespace etc
