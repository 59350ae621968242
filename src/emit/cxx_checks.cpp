#include "emit/cxx_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "verify/walk.h"

namespace etc {
namespace {

constexpr size_t kValues = 12;  // those of a record, in kernels/tile/checks.cuh

/// The number of a text; equal texts have one.
size_t NumberOf(CheckTexts& texts, const std::string& text) {
  auto found = std::find(texts.begin(), texts.end(), text);
  if (found == texts.end()) {
    texts.push_back(text);
    return texts.size() - 1;
  }
  return static_cast<size_t>(found - texts.begin());
}

/// `[{}, {}]` for so many indices, and nothing for none.
std::string Places(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += i == 0 ? "{}" : ", {}";
  }
  return count == 0 ? "" : "[" + text + "]";
}

/// An element of a parameter by its number in row-major order, as C++.
class Elements {
 public:
  Elements(const KernelScope& scope, TensorId id) : tensor_(scope.module().tensors[id]) {
    for (size_t axis = 0; axis < tensor_.shape.size(); ++axis) {
      extents_.push_back(scope.Extent(id, axis));
    }
    // Of many axes a message gives the number alone.
    by_number_ = 2 * extents_.size() + 1 > kValues;
    if (!tensor_.tile.empty()) {
      tile_ = fmt::format("{}, {}", TileSize(scope.module(), tensor_, 0),
                          TileSize(scope.module(), tensor_, 1));
    }
  }

  std::string Count(size_t first_axis) const {
    std::string count = "1LL";
    for (size_t axis = first_axis; axis < extents_.size(); ++axis) {
      count += fmt::format(" * ({})", extents_[axis]);
    }
    return count;
  }

  /// Where element `e` lies.
  std::string Offset() const {
    if (tile_.empty()) {
      return "e";
    }
    std::string rows = extents_[extents_.size() - 2], columns = extents_.back();
    return fmt::format(
        "e / (({0}) * ({1})) * (({0}) * ({1})) + "
        "TileOffset<{2}>(e / ({1}) % ({0}), e % ({1}), {1})",
        rows, columns, tile_);
  }

  /// The indices of element number `e` as arguments: `, e / 4 % n, e % 4`.
  std::string Indices(const std::string& e) const {
    std::string text;
    for (size_t axis = 0; axis < extents_.size() && !by_number_; ++axis) {
      text += fmt::format(", {} / ({}) % ({})", e, Count(axis + 1), extents_[axis]);
    }
    return by_number_ ? ", " + e : text;
  }
  std::string Places() const { return etc::Places(by_number_ ? 1 : extents_.size()); }

