#include "emit/cxx_checks.h"

#include <fmt/format.h>

namespace etc {
namespace {

/// An element of a tensor or of its slice, by its number there in row-major order, as C++.
class Elements {
 public:
  Elements(const KernelScope& scope, TensorId id, const std::vector<ExprId>& slice,
           ElementPlace place)
      : place_(place),
        pointer_(scope.Pointer(id)),
        array_(scope.module().tensors[id].array && slice.empty()) {
    const Tensor& tensor = scope.module().tensors[id];
    if (!slice.empty()) {
      pointer_ = fmt::format("({} + {})", CxxBase(scope, id, slice), CxxOffset(scope, id, slice));
    }
    for (ExprId index : slice) {
      slice_.push_back(CxxExpr(scope, index));
    }
    for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      extents_.push_back(scope.Extent(id, axis));
    }
    if (!tensor.tile.empty()) {
      tile_ = CxxTile(scope, id);
    }
  }

  std::string Count() const { return Count(slice_.size()); }
  /// Of the axes from this one on.
  std::string Count(size_t first_axis) const {
    std::string count = "1LL";
    for (size_t axis = first_axis; axis < extents_.size(); ++axis) {
      count += fmt::format(" * ({})", extents_[axis]);
    }
    return count;
  }

  /// Element number `e`.
  std::string At(const std::string& e) const {
    if (!array_) {
      return fmt::format("{}[{}]", pointer_, Offset(e));
    }
    std::string in_one = fmt::format("({} % ({}))", e, Count(1));
    return fmt::format("{}[{} / ({})][{}]", pointer_, e, Count(1), Offset(in_one));
  }

  /// The place of element number `e` of a tensor.
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
    if (axis < slice_.size()) {
      return slice_[axis];
    }
    return fmt::format("{} / ({}) % ({})", e, Count(axis + 1), extents_[axis]);
  }

  /// What messages say of element number `e`, as arguments: `, e / 4 % n, e % 4`.
  std::string Place(const std::string& e) const {
    std::string text;
    switch (place_) {
      case ElementPlace::Indices:
        for (size_t axis = 0; axis < extents_.size(); ++axis) {
          text += ", " + Index(e, axis);
        }
        break;
      case ElementPlace::Number:
        text = ", " + e;
        break;
      case ElementPlace::Unsaid:
        break;
    }
    return text;
  }

 private:
  ElementPlace place_;
  std::string pointer_;
  bool array_;
  std::vector<std::string> slice_;
  std::vector<std::string> extents_;
  std::string tile_;
};

/// The range of an element, of which the bounds may read other parameters: by what these hold,
/// which may be wrong itself.
class PreconditionScope : public CxxScope {
 public:
  /// `checks` is the record, and `place` what messages say of the element, as arguments: `, e / 4,
  /// e % 4`. `names` and `indices` are those of the element in its range.
  PreconditionScope(const CxxScope& around, std::string checks, std::string place,
                    const std::vector<SymbolId>& names, const std::vector<std::string>& indices,
                    const ElementMessages& says)
      : CxxScope(around.raised()),
        around_(around),
        checks_(std::move(checks)),
        place_(std::move(place)),
        says_(says) {
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
  std::string Guard(TensorId id, const std::vector<ExprId>& indices, ExprId) const override {
    std::string guard;
    for (size_t axis = 0; axis < indices.size(); ++axis) {
      guard += fmt::format("{}{}.Inside({}, {}, {}{})", guard.empty() ? "" : " && ", checks_,
                           says_.bounds.at({id, axis}), CxxExpr(*this, indices[axis]),
                           Extent(id, axis), place_);
    }
    return guard;
  }

 private:
  const CxxScope& around_;
  std::string checks_;
  std::string place_;
  std::map<SymbolId, std::string> indices_;
  const ElementMessages& says_;
};

/// Each thread counts for elements of its own.
void WriteCountsCheck(TextWriter& out, const KernelScope& scope, const Check& check,
                      MessageId message, const std::string& place) {
  Elements elements(scope, check.counts, check.counts_slice, ElementPlace::Unsaid);
  out.Line("i64 equal = 0;");
  out.Open(fmt::format("for (i64 other = 0, all = {}; other < all; ++other) {{", elements.Count()));
  out.Line(fmt::format("equal += i64({}) == e;", elements.At("other")));
  out.Close();
  out.Open("if (value != equal) {");
  out.Line(fmt::format("checks.Fail({}{}, value, e, equal);", message, place));
  out.Close();
}

}  // namespace

