#include "concrete.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "interpreter.h"
#include "ir/types.h"

namespace etc::mutation {
namespace {

/// Far more than the small sizes need: beyond it a program is not judged.
constexpr int64_t kMaxCells = 4'000'000;
constexpr size_t kMaxTasks = 20'000;

uint64_t Mix(uint64_t x) {
  x ^= x >> 31;
  x *= 0x9e3779b97f4a7c15U;
  return x ^ (x >> 29);
}

class Builder {
 public:
  Builder(const Module& module, const Env& dims, const DimRanges& ranges, const DataChoice& data)
      : module_(module), interpreter_(module, dims, ranges), data_(data) {
    interpreter_.on_access = [this](TensorId tensor, const std::vector<int64_t>& index,
                                    bool write) { Touch(tensor, index, write); };
    interpreter_.on_load = [this](TensorId tensor, const std::vector<int64_t>& index) {
      return Element(tensor, index);
    };
  }

  void Block(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      if (Stop()) {
        return;
      }
      std::visit([&](const auto& node) { Add(node); }, module_.nodes[id]);
    }
  }

  ConcreteProgram Take() {
    program_.unknown = program_.unknown || interpreter_.unknown();
    return std::move(program_);
  }

 private:
  struct Place {
    size_t base;
    std::vector<int64_t> shape;
    int64_t unit = 1;  // cells of an element
  };

  bool Stop() const { return program_.unknown || interpreter_.unknown(); }

  void Add(const BufferDecl& decl) {
    if (module_.tensors[decl.tensor].tagged) {
      program_.unknown = true;  // a tagged word orders its own reads, which is not modelled
    }
  }
  void Add(const Region& region) { Block(region.body); }

  void Add(const EventDecl& decl) {
    const Event& event = module_.events[decl.event];
    std::vector<int64_t> extents;
    int64_t size = 1;
    for (const EventDim& dim : event.dims) {
      extents.push_back(interpreter_.Eval(dim.extent).value_or(-1));
      size *= extents.back();
    }
    if (size < 0 || size > kMaxCells) {
      program_.unknown = true;
      return;
    }
    events_[decl.event] = {program_.needed.size(), extents, 1};
    std::vector<int64_t> index(extents.size(), 0);
    for (int64_t i = 0; i < size; ++i) {
      int64_t rest = i;
      for (size_t d = extents.size(); d-- > 0;) {
        index[d] = rest % extents[d];
        rest /= extents[d];
        if (event.dims[d].var) {
          interpreter_.Set(event.dims[d].var, index[d]);
        }
      }
      Value count = interpreter_.Eval(event.count);
      program_.unknown = program_.unknown || !count;
      program_.needed.push_back(count.value_or(0));
      program_.element_names.push_back(fmt::format("%{}[{}]", event.name, fmt::join(index, ", ")));
    }
  }

  void Add(const Repeat& repeat) {
    Value lo = interpreter_.Eval(repeat.lo);
    Value hi = interpreter_.Eval(repeat.hi);
    if (!lo || !hi) {
      program_.unknown = true;
      return;
    }
    for (int64_t l = *lo; l < *hi && !Stop(); ++l) {
      interpreter_.Set(repeat.var, l);
      Block(repeat.body);
    }
  }

  void Add(const CallNode& call) {
    const Device& device = module_.devices[call.callee];
    Step& step = Begin(device, call.args);
    step.first = first_;
    interpreter_.Loop(device.tasks, [&] {
      Task* task = AddTask(device, device.tasks);
      if (task == nullptr) {
        return;
      }
      for (const auto& [edges, signals] :
           {std::pair{&call.waits, &task->waits}, std::pair{&call.notifies, &task->notifies}}) {
        for (const Edge& edge : *edges) {
          for (size_t i = 0; i < edge.coords.size(); ++i) {
            interpreter_.Set(edge.coords[i], coordinates_[i]);
          }
          AddRefs(edge.refs, *signals);
        }
      }
      RunBody(device);
    });
    End();
  }

