// What loaders copy ahead of every wait: nothing in the launch may write it; and what they read
// behind a wait, which there must be. A parameter that is
// both preloaded and written (a cache that a task reads and appends to) is right where no read of
// any task can meet a write of any task.
#include "analysis/preloaded.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "ir/evaluate.h"
#include "ir/loader_reads.h"
#include "verify/checks.h"

namespace etc {
namespace {

class PreloadChecks {
 public:
  PreloadChecks(const Module& module, Diagnostics& diagnostics)
      : module_(module), diagnostics_(diagnostics) {}

  /// Calls without tasks at the program's sizes neither preload nor write there.
  void Check(const CallProgram& program) {
    sites_.clear();
    written_.clear();
    for (const ProgramCall& call : program.calls) {
      if (MayHaveTasks(module_, program, call)) {
        sites_.push_back(&call);
        ForWritten(call,
                   [&](TensorId, const Argument& argument) { written_.insert(argument.tensor); });
      }
    }
    for (const ProgramCall* site : sites_) {
      for (const Impl& impl : site->device->impls) {
        for (TensorId param : impl.preloaded) {
          if (IsReadBehindWait(module_, *site->device, param, ArgumentOf(*site, param)->tensor)) {
            CheckWait(program, *site, param);
          } else {
            Check(*site, impl, param);
          }
        }
      }
    }
  }

 private:
  template <class Visit>
  void ForWritten(const ProgramCall& site, const Visit& visit) const {
    for (TensorId param : site.device->params) {
      if (module_.tensors[param].access != Access::In) {
        visit(param, *ArgumentOf(site, param));
      }
    }
  }

  void Check(const ProgramCall& site, const Impl& impl, TensorId param) {
    const Argument& argument = *ArgumentOf(site, param);
    for (const ProgramCall* other : sites_) {
      ForWritten(*other, [&](TensorId written, const Argument& target) {
        if (target.tensor != argument.tensor) {
          return;
        }
        std::optional<ElementAccess> meets = Meeting(site, impl, param, *other, written);
        if (meets && reported_.insert({site.node, param}).second) {
          Report(site, argument, *other, *meets);
        }
      });
    }
  }

  /// A graph without events gets its waits later. Launches follow each other, and a loader waits
  /// for the words of a flagged buffer themselves.
  void CheckWait(const CallProgram& program, const ProgramCall& site, TensorId param) {
    const Argument& argument = *ArgumentOf(site, param);
    bool has_waits = program.scheduled || !program.events.empty();
    if (!has_waits || program.launches || module_.tensors[argument.tensor].flagged) {
      return;
    }
    for (const ProgramCall* other : sites_) {
      ForWritten(*other, [&](TensorId, const Argument& target) {
        bool written = target.tensor == argument.tensor && other != &site;
        if (written && !LoaderWaits(program, site, *other) &&
            reported_.insert({site.node, param}).second) {
          const std::string& name = module_.tensors[argument.tensor].name;
          Diagnostic& error = diagnostics_.Error(
              DiagnosticKind::Impl, site.range,
              fmt::format("the loader of `@{}` reads `%{}`, but {} for no event that `@{}` "
                          "notifies",
                          site.device->name, name,
                          program.scheduled ? "the share waits under `ranges`" : "the call waits",
                          other->device->name));
          error.notes.push_back(
              {other->range, fmt::format("`@{}` writes `%{}` here", other->device->name, name)});
        }
      });
    }
  }

  bool LoaderWaits(const CallProgram& program, const ProgramCall& site,
                   const ProgramCall& writer) const {
    auto by_writer = [&](EventId event) {
      return std::any_of(writer.notifies.begin(), writer.notifies.end(),
                         [&](const TaskEdge& notify) { return notify.ref->event == event; });
    };
    if (program.scheduled) {
      const auto& waits = std::get<Share>(module_.nodes[site.node]).range_waits;
      return std::any_of(waits.begin(), waits.end(),
                         [&](const EventRef& wait) { return by_writer(wait.event); });
    }
    return std::any_of(site.waits.begin(), site.waits.end(),
                       [&](const TaskEdge& wait) { return by_writer(wait.ref->event); });
  }

  /// Index tensors that the implementation reads ahead and that no call writes.
  std::set<TensorId> Constant(const ProgramCall& site, const Impl& impl) const {
    std::set<TensorId> constant;
    for (TensorId param : impl.preloaded) {
      TensorId tensor = ArgumentOf(site, param)->tensor;
      if (!written_.contains(tensor)) {
        constant.insert(tensor);
      }
    }
    return constant;
  }

  /// A write of a parameter that some read of a preloaded one of the same tensor may meet. Slices
  /// of one depth are the same, or have nothing in common.
  std::optional<ElementAccess> Meeting(const ProgramCall& site, const Impl& impl, TensorId param,
                                       const ProgramCall& other, TensorId written) const {
    std::set<TensorId> constant = Constant(site, impl);
    bool same_depth =
        ArgumentOf(site, param)->indices.size() == ArgumentOf(other, written)->indices.size();
    std::vector<ElementAccess> reads = CollectAccesses(module_, *site.device);
    for (const ElementAccess& write : CollectAccesses(module_, *other.device)) {
      for (const ElementAccess& read : reads) {
        if (write.tensor == written && write.writes && read.tensor == param && !read.writes &&
            !(same_depth && AreApart(module_, site, read, other, write, constant))) {
          return write;
        }
      }
    }
    return std::nullopt;
  }

  void Report(const ProgramCall& site, const Argument& argument, const ProgramCall& writer,
              const ElementAccess& meets) {
    const std::string& streaming = site.device->name;
    const std::string& writing = writer.device->name;
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
  std::vector<const ProgramCall*> sites_;
  std::set<TensorId> written_;  // by some call
  std::set<std::pair<NodeId, TensorId>> reported_;
};

}  // namespace

void CheckPreloaded(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  PreloadChecks checks(module, diagnostics);
  for (const CallProgram& program : MakeCallPrograms(module, graph)) {
    checks.Check(program);
  }
}

void CheckPreloaded(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  PreloadChecks(module, diagnostics).Check(MakeCallProgram(module, kernel));
}

}  // namespace etc
