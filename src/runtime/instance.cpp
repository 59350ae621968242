#include "runtime/instance.h"

#include <algorithm>
#include <utility>

#include "runtime/manifest_expr.h"
#include "runtime/requirements.h"
#include "runtime/tensor_maps.h"

namespace etc::runtime {
namespace {

// Nanoseconds of a tick in a profile.
constexpr int64_t kHostTick = 16;
constexpr int64_t kDeviceTick = 1;

uint64_t Word(const void* data) { return reinterpret_cast<uintptr_t>(data); }

Status Size(const manifest::Kernel& kernel, const manifest::Expr& expr, const char* what,
            const std::vector<int64_t>& dims, int64_t max, int64_t* value) {
  Status status = Evaluate(expr, dims, value);
  if (!status.Ok()) {
    return Fail(status.code, "kernel `", NameOf(kernel), "`: `", what, "` ", status.message);
  }
  if (*value < 0 || *value > max) {
    return Fail(ETC_ERROR_MANIFEST, "kernel `", NameOf(kernel), "`: `", what, "` is ", *value,
                ", but must be in 0..", max);
  }
  return {};
}

}  // namespace

Instance::Instance(std::shared_ptr<const Program> program, const manifest::Graph& graph,
                   std::unique_ptr<Backend> backend)
    : program_(std::move(program)),
      graph_(graph),
      places_(graph),
      backend_(std::move(backend)),
      memory_(*backend_, program_->manifest()),
      replay_(*backend_, graph.kernels.size()),
      set_dims_(graph.dims.size()),
      bindings_(places_.graph.params.size()),
      sms_(backend_->DefaultSms()) {}

Status Instance::Create(std::shared_ptr<const Program> program, const char* graph,
                        std::unique_ptr<Instance>* instance) {
  const manifest::Graph* found = nullptr;
  ETC_RETURN_IF_BAD(program->FindGraph(graph, &found));
  if (found->mesh) {
    return Fail(ETC_ERROR_ARGUMENT, "graph `", found->name,
                "` runs on several ranks: make a group of them");
  }
  return Make(std::move(program), *found, 1, instance);
}

Status Instance::Make(std::shared_ptr<const Program> program, const manifest::Graph& graph,
                      int sharers, std::unique_ptr<Instance>* instance) {
  std::unique_ptr<Backend> backend;
  ETC_RETURN_IF_BAD(program->IsHost() ? MakeHostBackend(*program, graph, &backend)
                                      : MakeDeviceBackend(*program, graph, sharers, &backend));
  instance->reset(new Instance(std::move(program), graph, std::move(backend)));
  return {};
}

Status Instance::FindDim(const char* name, size_t* index) const {
  for (size_t i = 0; i < graph_.dims.size(); ++i) {
    if (graph_.dims[i].name == name) {
      *index = i;
      return {};
    }
  }
  return Fail(ETC_ERROR_NOT_FOUND, "graph `", graph_.name, "` has no dim `", name, "`");
}

Status Instance::FindParam(const char* name, size_t* index) const {
  for (size_t i = 0; i < graph_.params.size(); ++i) {
    if (graph_.params[i].name == name) {
      *index = i;
      return {};
    }
  }
  return Fail(ETC_ERROR_NOT_FOUND, "graph `", graph_.name, "` has no parameter `", name, "`");
}

Status Instance::NoValue(size_t dim) const {
  return Fail(ETC_ERROR_DIM, "dim `", graph_.dims[dim].name, "` is not set, and ",
              SourcesOf(graph_, dim));
}

Status Instance::SetDim(const char* name, int64_t value) {
  size_t index = 0;
  ETC_RETURN_IF_BAD(FindDim(name, &index));
  if (Status status = CheckDim(graph_.dims[index], value); !status.Ok()) {
    return Fail(status.code, "dim `", name, "` ", status.message);
  }
  set_dims_[index] = value;
  is_ready_ = false;
  return {};
}

Status Instance::ClearDim(const char* name) {
  size_t index = 0;
  ETC_RETURN_IF_BAD(FindDim(name, &index));
  set_dims_[index].reset();
  is_ready_ = false;
  return {};
}

Status Instance::DimValue(const char* name, int64_t* value) const {
  size_t index = 0;
  ETC_RETURN_IF_BAD(FindDim(name, &index));
  const std::optional<int64_t> known = InferDims(places_.graph, bindings_, set_dims_)[index];
  if (!known) {
    return NoValue(index);
  }
  *value = *known;
  return {};
}

/// An expression of a parameter's description, under the dims that are set or inferred.
Status Instance::ValueOf(const manifest::Expr& expr, const char* name, const std::string& what,
                         int64_t* value) const {
  const auto failure = [&](etc_status code, std::string_view why) {
    return Fail(code, "parameter `", name, "`: ", what, ", `", ToText(expr, graph_.dims), "`, ",
                why);
  };
  const KnownDims known = InferDims(places_.graph, bindings_, set_dims_);
  if (!IsKnown(expr, known)) {
    return failure(ETC_ERROR_DIM, "has no value yet");
  }
  std::vector<int64_t> dims;
  for (const std::optional<int64_t>& dim : known) {
    dims.push_back(dim.value_or(0));
  }
  const Status status = Evaluate(expr, dims, value);
  return status.Ok() ? status : failure(status.code, status.message);
}

Status Instance::ParamShape(const char* name, std::vector<int64_t>* extents) const {
  size_t index = 0;
  ETC_RETURN_IF_BAD(FindParam(name, &index));
  for (const manifest::Expr& extent : graph_.params[index].shape) {
    const std::string what = Cat("extent ", extents->size());
    ETC_RETURN_IF_BAD(ValueOf(extent, name, what, &extents->emplace_back()));
  }
  return {};
}

Status Instance::ValueRange(const char* name, int64_t* min, int64_t* max) const {
  size_t index = 0;
  ETC_RETURN_IF_BAD(FindParam(name, &index));
  const std::optional<manifest::ValueRange>& values = graph_.params[index].values;
  if (!values) {
    *min = INT64_MIN;
    *max = INT64_MAX;
    return {};
  }
  ETC_RETURN_IF_BAD(ValueOf(values->min, name, "the least value", min));
  return ValueOf(values->max, name, "the largest value", max);
}

Status Instance::SelectKernel(Plan* plan) const {
  std::string tried;
  for (size_t i = 0; i < graph_.kernels.size(); ++i) {
    const std::vector<manifest::Where>& where = graph_.kernels[i].where;
    if (std::all_of(where.begin(), where.end(), [&](const manifest::Where& range) {
          const int64_t value = plan->dims[static_cast<size_t>(range.dim)];
          return value >= range.min && value <= range.max;
        })) {
      plan->kernel = i;
      return {};
    }
    tried += Cat(tried.empty() ? "" : "; ", program_->text(graph_).where[i]);
  }
  std::string sizes;
  for (size_t i = 0; i < plan->dims.size(); ++i) {
    sizes += Cat(i == 0 ? "" : ", ", graph_.dims[i].name, " = ", plan->dims[i]);
  }
  return Fail(ETC_ERROR_DIM, "graph `", graph_.name, "` has no kernel for ", sizes,
              ", only for: ", tried);
}

Status Instance::AllDims(std::vector<int64_t>* dims) const {
  const KnownDims known = InferDims(places_.graph, bindings_, set_dims_);
  for (size_t i = 0; i < known.size(); ++i) {
    if (!known[i]) {
      return NoValue(i);
    }
    dims->push_back(*known[i]);
  }
  return {};
}

Status Instance::MakePlan(std::vector<int64_t> dims, Plan* plan) const {
  plan->dims = std::move(dims);
  ETC_RETURN_IF_BAD(CheckRequirements(graph_, graph_.requirements, plan->dims));
  ETC_RETURN_IF_BAD(SelectKernel(plan));
  const manifest::Kernel& kernel = graph_.kernels[plan->kernel];
  ETC_RETURN_IF_BAD(CheckRequirements(graph_, kernel.requirements, plan->dims));
  ETC_RETURN_IF_BAD(Size(kernel, kernel.workspace_bytes, "workspace_bytes", plan->dims, INT64_MAX,
                         &plan->memory.workspace_bytes));
  ETC_RETURN_IF_BAD(Size(kernel, kernel.event_counters, "event_counters", plan->dims,
                         LaunchMemory::kMaxEventCounters, &plan->memory.event_counters));
  if (rank_) {
    plan->symmetric.event_counters = std::exchange(plan->memory.event_counters, 0);
    ETC_RETURN_IF_BAD(Size(kernel, kernel.symmetric_bytes, "symmetric_bytes", plan->dims, INT64_MAX,
                           &plan->symmetric.bytes));
  }
  auto steps = std::make_shared<LaunchSteps>();
  ETC_RETURN_IF_BAD(ListLaunches(kernel, plan->dims, steps.get()));
  plan->steps = std::move(steps);
  if (kernel.profile) {
    ProfileShape& shape = plan->profile.emplace();
    shape.sms = sms_;
    shape.launches = kernel.entry.empty() ? static_cast<int64_t>(plan->steps->steps.size()) : 1;
    shape.launches = std::max<int64_t>(shape.launches, 1);
    shape.nanoseconds_per_tick = backend_->IsHost() ? kHostTick : kDeviceTick;
    ETC_RETURN_IF_BAD(SizeProfile(*kernel.profile, plan->dims, &shape));
    plan->memory.profile_bytes = shape.launches * shape.Bytes();
  }
  return {};
}

Status Instance::PlanNow(Plan* plan) const {
  std::vector<int64_t> dims;
  ETC_RETURN_IF_BAD(AllDims(&dims));
  return MakePlan(std::move(dims), plan);
}

/// Keeps the plan where only tensors have changed.
Status Instance::UpdatePlan() {
  std::vector<int64_t> dims;
  Plan plan;
  ETC_RETURN_IF_BAD(AllDims(&dims));
  if (plan_ && plan_->dims == dims) {
    plan = *plan_;
  } else {
    ETC_RETURN_IF_BAD(MakePlan(std::move(dims), &plan));
  }
  ETC_RETURN_IF_BAD(CheckTogether(places_.graph, bindings_, set_dims_, plan.dims, may_overlap_,
                                  memory_.BoundSpan()));
  ETC_RETURN_IF_BAD(memory_.CheckWorkspace(plan.memory));
  plan_ = std::move(plan);
  return {};
}

Status Instance::WorkspaceBytes(int64_t* bytes) const {
  Plan plan;
  ETC_RETURN_IF_BAD(PlanNow(&plan));
  *bytes = plan.memory.workspace_bytes;
  return {};
}

Status Instance::BindWorkspace(void* data, int64_t bytes) {
  ETC_RETURN_IF_BAD(memory_.BindWorkspace(data, bytes));
  is_ready_ = false;
  return {};
}

Status Instance::SetSms(int32_t sms) {
  if (sms < 0 || sms > backend_->MaxSms()) {
    return Fail(ETC_ERROR_ARGUMENT, "the number of SMs is ", sms, ", but must be in 0..",
                backend_->MaxSms());
  }
  sms_ = sms == 0 ? backend_->DefaultSms() : sms;
  ++version_;
  if (plan_ && plan_->profile) {  // has room for each SM
    plan_.reset();
    is_ready_ = false;
  }
  return {};
}

/// A profile that is outgrown goes with its memory.
Status Instance::Grow(const MemorySizes& needed, void* stream) {
  is_ready_ = false;
  if (!memory_.ProfileFits(needed)) {
    profiled_.reset();
  }
  return memory_.Grow(needed, stream);
}

Status Instance::Reserve() {
  Plan plan;
  ETC_RETURN_IF_BAD(PlanNow(&plan));
  if (memory_.Fits(plan.memory)) {
    return {};
  }
  ETC_RETURN_IF_BAD(Grow(plan.memory, nullptr));
  // The launch may come on a stream that is not ordered after the default one.
  return backend_->Synchronize(nullptr);
}

/// The words of the kernel's tensor maps.
Status Instance::FillMaps() {
  const manifest::Kernel& kernel = graph_.kernels[plan_->kernel];
  for (const manifest::TensorMap& map : kernel.tensor_maps) {
    TensorBox box;
    int64_t offset = 0;
    ETC_RETURN_IF_BAD(SizeBox(map, plan_->dims, &box, &offset));
    switch (map.place) {
      case manifest::TensorMap::Place::Param:
        box.data = bindings_[places_.first[map.param]].data;
        break;
      case manifest::TensorMap::Place::Workspace:
        box.data = static_cast<const char*>(memory_.workspace()) + offset;
        break;
      case manifest::TensorMap::Place::Symmetric:
        box.data = static_cast<const char*>(symmetric_->buffers(static_cast<size_t>(rank_->rank))) +
                   offset;
        break;
    }
    block_.resize(block_.size() + kMapWords);
    if (Status status = backend_->MakeTensorMap(box, block_.data() + block_.size() - kMapWords);
        !status.Ok()) {
      return Fail(status.code, "kernel `", NameOf(kernel), "`: a tensor map of ", box.shape[0],
                  " x ", box.shape[1], " x ", box.shape[2], " elements: ", status.message);
    }
  }
  return {};
}

Status Instance::FillBlock() {
  block_.clear();
  ETC_RETURN_IF_BAD(FillMaps());
  for (const Binding& binding : bindings_) {
    block_.push_back(Word(binding.data));
  }
  for (const int64_t dim : plan_->dims) {
    block_.push_back(static_cast<uint64_t>(dim));
  }
  block_.push_back(Word(memory_.workspace()));
  block_.push_back(Word(memory_.events()));
  block_.push_back(static_cast<uint64_t>(memory_.event_counters()));
  if (plan_->profile) {
    block_.push_back(Word(memory_.profile()));
    block_.push_back(static_cast<uint64_t>(plan_->profile->records));
    block_.push_back(static_cast<uint64_t>(plan_->profile->Bytes()));
  }
  if (rank_) {
    const auto rank = static_cast<size_t>(rank_->rank);
    block_.push_back(Word(symmetric_->buffers(rank)));
    block_.push_back(Word(symmetric_->begun(rank)));
    block_.push_back(Word(symmetric_->distances(rank)));
    block_.push_back(rank);
    block_.push_back(static_cast<uint64_t>(symmetric_->ranks()));
    launch_word_ = block_.size();
    block_.push_back(0);
  }
  size_t words = block_.size() + plan_->steps->depth;
  if (!graph_.kernels[plan_->kernel].tensor_maps.empty()) {
    words = (words + kMapAlignmentWords - 1) / kMapAlignmentWords * kMapAlignmentWords;
  }
  block_.resize(words);
  ++version_;
  return {};
}

Status Instance::LaunchAll(bool is_capturing, void* stream) {
  const LaunchList list{plan_->kernel, sms_, *plan_->steps, block_};
  // The caller's graph is to have the launches themselves.
  if (!is_capturing && replay_.Launch(list, plan_->steps, version_, stream)) {
    return {};
  }
  return ForEachLaunch(list, [&](const LaunchRequest& request) {
    return backend_->Launch(request, block_, stream);
  });
}

Status Instance::Launch(void* stream) {
  ETC_RETURN_IF_BAD(ReplaceStream(&stream));
  if (!is_ready_) {
    ETC_RETURN_IF_BAD(UpdatePlan());
  }
  if (rank_ && (symmetric_ == nullptr || !symmetric_->Fits(plan_->symmetric))) {
    return Fail(ETC_ERROR_BIND, "rank ", rank_->rank, " needs symmetric memory of ",
                plan_->symmetric.event_counters, " counters and ", plan_->symmetric.bytes,
                " bytes, for which the group has no room: reserve the group with these sizes");
  }
  if (rank_ && symmetric_->has_failed()) {
    return Fail(ETC_ERROR_GROUP, "rank ", rank_->rank,
                " cannot go on by itself behind a launch that failed: reserve the group");
  }
  bool is_capturing = false;
  ETC_RETURN_IF_BAD(backend_->IsCapturing(stream, &is_capturing));
  if (!memory_.Fits(plan_->memory)) {
    if (is_capturing) {
      return Fail(
          ETC_ERROR_CAPTURE,
          "the launch needs more memory than the instance has, and none "
          "can be allocated while the stream is being captured: reserve or launch once with "
          "these sizes before the capture");
    }
    ETC_RETURN_IF_BAD(Grow(plan_->memory, stream));
  }
  if (!is_ready_) {
    ETC_RETURN_IF_BAD(FillBlock());
    is_ready_ = true;
  }
  if (rank_) {
    ETC_RETURN_IF_BAD(HoldThreads());  // peers count a launch that began, and no other
    block_[launch_word_] = ++launches_;
  }
  if (backend_->IsHost()) {
    ETC_RETURN_IF_BAD(memory_.ZeroEvents(stream));
  }
  if (is_capturing) {
    memory_.NoteCapture();
    if (rank_) {
      symmetric_->NoteCapture();
    }
  }
  profiled_.reset();
  if (plan_->profile) {
    ETC_RETURN_IF_BAD(memory_.ZeroProfile(plan_->memory.profile_bytes, stream));
    profiled_ = plan_;
  }
  if (graph_.kernels[plan_->kernel].entry.empty()) {
    ETC_RETURN_IF_BAD(LaunchAll(is_capturing, stream));
  } else {
    ETC_RETURN_IF_BAD(backend_->Launch(
        {plan_->kernel, 0, static_cast<int>(sms_), LaunchMode::Cooperative}, block_, stream));
  }
  return backend_->IsHost() ? CheckFailures(stream) : Status{};
}

Status Instance::Profile(void* stream, trace::Trace* trace) {
  if (!profiled_) {
    return Fail(ETC_ERROR_NOT_FOUND, "graph `", graph_.name,
                "` has no profile of a launch: nothing was launched since it was given memory, or "
                "the program was compiled without profiles");
  }
  ETC_RETURN_IF_BAD(ReplaceStream(&stream));
  std::vector<char> memory(static_cast<size_t>(profiled_->memory.profile_bytes));
  ETC_RETURN_IF_BAD(
      backend_->Read(memory_.profile(), profiled_->memory.profile_bytes, stream, memory.data()));
  *trace = ReadProfile(*graph_.kernels[profiled_->kernel].profile, *profiled_->profile, memory);
  return {};
}

Status Instance::CheckFailures(void* stream) {
  ETC_RETURN_IF_BAD(ReplaceStream(&stream));
  Status status = memory_.CheckFailures(stream);
  if (symmetric_ != nullptr &&
      (status.code == ETC_ERROR_TIMEOUT || status.code == ETC_ERROR_VALUE)) {
    symmetric_->NoteFailure();
  }
  return status;
}

}  // namespace etc::runtime
