#include "accesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/ranks.h"
#include "ir/types.h"
#include "ir/walk.h"

namespace etc::mutation {
namespace {

void Touch(Memory::Cells touched, std::vector<size_t>& cells) {
  size_t last = touched.first + static_cast<size_t>(touched.count) - 1;
  if (cells.empty() || cells.back() != last) {
    for (size_t cell = touched.first; cell <= last; ++cell) {
      cells.push_back(cell);
    }
  }
}

}  // namespace

Accesses::Accesses(const Module& module, Interpreter& interpreter, CallerData& data)
    : module_(module), interpreter_(interpreter), data_(data), memory_(module, interpreter) {
  interpreter_.on_read = [this](TensorId tensor, const std::vector<int64_t>& index) {
    return Read(tensor, index);
  };
  interpreter_.on_write = [this](TensorId tensor, const std::vector<int64_t>& index, Value value) {
    Write(tensor, index, value);
  };
}

bool Accesses::Bind(const Device& device, const std::vector<Argument>& args,
                    const std::vector<ExprId>& scalars) {
  callee_ = device.name;
  bound_.clear();
  stored_.clear();
  dependent_.clear();
  for (size_t i = 0; i < scalars.size(); ++i) {
    Value value = interpreter_.Eval(scalars[i]);
    const Symbol& scalar = module_.symbols[device.scalars[i]];
    Value lo = scalar.lo ? interpreter_.Eval(scalar.lo) : std::nullopt;
    Value hi = scalar.hi ? interpreter_.Eval(scalar.hi) : std::nullopt;
    if (value && ((lo && *value < *lo) || (hi && *value >= *hi))) {
      Outside(fmt::format("`{}` of `@{}` is {}", scalar.name, callee_, *value));
    }
    interpreter_.Set(device.scalars[i], value);
  }
  for (size_t i = 0; i < args.size(); ++i) {
    Bound bound{args[i].tensor, interpreter_.Shape(module_.tensors[device.params[i]]), {}};
    for (ExprId id : args[i].indices) {
      bound.slice.push_back(id ? interpreter_.Eval(id) : std::nullopt);
      unknown_ = unknown_ || (id && !bound.slice.back());
    }
    if (module_.tensors[device.params[i]].access != Access::In) {
      stored_.insert(args[i].tensor);
    }
    bound_[device.params[i]] = std::move(bound);
  }
  return std::all_of(device.params.begin(), device.params.end(),
                     [&](TensorId param) { return KeepsPrecondition(param); });
}

void Accesses::Note(std::vector<size_t>* reads, std::vector<size_t>* writes) {
  reads_ = reads;
  writes_ = writes;
  touches_.Clear();
  own_.clear();
  unwritten_.clear();
  undefined_.clear();
  written_ranks_.clear();
}

/// What bodies touch: `Note` has been given writes.
void Accesses::TouchInIteration(TensorId named, TensorId tensor, Memory::Cells cells, bool write) {
  if (writes_ == nullptr || !stored_.contains(tensor)) {
    return;
  }
  if (auto names = touches_.Add(cells.first, interpreter_.place(), named, write)) {
    dependent_.insert(names->first);
    dependent_.insert(names->second);
  }
}

void Accesses::Stop() {
  for (std::vector<size_t>* cells : {reads_, writes_}) {
    if (cells != nullptr) {
      std::sort(cells->begin(), cells->end());
      cells->erase(std::unique(cells->begin(), cells->end()), cells->end());
    }
  }
  reads_ = nullptr;
  writes_ = nullptr;
}

void Accesses::Outside(const std::string& text) {
  if (outside_.empty()) {
    outside_ = text;
  }
}

/// The tensor of the program that a tensor in a body or an edge is, and the index in it.
std::optional<Accesses::Element> Accesses::Resolve(TensorId named,
                                                   const std::vector<int64_t>& index) {
  auto found = bound_.find(named);
  if (found == bound_.end()) {
    return Element(named, index);
  }
  const Bound& bound = found->second;
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0 || index[i] >= bound.shape[i]) {
      Outside(fmt::format("`%{}` of `@{}` has no index {}", module_.tensors[named].name, callee_,
                          index[i]));
      return std::nullopt;
    }
  }
  return Element(bound.tensor, bound.Full(index));
}

std::vector<int64_t> Accesses::Bound::Full(const std::vector<int64_t>& index) const {
  std::vector<int64_t> full;
  auto next = index.begin();
  for (const std::optional<int64_t>& at : slice) {
    full.push_back(at ? *at : *next++);
  }
  full.insert(full.end(), next, index.end());
  return full;
}

std::optional<Memory::Cells> Accesses::CellsOf(const Element& element) {
  const Memory::Place* place = memory_.Find(element.first);
  if (place == nullptr) {
    unknown_ = true;
    return std::nullopt;
  }
  int64_t offset = 0;
  for (size_t i = 0; i < place->shape.size(); ++i) {
    int64_t at = element.second[i];
    if (at < 0 || at >= place->shape[i]) {
      Outside(fmt::format("`%{}` has no index {}", module_.tensors[element.first].name, at));
      return std::nullopt;
    }
    offset = offset * place->shape[i] + at;
  }
  return Memory::Cells{place->base + static_cast<size_t>(offset * place->unit), place->unit};
}

