// Stacks for what recurses over long expressions.
#pragma once

namespace etc {

/// Lets the stack of this thread grow, and gives those that start from here one of that size: both
/// only take what they use. To be called first in `main`.
void UseDeepStacks();

}  // namespace etc
