// The struct of a device function's arguments, and their names inside of it.

#include <fmt/format.h>

#include "emit/cxx_body.h"
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

void WriteArgs(TextWriter& out, const DeviceScope& scope, const Device& device, bool checks) {
  const Module& module = scope.module();
  const ArgsNames& names = scope.names();
  out.Open(fmt::format("struct Args_{} {{", device.name));
  for (TensorId id : device.params) {
    const Tensor& tensor = module.tensors[id];
    if (scope.raised().flagged.contains(id)) {
      out.Line(fmt::format("Flagged<{}> {};", CxxType(tensor.type), names.Pointer(tensor)));
    } else {
      out.Line(fmt::format("{}{}* {};", tensor.access == Access::In ? "const " : "",
                           CxxType(tensor.type), names.Pointer(tensor)));
    }
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

}  // namespace etc
