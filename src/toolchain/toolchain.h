// The compilers that etc drives. None of this knows the IR.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "target/arch.h"

namespace etc {

/// What a compiler made of one translation unit, or of several. `log` has its messages, warnings
/// included.
struct CompileOutput {
  bool ok = false;
  bool lacks_file = false;  // no compiler ran, as its text could not be written; `log` says why
  std::string binary;
  std::vector<size_t> images = {};  // of several: where in `binary` each one's begins
  std::string log;
  std::string toolchain;           // name and version, for example "nvrtc 13.0"
  std::vector<std::string> flags;  // as passed
};

struct CudaOptions {
  Arch arch = Arch::Sm90a;
  bool resource_usage = false;  // put ptxas' report of registers, spills, shared memory in the log
  std::vector<std::string> extra_flags = {};
  const std::atomic<bool>* in_vain = nullptr;  // once set, NVRTC 12.8 and later stop with an error
};

/// Compiles CUDA C++ to a cubin with NVRTC, loaded at run time (libnvrtc.so.13 or .12 from the
/// usual places, or $ETC_NVRTC). Warnings C75xx of ptxas make it fail.
[[nodiscard]] CompileOutput CompileWithNvrtc(const std::string& text, const CudaOptions& options);

/// The same through the nvcc on PATH, or $ETC_NVCC.
[[nodiscard]] CompileOutput CompileWithNvcc(const std::string& text, const CudaOptions& options);

/// Compiles several units at once, on as many threads as there are cores. Their binaries stand one
/// behind the other, each at a multiple of 64 bytes.
[[nodiscard]] CompileOutput CompileUnits(
    const std::vector<std::string>& texts,
    const std::function<CompileOutput(const std::string& text)>& compile);

/// The parts of a binary.
[[nodiscard]] std::vector<std::string_view> ImagesOf(const CompileOutput& output);

struct HostOptions {
  std::vector<std::string> extra_flags = {};  // for example -fsanitize=thread
};

/// Compiles C++20 to a shared object with $CXX, c++, g++ or clang++, whichever is there first.
[[nodiscard]] CompileOutput CompileHost(const std::string& text, const HostOptions& options);

}  // namespace etc
