// The invariants of a module, in groups; each group has its own file.
//
// Expressions (expr_checker.cpp, expr_kinds.cpp)
//   - Operators and intrinsics get as many operands as they take, of the kinds they take. Integers
//     promote to floats; nothing else converts but by a cast. Conditions are booleans.
//   - `lower` and `upper` take a dimension; `argmax` has one axis.
//   - An element has as many indices as its tensor has dimensions, and they are integers.
//   - Bounds of axes are integers.
// Ranks (mesh.cpp)
//   - A mesh has from 1 to 64 ranks, and its numbers of ranks ascend. What all ranks have in common
//     does not depend on `rank`: constants, shapes, task ranges, counts, places.
//   - Only symmetric buffers and events are written or notified at peers. Tasks read and wait for
//     what their own rank has.
//   - A share of a kernel that reaches into peers waits for them.
//   - The extent of a sharded axis is a multiple of the number of its parts. That is known for each
//     number of ranks, and divides it.
//   - On the most ranks, some rank sends something else than others to a buffer with a place for
//     each sender; a warning where all send the same (same_on_ranks.cpp).
// With a mesh, all that follows holds for each number of ranks, and the event flow is that of all
// ranks together.
// Constants (constants.cpp)
//   - A constant is made of constants and has a value: no division by zero, no overflow.
//   - A dimension's bounds and multiple are constant integers, 0 <= lo <= hi, 1 <= multiple, and
//     the multiple divides both bounds.
//   - Every requirement is a boolean of constants and dimensions. One of constants is true; those
//     between dimensions are of integers, and some sizes fulfil all of them.
// Tensors (tensors.cpp)
//   - Extents are integers made of constants and dimensions, and not negative at any size. A
//     local's extents are constant, and at least 1.
//   - A value range stands on a tensor of integers and is not empty; so do `distinct` and
//     `monotone`, on one with axes. Where it depends on the element it reads `in` parameters only.
//     `counts` stands on one of one axis and names an `in` parameter of integers.
//   - An array of tensors has a constant number of them (arrays.cpp), from 1 to 4096. A call takes
//     one of them, or a slice of one.
//   - A flagged buffer is row-major, of f32, of i32 or of bf16 with an even last extent.
//   - A phased buffer is row-major, of f32.
// Device functions (devices.cpp)
//   - Task ranges are integers, not negative, and read from `in` parameters only.
//   - A stored value is of the tensor's kind. `topk` stores positions in a tensor of integers.
// Bodies (body_flow.cpp)
//   - No `in` parameter is written, every `out` parameter is; locals and `out` parameters are not
//     read before they are written.
// Indices (body_bounds.cpp)
//   - No index is outside of its extent at a corner of the iteration space, at chosen sizes.
// Implementations (impls.cpp)
//   - The architecture is known and occurs once for a device; arguments occur once and are
//   constant.
//   - `preloaded` names `in` and `inout` parameters.
//   - `fetched` names `in` parameters that are neither preloaded nor flagged.
//   - `flagged` and `phased` name `in` and `out` parameters.
//   - A box is of a row-major operand that is preloaded or fetched. It has up to 256 rows, of 32,
//   64
//     or 128 bytes.
// Preloaded operands (preloaded.cpp)
//   - At no sizes does a call of a graph write what a call of it preloads, but where each element
//     that the one's body reads is proved to be none that the other's writes, in any task.
//   - A preloaded operand that is a buffer of i32 is read behind a wait: the call waits for an
//   event that
//     each writer of it notifies; in a kernel, under `ranges`, or the buffer is flagged.
// Ranges of tasks (range_waits.cpp)
//   - Of shares whose ranges are read from what another one of the kernel writes, each waits under
//     `ranges`, or one in front of it does.
// Graphs and kernels (graphs.cpp)
//   - Calls and regions stand in graphs, shares in kernels; events are declared outside of
//     `repeat`. A repeat's bounds are constant integers.
//   - Arguments agree with the parameters in number, type, rank and shape (shapes.cpp compares
//     sizes as polynomials over the dimensions); a slice is inside its tensor.
//   - No call writes an `in` parameter of the graph.
//   - A kernel of separate launches has no flagged and no phased buffers. All of these of a kernel
//     are symmetric, or none is.
//   - A kernel is `dynamic` where it has a dispatch, `static` or `kernels` where it has none; an SM
//   takes
//     from 1 to 64 tasks ahead.
//   - Triggers stand in queues (queue_checks.cpp): each pushes the tasks of one case, a box, that
//     have its indices for their first coordinates; tasks of cases in front of it arrive there,
//     each at one element in its own iteration. A queue binds no flagged buffers.
//   - An event that is `via shared` or `via none` (analysis/events_of_sm.h) stands in a kernel of
//     shares whose tasks no data count, and no data decide its elements. Its counters fit into
//     shared memory. `via none` orders what the consumers of an SM do, and no other role.
//   - Each phased buffer has an event that is `via words` (analysis/events_in_words.h): one share
//     notifies it, in each iteration of a repeat the element of that iteration, and writes nothing
//     else than the buffer. Each share that reads the buffer waits for the turn that was written
//     last. All of them take it phased.
//   - A share has as many axes as its callee's tasks have coordinates, and binds flagged buffers
//     only to operands that an implementation takes flagged.
//   - A loader has at least one slot on its way.
//   - A check is of a parameter with elements when a launch begins, of integers, and leaves `*` an
//     axis.
// What is written (written.cpp), of a text only: passes leave out calls that have no tasks
//   - Some call writes each `out` parameter that has elements, and what no call has written yet is
//     not read.
// Edges (edges.cpp)
//   - An edge names all coordinates of its callee's tasks; a reference has as many indices as the
//     event has dimensions; indices are integers and guards booleans.
//   - An event's extents are made of constants and dimensions, its count is an integer, and
//     neither is negative.
// Specialisations (specialise.cpp)
//   - The ranges of a dimension ascend without overlap and cover its range. A dimension has one
//     list of them, and the ranges of several combine to 256 kernels at most.
//   - A kernel is for ranges of dimensions, each inside of the declared one and not empty.
// Dependences (dependences.cpp), call by call; src/analysis proves the order of each element's uses
//   - Events lead from a call that writes a tensor to every later call that reads it. A graph
//   without
//     events is checked once it has those that are derived.
// Event flow (event_walk.cpp, event_flow.cpp, event_order.cpp), at chosen sizes
// and except where it depends on data
//   - What is waited for is notified somewhere; a warning where nothing waits.
//   - References stay inside of their event.
//   - Each element that is used is notified as often as its count says.
//   - A call stands after all calls that complete what it waits for.
#include "verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "analysis/ranks.h"
#include "support/parallel.h"
#include "verify/checks.h"

