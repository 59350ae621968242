// The front half of every subcommand: from a file to a verified module.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/proofs/graph_proofs.h"
#include "analysis/proofs/proofs.h"
#include "compile/options.h"
#include "compile/session.h"
#include "expand/decisions.h"
#include "ir/module.h"
#include "text/parser.h"

namespace etc {

/// Reads and parses the source and what it imports. Null after an error.
[[nodiscard]] std::unique_ptr<Module> ParseSource(const SourceOptions& options, Session& session,
                                                  AbsentImports absent = AbsentImports::Refused);

/// Puts the values of `--config` and then those of `-D` in the place of the source's own, and makes
/// the arrays of `--array`. With `remarks` it says which constants a configuration does not give.
[[nodiscard]] bool ApplySettings(Module& module, const SourceOptions& options, Session& session,
                                 bool remarks = false);

/// The module in front of expansion, with its constants set. Null after an error.
[[nodiscard]] std::unique_ptr<Module> LoadOpen(const SourceOptions& options, Session& session);

/// What operators leave open in an open module, as it is decided. Empty after an error, in the
/// module that they are decided for, too.
[[nodiscard]] std::optional<std::vector<Decision>> DecisionsOf(const Module& open,
                                                               const SourceOptions& options,
                                                               Session& session);

/// Parse → constants → expand → verify. Null after an error. Of a specialised graph it keeps only
/// the range that `sizes` of dimensions select, if they do.
[[nodiscard]] std::unique_ptr<Module> LoadModule(const SourceOptions& options, Session& session,
                                                 const std::map<std::string, int64_t>& sizes = {});

/// An error where an expanded module has neither a graph nor a kernel: there is nothing to compile
/// and to run.
[[nodiscard]] bool HasProgram(const Module& module, Session& session);

/// Sets constants, expands, verifies all but dependences, and unless `options` skip the proofs
/// derives the events that are proved. `bodies` gets what the proofs may take over of that. False
/// after an error.
[[nodiscard]] bool PrepareModule(Module& module, const SourceOptions& source,
                                 const ProofOptions& options, Session& session,
                                 DerivedBodies& bodies);

/// `PrepareModule`, unless `options` skip them the proofs, and dependences. False after an error.
/// `report` is empty where the proofs were skipped or did not come to pass.
[[nodiscard]] bool CheckModule(Module& module, const SourceOptions& source,
                               const ProofOptions& options, Session& session,
                               std::optional<ProofReport>& report);

}  // namespace etc
