// The profile of a launch: how much memory it takes, and what its records say. docs/runtime.md has
// the layout of the memory.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/manifest.h"
#include "runtime/status.h"
#include "trace/trace.h"

namespace etc::runtime {

/// What a launch has room for.
struct ProfileShape {
  int64_t records = 0;   // of each role of an SM
  int64_t sms = 0;       // of each launch
  int64_t launches = 1;  // of a kernel that is a list of them
  int64_t nanoseconds_per_tick = 1;

  /// Of one launch.
  int64_t Bytes() const;
};

/// Room for the records that the manifest foresees, or for as many as fit in what a profile may
/// take. `dims` are the values of the graph's dims.
Status SizeProfile(const manifest::Profile& profile, const std::vector<int64_t>& dims,
                   ProfileShape* shape);

/// Makes a trace of what a launch left behind: `memory` holds the parts of all launches. Whatever
/// the memory holds, the trace is well-formed: a record that says nothing the manifest knows, or
/// one that ends before the one in front of it, is counted as lost.
trace::Trace ReadProfile(const manifest::Profile& profile, const ProfileShape& shape,
                         const std::vector<char>& memory);

}  // namespace etc::runtime
