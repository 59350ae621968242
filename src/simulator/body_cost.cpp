#include "simulator/body_cost.h"

#include <algorithm>
#include <set>

#include "analysis/same_reductions.h"
#include "ir/body_visitor.h"
#include "ir/checked.h"
#include "ir/expr_kinds.h"
#include "ir/walk.h"

namespace etc {
namespace {

using Symbols = std::set<SymbolId>;

class BodyCounter : BodyVisitor {
 public:
  BodyCounter(const Module& module, const Device& device, const LaunchSizes& sizes)
      : BodyVisitor(module),
        module_(module),
        sizes_(sizes),
        env_(sizes.dims),
        middle_(sizes.dims),
        last_(sizes.dims) {
    cost_.tasks = device.tasks.empty() ? 0 : 1;
    for (const Axis& axis : device.tasks) {
      tasks_.insert(axis.var);
      cost_.tasks *= Enter(axis);
    }
    for (TensorId param : device.params) {
      params_.insert(param);
    }
    for (SymbolId id : device.scalars) {
      const Symbol& scalar = module.symbols[id];
      auto lo = scalar.lo ? Int(scalar.lo) : std::nullopt;
      auto hi = scalar.hi ? Int(scalar.hi) : std::nullopt;
      env_[id] = lo.value_or(0);
      last_[id] = hi ? *hi - 1 : env_[id];
      middle_[id] = (env_[id] + last_[id]) / 2;
    }
    VisitBlock(device.body);
  }

  BodyCost Take() {
    for (auto* counts : {&cost_.reads, &cost_.writes}) {
      for (auto& [param, count] : *counts) {
        double all = 1;
        for (ExprId extent : module_.tensors[param].shape) {
          all *= static_cast<double>(Int(extent).value_or(1));
        }
        count.one_task = std::min(count.one_task, all);
        count.all_tasks = std::min(count.all_tasks, all);
      }
    }
    return std::move(cost_);
  }

 private:
  /// The value of an integer expression; reads of tensors yield the largest element.
  std::optional<int64_t> Int(ExprId id) const { return Int(id, env_); }
  std::optional<int64_t> Int(ExprId id, const Env& env) const {
    if (auto value = EvaluateInt(module_, id, env, sizes_.ranges)) {
      return value;
    }
    const Expr& expr = module_.exprs[id];
    if (const auto* load = std::get_if<Load>(&expr)) {
      auto element = sizes_.elements.find(load->tensor);
      return element == sizes_.elements.end() ? std::nullopt : std::optional(element->second);
    }
    if (const auto* binary = std::get_if<Binary>(&expr)) {
      auto a = Int(binary->left, env), b = Int(binary->right, env);
      return a && b ? Apply(binary->op, *a, *b) : std::nullopt;
    }
    if (const auto* call = std::get_if<Call>(&expr); call != nullptr && call->args.size() == 2) {
      auto a = Int(call->args[0], env), b = Int(call->args[1], env);
      return a && b ? etc::Apply(call->op, *a, *b) : std::nullopt;
    }
    return std::nullopt;
  }

  static std::optional<int64_t> Apply(BinaryOp op, int64_t a, int64_t b) {
    switch (op) {
      case BinaryOp::Add:
        return CheckedAdd(a, b);
      case BinaryOp::Sub:
        return CheckedSub(a, b);
      case BinaryOp::Mul:
        return CheckedMul(a, b);
      default:
        return std::nullopt;
    }
  }
  bool MayHold(ExprId condition) const {
    if (const auto* binary = std::get_if<Binary>(&module_.exprs[condition])) {
      if (binary->op == BinaryOp::And) {
        return MayHold(binary->left) && MayHold(binary->right);
      }
      auto a = Int(binary->left), b = Int(binary->right);
      switch (binary->op) {
        case BinaryOp::Lt:
          return !a || !b || *a < *b;
        case BinaryOp::Le:
          return !a || !b || *a <= *b;
        case BinaryOp::Gt:
          return !a || !b || *a > *b;
        case BinaryOp::Ge:
          return !a || !b || *a >= *b;
        default:
          break;
      }
    }
    return EvaluateBool(module_, condition, env_, sizes_.ranges).value_or(true);
  }