  void Add(const Share& share) {
    const Device& device = module_.devices[share.callee];
    Step& step = Begin(device, share.args);
    Value first = interpreter_.Eval(share.first);
    program_.unknown = program_.unknown || !first;
    step.first = first.value_or(0);
    AddRefs(share.range_waits, step.enter);
    AddRefs(share.enter_waits, step.enter);
    AddRefs(share.leave_notifies, step.leave);
    interpreter_.Loop(share.axes, [&] {
      Task* task = AddTask(device, share.axes);
      if (task == nullptr) {
        return;
      }
      AddRefs(share.waits, task->waits);
      AddRefs(share.notifies, task->notifies);
      for (size_t i = 0; i < coordinates_.size(); ++i) {
        interpreter_.Set(device.tasks[i].var, coordinates_[i]);
      }
      RunBody(device);
    });
    End();
  }

  Step& Begin(const Device& device, const std::vector<Argument>& args) {
    device_ = &device;
    bound_.clear();
    for (size_t i = 0; i < args.size(); ++i) {
      Bound bound{args[i].tensor, interpreter_.Shape(module_.tensors[device.params[i]]), {}};
      for (ExprId id : args[i].indices) {
        Value value = interpreter_.Eval(id);
        program_.unknown = program_.unknown || !value;
        bound.slice.push_back(value.value_or(0));
      }
      bound_[device.params[i]] = std::move(bound);
    }
    program_.steps.emplace_back();
    program_.steps.back().begin = program_.tasks.size();
    return program_.steps.back();
  }

  void End() {
    program_.steps.back().end = program_.tasks.size();
    first_ += static_cast<int64_t>(program_.tasks.size() - program_.steps.back().begin);
  }

  Task* AddTask(const Device& device, const std::vector<Axis>& axes) {
    if (program_.tasks.size() >= kMaxTasks || Stop()) {
      program_.unknown = true;
      return nullptr;
    }
    coordinates_.clear();
    for (const Axis& axis : axes) {
      coordinates_.push_back(*interpreter_.Get(axis.var));
    }
    program_.tasks.push_back({program_.steps.size() - 1,
                              fmt::format("@{}[{}]", device.name, fmt::join(coordinates_, ", ")),
                              {},
                              {},
                              {},
                              {}});
    return &program_.tasks.back();
  }

  void RunBody(const Device& device) {
    in_body_ = true;
    interpreter_.Run(device.body);
    in_body_ = false;
    Task& task = program_.tasks.back();
    for (std::vector<size_t>* cells : {&task.reads, &task.writes}) {
      std::sort(cells->begin(), cells->end());
      cells->erase(std::unique(cells->begin(), cells->end()), cells->end());
    }
    if (!interpreter_.fault().empty()) {
      Outside(fmt::format("{}: {}", task.name, interpreter_.fault()));
    }
  }

  void AddRefs(const std::vector<EventRef>& refs, std::vector<Signal>& signals) {
    for (const EventRef& ref : refs) {
      interpreter_.Loop(ref.axes, [&] {
        Value guard = ref.guard ? interpreter_.Eval(ref.guard) : 1;
        program_.unknown = program_.unknown || !guard;
        if (guard.value_or(0) != 0 && events_.contains(ref.event)) {
          AddElements(ref, events_[ref.event], 0, 0, signals);
        }
      });
    }
  }

  void AddElements(const EventRef& ref, const Place& event, size_t axis, int64_t offset,
                   std::vector<Signal>& signals) {
    if (axis == event.shape.size()) {
      signals.push_back({event.base + static_cast<size_t>(offset), 1});
      return;
    }
    const EventIndex& index = ref.indices[axis];
    Value lo = index.all ? 0 : interpreter_.Eval(index.lo);
    Value hi = index.all  ? event.shape[axis]
               : index.hi ? interpreter_.Eval(index.hi)
                          : (lo ? Value(*lo + 1) : lo);
    if (!lo || !hi) {
      program_.unknown = true;
      return;
    }
    for (int64_t i = *lo; i < *hi; ++i) {
      if (i < 0 || i >= event.shape[axis]) {
        Outside(fmt::format("event `%{}` has no index {}", module_.events[ref.event].name, i));
      } else {
        AddElements(ref, event, axis + 1, offset * event.shape[axis] + i, signals);
      }
    }
  }

