#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/proofs/prover.h"
#include "ir/requirements.h"

namespace etc {
namespace {

Set Fix(const Unknowns& unknowns, const Set& set, const std::string& name, int64_t value) {
  return set & Eq(unknowns.Param(name), unknowns.Constant(value));
}

/// The least value of a parameter in the set.
std::optional<int64_t> Least(const Set& set, const std::string& name) {
  int position = isl_set_find_dim_by_name(set.get(), isl_dim_param, name.c_str());
  isl_size count = isl_set_dim(set.get(), isl_dim_param);
  if (position < 0 || count < 0) {
    return std::nullopt;
  }
  Set moved(isl_set_move_dims(isl_set_from_params(set.copy()), isl_dim_set, 0, isl_dim_param, 0,
                              static_cast<unsigned>(count)));
  return ToInt(Val(isl_set_dim_min_val(moved.copy(), position)));
}

std::optional<int64_t> ValueAt(const Unknowns& unknowns, const PwAff& value, const Point& point);

/// The value of a quotient or product at a point, if it follows from it.
std::optional<int64_t> OperationAt(const Unknowns& unknowns, const Term& term, const Point& point) {
  if (term.kind == Term::Kind::Element || term.kind == Term::Kind::Any) {
    return std::nullopt;
  }
  auto a = ValueAt(unknowns, term.args[0], point);
  auto b = a ? ValueAt(unknowns, term.args[1], point) : std::nullopt;
  if (!b || (*b == 0 && term.kind != Term::Kind::Product)) {
    return std::nullopt;
  }
  if (term.kind == Term::Kind::Product) {
    return *a * *b;
  }
  int64_t floor = *a / *b - (*a % *b != 0 && (*a < 0) != (*b < 0) ? 1 : 0);
  bool up = term.kind == Term::Kind::CeilQuotient && *a % *b != 0;
  return floor + (up ? 1 : 0);
}

/// The value at a point, if it follows from it.
std::optional<int64_t> ValueAt(const Unknowns& unknowns, const PwAff& value, const Point& point) {
  Set set = Eq(unknowns.Param("value@"), value);
  for (const std::string& name : unknowns.Involved(set)) {
    if (auto at = point.find(name); at != point.end()) {
      set = Fix(unknowns, set, name, at->second);
    } else if (const Term* term = unknowns.Find(name)) {
      if (auto computed = OperationAt(unknowns, *term, point)) {
        set = Fix(unknowns, set, name, *computed);
      }
    }
  }
  auto least = Least(set, "value@");
  return least && IsEmpty(set - Eq(unknowns.Param("value@"), unknowns.Constant(*least)))
             ? least
             : std::nullopt;
}

/// Gives each term over sizes the value that it has at fixed sizes.
std::optional<Set> WithRealTerms(const Unknowns& unknowns, Set set, const Point& sizes) {
  Point known = sizes;
  for (const Term& term : unknowns.terms()) {
    if (!term.global) {
      continue;
    }
    auto value = OperationAt(unknowns, term, known);
    if (!value) {
      return std::nullopt;
    }
    known[term.name] = *value;
    set = Fix(unknowns, set, term.name, *value);
  }
  return set;
}

/// The least point at fixed sizes.
std::optional<Point> LeastPoint(const Unknowns& unknowns, Set set, Point point) {
  std::vector<std::string> names = unknowns.Involved(set);
  // Iterations and coordinates of the tasks before what follows from them.
  std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return (a.find('@') != std::string::npos) > (b.find('@') != std::string::npos);
  });
  for (const std::string& name : names) {
    if (point.contains(name)) {
      continue;
    }
    auto least = Least(set, name);
    if (!least) {
      Set sample(isl_set_from_point(isl_set_sample_point(set.copy())));
      least = Least(sample, name);
    }
    if (!least) {
      return std::nullopt;
    }
    point[name] = *least;
    set = Fix(unknowns, set, name, *least);
  }
  return IsEmpty(set) || !set ? std::nullopt : std::optional(point);
}

