// What stands behind a handle of the C API that several files use.
#pragma once

#include <memory>

#include "runtime/program.h"

struct etc_program {
  std::shared_ptr<const etc::runtime::Program> program;
};
