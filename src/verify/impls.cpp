#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/evaluate.h"
#include "ir/printer.h"
#include "verify/checks.h"
#include "verify/expr_checker.h"

namespace etc {
namespace {

constexpr std::string_view kArchs[] = {"sm_90a"};

bool HasValue(const Module& module, ExprId id) {
  switch (KindOf(module, id)) {
    case ValueKind::Int:
      return EvaluateInt(module, id, {}).has_value();
    case ValueKind::Float:
      return EvaluateFloat(module, id, {}).has_value();
    case ValueKind::Bool:
      return EvaluateBool(module, id, {}).has_value();
    case ValueKind::Error:
      break;
  }
  return false;
}

void CheckArgs(const Module& module, const Impl& impl, Diagnostics& diagnostics) {
  ExprChecker exprs(module, diagnostics);
  std::set<std::string> names;
  for (const ImplArg& arg : impl.args) {
    if (!names.insert(arg.name).second) {
      diagnostics.Error(
          DiagnosticKind::Impl, impl.range,
          fmt::format("the argument `{}` of `{}` is given twice", arg.name, impl.name));
    }
    if (!arg.value) {
      continue;
    }
    size_t before = diagnostics.error_count();
    std::string what = fmt::format("the argument `{}` of `{}`", arg.name, impl.name);
    exprs.CheckClosed(arg.value, false, what, DiagnosticKind::Impl);
    if (diagnostics.error_count() != before || exprs.Check(arg.value) == ValueKind::Error) {
      continue;
    }
    if (!HasValue(module, arg.value)) {
      diagnostics.Error(DiagnosticKind::Impl, module.RangeOf(arg.value),
                        fmt::format("{} must have a constant value, but `{}` has none", what,
                                    Print(module, arg.value)));
    }
  }
}

struct Use {
  const Device* callee;
  SourceRange range;
};

/// The uses of each tensor of a graph by the calls that match.
class Uses {
 public:
  Uses(const Module& module, const std::vector<NodeId>& nodes) : module_(module) { Visit(nodes); }

  std::map<TensorId, Use> writers;   // the first call that writes it
  std::map<TensorId, Use> streamed;  // the first call whose loader copies it ahead

 private:
  void Visit(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      const Node& node = module_.nodes[id];
      if (const auto* call = std::get_if<CallNode>(&node)) {
        Visit(*call, module_.RangeOf(id));
      } else if (const auto* repeat = std::get_if<Repeat>(&node)) {
        Visit(repeat->body);
      } else if (const auto* region = std::get_if<Region>(&node)) {
        Visit(region->body);
      }
    }
  }

  void Visit(const CallNode& call, SourceRange range) {
    const Device& callee = module_.devices[call.callee];
    for (size_t i = 0; i < std::min(call.args.size(), callee.params.size()); ++i) {
      TensorId param = callee.params[i];
      TensorId tensor = call.args[i].tensor;
      if (module_.tensors[param].access != Access::In) {
        writers.emplace(tensor, Use{&callee, range});
      }
      for (const Impl& impl : callee.impls) {
        if (std::find(impl.streams.begin(), impl.streams.end(), param) != impl.streams.end()) {
          streamed.emplace(tensor, Use{&callee, range});
        }
      }
    }
  }

  const Module& module_;
};

}  // namespace

void CheckImpls(const Module& module, const Device& device, Diagnostics& diagnostics) {
  std::map<std::string, SourceRange> archs;
  for (const Impl& impl : device.impls) {
    if (std::find(std::begin(kArchs), std::end(kArchs), impl.arch) == std::end(kArchs)) {
      diagnostics.Error(
          DiagnosticKind::Impl, impl.range,
          fmt::format("`{}` is not a known architecture; known is `sm_90a`", impl.arch));
    }
    auto [first, is_new] = archs.emplace(impl.arch, impl.range);
    if (!is_new) {
      diagnostics
          .Error(DiagnosticKind::Impl, impl.range,
                 fmt::format("`@{}` has a second implementation for `{}`", device.name, impl.arch))
          .notes.push_back({first->second, "the first one is here"});
    }
    for (TensorId id : impl.streams) {
      const Tensor& tensor = module.tensors[id];
      if (tensor.kind != TensorKind::Param || tensor.access != Access::In) {
        diagnostics
            .Error(DiagnosticKind::Impl, impl.range,
                   fmt::format("`streams` names `%{}`, which the task writes; only an `in` "
                               "parameter can be copied ahead",
                               tensor.name))
            .notes.push_back({tensor.range, fmt::format("`%{}` is declared here", tensor.name)});
      }
    }
    for (TensorId id : impl.tags) {
      const Tensor& tensor = module.tensors[id];
      bool streamed = std::find(impl.streams.begin(), impl.streams.end(), id) != impl.streams.end();
      if (tensor.kind != TensorKind::Param || tensor.access == Access::InOut || streamed) {
        diagnostics
            .Error(DiagnosticKind::Impl, impl.range,
                   fmt::format("`tags` names `%{}`, which {}; only an `in` or `out` parameter that "
                               "is not streamed can be tagged",
                               tensor.name, streamed ? "is streamed" : "is both read and written"))
            .notes.push_back({tensor.range, fmt::format("`%{}` is declared here", tensor.name)});
      }
    }
    CheckArgs(module, impl, diagnostics);
  }
}

void CheckStreams(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  Uses uses(module, graph.body);
  for (const auto& [tensor, stream] : uses.streamed) {
    auto writer = uses.writers.find(tensor);
    if (writer == uses.writers.end()) {
      continue;
    }
    const std::string& name = module.tensors[tensor].name;
    diagnostics
        .Error(DiagnosticKind::Impl, stream.range,
               fmt::format("`@{}` streams `%{}` ahead of every wait, but a call of this graph "
                           "writes it",
                           stream.callee->name, name))
        .notes.push_back({writer->second.range, fmt::format("`@{}` writes `%{}` here",
                                                            writer->second.callee->name, name)});
  }
}

}  // namespace etc
