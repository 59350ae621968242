#include "analysis/sets/flat_axes.h"

#include <algorithm>
#include <optional>
#include <set>

#include "analysis/sets/convert.h"
#include "analysis/sets/task_scope.h"
#include "ir/walk.h"

namespace etc {
namespace {

bool Same(const PwAff& a, const PwAff& b) {
  return isl_pw_aff_plain_is_equal(a.get(), b.get()) > 0;
}

/// Whether the value is made of nothing but dimensions.
bool IsOfDims(const Unknowns& unknowns, const PwAff& value) {
  Set at = Eq(value, unknowns.Param("value@"));
  std::vector<std::string> names = unknowns.Involved(at);
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return name == "value@" || unknowns.IsDim(name);
  });
}

class Finder {
 public:
  explicit Finder(Unknowns& unknowns)
      : unknowns_(unknowns), module_(unknowns.module()), converter_(unknowns) {}

  std::map<TensorId, FlatAxes> Run() {
    std::map<TensorId, FlatAxes> found;
    for (const ProgramCall& call : unknowns_.program().calls) {
      for (const Argument& arg : call.args) {
        const Tensor& tensor = module_.tensors[arg.tensor];
        bool may_be = std::any_of(tensor.shape.begin(), tensor.shape.end(),
                                  [&](ExprId extent) { return MayHold(extent); });
        if (may_be && !found.contains(arg.tensor)) {
          FlatAxes axes = Of(arg.tensor);
          if (axes.extents.size() > tensor.shape.size()) {
            found.emplace(arg.tensor, std::move(axes));
          }
        }
      }
    }
    return found;
  }

 private:
  /// Whether an extent may hold several axes: it is a product, and no number.
  bool MayHold(ExprId extent) const {
    std::vector<ExprId> factors;
    AddFactors(extent, factors);
    return factors.size() > 1 && std::any_of(factors.begin(), factors.end(), [&](ExprId factor) {
             return !EvaluateInt(module_, factor, {}, unknowns_.program().ranges);
           });
  }

  FlatAxes Of(TensorId id) {
    FlatAxes axes;
    std::vector<PwAff> strides = StridesOf(id);
    for (ExprId extent : module_.tensors[id].shape) {
      std::vector<ExprId> factors;
      AddFactors(extent, factors);
      auto sizes = SizesOf(factors, strides);
      if (!sizes) {
        std::reverse(factors.begin(), factors.end());
        sizes = SizesOf(factors, strides);
      }
      if (!sizes) {
        axes.sizes.emplace_back();
        axes.extents.push_back(converter_.Int(extent));
        continue;
      }
      axes.extents.insert(axes.extents.end(), sizes->rbegin(), sizes->rend());
      sizes->pop_back();
      axes.sizes.push_back(std::move(*sizes));
    }
    return axes;
  }

  void AddFactors(ExprId id, std::vector<ExprId>& factors) const {
    const auto* product = std::get_if<Binary>(&module_.exprs[id]);
    if (product != nullptr && product->op == BinaryOp::Mul) {
      AddFactors(product->left, factors);
      AddFactors(product->right, factors);
    } else {
      factors.push_back(id);
    }
  }

  /// The sizes of the axes that an extent of these factors holds, the innermost first, as far as
  /// bodies step by them; the rest is the outermost one. Constants are no axes of their own: what
  /// they multiply is affine. Nothing where there is only one.
  std::optional<std::vector<PwAff>> SizesOf(const std::vector<ExprId>& factors,
                                            const std::vector<PwAff>& strides) {
    std::vector<PwAff> sizes;
    PwAff size = unknowns_.Constant(1);
    bool inner = true;  // bodies step by all so far
    for (size_t i = factors.size(); i-- > 0;) {
      PwAff factor = converter_.Int(factors[i]);
      if (!IsOfDims(unknowns_, factor)) {
        return std::nullopt;
      }
      bool steps = IsConstant(factor) ||
                   std::any_of(strides.begin(), strides.end(),
                               [&](const PwAff& stride) { return Same(stride, factor); });
      bool positive = IsEmpty(unknowns_.sizes() & Lt(factor, unknowns_.Constant(1)));
      size = converter_.Times(size, factor);
      inner = inner && steps && positive;
      if (inner && i > 0 && !IsConstant(size)) {
        sizes.push_back(size);
        size = unknowns_.Constant(1);
      }
    }
    sizes.push_back(size);
    return sizes.size() > 1 ? std::optional(sizes) : std::nullopt;
  }

  /// The sizes by which bodies that use the tensor multiply.
  std::vector<PwAff> StridesOf(TensorId id) {
    std::vector<PwAff> strides;
    std::set<const Device*> seen;
    for (const ProgramCall& call : unknowns_.program().calls) {
      bool uses = std::any_of(call.args.begin(), call.args.end(),
                              [&](const Argument& arg) { return arg.tensor == id; });
      if (!uses || !seen.insert(call.device).second) {
        continue;
      }
      VisitExprs(module_, call.device->body, [&](ExprId expr) {
        const auto* product = std::get_if<Binary>(&module_.exprs[expr]);
        if (product != nullptr && product->op == BinaryOp::Mul) {
          AddStride(product->left, product->right, strides);
          AddStride(product->right, product->left, strides);
        }
      });
    }
    return strides;
  }

