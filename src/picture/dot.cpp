#include <fmt/format.h>

#include "picture/picture.h"

namespace etc {
namespace {

constexpr const char* kStyle =
    R"(  graph [fontname=monospace, labeljust=l, style=rounded, color="#b0b0b0", nodesep=0.15];
  node [shape=box, style="rounded,filled", color="#4c72b0", fillcolor="#eef3fa", fontname=monospace];
  edge [color="#606060", fontname=monospace, fontsize=10];
)";

/// The text between the quotes of a label. `line_end` puts the line before it in the middle ("\n"
/// in DOT) or to the left ("\l").
std::string Escape(const std::string& text, const char* line_end = "\\n") {
  std::string escaped;
  for (char c : text) {
    if (c == '\n') {
      escaped += line_end;
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
    text_ = std::string("digraph etc {\n") + kStyle;
    Cluster(0, "  ");
    for (const PictureEdge& edge : picture_.edges) {
      std::string attributes;
      if (!edge.label.empty()) {
        attributes = fmt::format("label=\" {}\\l\"", Escape(edge.label, "\\l "));
      }
      if (edge.back) {
        attributes += fmt::format("{}style=dashed, dir=back", attributes.empty() ? "" : ", ");
      }
      // What leads back is laid out the other way round, like all else from top to bottom.
      text_ += fmt::format("  n{} -> n{}{};\n", edge.back ? edge.to : edge.from,
                           edge.back ? edge.from : edge.to,
                           attributes.empty() ? "" : fmt::format(" [{}]", attributes));
    }
    return text_ + "}\n";
  }

 private:
  void Cluster(size_t cluster, const std::string& indent) {
    for (size_t node : members_[cluster]) {
      text_ += fmt::format(
          "{}n{} [label=\"{}\"{}];\n", indent, node, Escape(picture_.nodes[node].label),
          picture_.nodes[node].event
              ? ", shape=ellipse, style=filled, color=\"#dd8452\", fillcolor=\"#fdf1e8\""
              : "");
    }
    for (size_t child : children_[cluster]) {
      // dot makes a box as wide as its nodes, not as their edges' labels: none around all of it.
      text_ += fmt::format("{}subgraph cluster_{} {{\n{}  label=\"{}\";\n", indent, child, indent,
                           Escape(picture_.clusters[child].label));
      text_ += fmt::format("{}  peripheries={};\n", indent, cluster == 0 ? 0 : 1);
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
