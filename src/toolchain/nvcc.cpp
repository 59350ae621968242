#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <string_view>

#include "support/scratch_directory.h"
#include "toolchain/ptxas_log.h"
#include "toolchain/subprocess.h"
#include "toolchain/toolchain.h"

namespace etc {
namespace {

/// The nvcc to run, or nothing when there is none; `message` then says what to do.
std::optional<std::string> FindNvcc(std::string& message) {
  if (const char* chosen = std::getenv("ETC_NVCC"); chosen != nullptr && *chosen != '\0') {
    if (IsExecutable(chosen)) {
      return chosen;
    }
    message = fmt::format("cannot run `{}`, which ETC_NVCC names\n", chosen);
    return std::nullopt;
  }
  for (const char* candidate :
       {"nvcc", ETC_TOOLKIT_DIRECTORY "/nvidia/cu13/bin/nvcc", "/usr/local/cuda/bin/nvcc"}) {
    if (IsExecutable(candidate)) {
      return candidate;
    }
  }
  message =
      "cannot find nvcc (put it on PATH, set ETC_NVCC to its path, or run scripts/setup.sh)\n";
  return std::nullopt;
}

/// "nvcc 13.0.88" from the text of `nvcc --version`, which says "…, V13.0.88".
std::string VersionName(std::string_view text) {
  const size_t at = text.find(", V");
  if (at == std::string_view::npos) {
    return "nvcc";
  }
  size_t end = at + 3;
  while (end < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.')) {
    ++end;
  }
  return fmt::format("nvcc {}", text.substr(at + 3, end - at - 3));
}

/// "sm_90a" to "90a".
std::string_view ArchNumber(std::string_view arch) {
  return arch.starts_with("sm_") ? arch.substr(3) : arch;
}

}  // namespace

CompileOutput CompileWithNvcc(const std::string& text, const CudaOptions& options) {
  CompileOutput output;
  const std::optional<std::string> nvcc = FindNvcc(output.log);
  if (!nvcc) {
    return output;
  }
  ScratchDirectory scratch;
  // The compiler runs inside the scratch folder on a fixed file name: no path that changes from
  // run to run can get into the cubin or the messages.
  if (!scratch.Write("etc.cu", text)) {
    output.log = scratch.error() + "\n";
    output.lacks_file = true;
    return output;
  }
  output.toolchain = VersionName(RunProcess({*nvcc, "--version"}, scratch.path()).output);
  const std::string_view number = ArchNumber(Spelling(options.arch));
  output.flags = {"-cubin", "-gencode", fmt::format("arch=compute_{0},code=sm_{0}", number),
                  "-std=c++17", "--fmad=true"};
  if (options.resource_usage) {
    output.flags.emplace_back("--ptxas-options=-v");
  }
  output.flags.insert(output.flags.end(), options.extra_flags.begin(), options.extra_flags.end());

  std::vector<std::string> command = {*nvcc};
  command.insert(command.end(), output.flags.begin(), output.flags.end());
  command.insert(command.end(), {"-o", "etc.cubin", "etc.cu"});
  const ProcessResult result = RunProcess(command, scratch.path());
  output.log = result.output;
  if (!result.Succeeded()) {
    output.log += fmt::format("nvcc ended with exit code {}\n", result.exit_code);
  } else if (const auto warning = FindSerialisedWgmma(output.log)) {
    output.log += SerialisedWgmmaMessage(*warning);
  } else if (std::optional<std::string> binary = scratch.Read("etc.cubin")) {
    output.binary = std::move(*binary);
    output.ok = true;
  } else {
    output.log += "nvcc wrote no cubin\n";
  }
  return output;
}

}  // namespace etc
