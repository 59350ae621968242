#include "schedule/versions.h"

#include "ir/evaluate.h"
#include "ir/rewrite.h"

namespace etc {

std::optional<Versions> BufferVersions::Find(const std::vector<BufferUse>& uses) const {
  Versions versions;
  bool written = false;
  size_t last = sites_.size();
  NodeId used_in;
  for (const BufferUse& use : uses) {
    NodeId repeat = sites_[use.site].Innermost();
    if (use.site == last) {
      return std::nullopt;  // one share has it twice
    }
    last = use.site;
    if (repeat && used_in && repeat != used_in) {
      return std::nullopt;
    }
    used_in = repeat ? repeat : used_in;
    if (use.access == Access::In) {
      if (!written) {
        return std::nullopt;
      }
    } else if (!repeat) {
      if (written) {
        return std::nullopt;
      }
      versions.initial = true;
    } else {
      if (versions.repeat || !HasIterations(repeat)) {
        return std::nullopt;
      }
      versions.repeat = repeat;
      versions.writer = use.site;
    }
    written |= use.access != Access::In;
  }
  return versions;
}

bool BufferVersions::HasIterations(NodeId id) const {
  const Repeat& repeat = std::get<Repeat>(module_.nodes[id]);
  auto lo = EvaluateInt(module_, repeat.lo, {});
  auto hi = EvaluateInt(module_, repeat.hi, {});
  return lo && hi && *lo < *hi;
}

ExprId BufferVersions::NumberOf(const Versions& versions) {
  const Repeat repeat = std::get<Repeat>(module_.nodes[versions.repeat]);
  int64_t first = EvaluateInt(module_, repeat.lo, {}).value();
  int64_t initial = versions.initial ? 1 : 0;
  return first == 0
             ? MakeAdd(module_, repeat.hi, MakeInt(module_, initial))
             : MakeInt(module_, EvaluateInt(module_, repeat.hi, {}).value() - first + initial);
}

void BufferVersions::Privatise(TensorId buffer, const Versions& versions,
                               const std::vector<BufferUse>& uses) {
  if (!versions.repeat) {
    return;
  }
  const Repeat repeat = std::get<Repeat>(module_.nodes[versions.repeat]);
  int64_t first = EvaluateInt(module_, repeat.lo, {}).value();
  int64_t iterations = EvaluateInt(module_, repeat.hi, {}).value() - first;
  int64_t initial = versions.initial ? 1 : 0;
  ExprId extent = NumberOf(versions);
  module_.tensors[buffer].shape.insert(module_.tensors[buffer].shape.begin(), extent);
  for (const BufferUse& use : uses) {
    const ShareSite& site = sites_[use.site];
    ExprId index;
    if (site.Innermost()) {
      bool new_version = use.site >= versions.writer;
      index = MakeAdd(module_, MakeRef(module_, repeat.var),
                      MakeInt(module_, (new_version ? initial : 0) - first));
    } else if (use.site < versions.writer) {
      index = MakeInt(module_, 0);
    } else {
      index = first == 0 && initial == 1 ? repeat.hi : MakeInt(module_, iterations + initial - 1);
    }
    std::get<Share>(module_.nodes[site.share]).args[use.arg].indices = {index};
  }
}

void BufferVersions::Rejoin(TensorId buffer, const std::vector<BufferUse>& uses) {
  module_.tensors[buffer].shape.erase(module_.tensors[buffer].shape.begin());
  for (const BufferUse& use : uses) {
    std::get<Share>(module_.nodes[sites_[use.site].share]).args[use.arg].indices.clear();
  }
}

}  // namespace etc
