// Tuning files: what was measured to be best of what operators leave open.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compile/options.h"
#include "expand/decisions.h"
#include "support/diagnostics.h"

namespace etc {

/// The target of what was measured on the host. It holds for programs that run there.
inline constexpr std::string_view kHostTarget = "host";

/// For one function, at one shape, in one range of sizes, on one target.
struct TuningEntry {
  std::string target;  // of a machine, or kHostTarget
  std::string function;
  std::map<std::string, int64_t> shape;
  std::map<std::string, Interval> range;
  std::map<std::string, std::string> choose;  // an option by parameter
};

struct Tuning {
  std::vector<TuningEntry> entries;
};

/// Parses the text of a tuning file; `origin` names it in messages. Reports [choice] errors.
[[nodiscard]] std::optional<Tuning> ParseTuning(std::string_view text, const std::string& origin,
                                                Diagnostics& diagnostics);

/// An entry on each line.
[[nodiscard]] std::string TuningText(const Tuning& tuning);

/// Whose entries hold for a program from this source; what the first says goes over the second.
[[nodiscard]] std::vector<std::string> TuningTargets(const SourceOptions& source);

/// Adds what was decided, in the place of what the tuning says of the same, and in front of what it
/// says of wider ranges or of more shapes.
void Set(Tuning& tuning, const std::string& target, const Question& question,
         const std::string& option);

/// What the tuning says. An entry is for a question where it has nothing else in its shape, and
/// where its range holds the range of the question, and all sizes of what no range narrows.
[[nodiscard]] std::optional<Answer> Find(const Tuning& tuning,
                                         const std::vector<std::string>& targets,
                                         const Question& question, const std::string& origin);

}  // namespace etc