  struct SharedRange {
    int64_t all = 0;  // values of all ranges together
    int64_t ranges = 1;
  };
  /// Of an axis from one element of a monotone tensor to another: neighbours, which share what is
  /// below the largest element.
  std::optional<SharedRange> FindShared(const Axis& axis) const {
    const auto* lo = axis.lo ? std::get_if<Load>(&module_.exprs[axis.lo]) : nullptr;
    const auto* hi = std::get_if<Load>(&module_.exprs[axis.hi]);
    if (lo == nullptr || hi == nullptr || lo->tensor != hi->tensor) {
      return std::nullopt;
    }
    const Tensor& tensor = module_.tensors[lo->tensor];
    auto largest = Int(axis.hi);
    auto elements = tensor.shape.empty() ? std::nullopt : Int(tensor.shape.back());
    if (!tensor.monotone || !largest || !elements || *elements < 2) {
      return std::nullopt;
    }
    return SharedRange{*largest, *elements - 1};
  }

  /// Gives the axis its first, its middle and its last value; the number of its values in the mean.
  double Enter(const Axis& axis) {
    if (auto shared = FindShared(axis); shared && !tasks_.contains(axis.var)) {
      return EnterShared(axis, *shared);
    }
    auto lo = [&](const Env& env) { return axis.lo ? Int(axis.lo, env) : 0; };
    std::optional<int64_t> first = lo(env_), end = Int(axis.hi);
    std::optional<int64_t> last_first = lo(last_), last_end = Int(axis.hi, last_);
    std::optional<int64_t> middle_first = lo(middle_), middle_end = Int(axis.hi, middle_);
    auto count = [](const std::optional<int64_t>& from, const std::optional<int64_t>& to) {
      return from && to ? static_cast<double>(std::max<int64_t>(*to - *from, 0)) : 1;
    };
    double rounds = count(first, end), last_rounds = count(last_first, last_end);
    double mean = (rounds + last_rounds) / 2;
    if (rounds == count(middle_first, middle_end)) {
      // It is the last round alone that may have fewer.
      double outside = 1;
      for (SymbolId symbol : SymbolsOf(axis.hi)) {
        outside *= all_[symbol];
      }
      mean = rounds + (last_rounds - rounds) / std::max(outside, 1.0);
    }
    middle_[axis.var] = middle_first && middle_end ? (*middle_first + *middle_end) / 2 : 0;
    env_[axis.var] = first.value_or(0);
    last_[axis.var] = last_end ? *last_end - 1 : last_first.value_or(0);
    rounds_[axis.var] = rounds;
    // The bounds move with the axes around this one, if at all, to one side.
    all_[axis.var] = std::max({rounds, count(first, last_end), count(last_first, end)});
    made_of_[axis.var] = {axis.var};
    if (axis.lo) {
      starts_with_[axis.var] = WithStarts(SymbolsOf(axis.lo));
    }
    return mean;
  }

  double EnterShared(const Axis& axis, const SharedRange& shared) {
    env_[axis.var] = 0;
    middle_[axis.var] = shared.all / 2;
    last_[axis.var] = std::max<int64_t>(shared.all - 1, 0);
    all_[axis.var] = static_cast<double>(shared.all);
    const double rounds = all_[axis.var] / static_cast<double>(shared.ranges);
    rounds_[axis.var] = rounds;
    made_of_[axis.var] = {axis.var};
    starts_with_[axis.var] = WithStarts(SymbolsOf(axis.lo));
    return rounds;
  }

