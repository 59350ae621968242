#include "outcome.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <vector>

namespace etc::mutation {
namespace {

constexpr const char* kOutcomes[] = {
    "wrong, rejected by the verifier",
    "wrong, refuted by the proofs",
    "wrong, said to be not proved",
    "right, accepted",
    "right, not proved",
    "right, rejected: breaks the rule that counts are exact",
    "right, rejected by a rule of the verifier",
    "WRONG, ACCEPTED",
    "WRONG, PROVED, and rejected by the verifier alone",
    "RIGHT, REFUTED",
    "THE ORACLE DISAGREES WITH ITSELF",
};
static_assert(std::size(kOutcomes) == static_cast<size_t>(Outcome::Count));

/// Without what tells the copy of a device function that `LowerSlices` makes from the function.
std::string OfOriginal(std::string text) {
  static const std::string kCopy = "_strided";
  for (size_t at = text.find(kCopy); at != std::string::npos; at = text.find(kCopy, at)) {
    size_t end = at + kCopy.size();
    while (end < text.size() && (text[end] == '_' || std::isdigit(text[end]) != 0)) {
      ++end;
    }
    text.erase(at, end - at);
  }
  return text;
}

/// Whether one of the open facts has all of these words.
bool IsOpen(const ProofReport& report, const std::vector<std::string>& words) {
  return std::any_of(report.not_proved.begin(), report.not_proved.end(),
                     [&](const std::string& fact) {
                       std::string text = OfOriginal(fact);
                       return std::all_of(words.begin(), words.end(), [&](const auto& word) {
                         return text.find(OfOriginal(word)) != std::string::npos;
                       });
                     });
}

/// Whether each of the races is of tasks and a tensor of which no order is said to be proved.
bool RacesAreOpen(const CheckResult& check, const Verdict& verdict) {
  return std::all_of(verdict.racing.begin(), verdict.racing.end(), [&](const auto& racing) {
    std::vector<std::string> words{"`" + racing.first + "`", "`" + racing.second + "`"};
    if (racing.tensor != "workspace") {  // of a place in it the search does not know the buffer
      words.push_back("`%" + racing.tensor + "`");
    }
    return IsOpen(check.report, words);
  });
}

/// Whether each device function whose iterations depend on each other is said to be open in that,
/// for a tensor that they depend on.
bool IterationsAreOpen(const ProofReport& report, const Verdict& verdict) {
  return std::all_of(verdict.dependent.begin(), verdict.dependent.end(), [&](const auto& each) {
    return std::any_of(verdict.dependent.begin(), verdict.dependent.end(), [&](const auto& other) {
      return other.first == each.first &&
             IsOpen(report, {"`%" + other.second + "` of `@" + each.first + "` independently"});
    });
  });
}

/// Whether what shares memory is not proved to be used at different times.
bool MemoryIsOpen(const ProofReport& report) {
  return IsOpen(report, {"they overlap in the workspace"});
}

}  // namespace

const char* Name(Outcome outcome) { return kOutcomes[static_cast<size_t>(outcome)]; }

bool IsDefect(Outcome outcome) {
  return outcome == Outcome::WrongAccepted || outcome == Outcome::WrongProved ||
         outcome == Outcome::RightRefuted || outcome == Outcome::Disagreement;
}

Outcome Classify(const CheckResult& check, const Verdict& verdict) {
  if (verdict.disagreements > 0) {
    return Outcome::Disagreement;
  }
  bool outside = verdict.wrong.contains(Wrong::OutOfBounds);
  bool overwritten = verdict.wrong.contains(Wrong::Overwritten);
  bool hang = verdict.wrong.contains(Wrong::Hang);
  bool race = verdict.wrong.contains(Wrong::Race);
  bool dependent = verdict.wrong.contains(Wrong::Iterations);
  bool undefined = verdict.wrong.contains(Wrong::Undefined);
  bool overflow = verdict.wrong.contains(Wrong::Overflow);
  bool unreceived = verdict.wrong.contains(Wrong::Unreceived);
  const ProofReport& report = check.report;
  if (outside || overwritten || hang || race || dependent || undefined || overflow || unreceived) {
    bool open = (outside && report.bounds.not_proved > 0) ||
                (overwritten && MemoryIsOpen(report)) ||
                (overflow && report.counts.not_proved > 0) ||
                (hang && report.counts.not_proved + report.order.not_proved > 0) ||
                (race && RacesAreOpen(check, verdict)) ||
                (dependent && IterationsAreOpen(report, verdict)) ||
                (undefined && report.coverage.not_proved > 0) ||
                (unreceived && report.order.not_proved > 0);
    if (!check.verified) {
      return check.proofs_refute || open ? Outcome::WrongVerifier : Outcome::WrongProved;
    }
    return check.proofs_refute ? Outcome::WrongRefuted
           : open              ? Outcome::WrongNotProved
                               : Outcome::WrongAccepted;
  }
  if (check.Accepted()) {
    return report.NotProved() > 0 ? Outcome::RightNotProved : Outcome::RightAccepted;
  }
  if (verdict.wrong.contains(Wrong::Count) || verdict.wrong.contains(Wrong::Early)) {
    return Outcome::RightRule;
  }
  return check.proofs_refute ? Outcome::RightRefuted : Outcome::RightVerifier;
}

std::optional<Outcome> OutcomeOfRefuted(const CheckResult& check, Outcome outcome,
                                        Verdict& verdict) {
  bool judged = false;
  for (const auto& [kind, sizes] : check.refuted) {
    Verdict there;
    for (uint64_t random_data : {2, 60}) {  // it takes some data, which may be rare
      there = there.wrong.empty() ? Judge(*check.module, {{sizes}, 0, 0, 0, false, random_data})
                                  : there;
      if (kind != DiagnosticKind::Coverage) {
        there.wrong.erase(Wrong::Undefined);
      }
    }
    judged = judged || there.judged;
    if (there.judged && there.wrong.empty()) {
      return Outcome::RightRefuted;
    }
    verdict.wrong.insert(there.wrong.begin(), there.wrong.end());
  }
  if (outcome != Outcome::RightRefuted) {
    return outcome;
  }
  if (!check.verified && check.refuted.empty()) {
    return Outcome::RightVerifier;
  }
  return judged ? std::optional(Classify(check, verdict)) : std::nullopt;
}

std::string Reason(const CheckResult& check, Outcome outcome) {
  if (outcome == Outcome::RightNotProved || outcome == Outcome::WrongNotProved) {
    std::string reason = check.report.not_proved[0];
    std::string plain;
    bool code = false;
    for (char c : reason) {
      if (c == '`') {
        plain += code ? "" : "…";
        code = !code;
      } else if (!code) {
        plain += c;
      }
    }
    return plain;
  }
  std::string kinds;
  for (DiagnosticKind kind : check.errors) {
    kinds += (kinds.empty() ? "" : ", ") + std::string(etc::Name(kind));
  }
  return kinds;
}

}  // namespace etc::mutation