  /// Adds the sizes that a variable is multiplied by.
  void AddStride(ExprId value, ExprId by, std::vector<PwAff>& strides) {
    if (!IsSize(by) || IsSize(value)) {
      return;
    }
    std::vector<ExprId> factors;
    AddFactors(by, factors);
    for (ExprId factor : factors) {
      strides.push_back(converter_.Int(factor));
    }
  }

  /// Whether the expression is over constants and dimensions.
  bool IsSize(ExprId id) const {
    return !FindExpr(module_, id, [&](const Expr& expr) {
      const auto* ref = std::get_if<SymbolRef>(&expr);
      bool variable = ref != nullptr && module_.symbols[ref->symbol].kind != SymbolKind::Dim &&
                      module_.symbols[ref->symbol].kind != SymbolKind::Const;
      bool value = std::holds_alternative<SymbolRef>(expr) ||
                   std::holds_alternative<IntLiteral>(expr) ||
                   std::holds_alternative<Binary>(expr) || std::holds_alternative<Call>(expr);
      return variable || !value;
    });
  }

  Unknowns& unknowns_;
  const Module& module_;
  Converter converter_;
};

/// A value as `outer * size + inner`, with `inner` in 0 .. size.
struct Split {
  PwAff outer;
  PwAff inner;
};

/// What is added to a value as a multiple of the size: terms that are products by it.
Split TakeMultiples(const Unknowns& unknowns, const PwAff& value, const PwAff& size) {
  Split split{unknowns.Constant(0), value};
  if (isl_pw_aff_n_piece(value.get()) != 1) {
    return split;
  }
  for (const Term* term : unknowns.TermsIn(Eq(value, unknowns.Param("value@")))) {
    if (term->kind != Term::Kind::Product) {
      continue;
    }
    isl_aff* affine = isl_pw_aff_as_aff(value.copy());
    int position = isl_aff_find_dim_by_name(affine, isl_dim_param, term->name.c_str());
    Val factor(isl_aff_get_coefficient_val(affine, isl_dim_param, position));
    isl_aff_free(affine);
    if (isl_val_is_int(factor.get()) != isl_bool_true) {
      continue;
    }
    int64_t times = isl_val_get_num_si(factor.get());
    PwAff whole = unknowns.Constant(times) * unknowns.Param(term->name);
    for (size_t side : {size_t{0}, size_t{1}}) {
      const PwAff& by = term->args[side];
      if (Same(by, size)) {
        split.outer = split.outer + unknowns.Constant(times) * term->args[1 - side];
      } else if (Same(unknowns.Constant(times) * by, size)) {
        split.outer = split.outer + term->args[1 - side];
      } else {
        continue;
      }
      split.inner = split.inner - whole;
      break;
    }
  }
  return split;
}

Split SplitBy(Unknowns& unknowns, const PwAff& value, const PwAff& size, const Set& scope) {
  Split split = TakeMultiples(unknowns, value, size);
  auto inside = [&](const PwAff& inner) {
    Set outside = Lt(inner, unknowns.Constant(0)) | Le(size, inner);
    return IsEmpty(unknowns.CloseVariables(scope & outside));
  };
  for (int64_t carry : {0, 1, -1}) {
    PwAff inner = split.inner - unknowns.Constant(carry) * size;
    if (inside(inner)) {
      return {split.outer + unknowns.Constant(carry), inner};
    }
  }
  PwAff outer = unknowns.Quotient(value, size);
  return {outer, value - unknowns.Product(outer, size)};
}

}  // namespace

std::map<TensorId, FlatAxes> FindFlatAxes(Unknowns& unknowns) { return Finder(unknowns).Run(); }

std::vector<std::string> ElementNamesOf(const Unknowns& unknowns, TensorId tensor) {
  const FlatAxes* flat = unknowns.FlatAxesOf(tensor);
  return ElementNames(flat == nullptr ? unknowns.module().tensors[tensor].shape.size()
                                      : flat->extents.size());
}

std::vector<PwAff> ElementExtents(Unknowns& unknowns, TensorId tensor) {
  if (const FlatAxes* flat = unknowns.FlatAxesOf(tensor)) {
    return flat->extents;
  }
  std::vector<PwAff> extents;
  Converter converter(unknowns);
  for (ExprId extent : unknowns.module().tensors[tensor].shape) {
    extents.push_back(converter.Int(extent));
  }
  return extents;
}

std::vector<PwAff> ElementAt(Unknowns& unknowns, TensorId tensor, const std::vector<PwAff>& indices,
                             const Set& scope) {
  const FlatAxes* flat = unknowns.FlatAxesOf(tensor);
  if (flat == nullptr) {
    return indices;
  }
  std::vector<PwAff> element;
  for (size_t i = 0; i < indices.size(); ++i) {
    PwAff rest = indices[i];
    std::vector<PwAff> parts;
    for (const PwAff& size : flat->sizes[i]) {
      Split split = SplitBy(unknowns, rest, size, scope);
      parts.push_back(split.inner);
      rest = split.outer;
    }
    element.push_back(rest);
    element.insert(element.end(), parts.rbegin(), parts.rend());
  }
  return element;
}

}  // namespace etc
