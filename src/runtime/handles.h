// What stands behind a handle of the C API that several files use.
#pragma once

#include <memory>

#include "etc/weights.h"
#include "runtime/program.h"
#include "runtime/weights/weights.h"

struct etc_program {
  std::shared_ptr<const etc::runtime::Program> program;
};

struct etc_weights {
  std::unique_ptr<etc::runtime::Weights> weights;
};
