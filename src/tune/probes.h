// Small programs of one call each, by which an option of what an operator leaves open is looked at.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "expand/decisions.h"
#include "expand/sites.h"
#include "ir/module.h"
#include "support/diagnostics.h"
#include "target/target.h"

namespace etc {

/// A parameter that peers write.
struct SharedParam {
  TensorId tensor;
  Access access;
};

/// One option of one call, in one range of sizes.
struct Probe {
  std::string graph;  // its name
  GraphId id;
  std::string function;   // that is called
  std::string parameter;  // that is pinned
  std::string option;
  std::string alternative;    // that is pinned beside a choice; else empty
  bool is_reference = false;  // the others of its group compute what it does
  size_t group = 0;           // of the same call, parameter and range
  DimRanges range;
  std::string sizes;   // `B = 1..3, K = 2048`
  SourceRange callee;  // of the function's name
  SourceRange call;
  std::vector<SharedParam> shared;
  std::set<std::string> apart;  // parameters of which each rank has values of its own
};

/// All options that the calls of a program leave open, and that the calls inside of these do. Of a
/// choice with many values some are taken: the least, the largest, and some between. The outermost
/// of these are looked at in each alternative that may have them. Of a program over ranks a probe
/// is the call on all of them, whose tensors have an axis more in front.
class Probes {
 public:
  /// `open`: the module in front of expansion, with its constants set and one number of ranks.
  Probes(const Module& open, const Target& target) : open_(open), module_(open), target_(target) {}

  /// Makes and checks all probes; with `prove` each is proved as `etc check` proves a program. What
  /// is wrong with one is reported, and it is left out.
  void Make(bool prove, Diagnostics& diagnostics);

  /// Those that are right.
  const std::vector<Probe>& all() const { return probes_; }
  int64_t ranks() const { return module_.mesh ? module_.mesh->values.front() : 1; }
  /// A flat module with a graph for each.
  [[nodiscard]] Module TakeModule();

 private:
  bool Expand(std::vector<OpenSite>& sites, Diagnostics& diagnostics);
  void FindApart();
  bool IsApart(const OpenSite& site, size_t param) const;
  std::string KeyOf(const OpenSite& site) const;
  void AddSite(const OpenSite& site, bool prove, std::vector<OpenSite>& inner,
               Diagnostics& diagnostics);
  std::optional<std::set<std::string>> AddProbe(const OpenSite& site, const Decision& decision,
                                                Probe probe, bool prove,
                                                std::vector<OpenSite>& inner,
                                                Diagnostics& diagnostics);
  void MakeGraph(const OpenSite& site, const Decision& decision, Probe& probe);
  void KeepConstants();
  bool HasTasks(GraphId graph, const DimRanges& range) const;
  bool IsRight(const Probe& probe, bool prove, Diagnostics& diagnostics);
  Module OfAllRanks(const Module& module, const std::vector<Probe>& probes) const;

  const Module& open_;
  Module module_;  // grows by what each probe needs
  const Target& target_;
  std::set<std::string> seen_;  // sites, by key
  std::set<TensorId> apart_;    // of which each rank may have another
  std::vector<Probe> probes_;
  std::vector<Item> constants_;  // that expansion has named: what is made later may use them
  std::vector<Item> functions_;  // of all probes
  size_t groups_ = 0;
};

}  // namespace etc
