#include "schedule/name_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "ir/rewrite.h"
#include "ir/walk.h"

namespace etc {

ExprId NameValue(Module& module, Kernel& kernel, const std::string& name, ExprId value) {
  const Expr& expr = module.exprs[value];
  if (std::holds_alternative<IntLiteral>(expr) || std::holds_alternative<SymbolRef>(expr)) {
    return value;
  }
  auto is_taken = [&](const std::string& text) {
    return std::any_of(kernel.values.begin(), kernel.values.end(),
                       [&](SymbolId id) { return module.symbols[id].name == text; });
  };
  std::string unique = name;
  for (int i = 2; is_taken(unique); ++i) {
    unique = fmt::format("{}_{}", name, i);
  }
  Symbol symbol{std::move(unique), SymbolKind::Value, {}, value, {}, {}, {}};
  SymbolId id = module.symbols.Add(std::move(symbol));
  kernel.values.push_back(id);
  return MakeRef(module, id);
}

void InlineSingleUses(Module& module, Kernel& kernel) {
  std::vector<ExprId*> users;  // what values are used in, in program order
  for (SymbolId id : kernel.values) {
    users.push_back(&module.symbols[id].value);
  }
  for (NodeId id : kernel.declarations) {
    if (const auto* buffer = std::get_if<BufferDecl>(&module.nodes[id])) {
      users.push_back(&module.tensors[buffer->tensor].offset);
    } else if (const auto* event = std::get_if<EventDecl>(&module.nodes[id])) {
      users.push_back(&module.events[event->event].first);
    }
  }
  for (const ShareSite& site : SharesOf(module, kernel)) {
    users.push_back(&std::get<Share>(module.nodes[site.share]).first);
  }
  for (const ShareSite& site : DispatchesOf(module, kernel)) {
    auto& dispatch = std::get<Dispatch>(module.nodes[site.dispatch]);
    users.push_back(&dispatch.tickets);
    users.push_back(&dispatch.capacity);
  }
  std::map<SymbolId, int> uses;
  for (const ExprId* user : users) {
    VisitExprs(module, *user, [&](ExprId id) {
      if (const auto* ref = std::get_if<SymbolRef>(&module.exprs[id])) {
        ++uses[ref->symbol];
      }
    });
  }
  Substitution inlined;
  for (SymbolId id : kernel.values) {
    if (uses[id] <= 1) {
      inlined[id] = Clone(module, module.symbols[id].value, inlined);
    }
  }
  for (ExprId* user : users) {
    *user = Clone(module, *user, inlined);
  }
  std::erase_if(kernel.values, [&](SymbolId id) { return inlined.contains(id); });
}

}  // namespace etc
