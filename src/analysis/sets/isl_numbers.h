// Memory for isl's numbers.
#pragma once

namespace etc {

/// Has GMP, by which isl computes, take memory for numbers of one or two words from lists of free
/// blocks, one for each thread: isl makes and drops millions of them, and `malloc` takes ten times
/// as long for each. May be called more often than once, at any time.
void UseBlocksForNumbers();

}  // namespace etc