/// The elements of inputs that a point has values of.
std::vector<const Term*> InputsIn(const Unknowns& unknowns, const Point& point) {
  std::vector<const Term*> inputs;
  for (const Term& term : unknowns.terms()) {
    if (term.promised && point.contains(term.name)) {
      inputs.push_back(&term);
    }
  }
  return inputs;
}

/// One of them: `%ids[3]`.
std::string InputText(const Unknowns& unknowns, const Term& term, const Point& point) {
  std::string text = "%" + unknowns.module().tensors[term.tensor].name + "[";
  if (unknowns.FlatAxesOf(term.tensor) != nullptr) {
    return text + "…]";  // the term has other indices than the program
  }
  for (size_t i = 0; i < term.args.size(); ++i) {
    auto index = ValueAt(unknowns, term.args[i], point);
    text += fmt::format("{}{}", i == 0 ? "" : ", ", index ? std::to_string(*index) : "…");
  }
  return text + "]";
}

/// What a point says of an element of an input.
struct KnownElement {
  const Term* term;
  std::vector<int64_t> indices;
  int64_t value;
};

/// Whether two elements of one tensor can be as a point has them.
bool CanBothBe(const KnownElement& a, const KnownElement& b) {
  auto leading = [&](size_t count) {
    return std::equal(a.indices.begin(), a.indices.begin() + static_cast<ptrdiff_t>(count),
                      b.indices.begin());
  };
  if (a.indices == b.indices) {
    return a.value == b.value;
  }
  size_t slice = std::max(a.term->slice, b.term->slice);
  if (a.term->distinct && b.term->distinct && leading(slice) && a.value == b.value) {
    return false;
  }
  bool ascends = a.term->monotone && b.term->monotone && leading(a.indices.size() - 1);
  return !ascends || a.value == b.value ||
         (a.indices.back() < b.indices.back()) == (a.value < b.value);
}

/// Whether quotients and products are what they are of, and the elements of inputs whose indices a
/// point gives as the program promises. The axioms know of terms that are in a set, and others come
/// in with their indices.
bool KeepsPromises(const Unknowns& unknowns, const Point& point) {
  for (const auto& [name, value] : point) {
    const Term* term = unknowns.Find(name);
    auto computed = term != nullptr ? OperationAt(unknowns, *term, point) : std::nullopt;
    if (computed && *computed != value) {
      return false;
    }
  }
  std::vector<KnownElement> elements;
  for (const Term* term : InputsIn(unknowns, point)) {
    KnownElement element{term, {}, point.at(term->name)};
    for (const PwAff& arg : term->args) {
      if (auto index = ValueAt(unknowns, arg, point)) {
        element.indices.push_back(*index);
      }
    }
    if (element.indices.size() == term->args.size()) {
      elements.push_back(std::move(element));
    }
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    for (size_t j = i + 1; j < elements.size(); ++j) {
      if (elements[i].term->tensor == elements[j].term->tensor &&
          !CanBothBe(elements[i], elements[j])) {
        return false;
      }
    }
  }
  return true;
}

/// Whether the sizes fulfil the requirements: `AllSizes()` has the affine ones only.
bool IsAllowed(const Unknowns& unknowns, const Point& sizes) {
  Env dims;
  for (SymbolId dim : unknowns.dims()) {
    if (auto value = sizes.find(unknowns.DimName(dim)); value != sizes.end()) {
      dims[dim] = value->second;
    }
  }
  return RequirementsHold(unknowns.module(), dims, unknowns.program().ranges);
}

/// With the elements of inputs that are indices of those in the set: what they are decides which
/// elements these are.
Set WithIndices(const Unknowns& unknowns, const Set& set) {
  std::set<std::string> names;
  for (const Term* term : unknowns.TermsIn(set)) {
    unknowns.AddNames(*term, names);
  }
  std::vector<std::string> promised;
  for (const std::string& name : names) {
    const Term* term = unknowns.Find(name);
    if (term != nullptr && term->promised) {
      promised.push_back(name);
    }
  }
  return unknowns.CloseOver(set, promised);
}

