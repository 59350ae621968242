// What the phases of the compiler are asked for, whichever subcommand runs them.
#pragma once

#include <string>
#include <vector>

#include "compile/session.h"
#include "schedule/passes.h"
#include "target/target.h"

namespace etc {

/// What decides where neither the text nor a tuning file does.
enum class ChooseBy { Formula, Cost };

/// Where a module comes from.
struct SourceOptions {
  std::string file;
  std::vector<std::string> defines;
  std::vector<std::string> configs;
  std::vector<std::string> arrays;        // parameters that are arrays of tensors
  std::vector<std::string> include_dirs;  // of imported files and of the headers of impls
  const Target* target = &DefaultTarget();
  bool for_host = false;       // the program will run there, whose measurements hold then
  std::string tuning;          // a file's name, or empty
  bool library_tuning = true;  // what is built into etc for the target, behind the file
  ChooseBy choose_by = ChooseBy::Formula;
  DiagnosticsFormat diagnostics = DiagnosticsFormat::Text;
};

/// How graphs become kernels.
struct LoweringOptions {
  ScheduleOptions schedule;
  std::vector<std::string> print_after;  // names of passes, or `all`
  bool verify_each = false;
};

enum class Compiler { Nvrtc, Nvcc };

enum class ResourceUsage { Off, Print, Strict };

/// How kernels become a binary.
struct TargetOptions {
  Arch arch = DefaultTarget().arch;
  Compiler compiler = Compiler::Nvrtc;
  ResourceUsage resource_usage = ResourceUsage::Off;

  bool IsHost() const { return arch == Arch::Host; }
};

struct ProofOptions {
  bool skip = false;
  bool remarks = false;  // say what is not proved, and why
};

}  // namespace etc
