// Pictures of a program: what runs, and the events between. A picture is nodes in nested clusters
// and edges between the nodes; DOT is one way to write it.
#pragma once

#include <string>
#include <vector>

#include "analysis/program.h"
#include "analysis/samples.h"
#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

struct PictureNode {
  std::string label;  // lines are separated by '\n'
  size_t cluster;
  bool event = false;  // an event or one of its elements; else a call or a task
};
struct PictureEdge {
  size_t from;
  size_t to;
  std::string label;
  bool back = false;  // from one iteration to a later one, against the order of the text
};
struct PictureCluster {
  std::string label;
  size_t parent;  // below its own index; the first cluster is the whole, and its own parent
};
struct Picture {
  std::vector<PictureCluster> clusters{{"", 0}};
  std::vector<PictureNode> nodes;
  std::vector<PictureEdge> edges;
};

/// Adds a cluster `name` with a node for each call (of a kernel: share). An edge leads from each
/// call that notifies an event to each that waits for it, and names the event, its count and both
/// maps. An event that has only one side is a node. Repeats are clusters.
void AddCalls(const Module& module, const CallProgram& program, const std::string& name,
              Picture& picture);

/// The most nodes that AddTasks draws.
constexpr size_t kMaxPictureNodes = 2000;

/// The same at given sizes: a node for each task and each element of an event that a task waits for
/// or notifies; iterations and calls are clusters. False, with a diagnostic at `range`, when there
/// are too many [command-line], or at the reference when it depends on data [unsupported].
[[nodiscard]] bool AddTasks(const Module& module, const CallProgram& program,
                            const std::string& name, const Sizes& sizes, SourceRange range,
                            Picture& picture, Diagnostics& diagnostics);

/// The picture in the DOT language.
std::string PrintDot(const Picture& picture);

}  // namespace etc
