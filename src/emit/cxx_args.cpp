// The struct of a device function's arguments, their names inside of it, and their values.

#include <fmt/format.h>

#include <algorithm>

#include "emit/cxx_body.h"
#include "ir/phased.h"
#include "support/diagnostics.h"

namespace etc {

std::string DeviceScope::Pointer(TensorId id) const {
  const Tensor& tensor = module().tensors[id];
  return tensor.kind == TensorKind::Local ? "t_" + tensor.name : "args." + names_.Pointer(tensor);
}

std::string DeviceScope::Extent(TensorId id, size_t axis) const {
  const Tensor& tensor = module().tensors[id];
  if (auto value = raised().tensors.at(id).extents[axis]) {
    return fmt::format("{}LL", *value);
  }
  ETC_CHECK(tensor.kind == TensorKind::Param);
  return "args." + names_.Extent(tensor, axis);
}

namespace {

/// Whether an implementation writes the parameter at peers. Its type says so, or one that knows of
/// no peers would compile and write to the own rank alone.
bool IsAtPeers(const RaisedDevice& device, const Tensor& param) {
  return device.impl != nullptr && param.symmetric;
}
bool IsFetched(const RaisedDevice& device, TensorId param) {
  return device.impl != nullptr &&
         std::ranges::find(device.impl->fetched, param) != device.impl->fetched.end();
}
std::string AtPeersType(const std::string& type) { return fmt::format("AtPeers<{}>", type); }

}  // namespace

void WriteArgs(TextWriter& out, const DeviceScope& scope, const RaisedDevice& raised_device,
               bool checks) {
  const Module& module = scope.module();
  const Device& device = raised_device.device;
  const auto& boxes = raised_device.boxes;
  const ArgsNames& names = scope.names();
  out.Open(fmt::format("struct Args_{} {{", device.name));
  for (TensorId id : device.params) {
    const Tensor& tensor = module.tensors[id];
    std::string type = scope.raised().flagged.contains(id)
                           ? fmt::format("Flagged<{}>", CxxType(tensor.type))
                       : scope.raised().phased.contains(id)
                           ? fmt::format("Phased<{}>", CxxType(tensor.type))
                           : fmt::format("{}{}*", tensor.access == Access::In ? "const " : "",
                                         CxxType(tensor.type));
    out.Line(fmt::format("{} {};", IsAtPeers(raised_device, tensor) ? AtPeersType(type) : type,
                         names.Pointer(tensor)));
    const RaisedTensor& raised = scope.raised().tensors.at(id);
    for (size_t axis = 0; axis < raised.extents.size(); ++axis) {
      if (auto value = raised.extents[axis]) {
        out.Line(fmt::format("static constexpr i64 {} = {};", names.Extent(tensor, axis), *value));
      } else {
        out.Line(fmt::format("i64 {};", names.Extent(tensor, axis)));
      }
    }
    for (size_t axis = 0; axis < raised.tile.size(); ++axis) {
      out.Line(fmt::format("static constexpr i64 {} = {};", names.Tile(tensor, axis),
                           raised.tile[axis]));
    }
    if (tensor.swizzled) {
      out.Line(fmt::format("static constexpr bool {} = true;", names.Swizzle(tensor)));
    }
    if (auto box = boxes.find(id); box != boxes.end()) {
      out.Line(fmt::format("const TensorMap* {}_map;", tensor.name));
      out.Line(fmt::format("int {}_slice;", tensor.name));
      out.Line(fmt::format("static constexpr int {0}_box_0 = {1}, {0}_box_1 = {2};", tensor.name,
                           box->second[0], box->second[1]));
    }
    if (IsFetched(raised_device, id)) {
      out.Line(fmt::format("bool {}_computed;", tensor.name));
    }
  }
  if (!device.scalars.empty()) {
    out.Open("struct {");
    for (SymbolId id : device.scalars) {
      const Symbol& scalar = module.symbols[id];
      out.Line(fmt::format("{} {};", CxxType(scalar.type), CxxIdentifier(scalar.name)));
    }
    out.Close("} scalars;");
  }
  out.Line("Dims dims;");
  if (checks) {
    out.Line("Checks checks;");
  }
  out.Close("};");
}

std::string CoordinateParameters(const Module& module, const Device& device) {
  std::string text;
  for (const Axis& axis : device.tasks) {
    text += fmt::format(", i64 {}", CxxName(module, axis.var));
  }
  return text;
}

namespace {

/// The number of a slice, or of the first of several, by the axes of the tensor in front of the
/// last two.
std::string SliceNumber(const KernelScope& scope, TensorId tensor,
                        const std::vector<ExprId>& indices) {
  std::string number = "0LL";
  for (size_t i = 0; i + 2 < scope.module().tensors[tensor].shape.size(); ++i) {
    number = fmt::format("({}) * {} + {}", number, scope.Extent(tensor, i),
                         i < indices.size() ? CxxExpr(scope, indices[i]) : "0LL");
  }
  return fmt::format("int({})", number);
}

}  // namespace

namespace {

/// The number behind that of the turn in which the words of a phased operand are written, or 0
/// where another event says that they are there.
std::string TurnText(const KernelScope& scope, const Share& share, Access access) {
  const EventRef* ref = TurnOf(scope.module(), share, access);
  if (ref == nullptr) {
    return "0";
  }
  std::string turn =
      ref->indices.empty() ? "1" : fmt::format("1 + {}", CxxExpr(scope, ref->indices.front().lo));
  return ref->guard ? fmt::format("{} ? {} : 0", CxxExpr(scope, ref->guard), turn) : turn;
}

}  // namespace

void WriteArguments(TextWriter& out, const KernelScope& scope, const RaisedShare& raised,
                    const RaisedRole& role) {
  const Module& module = scope.module();
  const Share& share = raised.share;
  const RaisedDevice& callee = scope.raised().devices[raised.device];
  const Device& device = callee.device;
  out.Line(fmt::format("Args_{} args;", device.name));
  ArgsNames names(callee.impl != nullptr);
  for (size_t i = 0; i < share.args.size(); ++i) {
    const Tensor& param = module.tensors[device.params[i]];
    const Argument& argument = share.args[i];
    std::string pointer = CxxBase(scope, argument.tensor, argument.indices);
    if (module.tensors[argument.tensor].flagged) {
      // Of what a role does not read any set will do.
      bool reads = role.reads_flags || raised.behind_wait.contains(i);
      pointer =
          fmt::format("Flagged<{}>{{{}, {}}}", CxxType(param.type), pointer, reads ? "set" : "0");
    }
    if (module.tensors[argument.tensor].phased) {
      pointer = fmt::format("Phased<{}>{{{}, {}, {}}}", CxxType(param.type), pointer,
                            role.reads_flags ? "set" : "0", TurnText(scope, share, param.access));
    }
    if (argument.indices.size() > (module.tensors[argument.tensor].array ? 1 : 0)) {
      pointer += " + " + CxxOffset(scope, argument.tensor, argument.indices);
    }
    if (IsAtPeers(callee, param)) {
      pointer = "{" + pointer + "}";
    }
    out.Line(fmt::format("args.{} = {};", names.Pointer(param), pointer));
    if (auto map = raised.maps.find(i); map != raised.maps.end()) {
      out.Line(fmt::format("args.{}_map = &params.maps[{}];", param.name, map->second));
      out.Line(fmt::format("args.{}_slice = {};", param.name,
                           SliceNumber(scope, argument.tensor, argument.indices)));
    }
    if (IsFetched(callee, device.params[i])) {
      out.Line(fmt::format("args.{}_computed = {};", param.name, raised.fetched.contains(i)));
    }
    for (size_t axis = 0; axis < param.shape.size(); ++axis) {
      if (!scope.raised().tensors.at(device.params[i]).extents[axis]) {
        out.Line(fmt::format("args.{} = {};", names.Extent(param, axis),
                             CxxExpr(scope, param.shape[axis])));
      }
    }
  }
  for (size_t i = 0; i < share.scalars.size(); ++i) {
    const Symbol& scalar = module.symbols[device.scalars[i]];
    out.Line(fmt::format("args.scalars.{} = {}({});", CxxIdentifier(scalar.name),
                         CxxType(scalar.type), CxxExpr(scope, share.scalars[i])));
  }
  out.Line("args.dims = dims;");
  if (scope.ChecksAccesses()) {
    out.Line("args.checks = OpenChecks(params.event_memory);");
  }
}

}  // namespace etc
