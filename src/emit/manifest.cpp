// The manifest; docs/runtime.md has its schema. The compiler's only use of JSON but for reading a
// model's configuration.

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "emit/emit.h"
#include "emit/entries.h"
#include "emit/json_text.h"
#include "emit/raise/raise.h"
#include "ir/printer.h"
#include "ir/requirements.h"
#include "ir/walk.h"

namespace etc {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kCheckTasks = 4096;  // any number: a launch has one CTA for each SM at most

/// Adds the operands of `op`, however it is nested: `((a + b) + c)` has three.
void AddOperands(const Json& expr, const Json& op, std::vector<Json>& operands) {
  if (!expr.is_array() || expr[0] != op) {
    operands.push_back(expr);
    return;
  }
  for (size_t i = 1; i < expr.size(); ++i) {
    AddOperands(expr[i], op, operands);
  }
}

/// The same value with each sum and each maximum as a tree of least depth: a program may have
/// hundreds of buffers, and the runtime takes no deep expression.
Json Balanced(const Json& expr) {
  if (!expr.is_array()) {
    return expr;
  }
  const Json& op = expr[0];
  if (op != "+" && op != "max") {
    Json out = Json::array({op});
    for (size_t i = 1; i < expr.size(); ++i) {
      out.push_back(Balanced(expr[i]));
    }
    return out;
  }
  std::vector<Json> operands;
  AddOperands(expr, op, operands);
  for (Json& operand : operands) {
    operand = Balanced(operand);
  }
  while (operands.size() > 1) {
    std::vector<Json> pairs;
    for (size_t i = 0; i < operands.size(); i += 2) {
      pairs.push_back(i + 1 < operands.size() ? Json{op, operands[i], operands[i + 1]}
                                              : operands[i]);
    }
    operands = std::move(pairs);
  }
  return operands[0];
}

/// JSON has no number that is not finite.
Json Number(double value) {
  return std::isfinite(value) ? Json(value)
         : std::isnan(value)  ? Json("nan")
                              : Json(value > 0 ? "inf" : "-inf");
}

class ManifestWriter {
 public:
  explicit ManifestWriter(const RaisedModule& raised) : raised_(raised), module_(raised.module) {}

  Json Constants() const {
    Json out = Json::object();
    for (const Item& item : module_.items) {
      const auto* id = std::get_if<SymbolId>(&item);
      if (id == nullptr || module_.symbols[*id].kind != SymbolKind::Const) {
        continue;
      }
      const Symbol& symbol = module_.symbols[*id];
      switch (KindOf(module_, symbol.value)) {
        case ValueKind::Int:
          out[symbol.name] = EvaluateInt(module_, symbol.value, {}).value();
          break;
        case ValueKind::Bool:
          out[symbol.name] = EvaluateBool(module_, symbol.value, {}).value();
          break;
        default:
          out[symbol.name] = Number(EvaluateFloat(module_, symbol.value, {}).value());
      }
    }
    return out;
  }

  /// One entry for each graph; its kernels are those made of it.
  Json Graphs() {
    Json out = Json::array();
    for (const RaisedKernel& kernel : raised_.kernels) {
      bool same = !out.empty() && out.back()["name"] == kernel.kernel.graph;
      if (!same) {
        out.push_back({{"name", kernel.kernel.graph},
                       {"dims", Dims(kernel)},
                       {"params", Params(kernel)},
                       {"kernels", Json::array()}});
        AddRequirements(kernel, false, out.back());
      }
      out.back()["kernels"].push_back(KernelEntry(kernel));
    }
    return out;
  }

  /// What of the schema the graphs use that not every program does. A reader refuses a name that it
  /// does not know: each new key that changes what the others mean needs one.
  const std::set<std::string>& Features() const { return features_; }