Value Accesses::Read(TensorId named, const std::vector<int64_t>& index) {
  auto element = Resolve(named, index);
  auto cells = element ? CellsOf(*element) : std::nullopt;
  if (!cells) {
    return std::nullopt;
  }
  const Tensor& tensor = module_.tensors[element->first];
  bool constant = tensor.kind == TensorKind::Param && tensor.access == Access::In;
  if (reads_ != nullptr && (writes_ != nullptr || !constant)) {
    Touch(*cells, *reads_);
  }
  TouchInIteration(named, element->first, *cells, false);
  if (writes_ != nullptr && !own_.contains(cells->first)) {
    unwritten_.insert(cells->first);
    if (bound_.contains(named) && module_.tensors[named].access == Access::Out) {
      undefined_.insert(named);
    }
  }
  if (overwritten_.empty() && memory_.IsOverwritten(element->first, *cells)) {
    overwritten_ = fmt::format("`@{}` reads `%{}`, which another buffer was stored over", callee_,
                               tensor.name);
  }
  return Held(*element, *cells);
}

void Accesses::Write(TensorId named, const std::vector<int64_t>& index, Value value) {
  auto element = Resolve(named, index);
  auto cells = element ? CellsOf(*element) : std::nullopt;
  if (cells) {
    bool integer = KindOf(module_.tensors[element->first].type) == ValueKind::Int;
    memory_.Set(element->first, *cells, integer, value);
    Touch(*cells, *writes_);
    own_.insert(cells->first);
    if (IsOfAllRanks(module_) && module_.tensors[element->first].kind != TensorKind::Local) {
      written_ranks_.insert(element->second.front());
    }
    TouchInIteration(named, element->first, *cells, true);
  }
}

/// The integer in an element: what was stored, else what the caller has put there.
Value Accesses::Held(const Element& element, Memory::Cells cells) {
  const Tensor& tensor = module_.tensors[element.first];
  if (KindOf(tensor.type) != ValueKind::Int) {
    return std::nullopt;
  }
  auto stored = memory_.Get(cells);
  if (stored) {
    return *stored;
  }
  bool given = tensor.kind == TensorKind::Param && tensor.access != Access::Out;
  if (given) {
    return data_.Element(element.first, element.second);
  }
  return data_.assumes() ? std::nullopt : Value(0);  // memory holds something
}

bool Accesses::KeepsPrecondition(TensorId param) {
  const Tensor& asked = module_.tensors[param];
  const Bound& bound = bound_[param];
  const Tensor& tensor = module_.tensors[bound.tensor];
  if (asked.access == Access::Out || !HasPrecondition(asked) ||
      (tensor.kind == TensorKind::Param && HasPrecondition(tensor))) {
    return true;
  }
  std::string outside = outside_;  // what a range reads is no access of the task
  int64_t width = bound.shape.empty() ? 1 : bound.shape.back();
  int64_t size = 1;
  for (int64_t extent : bound.shape) {
    size *= std::max<int64_t>(extent, 0);
  }
  std::set<int64_t> seen;
  Value before;
  for (int64_t i = 0; i < size; ++i) {
    std::vector<int64_t> index(bound.shape.size());
    int64_t rest = i;
    for (size_t d = index.size(); d-- > 0;) {
      index[d] = rest % bound.shape[d];
      rest /= bound.shape[d];
    }
    for (size_t d = 0; d < asked.indices.size(); ++d) {
      if (asked.indices[d]) {
        interpreter_.Set(asked.indices[d], index[d]);
      }
    }
    Value lo = asked.value_lo ? interpreter_.Eval(asked.value_lo) : std::nullopt;
    Value hi = asked.value_hi ? interpreter_.Eval(asked.value_hi) : std::nullopt;
    Value counted = asked.counts ? CountOf(asked.counts, i) : std::nullopt;
    Element element(bound.tensor, bound.Full(index));
    auto cells = CellsOf(element);
    Value value = cells ? Held(element, *cells) : std::nullopt;
    bool inside = !value || ((!lo || *lo <= *value) && (!hi || *value < *hi));
    bool ascends = !asked.monotone || i % width == 0 || !before || !value || *before <= *value;
    bool differs = !asked.distinct || !value || seen.insert(*value).second;
    bool counts = !asked.counts || !value || !counted || *value == *counted;
    if (!inside || !ascends || !differs || !counts || outside_ != outside) {
      outside_ = outside;
      return false;
    }
    before = value;
  }
  return true;
}

/// How many elements of a parameter are `wanted`; nothing where one is not known.
Value Accesses::CountOf(TensorId param, int64_t wanted) {
  const std::vector<int64_t>& shape = bound_[param].shape;
  std::vector<int64_t> index(shape.size());
  int64_t count = 0;
  for (bool more = true; more;) {
    Value value = Read(param, index);
    if (!value) {
      return std::nullopt;
    }
    count += *value == wanted ? 1 : 0;
    size_t d = index.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) {
      index[--d] = 0;
    }
    more = d > 0;
  }
  return count;
}

}  // namespace etc::mutation
