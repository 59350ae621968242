#include "emit/cxx_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/printer.h"

namespace etc {
namespace {

constexpr size_t kValues = kRecordValues;

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
    // For many axes a message gives only their number.
    by_number_ = 2 * extents_.size() + 1 > kValues;
    if (!tensor_.tile.empty()) {
      tile_ = CxxTile(scope, id);
    }
  }

  std::string Count(size_t first_axis) const {
    std::string count = "1LL";
    for (size_t axis = first_axis; axis < extents_.size(); ++axis) {
      count += fmt::format(" * ({})", extents_[axis]);
    }
    return count;
  }

  /// The place of element number `e`.
  std::string Offset(const std::string& e) const {
    if (tile_.empty()) {
      return e;
    }
    std::string rows = extents_[extents_.size() - 2], columns = extents_.back();
    return fmt::format(
        "{3} / (({0}) * ({1})) * (({0}) * ({1})) + "
        "TileOffset<{2}>({3} / ({1}) % ({0}), {3} % ({1}), {1})",
        rows, columns, tile_, e);
  }

  /// An index of element number `e`.
  std::string Index(const std::string& e, size_t axis) const {
    return fmt::format("{} / ({}) % ({})", e, Count(axis + 1), extents_[axis]);
  }

  /// The indices of element number `e` as arguments: `, e / 4 % n, e % 4`.
  std::string Indices(const std::string& e) const {
    std::string text;
    for (size_t axis = 0; axis < extents_.size() && !by_number_; ++axis) {
      text += ", " + Index(e, axis);
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

/// The range of an element, of which the bounds may read other parameters: by what these hold,
/// which may be wrong itself.
class PreconditionScope : public CxxScope {
 public:
  /// `who` is the element in messages, with the values of its places as arguments: `, e / 4, e %
  /// 4`. `names` and `indices` are those of the element in its range.
  PreconditionScope(const CxxScope& around, std::string checks, std::string who, std::string values,
                    const std::vector<SymbolId>& names, const std::vector<std::string>& indices,
                    CheckTexts& texts)
      : CxxScope(around.raised()),
        around_(around),
        checks_(std::move(checks)),
        who_(std::move(who)),
        values_(std::move(values)),
        texts_(texts) {
    for (size_t axis = 0; axis < names.size(); ++axis) {
      if (names[axis]) {
        indices_[names[axis]] = "(" + indices[axis] + ")";
      }
    }
  }

  std::string Pointer(TensorId tensor) const override { return around_.Pointer(tensor); }
  std::string Extent(TensorId tensor, size_t axis) const override {
    return around_.Extent(tensor, axis);
  }
  std::string Scalar(SymbolId symbol) const override {
    auto index = indices_.find(symbol);
    return index == indices_.end() ? around_.Scalar(symbol) : index->second;
  }
  std::string Guard(TensorId id, const std::vector<ExprId>& indices) const override {
    std::string guard;
    for (size_t axis = 0; axis < indices.size(); ++axis) {
      size_t number = CheckNumber(
          texts_, fmt::format("{} is promised by index {} of %{}, {{}}, outside of 0..{{}}", who_,
                              axis, module().tensors[id].name));
      guard += fmt::format("{}{}.Inside({}, {}, {}{})", guard.empty() ? "" : " && ", checks_,
                           number, CxxExpr(*this, indices[axis]), Extent(id, axis), values_);
    }
    return guard;
  }

 private:
  const CxxScope& around_;
  std::string checks_;
  std::string who_;
  std::string values_;
  std::map<SymbolId, std::string> indices_;
  CheckTexts& texts_;
};

/// Each thread counts for elements of its own.
void WriteCountsCheck(TextWriter& out, const KernelScope& scope, const Check& check,
                      const std::string& who, const std::string& indices, CheckTexts& texts) {
  const Tensor& counted = scope.module().tensors[check.counts];
  Elements elements(scope, check.counts);
  size_t number = CheckNumber(
      texts, fmt::format("{} is {{}}, but must count the elements of %{} that are {{}}, "
                         "of which there are {{}}",
                         who, counted.name));
  out.Line("i64 equal = 0;");
  out.Open(
      fmt::format("for (i64 other = 0, all = {}; other < all; ++other) {{", elements.Count(0)));
  out.Line(fmt::format("equal += i64({}[{}]) == e;", scope.Pointer(check.counts),
                       elements.Offset("other")));
  out.Close();
  out.Open("if (value != equal) {");
  out.Line(fmt::format("checks.Fail({}{}, value, e, equal);", number, indices));
  out.Close();
}

}  // namespace

size_t CheckNumber(CheckTexts& texts, const std::string& text) {
  auto found = std::find(texts.begin(), texts.end(), text);
  if (found == texts.end()) {
    texts.push_back(text);
    return texts.size() - 1;
  }
  return static_cast<size_t>(found - texts.begin());
}

void WriteCheck(TextWriter& out, const KernelScope& scope, const Check& check,
                const std::string& before, const std::string& thread, const std::string& threads) {
  CheckTexts& texts = scope.Texts();
  const Tensor& tensor = scope.module().tensors[check.tensor];
  Elements elements(scope, check.tensor);
  std::string places = elements.Places(), indices = elements.Indices("e");
  std::string who = fmt::format("{}%{}: {}", before, tensor.name, places.empty() ? "it" : places);
  std::vector<std::string> named;
  for (size_t i = 0; i < check.indices.size(); ++i) {
    named.push_back(elements.Index("e", check.leading + i));
  }
  PreconditionScope range(scope, "checks", who, indices, check.indices, named, texts);
  out.Open("{");
  out.Line(fmt::format("const auto at = [&](i64 e) {{ return i64({}[{}]); }};",
                       scope.Pointer(check.tensor), elements.Offset("e")));
  out.Open(fmt::format("for (i64 e = {}, end = {}; e < end; e += {}) {{", thread, elements.Count(0),
                       threads));
  out.Line("const i64 value = at(e);");
  if (check.value_lo) {
    out.Line(fmt::format("const i64 lo = {}, hi = {};", CxxExpr(range, check.value_lo),
                         CxxExpr(range, check.value_hi)));
    size_t number = CheckNumber(texts, who + " is {}, outside of {}..{}");
    out.Line(fmt::format("checks.InRange({}, value, lo, hi{});", number, indices));
  }
  if (check.monotone) {
    size_t number =
        CheckNumber(texts, who + " is {}, less than the {} before it, but must be monotone");
    out.Open(fmt::format("if (e % ({}) != 0 && value < at(e - 1)) {{",
                         elements.Count(tensor.shape.size() - 1)));
    out.Line(fmt::format("checks.Fail({}{}, value, at(e - 1));", number, indices));
    out.Close();
  }
  if (check.distinct) {
    size_t number =
        CheckNumber(texts, fmt::format("{} is {{}}, like {}, but must be distinct", who, places));
    std::string slice = elements.Count(check.leading);
    out.Open(fmt::format("for (i64 other = e / ({0}) * ({0}); other < e; ++other) {{", slice));
    out.Open("if (value == at(other)) {");
    out.Line(
        fmt::format("checks.Fail({}{}, value{});", number, indices, elements.Indices("other")));
    out.Close();
    out.Close();
  }
  if (check.counts) {
    WriteCountsCheck(out, scope, check, who, indices, texts);
  }
  out.Close();
  out.Close();
}

CheckedScope::CheckedScope(const RaisedKernel& raised, ArgsNames names, const RaisedDevice& callee,
                           CheckTexts& texts)
    : DeviceScope(raised, names), from_data_(callee.from_data), texts_(texts) {
  const Device& device = callee.device;
  name_ = "@" + device.name;
  // What follows the coordinates in a message takes five values or less, but for the indices.
  if (device.tasks.size() + 5 <= kValues) {
    values_ = device.tasks.size();
    name_ += ", task " + Places(values_);
    for (const Axis& axis : device.tasks) {
      coordinates_ += ", " + CxxName(module(), axis.var);
    }
  }
}

std::string CheckedScope::Guard(TensorId id, const std::vector<ExprId>& indices) const {
  const Tensor& tensor = module().tensors[id];
  std::string guard;
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    if (!from_data_.contains(indices[axis])) {
      continue;
    }
    size_t number = CheckNumber(
        texts_,
        fmt::format("{}: index {} of %{} is {{}}, outside of 0..{{}}", name_, axis, tensor.name));
    guard += fmt::format("{}args.checks.Inside({}, {}, {}{})", guard.empty() ? "" : " && ", number,
                         CxxExpr(*this, indices[axis]), Extent(id, axis), coordinates_);
  }
  return guard;
}

std::string CheckedScope::RankCheck(const TopK& topk) const {
  if (!from_data_.contains(topk.axis.lo) && !from_data_.contains(topk.axis.hi) &&
      !from_data_.contains(topk.rank.hi)) {
    return "";
  }
  size_t number = CheckNumber(
      texts_, fmt::format("{}: `topk` takes an element of rank {{}}, outside of 0..{{}}", name_));
  std::string taken = CxxExpr(*this, topk.rank.hi);
  std::string lo = topk.axis.lo ? CxxExpr(*this, topk.axis.lo) : "0LL";
  return fmt::format("if ({0} > 0) {{ (void)args.checks.Inside({1}, {0} - 1, {2} - {3}{4}); }}",
                     taken, number, CxxExpr(*this, topk.axis.hi), lo, coordinates_);
}

std::string CheckedScope::Checked(TensorId id, const std::vector<ExprId>& indices,
                                  std::string value) const {
  const Tensor& tensor = module().tensors[id];
  if (!tensor.value_lo || !raised().computed.contains(id)) {
    return value;
  }
  bool fits = values_ + indices.size() + 3 <= kValues;
  std::vector<std::string> places;
  std::string values = coordinates_;
  for (ExprId index : indices) {
    places.push_back(CxxExpr(*this, index));
    values += fits ? ", " + places.back() : "";
  }
  std::string who =
      fmt::format("{}: %{}{}", name_, tensor.name, fits ? Places(indices.size()) : "");
  PreconditionScope range(*this, "args.checks", who, values, tensor.indices, places, texts_);
  return fmt::format("args.checks.InRange({}, {}, {}, {}{})",
                     CheckNumber(texts_, who + " is {}, outside of {}..{}"), value,
                     CxxExpr(range, tensor.value_lo), CxxExpr(range, tensor.value_hi), values);
}

std::string CheckedScope::CheckedDivisor(ExprId division, std::string divisor) const {
  std::string text = fmt::format("{}: `{}` divides by zero", name_, Print(module(), division));
  return fmt::format("args.checks.NotZero({}, {}{})", CheckNumber(texts_, text), divisor,
                     coordinates_);
}

std::string CheckedScope::CheckedPlaces(ExprId shift, std::string places) const {
  std::string text = fmt::format("{}: `{}` shifts by {{}} places, outside of 0..64", name_,
                                 Print(module(), shift));
  return fmt::format("args.checks.Places({}, {}{})", CheckNumber(texts_, text), places,
                     coordinates_);
}

void WriteParamChecks(TextWriter& out, const KernelScope& scope, const Kernel& kernel) {
  out.Line("");
  out.Open(
      "ETC_DEVICE void CheckParams(const Params& params, const Checks& checks, i64 thread, "
      "i64 threads) {");
  out.Line("[[maybe_unused]] const Dims dims = params.dims();");
  for (const Check& check : kernel.checks) {
    WriteCheck(out, scope, check, "parameter ", "thread", "threads");
  }
  out.Close();
}

}  // namespace etc
