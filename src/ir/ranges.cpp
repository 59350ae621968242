// The ranges of sizes that kernels are for.
#include <fmt/format.h>

#include <algorithm>

#include "ir/evaluate.h"
#include "ir/requirements.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

/// Whether the constants leave something of the range.
bool HoldsValues(const Module& module, const DimRange& range) {
  auto lo = EvaluateInt(module, range.lo, {});
  auto hi = EvaluateInt(module, range.hi, {});
  return !lo || !hi || *lo <= *hi;
}

}  // namespace

std::vector<std::vector<Where>> WheresOf(const Module& module, const Graph& graph) {
  if (!graph.where.empty()) {
    return {graph.where};
  }
  std::vector<std::vector<Where>> all{{}};
  for (const Specialisation& specialisation : graph.specialisations) {
    std::optional<Interval> declared = RangeOfDim(module, specialisation.dim);
    if (declared && declared->lo == declared->hi) {
      continue;  // one value, so one range
    }
    std::vector<std::vector<Where>> next;
    for (const std::vector<Where>& earlier : all) {
      for (const DimRange& range : specialisation.ranges) {
        if (!HoldsValues(module, range)) {
          continue;
        }
        next.push_back(earlier);
        next.back().push_back({specialisation.dim, range.lo, range.hi});
      }
    }
    all = std::move(next);
  }
  if (all.size() > 1) {
    std::erase_if(all, [&](const std::vector<Where>& where) {
      return !MayHaveSizes(module, RangesOf(module, where));
    });
  }
  return all;
}

const std::string& SourceName(const Graph& graph) {
  return graph.of.empty() ? graph.name : graph.of;
}

void Narrow(const Module& module, Graph& graph, const std::vector<Where>& where) {
  graph.specialisations.clear();
  if (!graph.where.empty() || where.empty()) {
    return;
  }
  graph.of = graph.name;
  graph.where = where;
  for (const Where& one : where) {
    auto lo = EvaluateInt(module, one.lo, {});
    auto hi = EvaluateInt(module, one.hi, {});
    ETC_CHECK(lo && hi);
    graph.name += fmt::format("__{}_{}_{}", module.symbols[one.dim].name, *lo, *hi);
  }
}

std::vector<DimRanges> RangesOf(const Module& module, const Graph& graph) {
  std::vector<DimRanges> all;
  for (const std::vector<Where>& where : WheresOf(module, graph)) {
    all.push_back(RangesOf(module, where));
  }
  return all;
}

DimRanges RangesOf(const Module& module, const std::vector<Where>& where) {
  DimRanges ranges;
  for (const Where& one : where) {
    auto lo = EvaluateInt(module, one.lo, {});
    auto hi = EvaluateInt(module, one.hi, {});
    if (lo && hi) {
      ranges[one.dim] = {*lo, *hi};
    }
  }
  return ranges;
}

DimRanges RangesOf(const Module& module, const Kernel& kernel) {
  return RangesOf(module, kernel.where);
}

GraphId FindGraph(const Module& module, const std::string& source_name, const DimRanges& sizes) {
  GraphId found;
  for (const Item& item : module.items) {
    const auto* id = std::get_if<GraphId>(&item);
    if (id == nullptr || SourceName(module.graphs[*id]) != source_name) {
      continue;
    }
    DimRanges ranges = RangesOf(module, module.graphs[*id].where);
    if (module.mesh && !sizes.contains(module.mesh->size)) {
      ranges.erase(module.mesh->size);
    }
    if (ranges == sizes) {
      found = *id;  // numbers of ranks ascend
    }
  }
  return found;
}

bool MayHaveTasks(const Module& module, const std::vector<Axis>& axes, const DimRanges& ranges) {
  return std::none_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    auto lo = axis.lo ? Bounds(module, axis.lo, {}, ranges) : Interval{0, 0};
    auto hi = Bounds(module, axis.hi, {}, ranges);
    return lo && hi && hi->hi <= lo->lo;
  });
}

}  // namespace etc
