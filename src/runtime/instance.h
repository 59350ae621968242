// One graph with its tensors, sizes and memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/backend.h"
#include "runtime/binding.h"
#include "runtime/launch_memory.h"
#include "runtime/launches.h"
#include "runtime/profile.h"
#include "runtime/program.h"
#include "runtime/rank_of.h"
#include "runtime/replay.h"
#include "runtime/status.h"
#include "runtime/symmetric_memory.h"

namespace etc::runtime {

struct NamedTensor {
  const char* name;
  etc_tensor tensor;
};

class Instance {
 public:
  static Status Create(std::shared_ptr<const Program> program, const char* graph,
                       std::unique_ptr<Instance>* instance);
  /// One of the ranks of a group, which gives it its symmetric memory. So many of them, this one
  /// counted, are on the device whose context is current.
  static Status CreateRank(std::shared_ptr<const Program> program, const char* graph, int32_t rank,
                           int32_t ranks, int sharers, std::unique_ptr<Instance>* instance);

  const Program& program() const { return *program_; }
  const manifest::Graph& graph() const { return graph_; }

  Status SetDim(const char* name, int64_t value);
  Status ClearDim(const char* name);
  Status DimValue(const char* name, int64_t* value) const;
  Status ParamShape(const char* name, std::vector<int64_t>* extents) const;
  Status ValueRange(const char* name, int64_t* min, int64_t* max) const;
  /// For an array, its tensors stacked in one.
  Status Bind(const char* name, const etc_tensor& tensor);
  /// All of them or, behind an error, none.
  Status BindAll(const std::vector<NamedTensor>& tensors);
  Status BindDlpack(const char* name, const etc_dl_tensor& tensor);
  /// One tensor of an array.
  Status BindElement(const char* name, int64_t index, const etc_tensor& tensor);
  Status BindElementDlpack(const char* name, int64_t index, const etc_dl_tensor& tensor);
  Status AllowOverlap(const char* a, const char* b);
  Status WorkspaceBytes(int64_t* bytes) const;
  Status BindWorkspace(void* data, int64_t bytes);
  Status Reserve();
  Status SetSms(int32_t sms);
  void SetReplay(bool on) { replay_.Switch(on); }
  Status Launch(void* stream);
  Status CheckFailures(void* stream);

  // Of a rank.

  /// Absent: the graph has no mesh.
  const std::optional<RankOf>& rank() const { return rank_; }
  Backend& backend() { return *backend_; }
  /// Waits for its launches on the stream, and asks for their failures.
  Status Synchronize(void* stream);
  /// The dims of a launch now, and the symmetric memory that it needs.
  Status PlanRank(std::vector<int64_t>* dims, SymmetricSizes* needed) const;
  /// How many have been launched in the group's memory as it is.
  uint64_t launches() const { return launches_; }
  /// Whether all launches on the stream have ended.
  Status IsDone(void* stream, bool* done) const;
  /// Makes the memory that peers do not reach fit. Behind BindSymmetric.
  Status ReserveRank();
  /// The dims of the last launch, while nothing is bound or set; else null.
  const std::vector<int64_t>* ReadyDims() const { return is_ready_ ? &plan_->dims : nullptr; }
  /// Does what may fail in front of a launch: peers wait for a rank that others have launched.
  Status PrepareRank();
  /// The same of threads, for the next launch; or has none of them any more.
  Status HoldThreads() { return backend_->HoldThreads(static_cast<int>(sms_)); }
  void ReleaseThreads() { (void)backend_->HoldThreads(1); }
  /// Behind a launch that failed, once the group's memory is new.
  Status RenewRank();
  /// The group's memory is another one.
  void BindSymmetric(SymmetricMemory& memory);

  /// What the last launch left behind; waits for the stream.
  Status Profile(void* stream, trace::Trace* trace);

 private:
  /// What follows from the dims.
  struct Plan {
    std::vector<int64_t> dims;
    size_t kernel = 0;
    MemorySizes memory;
    SymmetricSizes symmetric;                  // of a rank, with all counters
    std::shared_ptr<const LaunchSteps> steps;  // of a kernel that is a list of launches
    std::optional<ProfileShape> profile;       // of a kernel that leaves one behind
  };

  Instance(std::shared_ptr<const Program> program, const manifest::Graph& graph,
           std::unique_ptr<Backend> backend);
  static Status Make(std::shared_ptr<const Program> program, const manifest::Graph& graph,
                     int sharers, std::unique_ptr<Instance>* instance);
  /// In place of the default stream, on which ranks of one device would wait for each other, a rank
  /// has its own.
  Status ReplaceStream(void** stream) const;

  Status FindDim(const char* name, size_t* index) const;
  Status FindParam(const char* name, size_t* index) const;
  Status FindElement(const char* name, int64_t index, size_t* place) const;
  Status FromDlpack(const std::string& name, const etc_dl_tensor& tensor, etc_tensor* made) const;
  Status MakeBindings(const NamedTensor& tensor, size_t* place, std::vector<Binding>* made) const;
  Status CheckPlace(const manifest::Param& param, const etc_tensor& tensor, Binding* binding) const;
  Status NoValue(size_t dim) const;
  Status ValueOf(const manifest::Expr& expr, const char* name, const std::string& what,
                 int64_t* value) const;
  Status AllDims(std::vector<int64_t>* dims) const;
  Status MakePlan(std::vector<int64_t> dims, Plan* plan) const;
  Status PlanNow(Plan* plan) const;
  Status UpdatePlan();
  Status SelectKernel(Plan* plan) const;
  Status Grow(const MemorySizes& needed, void* stream);
  Status FillMaps();
  Status FillBlock();
  Status LaunchAll(bool is_capturing, void* stream);

  std::shared_ptr<const Program> program_;
  const manifest::Graph& graph_;
  const Places places_;
  std::unique_ptr<Backend> backend_;
  LaunchMemory memory_;
  Replay replay_;

  KnownDims set_dims_;
  std::vector<Binding> bindings_;  // of the places
  PlacePairs may_overlap_;
  int32_t sms_;

  std::optional<RankOf> rank_;
  SymmetricMemory* symmetric_ = nullptr;  // of a rank, once there is some
  uint64_t launches_ = 0;                 // in this memory
  size_t launch_word_ = 0;                // of the block: the number of the launch

  /// Of the last launch, while nothing is bound or set.
  bool is_ready_ = false;
  std::optional<Plan> plan_;  // of the last launch, whatever was bound or set since
  std::vector<uint64_t> block_;
  uint64_t version_ = 0;          // of the block and the SMs
  std::optional<Plan> profiled_;  // of the last launch, while there is a profile of it
};

}  // namespace etc::runtime
