// `etc doctor`: what etc finds on this machine, each found by using it.
#include <fmt/format.h>
#include <xxhash.h>

#include <CLI/Version.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "driver/commands.h"
#include "etc/device.h"
#include "support/files.h"
#include "support/progress.h"
#include "toolchain/toolchain.h"

namespace etc {
namespace {

std::string Line(bool ok, const std::string& what, const std::string& found) {
  return fmt::format("{:<8} {:<14} {}\n", ok ? "ok" : "warning", what, found);
}

/// The file that a loaded library came from, empty where it is not loaded.
std::string LoadedFrom(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    size_t path = line.find('/');
    if (path != std::string::npos && line.find("/" + library, path) != std::string::npos) {
      return line.substr(path);
    }
  }
  return "";
}

/// The outcome of compiling a small program.
std::string CompilerLine(const std::string& name, const CompileOutput& output,
                         const std::string& path) {
  if (!output.ok) {
    std::string log = output.log;
    while (log.ends_with('\n')) {
      log.pop_back();
    }
    return Line(false, name, log.empty() ? "cannot compile" : log);
  }
  return Line(true, name, output.toolchain + (path.empty() ? "" : fmt::format(" ({})", path)));
}

std::string GpuLine() {
  etc_device_info info{};
  info.struct_size = sizeof(info);
  if (etc_device_available() != ETC_OK || etc_device_describe(&info) != ETC_OK) {
    return Line(false, "GPU", etc_last_error());
  }
  Arch arch = DefaultTarget().arch;
  bool fits = info.arch == DeviceOf(arch);
  return Line(
      fits, "GPU",
      fmt::format("{} ({}, {} SMs, {:.1f} GiB), driver for CUDA {}.{}{}", info.name, info.arch,
                  info.sms, static_cast<double>(info.memory_bytes) / (1024.0 * 1024 * 1024),
                  info.driver_version / 1000, info.driver_version % 1000 / 10,
                  fits ? "" : fmt::format("; programs for {} do not run on it", Spelling(arch))));
}

std::string LibrariesLine() {
  return Line(true, "libraries",
              fmt::format("fmt {}.{}.{}, CLI11 {}, nlohmann-json {}.{}.{}, xxHash {}.{}.{}",
                          FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100,
                          CLI11_VERSION, NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                          NLOHMANN_JSON_VERSION_PATCH, XXH_VERSION_MAJOR, XXH_VERSION_MINOR,
                          XXH_VERSION_RELEASE));
}

}  // namespace

ExitCode Execute(const DoctorOptions&) {
  const std::string cuda_text = "extern \"C\" __global__ void f() {}\n";
  const std::string host_text = "extern \"C\" void f() {}\n";
  CompileOutput nvrtc;
  CompileOutput nvcc;
  CompileOutput host;
  {
    Progress progress("the compilers are tried");
    nvrtc = CompileWithNvrtc(cuda_text, {});
    nvcc = CompileWithNvcc(cuda_text, {});
    host = CompileHost(host_text, {});
  }
  std::string report = CompilerLine("NVRTC", nvrtc, LoadedFrom("libnvrtc.so"));
  report += CompilerLine("nvcc", nvcc, "");
  report += CompilerLine("host compiler", host, "");
  report += GpuLine();
  report += LibrariesLine();

  Session session(DiagnosticsFormat::Text);
  if (!nvrtc.ok && !nvcc.ok && !host.ok) {
    session.diagnostics().Error(DiagnosticKind::Toolchain, {}, "nothing can be compiled here");
  }
  (void)WriteStdout(report, session.diagnostics());
  return session.Finish();
}

}  // namespace etc
