#include <fmt/format.h>

#include "picture/picture.h"

namespace etc {
namespace {

/// The text between the quotes of a label.
std::string Escape(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
    }
  }
  return escaped;
}

class Printer {
 public:
  explicit Printer(const Picture& picture)
      : picture_(picture), children_(picture.clusters.size()), members_(picture.clusters.size()) {
    for (size_t i = 1; i < picture.clusters.size(); ++i) {
      children_[picture.clusters[i].parent].push_back(i);
    }
    for (size_t i = 0; i < picture.nodes.size(); ++i) {
      members_[picture.nodes[i].cluster].push_back(i);
    }
  }

  std::string Run() {
    text_ =
        "digraph etc {\n  node [shape=box, fontname=monospace];\n"
        "  edge [fontname=monospace, fontsize=10];\n";
    Cluster(0, "  ");
    for (const PictureEdge& edge : picture_.edges) {
      std::string attributes;
      if (!edge.label.empty()) {
        attributes = fmt::format("label=\"{}\"", Escape(edge.label));
      }
      if (edge.back) {
        attributes +=
            fmt::format("{}style=dashed, constraint=false", attributes.empty() ? "" : ", ");
      }
      text_ += fmt::format("  n{} -> n{}{};\n", edge.from, edge.to,
                           attributes.empty() ? "" : fmt::format(" [{}]", attributes));
    }
    return text_ + "}\n";
  }

 private:
  void Cluster(size_t cluster, const std::string& indent) {
    for (size_t node : members_[cluster]) {
      text_ +=
          fmt::format("{}n{} [label=\"{}\"{}];\n", indent, node, Escape(picture_.nodes[node].label),
                      picture_.nodes[node].event ? ", shape=ellipse" : "");
    }
    for (size_t child : children_[cluster]) {
      text_ += fmt::format("{}subgraph cluster_{} {{\n{}  label=\"{}\";\n", indent, child, indent,
                           Escape(picture_.clusters[child].label));
      Cluster(child, indent + "  ");
      text_ += indent + "}\n";
    }
  }

  const Picture& picture_;
  std::vector<std::vector<size_t>> children_;  // by cluster
  std::vector<std::vector<size_t>> members_;
  std::string text_;
};

}  // namespace

std::string PrintDot(const Picture& picture) { return Printer(picture).Run(); }

}  // namespace etc
