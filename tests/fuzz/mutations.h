// Damaged variants of texts and bytes, the same in every run.
#pragma once

#include <string>

namespace etc {

/// Mutation number `number` of `text`: bytes and tokens deleted, doubled, swapped or replaced.
std::string Mutate(const std::string& text, unsigned number);

/// The same of JSON: words, numbers and brackets.
std::string MutateJson(const std::string& text, unsigned number);

/// Bytes changed, deleted, doubled or cut off.
std::string MutateBytes(const std::string& bytes, unsigned number);

}  // namespace etc
