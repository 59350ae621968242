// What `etc explain --choices` found of what operators leave open, as text or as JSON.
#pragma once

#include <string>
#include <vector>

#include "expand/decisions.h"
#include "target/target.h"

namespace etc {

/// One thing that is open, in one range of sizes.
struct ExplainedChoice {
  Decision decision;
  std::vector<double> us;  // of a launch with each option
};

std::string ChoicesText(const std::vector<ExplainedChoice>& choices, const Target& target);
std::string ChoicesJson(const std::vector<ExplainedChoice>& choices, const Target& target);

}  // namespace etc
