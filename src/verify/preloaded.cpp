// What loaders copy ahead of every wait: nothing in the launch may write it. A parameter that is
// both preloaded and written (a cache that a task reads and appends to) is right where no read of
// any task can meet a write of any task.
#include "analysis/preloaded.h"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "ir/evaluate.h"
#include "verify/checks.h"

namespace etc {
namespace {

class PreloadChecks {
 public:
  PreloadChecks(const Module& module, Diagnostics& diagnostics)
      : module_(module), diagnostics_(diagnostics) {}

  /// Calls without tasks at the sizes in `ranges` neither preload nor write there.
  void Check(const std::vector<NodeId>& body, const DimRanges& ranges) {
    sites_.clear();
    written_.clear();
    Collect(body, ranges);
    for (const PreloadSite& site : sites_) {
      ForWritten(site,
                 [&](TensorId, const Argument& argument) { written_.insert(argument.tensor); });
    }
    for (const PreloadSite& site : sites_) {
      for (const Impl& impl : module_.devices[site.callee].impls) {
        for (TensorId param : impl.preloaded) {
          Check(site, impl, param);
        }
      }
    }
  }

 private:
  void Collect(const std::vector<NodeId>& nodes, const DimRanges& ranges) {
    for (NodeId id : nodes) {
      const Node& node = module_.nodes[id];
      if (const auto* call = std::get_if<CallNode>(&node)) {
        if (MayHaveTasks(module_, module_.devices[call->callee].tasks, ranges)) {
          sites_.push_back({id, call->callee, &call->args, module_.RangeOf(id)});
        }
      } else if (const auto* share = std::get_if<Share>(&node)) {
        if (MayHaveTasks(module_, share->axes, ranges)) {
          sites_.push_back({id, share->callee, &share->args, module_.RangeOf(id)});
        }
      } else if (const auto* repeat = std::get_if<Repeat>(&node)) {
        Collect(repeat->body, ranges);
      } else if (const auto* region = std::get_if<Region>(&node)) {
        Collect(region->body, ranges);
      }
    }
  }

  template <class Visit>
  void ForWritten(const PreloadSite& site, const Visit& visit) const {
    for (TensorId param : module_.devices[site.callee].params) {
      if (module_.tensors[param].access != Access::In) {
        visit(param, *ArgumentOf(module_, site, param));
      }
    }
  }

  void Check(const PreloadSite& site, const Impl& impl, TensorId param) {
    const Argument& argument = *ArgumentOf(module_, site, param);
    for (const PreloadSite& other : sites_) {
      ForWritten(other, [&](TensorId written, const Argument& target) {
        if (target.tensor != argument.tensor) {
          return;
        }
        std::optional<ElementAccess> meets = Meeting(site, impl, param, other, written);
        if (meets && reported_.insert({site.node, param}).second) {
          Report(site, argument, other, *meets);
        }
      });
    }
  }

  /// Index tensors that the implementation reads ahead and that no call writes.
  std::set<TensorId> Constant(const PreloadSite& site, const Impl& impl) const {
    std::set<TensorId> constant;
    for (TensorId param : impl.preloaded) {
      TensorId tensor = ArgumentOf(module_, site, param)->tensor;
      if (!written_.contains(tensor)) {
        constant.insert(tensor);
      }
    }
    return constant;
  }

  /// A write of a parameter that some read of a preloaded one of the same tensor may meet. Slices
  /// of one depth are the same, or have nothing in common.
  std::optional<ElementAccess> Meeting(const PreloadSite& site, const Impl& impl, TensorId param,
                                       const PreloadSite& other, TensorId written) const {
    std::set<TensorId> constant = Constant(site, impl);
    bool same_depth = ArgumentOf(module_, site, param)->indices.size() ==
                      ArgumentOf(module_, other, written)->indices.size();
    std::vector<ElementAccess> reads = CollectAccesses(module_, module_.devices[site.callee]);
    for (const ElementAccess& write : CollectAccesses(module_, module_.devices[other.callee])) {
      for (const ElementAccess& read : reads) {
        if (write.tensor == written && write.writes && read.tensor == param && !read.writes &&
            !(same_depth && AreApart(module_, site, read, other, write, constant))) {
          return write;
        }
      }
    }
    return std::nullopt;
  }

  void Report(const PreloadSite& site, const Argument& argument, const PreloadSite& writer,
              const ElementAccess& meets) {
    const std::string& streaming = module_.devices[site.callee].name;
    const std::string& writing = module_.devices[writer.callee].name;
    const std::string& tensor = module_.tensors[argument.tensor].name;
    Diagnostic& error = diagnostics_.Error(
        DiagnosticKind::Impl, site.range,
        fmt::format("`@{}` preloads `%{}` ahead of every wait, but a call of this graph writes it",
                    streaming, tensor));
    error.notes.push_back({writer.range, fmt::format("`@{}` writes `%{}` here", writing, tensor)});
    if (!meets.indices.empty()) {
      error.notes.push_back(
          {module_.RangeOf(meets.indices.front()),
           "an element that is read may be one that is written here: the "
           "preloaded index tensors and their `distinct` do not tell them apart"});
    }
  }

  const Module& module_;
  Diagnostics& diagnostics_;
  std::vector<PreloadSite> sites_;
  std::set<TensorId> written_;  // by some call
  std::set<std::pair<NodeId, TensorId>> reported_;
};

}  // namespace

void CheckPreloaded(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  PreloadChecks checks(module, diagnostics);
  for (const DimRanges& ranges : RangesOf(module, graph)) {
    checks.Check(graph.body, ranges);
  }
}

void CheckPreloaded(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  PreloadChecks(module, diagnostics).Check(kernel.body, RangesOf(module, kernel));
}

}  // namespace etc
