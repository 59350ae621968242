// What is found out about bodies while the events of a graph are derived holds in the proof of the
// graph, and what that proof finds out holds in the kernels that are made of the graph: they call
// the same device functions, for the same tasks at the same sizes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
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

/// What is known of the unknowns of a program, and of bodies, by the number of their call.
struct ReadBodies {
  /// The module and the program must outlive it.
  ReadBodies(const Module& module, const CallProgram& calls, std::shared_ptr<IslContext> shared)
      : program(calls),
        kept(std::move(shared)),
        context(*kept),
        unknowns(module, program, context) {}
  ReadBodies(const ReadBodies&) = delete;
  ReadBodies& operator=(const ReadBodies&) = delete;

  const CallProgram& program;
  const std::shared_ptr<IslContext> kept;
  IslContext& context;
  Unknowns unknowns;
  std::map<size_t, BodyProof> bodies;
};

struct OwnProgram {
  const CallProgram own;
};

/// A program of a graph that is proved, or is about to be.
struct ProvedProgram : OwnProgram, ReadBodies {
  /// The module must outlive it.
  ProvedProgram(const Module& module, CallProgram calls,
                std::shared_ptr<IslContext> context = std::make_shared<IslContext>())
      : OwnProgram{std::move(calls)}, ReadBodies(module, own, std::move(context)) {}

  std::mutex in_use;  // of the context, by whoever proves a kernel
};

/// What the derivation of events has read of the bodies of graphs.
class DerivedBodies {
 public:
  /// Of a graph in each of its ranges: `read` is over the programs. The module of the derivation is
  /// that of the proofs.
  void Put(std::vector<CallProgram> programs, std::vector<std::shared_ptr<ReadBodies>> read);
  /// Those of the program at its sizes, or null. They are handed out once.
  std::shared_ptr<ReadBodies> Take(const CallProgram& program);

 private:
  struct Entry {
    std::vector<CallProgram> programs;
    std::vector<std::shared_ptr<ReadBodies>> read;
  };
  std::mutex mutex_;
  std::deque<Entry> entries_;
};

/// The programs of a module's graphs, which one proof fills in and that of the kernels waits for.
class GraphProofs {
 public:
  explicit GraphProofs(std::shared_ptr<const Module> module,
                       std::shared_ptr<DerivedBodies> derived = nullptr)
      : module_(std::move(module)), derived_(std::move(derived)) {}

  const Module& module() const { return *module_; }
  /// Null where no events were derived.
  DerivedBodies* derived() const { return derived_.get(); }

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
  std::shared_ptr<DerivedBodies> derived_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<std::vector<Entry>> entries_;
};

/// What is known of the bodies of a program by those of another one: of a graph that is proved by
/// what was read when its events were derived, of a kernel by the proof of its graph.
class KnownBodies {
 public:
  /// The module of the program says of device functions what that of the graph says. Both programs
  /// have the same context, and must outlive this.
  KnownBodies(ReadBodies& graph, Unknowns& unknowns);

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

  ReadBodies& graph_;
  Unknowns& unknowns_;
  std::set<TensorId> written_before_;  // by calls of the graph
  std::set<TensorId> written_;         // by calls of the program that asks
};

/// Whether what is found about the body of a call may be known of another one at all. Its unknowns
/// must have the scope of the call.
bool MayBeKnown(Unknowns& unknowns, const ProgramCall& call);

/// Reads all bodies of a program, and proves of them what is proved of each body by itself: what is
/// found joins `read`, where the proof of the program finds it. What is open or wrong is for that
/// to say.
ProgramAccesses ReadAhead(ReadBodies& read);

}  // namespace etc
