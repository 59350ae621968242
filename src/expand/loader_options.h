// What a tuning may say of how far the loader of a kernel runs ahead.
#pragma once

#include <string_view>
#include <vector>

#include "expand/decisions.h"
#include "ir/module.h"

namespace etc {

/// The name under which the throttle of a graph's kernel is one thing to choose.
inline constexpr std::string_view kLoader = "loader";

/// The option that leaves it to the pass throttle-loader.
inline constexpr std::string_view kByRule = "rule";

/// Throttles as the text of a kernel has them, `in_flight 3 interval 700`, behind kByRule.
const std::vector<Option>& LoaderOptions();

/// The throttle of one of these options; nothing of kByRule.
std::optional<Throttle> LoaderThrottle(const Option& option);

/// The question that the kernel of a graph asks. Its shape is the constants in the shapes of the
/// graph's parameters, and its range the sizes that it is specialised for.
Question LoaderQuestion(const Module& module, const Graph& graph, const DimRanges& sizes);

}  // namespace etc
