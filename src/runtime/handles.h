// What stands behind a handle of the C API that several files use.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "etc/weights.h"
#include "runtime/program.h"
#include "runtime/weights/weights.h"
#include "trace/trace.h"

struct etc_program {
  std::shared_ptr<const etc::runtime::Program> program;
};

struct etc_profile {
  etc::trace::Trace trace;
  std::mutex mutex;  // of the texts, which are made when they are asked for
  std::string json;
  std::string summary;
};

struct etc_weights {
  std::unique_ptr<etc::runtime::Weights> weights;
};
