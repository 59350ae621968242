// How a mutant ends: what the oracle says of it against what etc says.
#pragma once

#include <optional>
#include <string>

#include "check.h"
#include "oracle.h"

namespace etc::mutation {

/// The last four are defects: of the proofs, or of the oracle.
enum class Outcome {
  WrongVerifier,
  WrongRefuted,
  WrongNotProved,
  RightAccepted,
  RightNotProved,
  RightRule,
  RightVerifier,
  WrongAccepted,
  WrongProved,
  RightRefuted,
  Disagreement,
  Count
};

const char* Name(Outcome outcome);
bool IsDefect(Outcome outcome);

/// A wrong program counts as not proved only if a proof of what goes wrong with it is open.
Outcome Classify(const CheckResult& check, const Verdict& verdict);
/// A refutation says what happens at the sizes that it names, so each is judged there: what goes
/// wrong at others does not make it right. What a task computes is not assumed to be as asked:
/// the program really does that. Nothing where that is too large to be judged and all else is
/// right.
std::optional<Outcome> OutcomeOfRefuted(const CheckResult& check, Outcome outcome,
                                        Verdict& verdict);

/// Why etc says what it says, in words that many mutants share.
std::string Reason(const CheckResult& check, Outcome outcome);

}  // namespace etc::mutation
