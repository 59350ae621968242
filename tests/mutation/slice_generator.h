// Random small programs that are right: calls on parts of tensors and on places of rings.
#pragma once

#include <cstdint>
#include <string>

namespace etc::mutation {

struct SliceText {
  std::string text;
  std::string family;  // what the program is an example of
};

/// The same for the same seed. Without events, or with one for each call that others need; then one
/// of four lacks a wait, and may be wrong.
SliceText GenerateSlices(uint64_t seed, bool events);

}  // namespace etc::mutation