/// The least point of a set at sizes where it has one, and where elements of inputs are as
/// promised.
std::optional<Point> PointAt(const Unknowns& unknowns, const Set& set, const Point& sizes) {
  Set fixed = set & unknowns.AllSizes();
  for (const auto& [name, value] : sizes) {
    fixed = Fix(unknowns, fixed, name, value);
  }
  auto real = WithRealTerms(unknowns, fixed, sizes);
  if (!real || !*real || IsEmpty(*real)) {
    return std::nullopt;
  }
  auto point = LeastPoint(unknowns, *real, sizes);
  if (!point || KeepsPromises(unknowns, *point)) {
    return point;
  }
  Set kept = unknowns.WithAxioms(*real);
  point = IsEmpty(kept) ? std::nullopt : LeastPoint(unknowns, kept, sizes);
  return point && KeepsPromises(unknowns, *point) ? point : std::nullopt;
}

}  // namespace

std::optional<Point> FindWitness(const Unknowns& unknowns, const Set& given) {
  for (const Term* term : unknowns.TermsIn(given)) {
    if (!term->global && !term->promised) {
      return std::nullopt;
    }
  }
  const Set set = WithIndices(unknowns, given);
  std::vector<Point> candidates(1);
  Set rest = set;
  for (SymbolId dim : unknowns.dims()) {
    std::string name = unknowns.DimName(dim);
    auto least = Least(rest & unknowns.AllSizes(), name);
    if (!least) {
      return std::nullopt;
    }
    candidates[0][name] = *least;
    rest = Fix(unknowns, rest, name, *least);
  }
  for (int64_t value : {1, 2, 3, 5, 8, 9, 16, 17, 64, 1 << 20}) {
    Point sizes;
    for (SymbolId dim : unknowns.dims()) {
      auto range = RangeOfDim(unknowns.module(), dim, unknowns.program().ranges);
      if (range) {
        sizes[unknowns.DimName(dim)] = std::clamp(value, range->lo, range->hi);
      }
    }
    candidates.push_back(std::move(sizes));
  }
  for (Prefer prefer : {Prefer::Small, Prefer::Large}) {
    auto found = FindSizes(unknowns.module(), unknowns.program().ranges, prefer);
    for (SymbolId dim : found ? unknowns.dims() : std::vector<SymbolId>{}) {
      Point& sizes = dim == unknowns.dims().front() ? candidates.emplace_back() : candidates.back();
      sizes[unknowns.DimName(dim)] = found->at(dim);
    }
  }
  for (const Point& sizes : candidates) {
    if (!IsAllowed(unknowns, sizes)) {
      continue;
    }
    if (auto point = PointAt(unknowns, set, sizes)) {
      return point;
    }
  }
  return std::nullopt;
}

Reason ReasonOf(const Unknowns& unknowns, const Set& set) {
  Reason reason("it depends on data or on an order that is not proved");
  if (!set) {
    reason.text = "it takes too many steps";
    reason.sizes_may_tell = true;
    return reason;
  }
  bool named = false;
  for (bool of_sizes : {false, true}) {
    for (const Term* term : unknowns.TermsIn(set)) {
      if (!named && term->global == of_sizes) {
        reason.text = "it depends on " + term->text;
        named = true;
      }
      bool is_data = term->kind == Term::Kind::Element || term->kind == Term::Kind::Any;
      reason.sizes_may_tell = reason.sizes_may_tell || !is_data;
    }
  }
  return reason;
}

std::string WhereText(const Unknowns& unknowns, const Point& point, const ProgramCall* call,
                      int instance) {
  std::string text;
  auto add = [&](const std::string& name, int64_t value) {
    text += fmt::format("{} {} = {}", text.empty() ? ", where" : ",", name, value);
  };
  for (SymbolId dim : unknowns.dims()) {
    auto value = point.find(unknowns.DimName(dim));
    if (value != point.end()) {
      add(value->first, value->second);
    }
  }
  for (size_t i = 0; call != nullptr && i < call->repeats.size(); ++i) {
    auto iteration = point.find(IterationName(i, instance));
    if (iteration != point.end()) {
      add(unknowns.module().symbols[call->repeats[i].var].name, iteration->second);
    }
  }
  std::set<std::string> inputs;  // tasks may have terms of their own for one element
  for (const Term* term : InputsIn(unknowns, point)) {
    std::string input = InputText(unknowns, *term, point);
    if (inputs.insert(input).second) {
      add(input, point.at(term->name));
    }
  }
  return text;
}