  void Outside(std::string text) {
    if (program_.outside.empty()) {
      program_.outside = std::move(text);
    }
  }

  void Touch(TensorId param, const std::vector<int64_t>& index, bool write) {
    if (!in_body_) {
      program_.unknown = true;  // a task range or an edge that reads a tensor
      return;
    }
    const Bound& bound = bound_[param];
    for (size_t i = 0; i < index.size(); ++i) {
      if (index[i] < 0 || index[i] >= bound.shape[i]) {
        Outside(fmt::format("`%{}` of `@{}` has no index {}", module_.tensors[param].name,
                            device_->name, index[i]));
        return;
      }
    }
    Place* place = PlaceOf(bound.tensor);
    if (place == nullptr) {
      return;
    }
    int64_t offset = 0;
    for (size_t i = 0; i < place->shape.size(); ++i) {
      int64_t at = i < bound.slice.size() ? bound.slice[i] : index[i - bound.slice.size()];
      if (at < 0 || at >= place->shape[i]) {
        Outside(fmt::format("`%{}` has no index {}", module_.tensors[bound.tensor].name, at));
        return;
      }
      offset = offset * place->shape[i] + at;
    }
    Task& task = program_.tasks.back();
    std::vector<size_t>& cells = write ? task.writes : task.reads;
    size_t cell = place->base + static_cast<size_t>(offset * place->unit);
    if (!cells.empty() && cells.back() == cell + static_cast<size_t>(place->unit) - 1) {
      return;
    }
    for (int64_t i = 0; i < place->unit; ++i) {
      cells.push_back(cell + static_cast<size_t>(i));
    }
  }

  /// Cells of parameters and buffers follow each other; those of a workspace are its bytes.
  Place* PlaceOf(TensorId id) {
    auto found = places_.find(id);
    if (found != places_.end()) {
      return &found->second;
    }
    const Tensor& tensor = module_.tensors[id];
    Place place{program_.cell_tensors.size(), interpreter_.Shape(tensor), 1};
    int64_t size = 1;
    for (int64_t extent : place.shape) {
      size *= std::max<int64_t>(extent, 0);
    }
    if (tensor.offset) {
      Value offset = interpreter_.Eval(tensor.offset);
      place.unit = BytesPerElement(tensor);
      if (!offset || *offset < 0 || !GrowWorkspace(*offset + size * place.unit)) {
        program_.unknown = true;
        return nullptr;
      }
      place.base = workspace_ + static_cast<size_t>(*offset);
    } else if (!Grow(size, tensor.name,
                     tensor.kind == TensorKind::Param && tensor.access != Access::Out)) {
      program_.unknown = true;
      return nullptr;
    }
    return &places_.emplace(id, std::move(place)).first->second;
  }

  bool Grow(int64_t size, const std::string& name, bool given) {
    size_t total = program_.cell_tensors.size() + static_cast<size_t>(size);
    if (size < 0 || total > static_cast<size_t>(kMaxCells)) {
      return false;
    }
    program_.cell_tensors.resize(total, name);
    program_.cell_given.resize(total, given);
    return true;
  }

  /// The workspace of a kernel is sized once, for all of its buffers.
  bool GrowWorkspace(int64_t least) {
    if (!has_workspace_) {
      has_workspace_ = true;
      workspace_ = program_.cell_tensors.size();
      workspace_size_ = least;
      for (const Tensor& tensor : module_.tensors) {
        Value offset = tensor.offset ? interpreter_.Eval(tensor.offset) : std::nullopt;
        if (!offset) {
          continue;
        }
        int64_t bytes = BytesPerElement(tensor);
        for (int64_t extent : interpreter_.Shape(tensor)) {
          bytes *= extent;
        }
        workspace_size_ = std::max(workspace_size_, *offset + bytes);
      }
      return Grow(workspace_size_, "workspace", false);
    }
    return least <= workspace_size_;
  }