 private:
  Json Dims(const RaisedKernel& kernel) const {
    Json out = Json::array();
    for (SymbolId id : kernel.dims) {
      const Symbol& symbol = module_.symbols[id];
      out.push_back(
          {{"name", symbol.name},
           {"min", EvaluateInt(module_, symbol.lo, {}).value()},
           {"max", EvaluateInt(module_, symbol.hi, {}).value()},
           {"multiple", symbol.multiple ? EvaluateInt(module_, symbol.multiple, {}).value() : 1}});
    }
    return out;
  }

  /// What the graph's launches must fulfil: of all sizes, or of those in the ranges of the kernel.
  void AddRequirements(const RaisedKernel& kernel, bool in_ranges, Json& to) {
    const std::vector<SymbolId>& known = kernel.dims;
    for (ExprId condition : LaunchRequirements(module_)) {
      std::vector<SymbolId> dims = DimsIn(module_, condition);
      bool is_known = std::find(known.begin(), known.end(), dims.front()) != known.end();
      if (is_known && DependsOnRange(module_, condition) == in_ranges) {
        features_.insert("requirements");
        to["requirements"].push_back(
            {{"text", Print(module_, condition)}, {"holds", Condition(condition)}});
      }
    }
  }

  Json Params(const RaisedKernel& kernel) {
    Json out = Json::array();
    for (TensorId id : kernel.kernel.params) {
      const Tensor& tensor = module_.tensors[id];
      Json shape = Json::array();
      for (ExprId extent : tensor.shape) {
        shape.push_back(Expr(extent));
      }
      const char* access = tensor.access == Access::In    ? "in"
                           : tensor.access == Access::Out ? "out"
                                                          : "inout";
      Json param = {{"name", tensor.name},
                    {"access", access},
                    {"dtype", Spelling(tensor.type)},
                    {"shape", shape},
                    {"alignment", 16}};
      if (!tensor.tile.empty()) {
        features_.insert("tiles");
        param["layout"] = {{"tile", kernel.tensors.at(id).tile}};
        if (tensor.swizzled) {
          features_.insert("swizzle");
          param["layout"]["swizzle"] = true;
        }
      }
      if (tensor.value_lo && IsUniform(module_, tensor)) {
        features_.insert("value_ranges");
        param["value_min"] = Expr(tensor.value_lo);
        param["value_max"] = Folded("-", Expr(tensor.value_hi), 1);  // inclusive
      }
      if (tensor.distinct) {
        features_.insert("distinct");
        param["distinct"] = true;
      }
      if (tensor.monotone) {
        features_.insert("monotone");
        param["monotone"] = true;
      }
      out.push_back(std::move(param));
    }
    return out;
  }

  Json KernelEntry(const RaisedKernel& raised) {
    const Kernel& kernel = raised.kernel;
    ranges_ = RangesOf(module_, kernel);
    Json where = Json::array();
    for (const Where& range : kernel.where) {
      features_.insert("where");
      where.push_back({{"dim", module_.symbols[range.dim].name},
                       {"min", EvaluateInt(module_, range.lo, {}).value()},
                       {"max", EvaluateInt(module_, range.hi, {}).value()}});
    }
    Json workspace = 0, counters = 0;
    for (NodeId id : kernel.declarations) {
      if (const auto* buffer = std::get_if<BufferDecl>(&module_.nodes[id])) {
        const Tensor& tensor = module_.tensors[buffer->tensor];
        Json bytes = BytesPerElement(tensor);
        for (ExprId extent : tensor.shape) {
          bytes = Folded("*", bytes, Expr(extent));
        }
        workspace = Folded("max", workspace, Folded("+", Expr(tensor.offset), bytes));
      } else if (const auto* declaration = std::get_if<EventDecl>(&module_.nodes[id])) {
        Json elements = 1;
        for (const EventDim& dim : module_.events[declaration->event].dims) {
          elements = Folded("*", elements, Expr(dim.extent));
        }
        counters = Folded("+", Expr(module_.events[declaration->event].first), elements);
      }
    }
    bool launches = kernel.schedule == ScheduleKind::Kernels;
    if (launches) {
      features_.insert("launches");
    }
    size_t next = 0;
    Json entries = launches ? Launches(raised, kernel.body, next) : Json(EntryName(kernel));
    if (launches && HasChecks(kernel)) {
      entries.insert(entries.begin(),
                     Json{{"entry", CheckName(module_, kernel)}, {"tasks", kCheckTasks}});
    }
    Json entry = {{launches ? "launches" : "entry", entries},
                  {"schedule", Spelling(kernel.schedule)},
                  {"where", where},
                  {"threads", ThreadsOf(kernel.consumer_warps)},
                  {"shared_bytes", kernel.shared_bytes},
                  {"workspace_bytes", Balanced(workspace)},
                  {"event_counters", Balanced(counters)}};
    AddRequirements(raised, true, entry);
    ranges_.clear();
    return entry;
  }

