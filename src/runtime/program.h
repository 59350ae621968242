// A loaded program: its manifest and the checked bytes of its binary. Immutable, shared by its
// instances.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/binary.h"
#include "runtime/manifest.h"
#include "runtime/status.h"

namespace etc::runtime {

/// What a query about a graph gives out as C strings.
struct GraphText {
  std::vector<std::vector<std::string>> extents;            // of each param
  std::vector<std::vector<const char*>> extent_pointers;    // into extents
  std::vector<std::vector<const char*>> source_pointers;    // of each param, into the manifest
  std::vector<std::vector<std::string>> source_ranges;      // of each param
  std::vector<std::vector<const char*>> range_pointers;     // into source_ranges
  std::vector<std::pair<std::string, std::string>> values;  // bounds of each param, or empty
  std::vector<std::string> where;                           // of each kernel
  std::vector<std::vector<std::string>> entries;            // of each kernel
};

/// The same of the program as a whole.
struct ProgramText {
  std::vector<const char*> flags;
  std::vector<etc_proof_info> proofs;  // of the source, then of the kernels
  std::vector<const char*> assumptions;
  std::vector<const char*> not_proved;
};

class Program {
 public:
  /// `path` names a container, a manifest, or a binary that its manifest lies beside.
  static Status Load(const std::string& path, std::shared_ptr<const Program>* program);
  /// A container, which need not outlive the call.
  static Status LoadMemory(std::string_view bytes, std::shared_ptr<const Program>* program);

  const manifest::Manifest& manifest() const { return manifest_; }
  const GraphText& text(const manifest::Graph& graph) const {
    return texts_[static_cast<size_t>(&graph - manifest_.graphs.data())];
  }
  const ProgramText& program_text() const { return program_text_; }
  bool IsHost() const { return manifest_.target == "host"; }
  /// `name` may be null when there is one graph.
  Status FindGraph(const char* name, const manifest::Graph** graph) const;

  /// The binary, opened when first asked for.
  HostBinary& host_binary() const { return *host_; }
  DeviceBinary& device_binary() const { return *device_; }

 private:
  /// `name` is what messages call the container, the manifest or the binary.
  Status TakeContainer(const std::string& name, std::string bytes);
  Status TakeManifest(const std::string& name, std::string_view text);
  Status TakeBinary(const std::string& name, std::string image);
  Status LoadFiles(const std::string& path, std::string given);
  void WriteTexts();
  void WriteProgramText();

  manifest::Manifest manifest_;
  std::vector<GraphText> texts_;
  ProgramText program_text_;
  std::unique_ptr<HostBinary> host_;
  std::unique_ptr<DeviceBinary> device_;
};

}  // namespace etc::runtime
