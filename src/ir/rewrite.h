// Cloning of expressions, for passes.
#pragma once

#include <map>

#include "ir/module.h"

namespace etc {

/// What a symbol becomes: another expression.
using Substitution = std::map<SymbolId, ExprId>;
/// What a tensor becomes: another one, or its slice, of which the indices fill the free axes.
using TensorSubstitution = std::map<TensorId, Argument>;

/// A copy of `expr` with symbols (and tensors) replaced; an absent id stays absent.
ExprId Clone(Module& module, ExprId expr, const Substitution& symbols,
             const TensorSubstitution& tensors = {});
EventRef Clone(Module& module, const EventRef& ref, const Substitution& symbols,
               const TensorSubstitution& tensors = {});

/// The indices in a tensor of an element of its slice.
std::vector<ExprId> Behind(const std::vector<ExprId>& slice, const std::vector<ExprId>& indices);

/// New symbols in the place of those that are present, and what the old ones become.
Substitution CopyIndices(Module& module, std::vector<SymbolId>& indices);

/// Short constructors for passes. They fold literals (`x*1`, `0+x`, `2*3`).
ExprId MakeInt(Module& module, int64_t value);
ExprId MakeRef(Module& module, SymbolId symbol);
ExprId MakeAdd(Module& module, ExprId left, ExprId right);
ExprId MakeSub(Module& module, ExprId left, ExprId right);
ExprId MakeMul(Module& module, ExprId left, ExprId right);
/// The value and a number more, which is added where a number is added already, and in each operand
/// of `min` and `max`.
ExprId MakeOffset(Module& module, ExprId value, int64_t offset);
ExprId MakeAlign(Module& module, ExprId value, int64_t alignment);

/// Whether any of `symbols` occurs in the expression.
bool Mentions(const Module& module, ExprId expr, const std::vector<SymbolId>& symbols);
bool Mentions(const Module& module, const std::vector<Axis>& axes,
              const std::vector<SymbolId>& symbols);
bool Mentions(const Module& module, const EventRef& ref, const std::vector<SymbolId>& symbols);
/// Whether the check, or the element of an event, is another one for each task of the share.
bool ReadsCoordinates(const Module& module, const Check& check, const Share& share);
bool ReadsCoordinates(const Module& module, const EventRef& ref, const Share& share);

}  // namespace etc
