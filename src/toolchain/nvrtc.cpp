#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdlib>

#include "toolchain/ptxas_log.h"
#include "toolchain/toolchain.h"

namespace etc {
namespace {

using ProgramHandle = void*;

/// The part of NVRTC's C interface that etc needs, found in the library at run time, so that etc
/// builds and starts where there is no CUDA toolkit.
struct Nvrtc {
  int (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(int status) = nullptr;
  int (*create)(ProgramHandle*, const char* text, const char* name, int headers,
                const char* const* header_texts, const char* const* header_names) = nullptr;
  int (*compile)(ProgramHandle, int options, const char* const*) = nullptr;
  int (*destroy)(ProgramHandle*) = nullptr;
  int (*cubin_size)(ProgramHandle, size_t*) = nullptr;
  int (*cubin)(ProgramHandle, char*) = nullptr;
  int (*log_size)(ProgramHandle, size_t*) = nullptr;
  int (*log)(ProgramHandle, char*) = nullptr;
  // Null before NVRTC 12.8. The callback says whether to stop.
  int (*set_flow_callback)(ProgramHandle, int (*)(void* payload, void*), void* payload) = nullptr;
};

int Stops(void* in_vain, void*) { return *static_cast<const std::atomic<bool>*>(in_vain) ? 1 : 0; }

std::vector<std::string> LibraryCandidates() {
  if (const char* chosen = std::getenv("ETC_NVRTC"); chosen != nullptr && *chosen != '\0') {
    return {chosen};
  }
  std::vector<std::string> folders = {ETC_TOOLKIT_DIRECTORY "/nvidia/cu13/lib/"};
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != '\0') {
    folders.push_back(std::string(home) + "/lib64/");
  }
  folders.insert(folders.end(), {"/usr/local/cuda/lib64/", ""});
  std::vector<std::string> candidates;
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
    for (const std::string& folder : folders) {
      candidates.push_back(folder + name);
    }
  }
  return candidates;
}

template <class Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/// NVRTC opens its companion library by bare name, which only works in folders that the dynamic
/// loader knows. Loading it first, from beside NVRTC, makes that name resolve anywhere.
void LoadBuiltins(void* library, const Nvrtc& nvrtc) {
  link_map* map = nullptr;
  int major = 0;
  int minor = 0;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || nvrtc.version(&major, &minor) != 0) {
    return;
  }
  const std::string path = map->l_name;
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const std::string name = fmt::format("{}libnvrtc-builtins.so.{}.{}", folder, major, minor);
  // If there is none, NVRTC reports it in the log.
  dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// False when no candidate could be loaded; `message` then says what was tried. The library stays
/// loaded to the end of the process: it keeps threads of its own.
bool Load(Nvrtc& nvrtc, std::string& message) {
  std::string tried;
  for (const std::string& candidate : LibraryCandidates()) {
    void* library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      tried += fmt::format("  {}\n", dlerror());
      continue;
    }
    if (Find(library, "nvrtcVersion", nvrtc.version) &&
        Find(library, "nvrtcGetErrorString", nvrtc.error_string) &&
        Find(library, "nvrtcCreateProgram", nvrtc.create) &&
        Find(library, "nvrtcCompileProgram", nvrtc.compile) &&
        Find(library, "nvrtcDestroyProgram", nvrtc.destroy) &&
        Find(library, "nvrtcGetCUBINSize", nvrtc.cubin_size) &&
        Find(library, "nvrtcGetCUBIN", nvrtc.cubin) &&
        Find(library, "nvrtcGetProgramLogSize", nvrtc.log_size) &&
        Find(library, "nvrtcGetProgramLog", nvrtc.log)) {
      (void)Find(library, "nvrtcSetFlowCallback", nvrtc.set_flow_callback);
      LoadBuiltins(library, nvrtc);
      return true;
    }
    tried += fmt::format("  {}: not a usable NVRTC\n", candidate);
  }
  message =
      "cannot load NVRTC (set ETC_NVRTC to the path of libnvrtc.so.13, or run scripts/setup.sh)\n" +
      tried;
  return false;
}

/// Reads one of a program's texts: its size with `size`, then its bytes with `get`.
std::string ReadText(ProgramHandle program, int (*size)(ProgramHandle, size_t*),
                     int (*get)(ProgramHandle, char*)) {
  size_t bytes = 0;
  if (size(program, &bytes) != 0 || bytes == 0) {
    return "";
  }
  std::string text(bytes, '\0');
  return get(program, text.data()) == 0 ? text : "";
}

}  // namespace

CompileOutput CompileWithNvrtc(const std::string& text, const CudaOptions& options) {
  CompileOutput output;
  Nvrtc nvrtc;
  if (!Load(nvrtc, output.log)) {
    return output;
  }
  int major = 0;
  int minor = 0;
  nvrtc.version(&major, &minor);
  output.toolchain = fmt::format("nvrtc {}.{}", major, minor);
  output.flags = {fmt::format("--gpu-architecture={}", Spelling(options.arch)), "--std=c++17",
                  "-default-device", "--fmad=true"};
  if (options.resource_usage) {
    output.flags.push_back("--ptxas-options=-v");
  }
  output.flags.insert(output.flags.end(), options.extra_flags.begin(), options.extra_flags.end());

  ProgramHandle program = nullptr;
  int status = nvrtc.create(&program, text.c_str(), "etc.cu", 0, nullptr, nullptr);
  if (status != 0) {
    output.log = fmt::format("nvrtc: {}\n", nvrtc.error_string(status));
    return output;
  }
  if (options.in_vain != nullptr && nvrtc.set_flow_callback != nullptr) {
    (void)nvrtc.set_flow_callback(program, Stops, const_cast<std::atomic<bool>*>(options.in_vain));
  }
  std::vector<const char*> flags;
  for (const std::string& flag : output.flags) {
    flags.push_back(flag.c_str());
  }
  status = nvrtc.compile(program, static_cast<int>(flags.size()), flags.data());
  output.log = ReadText(program, nvrtc.log_size, nvrtc.log);
  output.log.resize(output.log.find_last_not_of('\0') + 1);
  if (status != 0) {
    output.log += fmt::format("nvrtc: {}\n", nvrtc.error_string(status));
  } else if (const auto number = FindSerialisedWgmma(output.log)) {
    output.log += SerialisedWgmmaMessage(*number);
  } else {
    output.binary = ReadText(program, nvrtc.cubin_size, nvrtc.cubin);
    output.ok = !output.binary.empty();
  }
  nvrtc.destroy(&program);
  return output;
}

}  // namespace etc
