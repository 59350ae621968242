// The programs of ir-examples as the campaign damages them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/override.h"

namespace etc::mutation {

/// A right program.
struct Base {
  std::string name;
  std::string text;
  std::vector<Override> constants;
  std::vector<std::map<std::string, int64_t>> sizes;  // empty: the smallest
};

/// Examples of a folder, of small constants; only the one that `example` names, unless it is empty.
std::vector<Base> MakeExamples(const std::string& folder, const std::string& example);

}  // namespace etc::mutation
