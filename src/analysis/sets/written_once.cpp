#include "analysis/sets/written_once.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "analysis/sets/task_scope.h"
#include "ir/types.h"

namespace etc {
namespace {

/// A slice that a call is given.
struct Use {
  const ProgramCall* call;
  size_t arg;
  bool writes;
};

/// The iterations of a call, and the slice in each.
struct SliceScope {
  SliceScope(Unknowns& unknowns, const Use& use, int instance) : converter(unknowns) {
    unknowns.SetScope(fmt::format("slice {}@{}", use.call->index, instance));
    iterations = BindIterations(converter, *use.call, instance);
    for (ExprId index : use.call->args[use.arg].indices) {
      indices.push_back(converter.Int(index));
    }
  }

  Converter converter;
  Set iterations;
  std::vector<PwAff> indices;
};

/// Iterations 1 of the writer, and 2 of another use that is no later one: of another write, any.
Set InTheWay(const Unknowns& unknowns, const Use& writer, const Use& other) {
  size_t repeats = CommonRepeats(*writer.call, *other.call);
  bool is_writer = writer.call == other.call && writer.arg == other.arg;
  if (other.writes && !is_writer) {
    return unknowns.All();
  }
  Set same = InOneIteration(unknowns, repeats);
  Set set = other.call->index < writer.call->index ? same : same - same;
  for (size_t i = 0; i < repeats; ++i) {
    PwAff first = unknowns.Param(IterationName(i, 1));
    PwAff second = unknowns.Param(IterationName(i, 2));
    set = set | (InOneIteration(unknowns, i) & Lt(second, first));
  }
  return set;
}

bool IsApart(Unknowns& unknowns, const Use& writer, const Use& other) {
  Set meet = InTheWay(unknowns, writer, other);
  SliceScope first(unknowns, writer, 1);
  SliceScope second(unknowns, other, 2);
  for (size_t i = 0; i < std::min(first.indices.size(), second.indices.size()); ++i) {
    meet = meet & Eq(first.indices[i], second.indices[i]);
  }
  return IsEmpty(unknowns.Close(meet & first.iterations & second.iterations));
}

}  // namespace

std::set<TensorId> WrittenOnce(Unknowns& unknowns) {
  const Module& module = unknowns.module();
  std::map<TensorId, std::vector<Use>> uses;
  for (const ProgramCall& call : unknowns.program().calls) {
    for (size_t a = 0; a < call.args.size(); ++a) {
      const Tensor& tensor = module.tensors[call.args[a].tensor];
      if (tensor.kind == TensorKind::Buffer && KindOf(tensor.type) == ValueKind::Int) {
        bool writes = module.tensors[call.device->params[a]].access != Access::In;
        uses[call.args[a].tensor].push_back({&call, a, writes});
      }
    }
  }
  std::set<TensorId> once;
  for (const auto& [tensor, all] : uses) {
    bool apart = std::all_of(all.begin(), all.end(), [&](const Use& writer) {
      return !writer.writes || std::all_of(all.begin(), all.end(), [&](const Use& other) {
        return IsApart(unknowns, writer, other);
      });
    });
    if (apart) {
      once.insert(tensor);
    }
  }
  return once;
}

}  // namespace etc