  /// The axes that an expression varies with, but for those that only move an axis' bounds, and
  /// those that it reduces itself.
  Symbols SymbolsOf(ExprId id) const {
    Symbols symbols, reduced;
    VisitExprs(module_, id, [&](ExprId inner) {
      if (const auto* reduce = std::get_if<Reduce>(&module_.exprs[inner])) {
        for (const Axis& axis : reduce->axes) {
          reduced.insert(axis.var);
        }
      }
      if (const auto* ref = std::get_if<SymbolRef>(&module_.exprs[inner])) {
        if (auto found = made_of_.find(ref->symbol); found != made_of_.end()) {
          symbols.insert(found->second.begin(), found->second.end());
        }
      }
    });
    for (SymbolId symbol : reduced) {
      symbols.erase(symbol);
    }
    return symbols;
  }

  /// With the axes that the lower bounds of axes vary with.
  Symbols WithStarts(Symbols symbols) const {
    for (SymbolId symbol : Symbols(symbols)) {
      if (auto found = starts_with_.find(symbol); found != starts_with_.end()) {
        symbols.insert(found->second.begin(), found->second.end());
      }
    }
    return symbols;
  }

  /// What is inside of a scope runs as often as its axes say.
  void Within(const Inside& inside) {
    double outside = times_;
    inside();
    times_ = outside;
  }

  void AroundLoop(StmtId, const For&, const Inside& inside) override { Within(inside); }
  void AroundElements(const TopK& topk, const Inside& inside) override {
    Reduced(topk.body, inside);
  }
  void AroundReduction(const Reduce& reduce, const Inside& inside) override {
    Reduced(reduce.body, inside);
  }
  /// A statement computes a reduction once that it has several times.
  bool Wants(const Stmt&) override {
    seen_.clear();
    return true;
  }
  bool Wants(const Reduce& reduce) override {
    const bool is_new = std::none_of(seen_.begin(), seen_.end(), [&](const Reduce* other) {
      return SameReductions(module_, *other, reduce);
    });
    seen_.push_back(&reduce);
    return is_new;
  }
  /// To count integers is index arithmetic.
  void Reduced(ExprId body, const Inside& inside) {
    Within([&] {
      inside();
      cost_.flops += IsFloat(body) ? times_ : 0;
    });
  }

  /// What another task may do is read, but not computed by this one.
  void AroundSide(const BodySide& side, const Inside& inside) override {
    std::map<SymbolId, double> all = all_;
    if (side.wanted) {
      Limit(side.condition);
    }
    Within([&] {
      if (side.of_statement && !MayRun(side)) {
        times_ = 0;
      }
      inside();
    });
    all_ = std::move(all);
  }

  /// Where a task's coordinate is below a number, so many of its values read what is inside.
  void Limit(ExprId condition) {
    const auto* binary = std::get_if<Binary>(&module_.exprs[condition]);
    if (binary != nullptr && binary->op == BinaryOp::And) {
      Limit(binary->left);
      Limit(binary->right);
    } else if (binary != nullptr && binary->op == BinaryOp::Lt) {
      const auto* ref = std::get_if<SymbolRef>(&module_.exprs[binary->left]);
      auto limit = Int(binary->right);
      if (ref != nullptr && tasks_.contains(ref->symbol) && limit) {
        double& all = all_[ref->symbol];
        all = std::clamp(static_cast<double>(*limit), 0.0, all);
      }
    }
  }

  bool MayRun(const BodySide& side) const {
    return side.wanted
               ? MayHold(side.condition)
               : !EvaluateBool(module_, side.condition, env_, sizes_.ranges).value_or(false);
  }

  /// One search for the largest elements yields all ranks.
  void OnVariable(const Axis& axis, AxisOf of) override {
    double rounds = Enter(axis);
    times_ *= of == AxisOf::Ranks ? 1 : rounds;
  }
  /// What bounds read is little.
  bool WantsBounds(const Axis&) override { return false; }

