// The canonical text of a module; it parses back to an equal module.
#pragma once

#include <string>

#include "ir/module.h"

namespace etc {

/// Prints the whole module, with its comments where they stood (before the construct that follows
/// them, or at the end of their line). Print(Parse(Print(m))) equals Print(m).
std::string Print(const Module& module);

/// One expression, with no more parentheses than it needs.
std::string Print(const Module& module, ExprId expr);

/// One event reference, as `%done[l, i]`.
std::string Print(const Module& module, const EventRef& ref);

/// `in_flight 2 interval 900 ahead 1 prefetch 1400`, as it stands behind the word `loader`.
std::string Print(const Throttle& throttle);

}  // namespace etc