 private:
  const Tensor& tensor_;
  std::vector<std::string> extents_;
  std::string tile_;
  bool by_number_ = false;
};

void WriteParamCheck(TextWriter& out, const KernelScope& scope, const Check& check,
                     CheckTexts& texts) {
  const Tensor& tensor = scope.module().tensors[check.tensor];
  Elements elements(scope, check.tensor);
  std::string places = elements.Places(), indices = elements.Indices("e");
  std::string who = fmt::format("parameter %{}: {}", tensor.name, places.empty() ? "it" : places);
  out.Open("{");
  out.Line(fmt::format("const auto at = [&](i64 e) {{ return i64({}[{}]); }};",
                       scope.Pointer(check.tensor), elements.Offset()));
  if (check.value_lo) {
    out.Line(fmt::format("const i64 lo = {}, hi = {};", CxxExpr(scope, check.value_lo),
                         CxxExpr(scope, check.value_hi)));
  }
  out.Open(
      fmt::format("for (i64 e = thread, end = {}; e < end; e += threads) {{", elements.Count(0)));
  out.Line("const i64 value = at(e);");
  if (check.value_lo) {
    size_t number = NumberOf(texts, who + " is {}, outside of {}..{}");
    out.Line(fmt::format("checks.InRange({}, value, lo, hi{});", number, indices));
  }
  if (check.monotone) {
    size_t number =
        NumberOf(texts, who + " is {}, less than the {} before it, but must be monotone");
    out.Open(fmt::format("if (e % ({}) != 0 && value < at(e - 1)) {{",
                         elements.Count(tensor.shape.size() - 1)));
    out.Line(fmt::format("checks.Fail({}{}, value, at(e - 1));", number, indices));
    out.Close();
  }
  if (check.distinct) {
    size_t number =
        NumberOf(texts, fmt::format("{} is {{}}, like {}, but must be distinct", who, places));
    std::string slice = elements.Count(check.leading);
    out.Open(fmt::format("for (i64 other = e / ({0}) * ({0}); other < e; ++other) {{", slice));
    out.Open("if (value == at(other)) {");
    out.Line(
        fmt::format("checks.Fail({}{}, value{});", number, indices, elements.Indices("other")));
    out.Close();
    out.Close();
  }
  out.Close();
  out.Close();
}

void WarnOf(const Device& device, const Tensor& param, const std::string& arch,
            Diagnostics& diagnostics) {
  std::string what = param.distinct ? "`distinct`" : param.monotone ? "`monotone`" : "";
  if (param.value_lo && FindImpl(device, arch) != nullptr) {
    what = what.empty() ? "the range of its values" : "the range of its values, and " + what;
  }
  if (!what.empty()) {
    diagnostics.Warning(
        DiagnosticKind::NotChecked, param.range,
        fmt::format("what `@{}` asks of `%{}` is not checked where the program computes it: {}",
                    device.name, param.name, what));
  }
}

void CollectComputed(const Module& module, const std::vector<NodeId>& nodes,
                     std::set<TensorId>& params) {
  for (NodeId id : nodes) {
    if (const auto* repeat = std::get_if<Repeat>(&module.nodes[id])) {
      CollectComputed(module, repeat->body, params);
    } else if (const auto* share = std::get_if<Share>(&module.nodes[id])) {
      for (size_t i = 0; i < share->args.size(); ++i) {
        const Tensor& argument = module.tensors[share->args[i].tensor];
        TensorId param = module.devices[share->callee].params[i];
        bool is_computed = argument.kind == TensorKind::Buffer || argument.access != Access::In;
        if (is_computed && module.tensors[param].access != Access::Out) {
          params.insert(param);
        }
      }
    }
  }
}

}  // namespace

std::set<TensorId> ComputedParams(const Module& module, const Kernel& kernel) {
  std::set<TensorId> params;
  CollectComputed(module, kernel.body, params);
  return params;
}

CheckedScope::CheckedScope(const Module& module, const DimRanges& ranges, const Device& device,
                           const std::set<TensorId>& computed, CheckTexts& texts)
    : DeviceScope(module, ranges), computed_(computed), texts_(texts) {
  name_ = "@" + device.name;
  // What follows the coordinates in a message takes five values or less, but for the indices.
  if (device.tasks.size() + 5 <= kValues) {
    values_ = device.tasks.size();
    name_ += ", task " + Places(values_);
    for (const Axis& axis : device.tasks) {
      coordinates_ += ", " + CxxName(module, axis.var);
    }
  }
  Learn(device.tasks);
  Learn(device.body);
}

void CheckedScope::Learn(const std::vector<Axis>& axes) {
  for (const Axis& axis : axes) {
    LearnInside(axis.lo);
    LearnInside(axis.hi);
    if (DependsOnData(axis.lo) || DependsOnData(axis.hi)) {
      data_.insert(axis.var);
    }
  }
}

/// The variables of the reductions in an expression.
void CheckedScope::LearnInside(ExprId expr) {
  VisitExprs(module(), expr, [&](ExprId inner) {
    if (const auto* reduce = std::get_if<Reduce>(&module().exprs[inner])) {
      for (const Axis& axis : reduce->axes) {
        if (DependsOnData(axis.lo) || DependsOnData(axis.hi)) {
          data_.insert(axis.var);
        }
      }
    }
  });
}

