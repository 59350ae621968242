#include "simulator/expert_reads.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "ir/expr_kinds.h"
#include "ir/task_count.h"
#include "ir/walk.h"

namespace etc {

ChoiceFinder::ChoiceFinder(const RoutingSizes& sizes, const Device& device, std::vector<Axis> axes)
    : BodyVisitor(sizes.module), sizes_(sizes), axes_(std::move(axes)) {
  VisitBlock(device.body);
}

void ChoiceFinder::AroundLoop(StmtId, const For& loop, const Inside& inside) {
  size_t outside = axes_.size();
  axes_.insert(axes_.end(), loop.axes.begin(), loop.axes.end());
  inside();
  axes_.resize(outside);
}

void ChoiceFinder::AroundRanks(StmtId, const TopK& topk, const Inside& inside) {
  if (of == 0) {
    constexpr int64_t kMostTokens = 1 << 24;
    times = TaskCountAt(sizes_.module, axes_, sizes_.dims, sizes_.ranges, kMostTokens).value_or(0);
    of = sizes_.Of(topk.axis.hi) - sizes_.Of(topk.axis.lo);
    takes = sizes_.Of(topk.rank.hi) - sizes_.Of(topk.rank.lo);
  }
  inside();
}

ExpertReads::ExpertReads(const RoutingSizes& sizes, const Device& device, int64_t experts,
                         int64_t own)
    : BodyVisitor(sizes.module), own(own), sizes_(sizes), module_(sizes.module), experts_(experts) {
  if (ReadsTensor(module_, device.tasks)) {
    for (const Axis& axis : device.tasks) {
      if (sizes_.Of(axis.hi) == own) {
        coordinates_.insert(axis.var);
      }
    }
  }
  VisitBlock(device.body);
}

/// A loop whose bound stands in a list is one over the tokens of a place.
void ExpertReads::AroundLoop(StmtId, const For& loop, const Inside& inside) {
  for (const Axis& axis : loop.axes) {
    const auto* bound = std::get_if<Load>(&module_.exprs[axis.hi]);
    if (bound != nullptr && module_.tensors[bound->tensor].value_hi) {
      tokens_at_once = sizes_.Of(module_.tensors[bound->tensor].value_hi) - 1;
    }
  }
  inside();
}

/// An integer that is counted over experts is one that the body has chosen.
void ExpertReads::OnLet(const Let& let) {
  if (KindOf(module_, let.value) != ValueKind::Int) {
    return;
  }
  VisitExprs(module_, let.value, [&](ExprId id) {
    const auto* ref = std::get_if<SymbolRef>(&module_.exprs[id]);
    const auto* reduce = std::get_if<Reduce>(&module_.exprs[id]);
    bool counts = reduce != nullptr &&
                  std::any_of(reduce->axes.begin(), reduce->axes.end(), [&](const Axis& axis) {
                    int64_t extent = sizes_.Of(axis.hi) - sizes_.Of(axis.lo);
                    return extent == experts_ || extent == own;
                  });
    if (counts || (ref != nullptr && chosen_.contains(ref->symbol))) {
      chosen_.insert(let.symbol);
    }
  });
}

void ExpertReads::OnElement(const BodyElement& element) {
  const Tensor& tensor = module_.tensors[element.tensor];
  if (element.IsWrite() || tensor.kind != TensorKind::Param || tensor.shape.size() < 2) {
    return;
  }
  for (size_t axis = 0; axis < element.indices.size(); ++axis) {
    const Expr& index = module_.exprs[element.indices[axis]];
    const auto* load = std::get_if<Load>(&index);
    const auto* ref = std::get_if<SymbolRef>(&index);
    bool listed = load != nullptr && module_.tensors[load->tensor].value_hi &&
                  sizes_.Of(module_.tensors[load->tensor].value_hi) == own;
    bool named =
        ref != nullptr && (coordinates_.contains(ref->symbol) || chosen_.contains(ref->symbol));
    if (sizes_.Of(tensor.shape[axis]) == own && (listed || named)) {
      tensors.insert(element.tensor);
      if (listed) {
        list = sizes_.Of(module_.tensors[load->tensor].shape.front());
        places.insert(places.end(), load->indices.begin(), load->indices.end());
      }
    }
  }
}

}  // namespace etc
