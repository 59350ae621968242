// Reads the manifest's integer expressions.
#pragma once

#include "runtime/json_object.h"
#include "runtime/manifest.h"

namespace etc::runtime {

/// Which dim of the graph `name`, a string, is.
Status FindDim(const JsonValue& name, const manifest::Graph& graph, int64_t* index);

/// An expression over the graph's dims. One without any must have a value in min..max.
Status ReadExpr(const JsonValue& value, const manifest::Graph& graph, int64_t min, int64_t max,
                manifest::Expr* expr);

}  // namespace etc::runtime
