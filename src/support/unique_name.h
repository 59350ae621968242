// Names that nothing else has.
#pragma once

#include <set>
#include <string>

namespace etc {

/// `name`, or where that is taken `name_2`, `name_3` and so on; from then on it is taken.
inline std::string UniqueName(const std::string& name, std::set<std::string>& taken) {
  std::string unique = name;
  for (int i = 2; !taken.insert(unique).second; ++i) {
    unique = name + "_" + std::to_string(i);
  }
  return unique;
}

}  // namespace etc
