#include "emit/cxx_kernel.h"

#include <fmt/format.h>

namespace etc {

std::string KernelScope::Pointer(TensorId id) const {
  const Tensor& tensor = module().tensors[id];
  return tensor.kind == TensorKind::Param ? "params.t_" + tensor.name : "b_" + tensor.name;
}

std::string KernelScope::Scalar(SymbolId id) const {
  const Symbol& symbol = module().symbols[id];
  return symbol.kind == SymbolKind::Value ? CxxExpr(*this, symbol.value) : CxxScope::Scalar(id);
}

std::string KernelScope::Extent(TensorId id, size_t axis) const {
  return CxxExpr(*this, module().tensors[id].shape[axis]);
}

void WriteConstants(TextWriter& out, const RaisedKernel& raised) {
  for (const auto& [id, value] : raised.constants) {
    out.Line("[[maybe_unused]] " + CxxConstant(CxxName(raised.module, id), value));
  }
}

void WriteParams(TextWriter& out, const RaisedKernel& raised) {
  const Module& module = raised.module;
  std::string values;
  out.Open("struct Dims {");
  for (SymbolId dim : raised.dims) {
    out.Line(fmt::format("i64 d_{};", module.symbols[dim].name));
  }
  if (module.mesh) {
    out.Line("Peers peers;");
  }
  out.Close("};");
  out.Open("struct Params {");
  if (!raised.maps.empty()) {
    out.Line(fmt::format("TensorMap maps[{}];", raised.maps.size()));
  }
  for (TensorId id : raised.kernel.params) {
    const Tensor& tensor = module.tensors[id];
    const std::optional<int64_t>& array = raised.tensors.at(id).array;
    out.Line(fmt::format("{}{}* t_{}{};", tensor.access == Access::In ? "const " : "",
                         CxxType(tensor.type), tensor.name,
                         array ? fmt::format("[{}]", *array) : ""));
  }
  for (SymbolId dim : raised.dims) {
    out.Line(fmt::format("i64 d_{};", module.symbols[dim].name));
    values += (values.empty() ? "d_" : ", d_") + module.symbols[dim].name;
  }
  out.Line("char* workspace;");
  out.Line("void* event_memory;");
  out.Line("i64 event_capacity;");
  if (raised.kernel.profile) {
    out.Line("char* profile;");
    out.Line("i64 profile_records;");
    out.Line("i64 profile_bytes;");
  }
  if (module.mesh) {
    out.Line("char* symmetric;");
    out.Line("u32* begun;");
    out.Line("i64* distances;");
    out.Line("i64 rank;");
    out.Line("i64 ranks;");
    out.Line("u64 launch;");
    values += values.empty() ? "" : ", ";
    values += "Peers{distances, begun, rank, ranks}";
  }
  if (raised.unused_words > 0) {
    out.Line(fmt::format("i64 unused[{}];", raised.unused_words));
  }
  for (size_t depth = 0; depth < raised.iterations; ++depth) {
    out.Line(fmt::format("i64 iteration_{};", depth));
  }
  if (raised.kernel.profile) {
    bool launches = !raised.launches.empty();
    if (launches) {
      out.Line("i64 launch;");
    }
    out.Line(fmt::format("ETC_DEVICE char* Profile() const {{ return profile{}; }}",
                         launches ? " + launch * profile_bytes" : ""));
  }
  out.Line(fmt::format("ETC_DEVICE Dims dims() const {{ return Dims{{{}}}; }}", values));
  out.Close("};");
}

void WriteDeclarations(TextWriter& out, const KernelScope& scope) {
  const Module& module = scope.module();
  out.Line("[[maybe_unused]] const Dims dims = params.dims();");
  for (NodeId id : scope.raised().kernel.declarations) {
    if (const auto* buffer = std::get_if<BufferDecl>(&module.nodes[id])) {
      const Tensor& tensor = module.tensors[buffer->tensor];
      out.Line(fmt::format(
          "[[maybe_unused]] {0}* const b_{1} = reinterpret_cast<{0}*>(params.{2} + {3});",
          HasFlags(tensor) ? "char" : CxxType(tensor.type), tensor.name,
          tensor.symmetric ? "symmetric" : "workspace", CxxExpr(scope, tensor.offset)));
    } else if (const auto* declaration = std::get_if<EventDecl>(&module.nodes[id])) {
      const Event& event = module.events[declaration->event];
      if (!event.first) {
        continue;  // `via none` or `via words`
      }
      out.Line(fmt::format("[[maybe_unused]] const i64 e_{} = {};", event.name,
                           CxxExpr(scope, event.first)));
    }
  }
}

}  // namespace etc