void CheckedScope::Learn(const std::vector<StmtId>& body) {
  for (StmtId id : body) {
    const Stmt& stmt = module().stmts[id];
    if (const auto* loop = std::get_if<For>(&stmt)) {
      Learn(loop->axes);
      Learn(loop->body);
    } else if (const auto* branch = std::get_if<If>(&stmt)) {
      LearnInside(branch->condition);
      Learn(branch->body);
    } else if (const auto* let = std::get_if<Let>(&stmt)) {
      LearnInside(let->value);
      if (DependsOnData(let->value)) {
        data_.insert(let->symbol);
      }
    } else if (const auto* assign = std::get_if<Assign>(&stmt)) {
      LearnInside(assign->value);
    } else if (const auto* top = std::get_if<TopK>(&stmt)) {
      Learn({top->rank, top->axis});
      LearnInside(top->body);
    }
  }
}

bool CheckedScope::DependsOnData(ExprId expr) const {
  return bool{FindExpr(module(), expr, [&](const Expr& e) {
    const auto* ref = std::get_if<SymbolRef>(&e);
    return std::holds_alternative<Load>(e) || (ref != nullptr && data_.contains(ref->symbol));
  })};
}

std::string CheckedScope::Guard(TensorId id, const std::vector<ExprId>& indices) const {
  const Tensor& tensor = module().tensors[id];
  std::string guard;
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    if (!DependsOnData(indices[axis])) {
      continue;
    }
    size_t number = NumberOf(texts_, fmt::format("{}: index {} of %{} is {{}}, outside of 0..{{}}",
                                                 name_, axis, tensor.name));
    guard += fmt::format("{}args.checks.Inside({}, {}, {}{})", guard.empty() ? "" : " && ", number,
                         CxxExpr(*this, indices[axis]), Extent(id, axis), coordinates_);
  }
  return guard;
}

std::string CheckedScope::Checked(TensorId id, const std::vector<ExprId>& indices,
                                  std::string value) const {
  const Tensor& tensor = module().tensors[id];
  if (!tensor.value_lo || !computed_.contains(id)) {
    return value;
  }
  bool fits = values_ + indices.size() + 3 <= kValues;
  std::string arguments;
  for (ExprId index : indices) {
    arguments += ", " + CxxExpr(*this, index);
  }
  size_t number = NumberOf(texts_, fmt::format("{}: %{}{} is {{}}, outside of {{}}..{{}}", name_,
                                               tensor.name, fits ? Places(indices.size()) : ""));
  return fmt::format("args.checks.InRange({}, {}, {}, {}{}{})", number, value,
                     CxxExpr(*this, tensor.value_lo), CxxExpr(*this, tensor.value_hi), coordinates_,
                     fits ? arguments : "");
}

void WriteParamChecks(TextWriter& out, const KernelScope& scope, const Kernel& kernel,
                      CheckTexts& texts) {
  out.Line("");
  out.Open(
      "ETC_DEVICE void CheckParams(const Params& params, const Checks& checks, i64 thread, "
      "i64 threads) {");
  out.Line("[[maybe_unused]] const Dims dims = params.dims();");
  for (const Check& check : kernel.checks) {
    WriteParamCheck(out, scope, check, texts);
  }
  out.Close();
}

void WarnOfUnchecked(const Module& module, const std::string& arch, Diagnostics& diagnostics) {
  std::set<TensorId> warned;
  for (const Kernel& kernel : module.kernels) {
    std::set<TensorId> computed = ComputedParams(module, kernel);
    for (DeviceId device : DevicesOf(module, kernel)) {
      for (TensorId id : module.devices[device].params) {
        if (kernel.check_accesses && computed.contains(id) && warned.insert(id).second) {
          WarnOf(module.devices[device], module.tensors[id], arch, diagnostics);
        }
      }
    }
  }
}

}  // namespace etc