void WriteCheck(TextWriter& out, const KernelScope& scope, const RaisedCheck& raised,
                const std::string& thread, const std::string& threads) {
  const auto& [check, says] = raised;
  const Tensor& tensor = scope.module().tensors[check.tensor];
  size_t leading = check.slice.size() + check.leading;
  Elements elements(scope, check.tensor, check.slice, says.place);
  std::string place = elements.Place("e");
  std::vector<std::string> named;
  for (size_t i = 0; i < check.indices.size(); ++i) {
    named.push_back(elements.Index("e", leading + i));
  }
  PreconditionScope range(scope, "checks", place, check.indices, named, says);
  out.Open("{");
  out.Line(fmt::format("const auto at = [&](i64 e) {{ return i64({}); }};", elements.At("e")));
  out.Open(fmt::format("for (i64 e = {}, end = {}; e < end; e += {}) {{", thread, elements.Count(),
                       threads));
  out.Line("const i64 value = at(e);");
  if (says.range) {
    out.Line(fmt::format("const i64 lo = {}, hi = {};", CxxExpr(range, check.value_lo),
                         CxxExpr(range, check.value_hi)));
    out.Line(fmt::format("checks.InRange({}, value, lo, hi{});", *says.range, place));
  }
  if (says.monotone) {
    out.Open(fmt::format("if (e % ({}) != 0 && value < at(e - 1)) {{",
                         elements.Count(tensor.shape.size() - 1)));
    out.Line(fmt::format("checks.Fail({}{}, value, at(e - 1));", *says.monotone, place));
    out.Close();
  }
  if (says.distinct) {
    std::string slice = elements.Count(leading);
    out.Open(fmt::format("for (i64 other = e / ({0}) * ({0}); other < e; ++other) {{", slice));
    out.Open("if (value == at(other)) {");
    out.Line(
        fmt::format("checks.Fail({}{}, value{});", *says.distinct, place, elements.Place("other")));
    out.Close();
    out.Close();
  }
  if (says.counts) {
    WriteCountsCheck(out, scope, check, *says.counts, place);
  }
  out.Close();
  out.Close();
}

CheckedScope::CheckedScope(const RaisedKernel& raised, ArgsNames names, const RaisedDevice& callee)
    : DeviceScope(raised, names), from_data_(callee.from_data), says_(callee.says) {
  for (const Axis& axis : callee.device.tasks) {
    coordinates_ += says_.tasks ? ", " + CxxName(module(), axis.var) : "";
  }
}

std::string CheckedScope::Guard(TensorId id, const std::vector<ExprId>& indices,
                                ExprId peer) const {
  std::string guard;
  auto hold = [&](MessageId message, ExprId value, const std::string& extent,
                  const std::string& values) {
    guard += fmt::format("{}args.checks.Inside({}, {}, {}{})", guard.empty() ? "" : " && ", message,
                         CxxExpr(*this, value), extent, values);
  };
  if (from_data_.contains(peer)) {
    hold(says_.peers.at(id), peer, "dims.peers.ranks", coordinates_);
  }
  const auto& says = peer ? says_.remote_indices : says_.indices;
  const std::string values = coordinates_ + (peer ? ", " + CxxExpr(*this, peer) : "");
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    if (from_data_.contains(indices[axis])) {
      hold(says.at({id, axis}), indices[axis], Extent(id, axis), values);
    }
  }
  return guard;
}

std::string CheckedScope::RankCheck(const TopK& topk) const {
  auto message = says_.ranks.find(&topk);
  if (message == says_.ranks.end()) {
    return "";
  }
  std::string taken = CxxExpr(*this, topk.rank.hi);
  std::string lo = topk.axis.lo ? CxxExpr(*this, topk.axis.lo) : "0LL";
  return fmt::format("if ({0} > 0) {{ (void)args.checks.Inside({1}, {0} - 1, {2} - {3}{4}); }}",
                     taken, message->second, CxxExpr(*this, topk.axis.hi), lo, coordinates_);
}

std::string CheckedScope::Checked(TensorId id, const std::vector<ExprId>& indices,
                                  std::string value) const {
  auto found = says_.elements.find(id);
  if (found == says_.elements.end()) {
    return value;
  }
  const ElementMessages& says = found->second;
  const Tensor& tensor = module().tensors[id];
  std::vector<std::string> places;
  std::string place = coordinates_;
  for (ExprId index : indices) {
    places.push_back(CxxExpr(*this, index));
    place += says.place == ElementPlace::Indices ? ", " + places.back() : "";
  }
  PreconditionScope range(*this, "args.checks", place, tensor.indices, places, says);
  return fmt::format("args.checks.InRange({}, {}, {}, {}{})", says.range.value(), value,
                     CxxExpr(range, tensor.value_lo), CxxExpr(range, tensor.value_hi), place);
}

std::string CheckedScope::CheckedDivisor(ExprId division, std::string divisor) const {
  return fmt::format("args.checks.NotZero({}, {}{})", says_.divisors.at(division), divisor,
                     coordinates_);
}

std::string CheckedScope::CheckedPlaces(ExprId shift, std::string places) const {
  return fmt::format("args.checks.Places({}, {}{})", says_.shifts.at(shift), places, coordinates_);
}

void WriteParamChecks(TextWriter& out, const KernelScope& scope) {
  out.Line("");
  out.Open(
      "ETC_DEVICE void CheckParams(const Params& params, const Checks& checks, i64 thread, "
      "i64 threads) {");
  out.Line("[[maybe_unused]] const Dims dims = params.dims();");
  for (const RaisedCheck& check : scope.raised().checks) {
    WriteCheck(out, scope, check, "thread", "threads");
  }
  out.Close();
}

}  // namespace etc
