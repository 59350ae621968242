// What the proofs of graphs find out about bodies holds in the kernels that are made of the graphs:
// a kernel calls the same device functions, for the same tasks at the same sizes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "analysis/regions.h"

namespace etc {

/// A body of which nothing is open or refuted.
struct BodyProof {
  CallRegions regions;
  int64_t bounds = 0;  // facts of each group
  int64_t iterations = 0;
  int64_t coverage = 0;
};

/// A program with what is known of its unknowns, and of bodies, by the number of their call.
struct ProvedProgram {
  /// The module must outlive it.
  ProvedProgram(const Module& module, CallProgram calls)
      : program(std::move(calls)), unknowns(module, program, context) {}
  ProvedProgram(const ProvedProgram&) = delete;
  ProvedProgram& operator=(const ProvedProgram&) = delete;

  const CallProgram program;
  IslContext context;
  Unknowns unknowns;
  std::map<size_t, BodyProof> bodies;
  std::mutex in_use;  // of the context, by whoever proves a kernel
};

/// The programs of a module's graphs, which one proof fills in and that of the kernels waits for.
class GraphProofs {
 public:
  explicit GraphProofs(std::shared_ptr<const Module> module) : module_(std::move(module)) {}

  const Module& module() const { return *module_; }

  /// Says which programs there will be; none where nothing is handed on.
  void Announce(const std::vector<const CallProgram*>& programs);
  /// The proof of a program has ended. Null where something is wrong with it.
  void Put(size_t number, std::shared_ptr<ProvedProgram> proved);

  struct Found {
    bool wrong = false;
    std::shared_ptr<ProvedProgram> proved = nullptr;  // null where there is no such program
  };
  /// The program of a graph at the sizes of a kernel, once its proof has ended.
  Found Wait(const Module& kernels, const std::string& graph, const DimRanges& ranges) const;

 private:
  struct Entry {
    std::string graph;
    DimRanges ranges;
    bool ended = false;
    std::shared_ptr<ProvedProgram> proved = nullptr;
  };

  std::shared_ptr<const Module> module_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<std::vector<Entry>> entries_;
};

/// What is known of the bodies of a kernel by the proof of the graph's program.
class KnownBodies {
 public:
  /// The module of the kernel says of device functions what that of the graph says. Both programs
  /// have the same context, and must outlive this.
  KnownBodies(ProvedProgram& graph, Unknowns& unknowns);

  /// What a call of the same function was shown to do, if the same was asked about its body as it
  /// would be about that of this call: all that the answer depends on is compared. Its unknowns
  /// must have the scope of the call.
  std::optional<BodyProof> Find(const ProgramCall& call);

 private:
  using Names = std::map<std::string, std::string>;

  bool HasSameTasks(const ProgramCall& known, const ProgramCall& call, Names& names);
  bool HasSameArguments(const ProgramCall& known, const ProgramCall& call) const;
  bool IsSameIndex(const Argument& known, const Argument& argument) const;
  bool IsSameArgument(TensorId known, TensorId tensor) const;
  std::optional<std::vector<AccessRegion>> Adopt(const ProgramCall& known, const ProgramCall& call,
                                                 const std::vector<AccessRegion>& regions,
                                                 Names& names);

  ProvedProgram& graph_;
  Unknowns& unknowns_;
  std::set<TensorId> written_before_;  // by calls of the graph
  std::set<TensorId> written_;         // by calls of the kernel
};

}  // namespace etc
