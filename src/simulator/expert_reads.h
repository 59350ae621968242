// What bodies say of routing: who chooses experts, and who reads at those that are chosen.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ir/body_visitor.h"
#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// Evaluates at the sizes of a launch.
struct RoutingSizes {
  const Module& module;
  const Env& dims;
  DimRanges ranges;

  int64_t Of(ExprId id) const { return id ? EvaluateInt(module, id, dims, ranges).value_or(0) : 0; }
};

/// The first `topk` of a body that chooses by index: how often all tasks run it, of how many, and
/// how many it takes.
class ChoiceFinder : BodyVisitor {
 public:
  /// Around the body are the axes of the tasks, or none where all tasks choose the same.
  ChoiceFinder(const RoutingSizes& sizes, const Device& device, std::vector<Axis> axes);
  int64_t times = 0, of = 0, takes = 0;

 private:
  void AroundLoop(StmtId, const For& loop, const Inside& inside) override;
  void AroundRanks(StmtId, const TopK& topk, const Inside& inside) override;

  const RoutingSizes& sizes_;
  std::vector<Axis> axes_;  // of the tasks, and of the loops around
};

/// Which parameters a body reads at an expert: at what it has read from a list or has chosen
/// itself, or where data give an expert its tasks, at a coordinate.
class ExpertReads : BodyVisitor {
 public:
  /// Of `experts` that tokens choose from, those of a rank are `own`.
  ExpertReads(const RoutingSizes& sizes, const Device& device, int64_t experts, int64_t own);
  int64_t own;
  std::set<TensorId> tensors;
  std::vector<ExprId> places;  // in the list
  int64_t list = 0;            // that the list may have
  int64_t tokens_at_once = 0;  // that loops over the tokens of a place may have; 0: there are none

 private:
  void AroundLoop(StmtId, const For& loop, const Inside& inside) override;
  void OnLet(const Let& let) override;
  void OnElement(const BodyElement& element) override;

  const RoutingSizes& sizes_;
  const Module& module_;
  int64_t experts_;
  std::set<SymbolId> coordinates_, chosen_;
};

}  // namespace etc
