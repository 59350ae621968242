// Parameters that are there under a condition (`%bias: f32[N] if biased`), and bodies that serve
// with them and without. Behind expansion no parameter has a condition.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/module.h"
#include "ir/rewrite.h"
#include "support/diagnostics.h"

namespace etc {

/// Whether any parameter is there under a condition only.
bool HasConditionalParams(const Module& module, const std::vector<TensorId>& params);

/// Of `params` those that are there where generic parameters have these values. Reports as
/// [argument] at `range`, about the function `name`, a condition that constants do not decide.
[[nodiscard]] std::optional<std::vector<TensorId>> PresentParams(
    Module& module, const std::string& name, const std::vector<TensorId>& params,
    const Substitution& values, SourceRange range, Diagnostics& diagnostics);

/// Whether any scalar is there under a condition only.
bool HasConditionalScalars(const Module& module, const std::vector<SymbolId>& scalars);

/// The same of scalar parameters: for each of them whether it is there.
[[nodiscard]] std::optional<std::vector<bool>> PresentScalars(
    Module& module, const std::string& name, const std::vector<SymbolId>& scalars,
    const Substitution& values, SourceRange range, Diagnostics& diagnostics);

/// The scalars of a device function that there are, of which the call keeps the values.
[[nodiscard]] std::optional<std::vector<SymbolId>> TakePresentScalars(
    Module& module, CallNode& call, const Device& device, const Substitution& values,
    SourceRange range, Diagnostics& diagnostics);

/// The body where each `if` and `select` that constants decide, in every range of sizes alike, is
/// the side that it takes. Expressions change in place.
[[nodiscard]] std::vector<StmtId> WithoutDecidedChoices(Module& module,
                                                        const std::vector<StmtId>& body);

/// The same of an expression that is none of a body: each `select` that constants decide.
void TakeDecidedSides(Module& module, ExprId expr);

/// Reports as [argument] each of these tensors and scalars, parameters that there are not, which
/// the function uses all the same.
void CheckUnused(const Module& module, const Device& device, const std::set<TensorId>& tensors,
                 const std::set<SymbolId>& scalars, Diagnostics& diagnostics);

/// Takes the parameters that there are not out of a function that is not generic, and all that its
/// body and its calls do with them. Reports as CheckUnused and PresentParams do.
void KeepPresentParams(Module& module, Device& device, Diagnostics& diagnostics);
void KeepPresentParams(Module& module, Graph& graph, Diagnostics& diagnostics);

}  // namespace etc