  /// The launches of a block in order; `next` is the number of the first. A repeat holds its own.
  Json Launches(const RaisedKernel& kernel, const std::vector<NodeId>& nodes, size_t& next) {
    Json out = Json::array();
    for (NodeId id : nodes) {
      std::visit(Overloaded{
                     [&](const Repeat& repeat) {
                       features_.insert("repeats");
                       Json lo = Expr(repeat.lo), hi = Expr(repeat.hi);
                       if (!lo.is_number() || !hi.is_number()) {
                         features_.insert("repeats_of_sizes");
                       }
                       out.push_back({{"repeat", Json::array({std::move(lo), std::move(hi)})},
                                      {"launches", Launches(kernel, repeat.body, next)}});
                     },
                     [&](const Share& share) {
                       out.push_back({{"entry", LaunchName(module_, kernel.kernel, next++, share)},
                                      {"tasks", Tasks(kernel.shares.at(id))}});
                     },
                     [](const OneOf<BufferDecl, EventDecl> auto&) {},
                     [](const OneOf<CallNode, Region> auto&) { ETC_CHECK(!"a graph's node"); },
                 },
                 module_.nodes[id]);
    }
    return out;
  }

  /// The number of tasks. Where only the launch knows it, all SMs take part.
  Json Tasks(const RaisedShare& raised) const {
    if (raised.reads_ranges || raised.loops > 0) {
      return std::numeric_limits<int32_t>::max();
    }
    Json tasks = 1;
    for (const Axis& axis : raised.share.axes) {
      Json extent = axis.lo ? Folded("-", Expr(axis.hi), Expr(axis.lo)) : Expr(axis.hi);
      tasks = Folded("*", tasks, extent);
    }
    return tasks;
  }

  /// `[op, a, b]`, or its value where both sides are numbers.
  static Json Folded(const char* op, Json a, Json b) {
    if (a.is_number_integer() && b.is_number_integer()) {
      auto x = a.get<int64_t>(), y = b.get<int64_t>();
      switch (op[0]) {
        case '+':
          return x + y;
        case '-':
          return x - y;
        case '*':
          return x * y;
        case 'm':
          return std::max(x, y);
      }
    }
    return Json::array({op, std::move(a), std::move(b)});
  }

  /// A condition, as an integer that is 0 where it does not hold.
  Json Condition(ExprId id) const {
    auto value = EvaluateBool(module_, id, {}, ranges_);
    return value ? Json(*value ? 1 : 0) : Expr(id);
  }

  Json Operand(ExprId id) const {
    return KindOf(module_, id) == ValueKind::Bool ? Condition(id) : Expr(id);
  }

