// What a compiler of CUDA says of the class templates that impls name, and what these say.
#pragma once

#include <string>
#include <vector>

#include "emit/emit.h"
#include "support/diagnostics.h"

namespace etc {

/// A note for each template that the log of a failed compilation says there is none of: where it is
/// named, and which header was to define it.
[[nodiscard]] std::vector<Note> NotesOnTemplates(const std::string& log,
                                                 const std::vector<ImplTemplate>& templates);

/// A note for each static assertion that failed: what a tile kernel asks of a program, and where it
/// is named.
[[nodiscard]] std::vector<Note> NotesOnAssertions(const std::string& log,
                                                  const std::vector<ImplTemplate>& templates);

}  // namespace etc
