// The statements of a body, as the interpreter runs them.
#include <algorithm>
#include <utility>

#include "interpreter.h"

namespace etc::mutation {

void Interpreter::RunTask(const std::vector<StmtId>& body) {
  locals_.clear();
  touches_.Clear();
  dependent_.clear();
  written_.clear();
  undefined_.clear();
  Run(body);
}

void Interpreter::Run(const std::vector<StmtId>& body) {
  for (StmtId id : body) {
    const Stmt& stmt = module_.stmts[id];
    if (const auto* loop = std::get_if<For>(&stmt)) {
      if (loop->sequential) {
        Loop(loop->axes, [&] { Run(loop->body); });
      } else {
        Iterate(loop->axes, [&] { Run(loop->body); });
      }
    } else if (const auto* branch = std::get_if<If>(&stmt)) {
      if (Known(Eval(branch->condition)).value_or(1) != 0) {
        Run(branch->body);
      } else {
        Run(branch->otherwise);
      }
    } else if (const auto* pair = std::get_if<LetPair>(&stmt)) {
      Run(*pair);
    } else if (const auto* let = std::get_if<Let>(&stmt)) {
      Set(let->symbol, Eval(let->value));
    } else if (const auto* local = std::get_if<LocalDecl>(&stmt)) {
      declared_[local->tensor] = ++runs_;
    } else if (const auto* assign = std::get_if<Assign>(&stmt)) {
      Value value = Eval(assign->value);
      if (assign->adds) {
        Value before = Of(Load{assign->tensor, assign->indices});
        value = before && value ? Value(*before + *value) : std::nullopt;
      }
      Write(assign->tensor, assign->indices, value);
    } else if (const auto* topk = std::get_if<TopK>(&stmt)) {
      Run(*topk);
    }
  }
}

void Interpreter::Run(const LetPair& pair) {
  const auto& reduce = std::get<Reduce>(module_.exprs[pair.reduction]);
  Value index = Eval(pair.reduction);
  Set(pair.value, std::nullopt);
  Loop(reduce.axes, [&] {
    if (Get(reduce.axes[0].var) == index) {
      Set(pair.value, Eval(reduce.body));
    }
  });
  Set(pair.index, index);
}

void Interpreter::Run(const TopK& topk) {
  int64_t ranks = 0;
  Loop({topk.rank}, [&] { ++ranks; });
  size_t run = ++runs_;
  place_.push_back({run, ranks > 1 ? kEachIteration : 0});
  std::vector<int64_t> largest = Largest(topk);
  place_.pop_back();
  Value lo = topk.axis.lo ? Known(Eval(topk.axis.lo)) : 0;
  size_t rank = 0;
  Loop({topk.rank}, [&] {
    Value position = rank < largest.size() ? Value(largest[rank]) : lo;
    place_.push_back({run, static_cast<int64_t>(rank++)});
    Write(topk.values, topk.value_indices, std::nullopt);
    Write(topk.positions, topk.position_indices, position);
    place_.pop_back();
  });
}

/// The indices of the candidates, largest first.
std::vector<int64_t> Interpreter::Largest(const TopK& topk) {
  std::vector<std::pair<Value, int64_t>> candidates;
  bool known = true;
  Loop({topk.axis}, [&] {
    Value value = Eval(topk.body);
    known = known && value;
    candidates.emplace_back(value, *Get(topk.axis.var));
  });
  if (known) {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto& a, const auto& b) { return *a.first > *b.first; });
  } else {
    for (size_t i = 0; i < candidates.size(); ++i) {
      auto left = static_cast<int64_t>(candidates.size() - i);
      std::swap(candidates[i], candidates[i + static_cast<size_t>(on_choose(left))]);
    }
  }
  std::vector<int64_t> indices;
  for (const auto& [value, index] : candidates) {
    indices.push_back(index);
  }
  return indices;
}

}  // namespace etc::mutation
