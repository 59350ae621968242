// Checks that hold for every well-formed module; see verify.cpp for the list of invariants.
#pragma once

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// Reports every violated invariant of a text; false when there was one. Changes nothing.
[[nodiscard]] bool Verify(const Module& module, Diagnostics& diagnostics);

/// The invariants that every pass keeps. Without `devices` all but the graphs and the kernels is
/// verified already.
[[nodiscard]] bool VerifyBehindPass(const Module& module, bool devices, Diagnostics& diagnostics);

/// Verify in two halves, for a caller that proves the dependences between them: a proof that fails
/// says more. The second half relies on events that passed the first.
[[nodiscard]] bool VerifyAllButDependences(const Module& module, Diagnostics& diagnostics);
[[nodiscard]] bool VerifyDependences(const Module& module, Diagnostics& diagnostics);

/// Whether constants have values and the requirements hold, for each number of ranks; also of a
/// module whose expansion has failed.
[[nodiscard]] bool VerifyConstants(const Module& module, Diagnostics& diagnostics);

/// Whether the graph is specialised for ranges that hold each size once; their bounds may be such
/// as stand in front of expansion.
[[nodiscard]] bool VerifySpecialisation(const Module& module, const Graph& graph,
                                        Diagnostics& diagnostics);

/// The dependences of one graph, which may have no events yet.
[[nodiscard]] bool VerifyDependences(const Module& module, const Graph& graph,
                                     Diagnostics& diagnostics);

}  // namespace etc
