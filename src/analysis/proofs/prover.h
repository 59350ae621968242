// The groups of proofs about one program. Each has its own file.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/order/task_order.h"
#include "analysis/proofs/body_proofs.h"
#include "analysis/proofs/buffers.h"
#include "analysis/proofs/computed_values.h"
#include "analysis/proofs/proofs.h"

namespace etc {

/// Why a fact is not proved.
struct Reason {
  Reason(std::string why) : text(std::move(why)) {}
  Reason(const char* why) : text(why) {}

  std::string text;
  /// Of quotients and products of sizes, which are numbers where the sizes are; or of what takes
  /// too long, which takes less there. What data decide, no sizes do.
  bool sizes_may_tell = false;
};

/// What all groups share.
struct Prover {
  Unknowns& unknowns;
  IslContext& context;
  Overlaps& overlaps;
  ProofReport& report;
  Diagnostics& diagnostics;
  std::set<std::pair<DiagnosticKind, uint32_t>>&
      reported;  // errors, by kind and position: one is enough
  bool remarks;
  bool& sizes_may_tell;          // about what is open
  bool joined = false;           // of all ranks: the text has the rank in no edge and no event
  KnownBodies* known = nullptr;  // to take over; or null
  std::map<size_t, BodyProof>* found = nullptr;  // to hand on; or null

  /// Counts an unproved fact, and says so if asked.
  void NotProved(ProofTally& tally, DiagnosticKind kind, SourceRange range, std::string what,
                 const Reason& reason);
  /// An error, or null when one of this kind stands at this position already.
  Diagnostic* Refuted(ProofTally& tally, DiagnosticKind kind, SourceRange range,
                      std::string message);
};

/// A point of a set, small in the sizes first; the values of terms over sizes are the real ones.
/// Nothing where the set has none, or where only terms whose values are not free would be in it.
std::optional<Point> FindWitness(const Unknowns& unknowns, const Set& set);
/// Why a set is larger than what happens: `the values of `%pos``.
Reason ReasonOf(const Unknowns& unknowns, const Set& set);
/// `, where n = 3, l = 0, %pos[0] = 64`: the sizes, the iterations of the call, and what a point
/// has of inputs.
std::string WhereText(const Unknowns& unknowns, const Point& point, const ProgramCall* call,
                      int instance);
/// Where the inputs are declared of which a point has elements.
std::vector<Note> InputNotes(const Unknowns& unknowns, const Point& point);
/// `@f[0, 3]`
std::string TaskText(const ProgramCall& call, const Point& point, int instance);
/// `%p[0, 3]`
std::string ElementText(const std::string& name, size_t rank, const Point& point);
/// The same of a tensor's element, as the program names it.
std::string ElementText(const Unknowns& unknowns, TensorId tensor, const Point& point);

/// Proves that bodies and events access elements in bounds, and that no iteration depends on
/// another. Gives what the tasks access, which the proof walks over, and the preconditions of
/// computed tensors that are kept.
ProgramAccesses ProveBodies(Prover& prover, const EventRelations& relations,
                            std::set<AskedOf>& kept);
/// Proves that a wait or a notify of the call names elements in bounds.
void ProveEdge(Prover& prover, const ProgramCall& call, const EdgeRelation& relation);
/// Proves that no iteration of the innermost loop writes an element that another one touches.
void ProveIterations(Prover& prover, const ProgramCall& call, const BodyLoops& loops,
                     Converter& converter);
/// Proves that a task has written what its body reads of locals and of `out` parameters.
void ProveOwnRead(Prover& prover, const ProgramCall& call, const BodyRead& read);
/// The events whose counts are right.
std::set<EventId> ProveCounts(Prover& prover, const EventRelations& relations);
/// The counts of events that tasks wait for or notify at elements which those of `proved` do not.
void ProveCountsBeside(Prover& prover, const EventRelations& relations,
                       const EventRelations& proved);
void ProveOrder(Prover& prover, const EventRelations& relations);
/// Proves that what an event inside of an SM orders runs on one SM. What is open is an error, too:
/// who waits on another SM would wait without end, or not at all.
void ProveVia(Prover& prover, const EventRelations& relations);
/// Proves that what an event `via words` orders is seen to be in order. What is open is an error,
/// as nothing else tells its tasks.
void ProveWords(Prover& prover, const EventRelations& relations, const ProgramAccesses& accesses);
/// Of a program of all ranks: proves that what is written or notified at a peer is there before
/// the peer's launch ends.
void ProveReceived(Prover& prover, const EventRelations& relations,
                   const ProgramAccesses& accesses);
/// Proves that control tensors, which say what runs, waits and notifies, are read once written.
void ProveControlReads(Prover& prover, TaskOrder& order);
/// The same of what says where tasks arrive, of a program with calls for who does.
void ProveArrivalReads(Prover& prover, TaskOrder& order);
void ProveRaces(Prover& prover, const EventRelations& relations, const ProgramAccesses& accesses,
                TaskOrder& order, Renewal& renewal);
/// Proves that buffers which share memory hold no values at the same time.
void ProveMemory(Prover& prover, const ProgramAccesses& accesses, Renewal& renewal);
/// Proves that buffers and outputs are written before they are read. Warns of outputs that nobody
/// writes.
void ProveCoverage(Prover& prover, const ProgramAccesses& accesses, Renewal& renewal);

}  // namespace etc
