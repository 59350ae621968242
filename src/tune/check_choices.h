// Whether what operators leave open changes nothing of what they compute.
#pragma once

#include "compile/options.h"
#include "compile/session.h"
#include "ir/module.h"

namespace etc {

/// Of a module in front of expansion, whose constants are set: makes a small program of each option
/// of each call, verifies and proves it, and runs it on the host beside the option that says what
/// is meant: from the same random tensors, at the least and the largest sizes of each range.
/// Reports as [choice] and [alternative] what computes something else. False after an error.
bool CheckChoices(const Module& open, const SourceOptions& source, const ProofOptions& proofs,
                  Session& session);

}  // namespace etc
