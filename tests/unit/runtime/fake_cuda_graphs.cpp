// The part of the stand-in for the driver that captures streams and starts graphs.
#include <utility>

#include "fake_cuda.h"
#include "fake_cuda_failures.h"
#include "runtime/cuda_driver.h"

namespace {

using etc::test::FakeCuda;
using etc::test::FakeLaunch;
namespace cuda = etc::runtime::cuda;

FakeCuda& state = *etc_fake_cuda();

/// A graph, or what it was instantiated to.
struct Graph {
  struct Node {
    FakeLaunch launch;
    bool is_linked = false;  // to the node before
  };
  std::vector<Node> nodes;
};

Graph* AsGraph(void* graph) { return static_cast<Graph*>(graph); }

/// A node is its number, from 1.
Graph::Node& NodeOf(void* graph, const void* node) {
  return AsGraph(graph)->nodes.at(reinterpret_cast<uintptr_t>(node) - 1);
}

void SetNode(const cuda::KernelNodeParams& params, FakeLaunch* launch) {
  const auto* words = static_cast<const uint64_t*>(params.params[0]);
  launch->entry = *reinterpret_cast<std::string*>(params.function);
  launch->grid = params.grid_x;
  launch->threads = params.block_x;
  launch->shared_bytes = params.shared_bytes;
  launch->block = {words, words + state.block_words};
}

}  // namespace

extern "C" {

cuda::Result cuStreamBeginCapture_v2(void* stream, int) {
  FAIL_IF_ASKED
  state.capturing.insert(stream);
  return cuda::kSuccess;
}
cuda::Result cuStreamEndCapture(void* stream, void** graph) {
  state.capturing.erase(stream);
  ++state.graphs;
  *graph = new Graph;
  return cuda::kSuccess;
}
cuda::Result cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(state.capture_mode, *mode);
  return cuda::kSuccess;
}
cuda::Result cuGraphCreate(void** graph, unsigned) {
  FAIL_IF_ASKED
  ++state.graphs;
  *graph = new Graph;
  return cuda::kSuccess;
}
cuda::Result cuGraphAddKernelNode_v2(void** node, void* graph, void* const*, size_t,
                                     const cuda::KernelNodeParams* params) {
  FAIL_IF_ASKED
  SetNode(*params, &AsGraph(graph)->nodes.emplace_back().launch);
  *node = reinterpret_cast<void*>(AsGraph(graph)->nodes.size());
  return cuda::kSuccess;
}
cuda::Result cuGraphAddDependencies_v2(void* graph, void* const* from, void* const* to,
                                       const cuda::GraphEdge* edge, size_t count) {
  FAIL_IF_ASKED
  if (count != 1 || static_cast<char*>(*to) - static_cast<char*>(*from) != 1) {
    return cuda::kInvalidValue;
  }
  Graph::Node& node = NodeOf(graph, *to);
  node.is_linked = true;
  node.launch.is_overlapping =
      edge->type == cuda::kEdgeProgrammatic && edge->from_port == cuda::kPortProgrammatic;
  return cuda::kSuccess;
}
cuda::Result cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  *executable = &state;  // the driver leaves something there when it fails
  FAIL_IF_ASKED
  if (!state.capturing.empty() && state.capture_mode != cuda::kCaptureRelaxed) {
    return cuda::kCaptureUnsupported;
  }
  const std::vector<Graph::Node>& nodes = AsGraph(graph)->nodes;
  for (size_t i = 1; i < nodes.size(); ++i) {
    if (!nodes[i].is_linked) {
      return cuda::kInvalidValue;
    }
  }
  ++state.graphs;
  *executable = new Graph(*AsGraph(graph));
  return cuda::kSuccess;
}
cuda::Result cuGraphExecKernelNodeSetParams_v2(void* executable, void* node,
                                               const cuda::KernelNodeParams* params) {
  FAIL_IF_ASKED
  SetNode(*params, &NodeOf(executable, node).launch);
  ++state.node_updates;
  return cuda::kSuccess;
}
cuda::Result cuGraphLaunch(void* executable, void* stream) {
  FAIL_IF_ASKED
  if (!etc::test::IsOfCurrentDevice(stream)) {
    return etc::test::kInvalidHandle;
  }
  state.graph_launches.emplace_back(executable, stream);
  if (AsGraph(executable)->nodes.empty()) {
    return cuda::kSuccess;
  }
  std::vector<FakeLaunch>& launches = state.replays.emplace_back();
  for (const Graph::Node& node : AsGraph(executable)->nodes) {
    launches.push_back(node.launch);
    launches.back().stream = stream;
  }
  return cuda::kSuccess;
}
cuda::Result cuGraphDestroy(void* graph) {
  --state.graphs;
  delete AsGraph(graph);
  return cuda::kSuccess;
}
cuda::Result cuGraphExecDestroy(void* executable) { return cuGraphDestroy(executable); }
cuda::Result cuStreamIsCapturing(void* stream, int* capture) {
  if (stream == &state) {
    return cuda::kInvalidValue;
  }
  *capture = state.capturing.count(stream) != 0 ? 1 : cuda::kCaptureNone;
  return cuda::kSuccess;
}

}  // extern "C"
