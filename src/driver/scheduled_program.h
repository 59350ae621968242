// The program that explain and sim look at.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "compile/session.h"
#include "driver/options.h"
#include "ir/module.h"
#include "simulator/routing.h"

namespace etc {

struct ScheduledProgram {
  std::unique_ptr<Module> module;  // whose graphs have kernels
  std::map<std::string, int64_t> sizes;
  std::map<std::string, int64_t> values;
  std::optional<Routing> routing;
};

/// Reads the program and what is asked about it, and schedules graphs that have no kernels. Nothing
/// after an error.
std::optional<ScheduledProgram> LoadScheduled(const QueryOptions& options, Session& session);

/// Says that the routing does not fit a kernel, and why.
void ReportMismatch(const QueryOptions& options, const std::string& mismatch, Session& session);

}  // namespace etc
