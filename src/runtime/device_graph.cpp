#include "runtime/device_graph.h"

namespace etc::runtime {
namespace {

class DeviceGraph : public LaunchGraph {
 public:
  DeviceGraph(const cuda::Driver& driver, cuda::Context context,
              const std::vector<LaunchShape>& kernels)
      : driver_(driver), context_(context), kernels_(kernels) {}
  ~DeviceGraph() override {
    const cuda::ScopedContext scope(driver_, context_);
    if (executable_ != nullptr) {
      // Of one that runs: when it has ended.
      driver_.Note(driver_.cuGraphExecDestroy(executable_), "cuGraphExecDestroy");
    }
    if (graph_ != nullptr) {
      driver_.Note(driver_.cuGraphDestroy(graph_), "cuGraphDestroy");
    }
  }
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;

  Status Add(const LaunchRequest& request, std::vector<uint64_t>& block) override {
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    if (graph_ == nullptr) {
      ETC_RETURN_IF_BAD(
          driver_.CheckMade(driver_.cuGraphCreate(&graph_, 0), "cuGraphCreate", &graph_));
    }
    void* params[] = {block.data()};
    const cuda::KernelNodeParams node = Node(request, params);
    nodes_.push_back(nullptr);
    ETC_RETURN_IF_BAD(
        driver_.Check(driver_.cuGraphAddKernelNode_v2(&nodes_.back(), graph_, nullptr, 0, &node),
                      "cuGraphAddKernelNode"));
    if (nodes_.size() == 1) {
      return {};
    }
    // What programmatic stream serialization becomes when a stream is captured.
    cuda::GraphEdge edge{};
    if (request.mode == LaunchMode::Overlapping) {
      edge.from_port = cuda::kPortProgrammatic;
      edge.type = cuda::kEdgeProgrammatic;
    }
    return driver_.Check(
        driver_.cuGraphAddDependencies_v2(graph_, &nodes_.end()[-2], &nodes_.back(), &edge, 1),
        "cuGraphAddDependencies");
  }

  Status Finish() override {
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    const cuda::RelaxedCapture relaxed(driver_);
    return driver_.CheckMade(driver_.cuGraphInstantiateWithFlags(&executable_, graph_, 0),
                             "cuGraphInstantiate", &executable_);
  }

  Status Set(size_t index, const LaunchRequest& request, std::vector<uint64_t>& block) override {
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    void* params[] = {block.data()};
    const cuda::KernelNodeParams node = Node(request, params);
    return driver_.Check(
        driver_.cuGraphExecKernelNodeSetParams_v2(executable_, nodes_[index], &node),
        "cuGraphExecKernelNodeSetParams");
  }

  Status Start(void* stream) override {
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    return driver_.Check(driver_.cuGraphLaunch(executable_, static_cast<cuda::Stream>(stream)),
                         "cuGraphLaunch");
  }

 private:
  cuda::KernelNodeParams Node(const LaunchRequest& request, void** params) const {
    const LaunchShape& shape = kernels_[request.kernel];
    return {shape.functions[request.entry],
            static_cast<unsigned>(request.sms),
            1,
            1,
            shape.threads,
            1,
            1,
            shape.shared_bytes,
            params,
            nullptr,
            nullptr,
            nullptr};
  }

  const cuda::Driver& driver_;
  cuda::Context context_;
  const std::vector<LaunchShape>& kernels_;
  cuda::Graph graph_ = nullptr;
  std::vector<cuda::GraphNode> nodes_;
  cuda::GraphExec executable_ = nullptr;
};

}  // namespace

std::unique_ptr<LaunchGraph> MakeDeviceGraph(const cuda::Driver& driver, cuda::Context context,
                                             const std::vector<LaunchShape>& kernels) {
  if (!driver.MakesGraphs()) {
    return nullptr;
  }
  return std::make_unique<DeviceGraph>(driver, context, kernels);
}

}  // namespace etc::runtime