  void OnLet(const Let& let) override {
    if (auto value = Int(let.value)) {
      env_[let.symbol] = *value;
    }
    if (auto value = Int(let.value, middle_)) {
      middle_[let.symbol] = *value;
    }
    if (auto value = Int(let.value, last_)) {
      last_[let.symbol] = *value;
    }
    made_of_[let.symbol] = SymbolsOf(let.value);
  }
  void OnLetPair(const LetPair& pair) override { made_of_[pair.index] = SymbolsOf(pair.reduction); }

  bool IsFloat(ExprId id) { return IsFloating(kinds_.Of(id)); }

  void OnExpr(ExprId id) override {
    bool computes = std::visit(
        Overloaded{
            [](const OneOf<IntLiteral, FloatLiteral, BoolLiteral, SymbolRef, Load, Cast,
                           Reduce> auto&) { return false; },
            [&](const OneOf<Unary, Call> auto&) { return IsFloat(id); },
            [&](const Binary& binary) { return IsFloat(binary.left) || IsFloat(binary.right); },
        },
        module_.exprs[id]);
    cost_.flops += computes ? times_ : 0;
  }

  void OnElement(const BodyElement& element) override {
    if (element.use == BodyElement::Use::ReadToAdd) {
      bool computes = KindOf(module_.tensors[element.tensor].type) == ValueKind::Float;
      cost_.flops += computes ? times_ : 0;
    }
    if (params_.contains(element.tensor)) {
      Count(element, element.IsWrite() ? cost_.writes : cost_.reads);
    }
  }

  void Count(const BodyElement& element, std::map<TensorId, ElementCount>& counts) {
    double one = 1, all = 1;
    Symbols varies;  // any index
    for (size_t i = 0; i < element.indices.size(); ++i) {
      double of_task = 1, of_all = 1;
      Symbols symbols = SymbolsOf(element.indices[i]);
      for (SymbolId symbol : symbols) {
        of_all *= all_[symbol];
      }
      varies.insert(symbols.begin(), symbols.end());
      for (SymbolId symbol : WithStarts(std::move(symbols))) {
        of_task *= tasks_.contains(symbol) ? 1 : rounds_[symbol];
      }
      auto extent = Int(module_.tensors[element.tensor].shape[i]);
      double most = extent ? static_cast<double>(*extent) : of_all;
      one *= std::min(of_task, most);
      all *= std::min(of_all, most);
    }
    if (element.peer) {  // each has a tensor of its own
      double peers = 1;
      for (SymbolId symbol : SymbolsOf(element.peer)) {
        peers *= all_[symbol];
        varies.insert(symbol);
      }
      auto ranks = sizes_.dims.find(module_.mesh->size);
      all *=
          ranks == sizes_.dims.end() ? peers : std::min(peers, static_cast<double>(ranks->second));
    }
    // Several indices may vary with one axis, as a page and the place in it do.
    double together = 1;
    for (SymbolId symbol : varies) {
      together *= all_[symbol];
    }
    all = std::min(all, together);
    ElementCount& count = counts[element.tensor];
    count.one_task += one;
    count.all_tasks += all;
  }

  const Module& module_;
  ExprKinds kinds_{module_};
  const LaunchSizes& sizes_;
  Env env_, middle_, last_;                  // values in the first task and round, the middle, ...
  std::map<SymbolId, double> rounds_, all_;  // values of axes, in one task and in all
  std::map<SymbolId, Symbols> made_of_;      // axes and lets: the axes that they vary with
  std::map<SymbolId, Symbols> starts_with_;  // axes: those that their lower bound varies with
  Symbols tasks_;
  std::set<TensorId> params_;
  std::vector<const Reduce*> seen_;  // in the statement
  double times_ = 1;
  BodyCost cost_;
};

}  // namespace

BodyCost CostOfBody(const Module& module, const Device& device, const LaunchSizes& sizes) {
  return BodyCounter(module, device, sizes).Take();
}

}  // namespace etc