std::vector<Note> InputNotes(const Unknowns& unknowns, const Point& point) {
  std::vector<Note> notes;
  std::set<TensorId> known;
  for (const Term* term : InputsIn(unknowns, point)) {
    if (known.insert(term->tensor).second) {
      const Tensor& input = unknowns.module().tensors[term->tensor];
      notes.push_back(
          {input.range, fmt::format("the range of `%{}` is declared here", input.name)});
    }
  }
  return notes;
}

std::string TaskText(const ProgramCall& call, const Point& point, int instance) {
  std::string text = "`@" + call.device->name + "[";
  for (size_t i = 0; i < call.axes.size(); ++i) {
    auto value = point.find(CoordinateName(i, instance));
    text += fmt::format("{}{}", i == 0 ? "" : ", ",
                        value == point.end() ? "…" : std::to_string(value->second));
  }
  return text + "]`";
}

std::string ElementText(const std::string& name, size_t rank, const Point& point) {
  if (rank == 0) {
    return "`%" + name + "`";
  }
  std::string text = "`%" + name + "[";
  for (size_t i = 0; i < rank; ++i) {
    auto value = point.find(ElementName(i));
    text += fmt::format("{}{}", i == 0 ? "" : ", ",
                        value == point.end() ? "…" : std::to_string(value->second));
  }
  return text + "]`";
}

std::string ElementText(const Unknowns& unknowns, TensorId tensor, const Point& point) {
  const Tensor& declared = unknowns.module().tensors[tensor];
  const FlatAxes* flat = unknowns.FlatAxesOf(tensor);
  if (flat == nullptr) {
    return ElementText(declared.name, declared.shape.size(), point);
  }
  auto value_of = [&](const PwAff& size) {
    Set values = Eq(unknowns.Param("value@"), size);
    for (SymbolId dim : unknowns.dims()) {
      auto value = point.find(unknowns.DimName(dim));
      if (value != point.end()) {
        values = values & Eq(unknowns.Param(value->first), unknowns.Constant(value->second));
      }
    }
    return LargestOn(values, size, unknowns).value_or(0);
  };
  Point joined;
  size_t part = 0;
  for (size_t i = 0; i < flat->sizes.size(); ++i) {
    int64_t index = 0;
    bool known = true;
    for (size_t k = flat->sizes[i].size() + 1; k-- > 0;) {
      auto digit = point.find(ElementName(part++));
      known = known && digit != point.end();
      index += known ? digit->second : 0;
      index *= k > 0 ? value_of(flat->sizes[i][k - 1]) : 1;
    }
    if (known) {
      joined[ElementName(i)] = index;
    }
  }
  return ElementText(declared.name, declared.shape.size(), joined);
}

void Prover::NotProved(ProofTally& tally, DiagnosticKind kind, SourceRange range, std::string what,
                       const Reason& reason) {
  ++tally.not_proved;
  sizes_may_tell = sizes_may_tell || reason.sizes_may_tell;
  std::string text = fmt::format("not proved: {}; {}", what, reason.text);
  if (report.LeavesOpen(text)) {
    return;
  }
  if (remarks) {
    diagnostics.Remark(kind, range, text);
  }
  report.not_proved.push_back(std::move(text));
}

Diagnostic* Prover::Refuted(ProofTally& tally, DiagnosticKind kind, SourceRange range,
                            std::string message) {
  ++tally.refuted;
  return reported.emplace(kind, range.begin).second
             ? &diagnostics.Error(kind, range, std::move(message))
             : nullptr;
}

}  // namespace etc
