// Printing of what stands between braces: bodies of device functions, graphs and kernels.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/printer_impl.h"

namespace etc {

/// The statements of a device function.
class BodyPrinter {
 public:
  BodyPrinter(const Module& module, PrintNames& names, const ExprPrinter& text, PrintLayout& layout)
      : module_(module), names_(names), text_(text), layout_(layout) {}

  void Statements(const std::vector<StmtId>& body);

 private:
  void Statement(StmtId id);
  void Otherwise(const If& branch);
  bool IsAssignment(StmtId id) const;
  const std::vector<StmtId>* BlockBody(StmtId id) const;
  std::optional<std::string> BlockHead(StmtId id);
  void DeclareOf(StmtId id);
  std::optional<std::string> Flat(StmtId id);
  std::string FlatTopK(const TopK& topk);

  const Module& module_;
  PrintNames& names_;
  const ExprPrinter& text_;
  PrintLayout& layout_;
};

/// The nodes of a graph or, with `launches`, of a kernel whose shares are launches.
class NodePrinter {
 public:
  NodePrinter(const Module& module, PrintNames& names, const ExprPrinter& text, PrintLayout& layout,
              bool launches)
      : module_(module),
        names_(names),
        text_(text),
        layout_(layout),
        place_(launches ? Place::Stream : Place::Sm) {}

  void Nodes(const std::vector<NodeId>& nodes);
  /// `loader depth 3 in_flight 2 interval 900;`, where `depth` is text that ends in a blank, or
  /// empty.
  void Loader(const Throttle& throttle, const std::string& depth);

 private:
  void Print(const BufferDecl& buffer, SourceRange range);
  void Print(const EventDecl& decl, SourceRange range);
  void Print(const CallNode& call, SourceRange range);
  void Print(const Repeat& repeat, SourceRange range);
  void Print(const Region& region, SourceRange range);
  void Print(const Share& share, SourceRange range);
  void Print(const Dispatch& dispatch, SourceRange range);
  void Signals(std::string_view word, const std::vector<EventRef>& refs);
  void SignalBlock(std::string_view block, std::string_view word, const std::vector<EventRef>& refs,
                   const std::vector<Check>& checks, bool peers = false);
  void Checks(const std::vector<Check>& checks);
  std::string EdgeText(const Edge& edge);

  const Module& module_;
  PrintNames& names_;
  const ExprPrinter& text_;
  PrintLayout& layout_;
  enum class Place { Sm, Stream, Dispatch } place_;  // what a share stands in
};

/// ` schedule(dynamic)`, or nothing.
std::string ScheduleText(std::optional<ScheduleKind> kind);

}  // namespace etc