namespace etc {
namespace {

template <class GraphFn, class KernelFn>
void ForEachProgram(const Module& module, const GraphFn& on_graph, const KernelFn& on_kernel) {
  for (const Item& item : module.items) {
    if (const auto* graph = std::get_if<GraphId>(&item)) {
      on_graph(module.graphs[*graph]);
    } else if (const auto* kernel = std::get_if<KernelId>(&item)) {
      on_kernel(module.kernels[*kernel]);
    }
  }
}

using Checks = std::vector<std::function<void(Diagnostics&)>>;

/// The diagnostics come in the order of the checks.
void RunInParallel(const Checks& checks, Diagnostics& diagnostics) {
  std::vector<Diagnostics> found(checks.size());
  ForEachInParallel(checks.size(), [&](size_t i) { checks[i](found[i]); });
  for (const Diagnostics& each : found) {
    diagnostics.Add(each);
  }
}

/// Calls `check` with each number of ranks, the module for so many and the program of all of
/// them, until there is an error. What is said of several numbers is said once.
template <class Check>
void ForEachMesh(const Module& module, Diagnostics& diagnostics, const Check& check) {
  std::set<std::string> said;
  for (int64_t ranks : module.mesh->values) {
    const Module at = AtRanks(module, ranks);
    Module joined = JoinRanks(at, ranks);
    NameAsWritten(joined);
    Diagnostics found;
    check(ranks, at, joined, found);
    for (const Diagnostic& each : found.all()) {
      if (said.insert(fmt::format("{}:{}", each.range.begin, each.message)).second) {
        diagnostics.Add(each);
      }
    }
    if (found.HasErrors()) {
      return;
    }
  }
}

}  // namespace

bool Verify(const Module& module, Diagnostics& diagnostics) {
  return VerifyAllButDependences(module, diagnostics) && VerifyDependences(module, diagnostics);
}

bool VerifyDependences(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  if (module.mesh) {
    return VerifyDependences(module, diagnostics);
  }
  size_t before = diagnostics.error_count();
  CheckDependences(module, graph, diagnostics);
  return diagnostics.error_count() == before;
}

bool VerifyDependences(const Module& module, Diagnostics& diagnostics) {
  size_t before = diagnostics.error_count();
  if (module.mesh) {
    ForEachMesh(module, diagnostics,
                [](int64_t, const Module&, const Module& joined, Diagnostics& found) {
                  (void)VerifyDependences(joined, found);
                });
    return diagnostics.error_count() == before;
  }
  ForEachProgram(
      module,
      [&](const Graph& graph) {
        if (HasEvents(module, graph)) {
          CheckDependences(module, graph, diagnostics);
        }
      },
      [](const Kernel&) {});
  return diagnostics.error_count() == before;
}

namespace {

/// What is asked of a module.
struct Scope {
  bool devices;     // about all beside its graphs and kernels, too
  bool as_written;  // also what holds of a text only
};

/// What is wrong with some part of a module for itself, and then, where nothing is, what takes
/// values at chosen sizes to see. For one number of ranks, of whose program the events are those of
/// `joined`: the module itself where it has no mesh.
void CheckParts(const Module& module, const Module& joined, Scope scope, Diagnostics& diagnostics) {
  size_t before = diagnostics.error_count();
  std::vector<DeviceId> checked;
  if (scope.devices) {
    if (!CheckConstants(module, diagnostics)) {
      return;  // what follows relies on their values, and on what is required of them
    }
    for (const Item& item : module.items) {
      if (const auto* id = std::get_if<DeviceId>(&item)) {
        CheckDevice(module, module.devices[*id], diagnostics);
        CheckBodyFlow(module, module.devices[*id], diagnostics);
        CheckImpls(module, module.devices[*id], diagnostics);
        checked.push_back(*id);
      }
    }
  }
  ForEachProgram(
      module,
      [&](const Graph& graph) {
        CheckGraph(module, graph, diagnostics);
        CheckSpecialisation(module, graph, diagnostics);
      },
      [&](const Kernel& kernel) { CheckKernel(module, kernel, diagnostics); });
  if (scope.as_written) {
    auto check_written = [&](const auto& program) { CheckWritten(module, program, diagnostics); };
    ForEachProgram(module, check_written, check_written);
  }
  if (diagnostics.error_count() != before) {
    return;
  }
  if (scope.as_written) {
    CheckKernelNames(module, diagnostics);
  }
  Checks checks;
  for (DeviceId id : checked) {
    const Device& device = module.devices[id];
    checks.push_back([&](Diagnostics& found) { CheckBodyBounds(module, device, found); });
  }
  auto check_program = [&](const auto& program) {
    checks.push_back([&](Diagnostics& found) {
      CheckPreloaded(module, program, found);
      if (&joined == &module) {
        CheckEventFlow(module, program, found);
      }
    });
  };
  auto check_graph = [&](const Graph& graph) {
    check_program(graph);
    checks.push_back([&](Diagnostics& found) { CheckRangeBounds(module, graph, found); });
  };
  ForEachProgram(module, check_graph, [&](const Kernel& kernel) {
    check_program(kernel);
    checks.push_back([&](Diagnostics& found) { CheckRangeWaits(module, kernel, found); });
  });
  auto check_flow = [&](const auto& program) {
    checks.push_back([&](Diagnostics& found) { CheckEventFlow(joined, program, found); });
  };
  if (&joined != &module) {
    ForEachProgram(joined, check_flow, check_flow);
  }
  RunInParallel(checks, diagnostics);
}

/// Where something is wrong with a mesh, and a requirement rules its number of ranks out, that one
/// is at fault.
void CheckMeshOfRequired(const Module& module, Diagnostics& diagnostics) {
  Diagnostics of_mesh, of_constants;
  CheckMesh(module, of_mesh);
  const bool is_ruled_out = of_mesh.HasErrors() && !VerifyConstants(module, of_constants) &&
                            std::ranges::all_of(of_constants.all(), [](const Diagnostic& each) {
                              return each.kind == DiagnosticKind::Requirement;
                            });
  diagnostics.Add(is_ruled_out ? of_constants : of_mesh);
}

bool VerifyParts(const Module& module, Scope scope, Diagnostics& diagnostics) {
  size_t before = diagnostics.error_count();
  if (!module.mesh) {
    CheckParts(module, module, scope, diagnostics);
    return diagnostics.error_count() == before;
  }
  CheckMeshOfRequired(module, diagnostics);
  if (diagnostics.error_count() == before) {
    ForEachMesh(module, diagnostics,
                [&](int64_t ranks, const Module& at, const Module& joined, Diagnostics& found) {
                  CheckParts(at, joined, scope, found);
                  bool most = ranks > 1 && ranks == module.mesh->values.back();
                  if (scope.as_written && most && !found.HasErrors()) {
                    ForEachProgram(
                        at, [&](const Graph& graph) { CheckSameOnRanks(at, graph, found); },
                        [](const Kernel&) {});
                  }
                });
  }
  return diagnostics.error_count() == before;
}

}  // namespace

bool VerifyBehindPass(const Module& module, bool devices, Diagnostics& diagnostics) {
  return VerifyParts(module, {devices, false}, diagnostics) &&
         VerifyDependences(module, diagnostics);
}

bool VerifyAllButDependences(const Module& module, Diagnostics& diagnostics) {
  return VerifyParts(module, {true, true}, diagnostics);
}

bool VerifyConstants(const Module& module, Diagnostics& diagnostics) {
  size_t before = diagnostics.error_count();
  if (!module.mesh) {
    (void)CheckConstants(module, diagnostics);
    return diagnostics.error_count() == before;
  }
  CheckMeshValues(module, diagnostics);
  for (int64_t ranks : module.mesh->values) {
    if (diagnostics.error_count() == before) {
      (void)CheckConstants(AtRanks(module, ranks), diagnostics);
    }
  }
  return diagnostics.error_count() == before;
}

bool VerifySpecialisation(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  size_t before = diagnostics.error_count();
  CheckSpecialisation(module, graph, diagnostics);
  return diagnostics.error_count() == before;
}

}  // namespace etc