  /// An integer expression over dimensions, constants folded.
  Json Expr(ExprId id) const {
    if (auto value = EvaluateInt(module_, id, {}, ranges_)) {
      return *value;
    }
    struct Visitor {
      const ManifestWriter& writer;
      Json operator()(const SymbolRef& e) const {
        const Symbol& symbol = writer.module_.symbols[e.symbol];
        return symbol.kind == SymbolKind::Value ? writer.Expr(symbol.value) : Json(symbol.name);
      }
      Json operator()(const Unary& e) const {
        if (e.op == UnaryOp::Not) {
          return Json::array({"==", writer.Condition(e.operand), 0});
        }
        return Json::array({"-", e.op == UnaryOp::BitNot ? -1 : 0, writer.Expr(e.operand)});
      }
      Json operator()(const Binary& e) const {
        return Json::array({Spelling(e.op), writer.Operand(e.left), writer.Operand(e.right)});
      }
      Json operator()(const Call& e) const {
        if (KindOf(e.op) == IntrinsicKind::Choice) {
          if (auto first = EvaluateBool(writer.module_, e.args[0], {}, writer.ranges_)) {
            return writer.Operand(e.args[*first ? 1 : 2]);
          }
        }
        if (e.op == Intrinsic::Abs) {
          Json operand = writer.Expr(e.args[0]);
          return Json::array({"max", operand, Json::array({"-", 0, operand})});
        }
        Json out = Json::array({Spelling(e.op)});
        for (ExprId arg : e.args) {
          out.push_back(writer.Operand(arg));
        }
        return out;
      }
      // Literals evaluate; the verifier keeps the rest out of shapes and sizes.
      Json operator()(const IntLiteral&) const { return Unexpected(); }
      Json operator()(const FloatLiteral&) const { return Unexpected(); }
      Json operator()(const BoolLiteral&) const { return Unexpected(); }
      Json operator()(const Load&) const { return Unexpected(); }
      Json operator()(const Cast&) const { return Unexpected(); }
      Json operator()(const Reduce&) const { return Unexpected(); }
      [[noreturn]] static Json Unexpected() {
        InternalError(__FILE__, __LINE__, "an expression that a manifest cannot hold");
      }
    };
    return std::visit(Visitor{*this}, module_.exprs[id]);
  }

  const RaisedModule& raised_;
  const Module& module_;
  DimRanges ranges_;  // of the kernel whose sizes are being written
  std::set<std::string> features_;
};

Json RecordOf(const ManifestProofs& proofs) {
  Json record = Json::object();
  for (const ManifestProofs::Group& group : proofs.groups) {
    record[group.name] = {{"proved", group.proved}, {"not_proved", group.not_proved}};
  }
  record["assumptions"] = proofs.assumptions;
  record["not_proved"] = proofs.not_proved;
  return record;
}

}  // namespace

std::string EmitManifest(const Module& module, const ManifestInfo& info) {
  const RaisedModule raised = Raise(module, info.arch);
  ManifestWriter writer(raised);
  Json graphs = writer.Graphs();
  std::set<std::string> features = writer.Features();
  if (info.debug_checks) {
    features.insert("debug_checks");
  }
  Json binary = {
      {"file", info.binary_file}, {"bytes", info.binary_bytes}, {"xxh3_128", info.binary_xxh3_128}};
  if (info.binary_images.size() > 1) {
    features.insert("images");
    binary["images"] = info.binary_images;
  }
  Json manifest = {
      {"etc_manifest", 2},
      {"features", features},
      {"target", Spelling(info.arch)},
      {"binary", std::move(binary)},
      {"producer", {{"etc", ETC_VERSION}, {"toolchain", info.toolchain}, {"flags", info.flags}}},
      {"constants", writer.Constants()},
      {"graphs", std::move(graphs)},
  };
  for (const ManifestResources& kernel : info.resources) {
    for (const auto& [name, number] : kernel.numbers) {
      manifest["resources"][kernel.entry][name] = number;
    }
  }
  if (info.debug_checks) {
    manifest["debug_checks"] = *info.debug_checks;
  }
  if (info.proofs) {
    manifest["proofs"] = RecordOf(*info.proofs);
  }
  if (info.kernel_proofs) {
    manifest["kernel_proofs"] = RecordOf(*info.kernel_proofs);
  }
  return JsonText(manifest);
}

}  // namespace etc
