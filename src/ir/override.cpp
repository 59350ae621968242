#include "ir/override.h"

#include <fmt/format.h>

#include <cmath>

#include "ir/evaluate.h"
#include "support/nearest_word.h"

namespace etc {
namespace {

SymbolId FindConstant(const Module& module, const std::string& name) {
  for (const Item& item : module.items) {
    const auto* symbol = std::get_if<SymbolId>(&item);
    if (symbol != nullptr && module.symbols[*symbol].name == name &&
        module.symbols[*symbol].kind == SymbolKind::Const) {
      return *symbol;
    }
  }
  return {};
}

ValueKind KindOf(const Override& given) {
  return std::holds_alternative<int64_t>(given.value)  ? ValueKind::Int
         : std::holds_alternative<double>(given.value) ? ValueKind::Float
                                                       : ValueKind::Bool;
}

Expr Literal(const Override& given, ValueKind wanted) {
  if (const auto* value = std::get_if<int64_t>(&given.value)) {
    if (IsFloating(wanted)) {
      return FloatLiteral{static_cast<double>(*value)};
    }
    return IntLiteral{*value};
  }
  if (const auto* value = std::get_if<double>(&given.value)) {
    return FloatLiteral{*value};
  }
  return BoolLiteral{std::get<bool>(given.value)};
}

/// What kind of value is given: an integer with too many digits was read as a float.
std::string Found(const Override& given, ValueKind wanted) {
  const auto* value = std::get_if<double>(&given.value);
  constexpr double kBeyond = 0x1p63;
  return value != nullptr && wanted == ValueKind::Int && std::abs(*value) >= kBeyond
             ? "beyond 64-bit integers"
             : fmt::format("of kind {}", Spelling(KindOf(given)));
}

/// A note on what a name that no constant has may mean.
void AddMeant(const Module& module, const std::string& name, Diagnostic& error) {
  std::vector<std::string> constants;
  for (const Item& item : module.items) {
    const auto* id = std::get_if<SymbolId>(&item);
    if (id == nullptr) {
      continue;
    }
    const Symbol& symbol = module.symbols[*id];
    if (symbol.kind == SymbolKind::Dim && symbol.name == name) {
      error.notes.push_back({symbol.range, fmt::format("`{}` is a dimension", name)});
      return;
    }
    if (symbol.kind == SymbolKind::Const) {
      constants.push_back(symbol.name);
    }
  }
  if (std::string nearest = NearestWord(name, constants); !nearest.empty()) {
    error.notes.push_back({module.symbols[FindConstant(module, nearest)].range,
                           fmt::format("did you mean `{}`?", nearest)});
  }
}

/// One number of ranks in the place of those of the mesh.
void OverrideMesh(Module& module, const Override& given, Diagnostics& diagnostics) {
  const Symbol& size = module.symbols[module.mesh->size];
  const auto* ranks = std::get_if<int64_t>(&given.value);
  if (ranks == nullptr) {
    diagnostics.Error(given.required ? DiagnosticKind::Define : DiagnosticKind::Config, size.range,
                      fmt::format("`{}` is a number of ranks, but {} gives it a value {}",
                                  size.name, given.origin, Found(given, ValueKind::Int)));
    return;
  }
  module.mesh->values = {*ranks};
  ExprId value = module.AddExpr(IntLiteral{*ranks}, module.mesh->range);
  module.symbols[module.mesh->size].lo = module.symbols[module.mesh->size].hi = value;
}

}  // namespace

bool OverrideConstants(Module& module, const std::vector<Override>& overrides,
                       Diagnostics& diagnostics) {
  size_t errors_before = diagnostics.error_count();
  for (const Override& given : overrides) {
    DiagnosticKind error = given.required ? DiagnosticKind::Define : DiagnosticKind::Config;
    if (module.mesh && module.symbols[module.mesh->size].name == given.name) {
      OverrideMesh(module, given, diagnostics);
      continue;
    }
    SymbolId id = FindConstant(module, given.name);
    if (!id) {
      if (given.required) {
        Diagnostic& unknown = diagnostics.Error(
            error, {},
            fmt::format("`{}` from {} is not a constant of the program", given.name, given.origin));
        AddMeant(module, given.name, unknown);
      }
      continue;
    }
    Symbol& constant = module.symbols[id];
    ValueKind wanted = KindOf(module, constant.value);
    ValueKind found = KindOf(given);
    bool widens = IsFloating(wanted) && (found == ValueKind::Int || found == ValueKind::Float);
    if (found != wanted && !widens && wanted != ValueKind::Error) {
      diagnostics.Error(
          error, constant.range,
          fmt::format("the constant `{}` is of kind {}, but {} gives it a value {}", given.name,
                      Spelling(wanted), given.origin, Found(given, wanted)));
      continue;
    }
    const auto* value = std::get_if<double>(&given.value);
    if (value != nullptr && std::isnan(*value)) {
      diagnostics.Error(error, constant.range,
                        fmt::format("{} gives the constant `{}` a value that is not a number",
                                    given.origin, given.name));
      continue;
    }
    // The range stays that of the replaced text, so that later diagnostics can point at it.
    constant.value = module.AddExpr(Literal(given, wanted), module.RangeOf(constant.value));
    if (auto choice = module.choices.find(id); choice != module.choices.end()) {
      choice->second.pinned = true;
    }
  }
  return diagnostics.error_count() == errors_before;
}

}  // namespace etc