  /// What the caller has put into an index tensor, as it has promised.
  Value Element(TensorId param, const std::vector<int64_t>& index) {
    const Bound& bound = bound_[param];
    const Tensor& tensor = module_.tensors[bound.tensor];
    if (tensor.kind != TensorKind::Param || tensor.access != Access::In || !tensor.value_lo) {
      return std::nullopt;
    }
    Value lo = interpreter_.Eval(tensor.value_lo);
    Value hi = interpreter_.Eval(tensor.value_hi);
    if (!lo || !hi || *lo >= *hi) {
      return std::nullopt;
    }
    std::vector<int64_t> full = bound.slice;
    full.insert(full.end(), index.begin(), index.end());
    std::vector<int64_t> shape = interpreter_.Shape(tensor);
    int64_t number = 0;
    int64_t size = 1;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (full[i] < 0 || full[i] >= shape[i]) {
        return std::nullopt;  // reported as outside
      }
      number = number * shape[i] + full[i];
      size *= shape[i];
    }
    if (!tensor.distinct && !tensor.monotone) {
      return *lo + Choose(*hi - *lo, bound.tensor, number);
    }
    int64_t width = *hi - *lo;
    if (tensor.distinct && width < size) {
      return std::nullopt;  // no data keep the promise
    }
    bool least = data_.kind == DataChoice::Kind::Least;
    bool greatest = data_.kind == DataChoice::Kind::Greatest;
    if (!tensor.distinct) {
      return *lo + (least ? 0 : greatest ? width - 1 : full.back() * (width - 1) / shape.back());
    }
    if (tensor.monotone) {
      return *lo + number + (least ? 0 : greatest ? width - size : (width - size) / 2);
    }
    int64_t turned = (number + static_cast<int64_t>(data_.seed)) % width;
    return *lo + (least ? number : greatest ? width - 1 - number : turned);
  }

  /// A number below `width` for one element.
  int64_t Choose(int64_t width, TensorId tensor, int64_t number) const {
    if (data_.kind != DataChoice::Kind::Random) {
      return data_.kind == DataChoice::Kind::Least ? 0 : width - 1;
    }
    uint64_t hash = Mix(Mix(data_.seed + tensor.value) + static_cast<uint64_t>(number));
    return static_cast<int64_t>(hash % static_cast<uint64_t>(width));
  }

  struct Bound {
    TensorId tensor;
    std::vector<int64_t> shape;  // of the parameter
    std::vector<int64_t> slice;
  };

  const Module& module_;
  Interpreter interpreter_;
  DataChoice data_;
  ConcreteProgram program_;
  std::map<EventId, Place> events_;
  std::map<TensorId, Place> places_;
  std::map<TensorId, Bound> bound_;  // arguments of the current call, by parameter
  const Device* device_ = nullptr;
  bool in_body_ = false;
  std::vector<int64_t> coordinates_;
  int64_t first_ = 0;
  bool has_workspace_ = false;
  size_t workspace_ = 0;
  int64_t workspace_size_ = 0;
};

DimRanges RangesOf(const Module& module, const Graph& graph, const Env& dims) {
  DimRanges ranges;
  if (graph.specialisation) {
    SymbolId dim = graph.specialisation->dim;
    for (const DimRange& range : graph.specialisation->ranges) {
      auto lo = EvaluateInt(module, range.lo, {});
      auto hi = EvaluateInt(module, range.hi, {});
      if (lo && hi && *lo <= dims.at(dim) && dims.at(dim) <= *hi) {
        ranges[dim] = {*lo, *hi};
      }
    }
  }
  return ranges;
}

}  // namespace

ConcreteProgram MakeConcrete(const Module& module, const Graph& graph, const Env& dims,
                             const DataChoice& data) {
  Builder builder(module, dims, RangesOf(module, graph, dims), data);
  builder.Block(graph.body);
  return builder.Take();
}

ConcreteProgram MakeConcrete(const Module& module, const Kernel& kernel, const Env& dims,
                             const DataChoice& data) {
  DimRanges ranges;
  for (const Where& where : kernel.where) {
    auto lo = EvaluateInt(module, where.lo, {});
    auto hi = EvaluateInt(module, where.hi, {});
    if (lo && hi) {
      ranges[where.dim] = {*lo, *hi};
    }
  }
  Builder builder(module, dims, ranges, data);
  builder.Block(kernel.declarations);
  builder.Block(kernel.body);
  return builder.Take();
}

}  // namespace etc::mutation
