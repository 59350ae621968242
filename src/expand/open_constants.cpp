#include "expand/open_constants.h"

#include <algorithm>
#include <utility>

#include "ir/rewrite.h"

namespace etc {
namespace {

/// Moves the constants, and what may use them, in front of the graph at this item.
void PutBehindDims(Module& module, size_t graph, std::vector<SymbolId> constants,
                   std::vector<bool>& imported) {
  auto follows = [&](const Item& item) {
    if (const auto* require = std::get_if<Require>(&item)) {
      return Mentions(module, require->condition, constants);
    }
    const auto* id = std::get_if<SymbolId>(&item);
    if (id == nullptr || module.symbols[*id].kind != SymbolKind::Const) {
      return std::holds_alternative<DeviceId>(item);
    }
    const bool is_one = std::find(constants.begin(), constants.end(), *id) != constants.end();
    if (!is_one && Mentions(module, module.symbols[*id].value, constants)) {
      constants.push_back(*id);
      return true;
    }
    return is_one;
  };
  std::vector<std::pair<Item, bool>> before, behind;
  for (size_t i = 0; i < graph; ++i) {
    (follows(module.items[i]) ? behind : before).emplace_back(module.items[i], imported[i]);
  }
  before.insert(before.end(), behind.begin(), behind.end());
  for (size_t i = 0; i < graph; ++i) {
    module.items[i] = before[i].first;
    imported[i] = before[i].second;
  }
}

}  // namespace

bool IsOpen(const Module& module, const Item& item) {
  const auto* symbol = std::get_if<SymbolId>(&item);
  return symbol != nullptr && module.choices.contains(*symbol);
}

void DecideConstants(Module& module, const std::vector<size_t>& graphs, Choosing& choosing,
                     std::vector<bool>& imported) {
  std::vector<SymbolId> open;
  for (const Item& item : module.items) {
    if (IsOpen(module, item)) {
      open.push_back(std::get<SymbolId>(item));
    }
  }
  if (graphs.size() != 1) {
    std::for_each(open.begin(), open.end(), [&](SymbolId id) { choosing.CheckConstant(id); });
    return;
  }
  const Graph& graph = module.graphs[std::get<GraphId>(module.items[graphs.front()])];
  choosing.Enter(graph);
  std::vector<SymbolId> by_range;
  for (SymbolId id : open) {
    ExprId value = choosing.Constant(graph, id);
    if (value && value != module.symbols[id].value) {
      module.symbols[id].value = value;
      if (std::holds_alternative<Call>(module.exprs[value])) {
        by_range.push_back(id);
      }
    }
    module.choices.erase(id);
  }
  if (!by_range.empty()) {
    PutBehindDims(module, graphs.front(), std::move(by_range), imported);
  }
}

}  // namespace etc
