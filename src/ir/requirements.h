// Requirements between dimensions: what every launch must fulfil, and proofs rely on.
#pragma once

#include <optional>
#include <vector>

#include "ir/evaluate.h"

namespace etc {

/// The dimensions of a module in the order in which they are declared.
std::vector<SymbolId> DimsOf(const Module& module);

/// The dimensions whose value an expression depends on, and not only the ends of their range.
std::vector<SymbolId> DimsIn(const Module& module, ExprId expr);

/// The conditions that only the sizes of a launch decide. Of the others the compiler knows whether
/// they hold, as of one that holds at all sizes in their ranges.
std::vector<ExprId> LaunchRequirements(const Module& module);

/// Whether a requirement depends on the range of a specialisation, through `lower` and `upper`.
bool DependsOnRange(const Module& module, ExprId expr);

/// Whether all of them hold at sizes with a value for each dimension.
bool RequirementsHold(const Module& module, const Env& dims, const DimRanges& ranges = {});

/// Sizes at which all requirements hold, small ones or large ones; those in `within` are inside of
/// it.
enum class Prefer { Small, Large };
std::optional<Env> FindSizes(const Module& module, const DimRanges& ranges, Prefer prefer,
                             const DimRanges& within = {});

/// False only where it is certain that no sizes in `ranges` fulfil all of `conditions`, or of the
/// requirements.
bool MayHaveSizes(const Module& module, const DimRanges& ranges);
bool MayHaveSizes(const Module& module, const DimRanges& ranges,
                  const std::vector<ExprId>& conditions);

}  // namespace etc
