// Damaged variants of program texts, the same in every run.
#pragma once

#include <string>

namespace etc {

/// Mutation number `number` of `text`: bytes and tokens deleted, doubled, swapped or replaced.
std::string Mutate(const std::string& text, unsigned number);

}  // namespace etc
