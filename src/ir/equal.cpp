#include "ir/equal.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace etc {
namespace {

/// The fields of a struct, all of them: a list that forgets one fails the build.
#define ETC_FIELDS(type, ...)          \
  auto FieldsOf(const type& value) {   \
    const auto& [__VA_ARGS__] = value; \
    return std::tie(__VA_ARGS__);      \
  }
ETC_FIELDS(Axis, var, lo, hi)
ETC_FIELDS(IntLiteral, number)
ETC_FIELDS(FloatLiteral, number)
ETC_FIELDS(BoolLiteral, truth)
ETC_FIELDS(SymbolRef, symbol)
ETC_FIELDS(Load, tensor, indices)
ETC_FIELDS(Cast, type, operand)
ETC_FIELDS(Unary, op, operand)
ETC_FIELDS(Binary, op, left, right)
ETC_FIELDS(Call, op, args)
ETC_FIELDS(Reduce, op, axes, body)
ETC_FIELDS(For, axes, body, sequential)
ETC_FIELDS(If, condition, body, otherwise, else_range)
ETC_FIELDS(Let, symbol, bound)
ETC_FIELDS(LetPair, first, index, reduction)
ETC_FIELDS(LocalDecl, tensor)
ETC_FIELDS(Assign, tensor, indices, stored, adds, peer)
ETC_FIELDS(TopK, values, value_indices, positions, position_indices, rank, axis, body)
ETC_FIELDS(EventIndex, lo, hi, all)
ETC_FIELDS(EventRef, event, indices, axes, guard, range, peer)
ETC_FIELDS(Edge, coords, refs)
ETC_FIELDS(Argument, tensor, indices, range)
ETC_FIELDS(BufferDecl, tensor)
ETC_FIELDS(EventDecl, event)
ETC_FIELDS(GenericArg, name, given, range)
ETC_FIELDS(Pin, name, given, alternative, range)
ETC_FIELDS(CallNode, callee, graph, generics, pins, args, scalars, waits, notifies, schedule)
ETC_FIELDS(Repeat, var, lo, hi, body)
ETC_FIELDS(Region, schedule, body)
ETC_FIELDS(Throttle, in_flight, interval, ahead, prefetch, range)
ETC_FIELDS(Check, tensor, slice, leading, indices, value_lo, value_hi, distinct, monotone, counts,
           counts_slice, range)
ETC_FIELDS(Share, axes, first, throttle, range_waits, range_checks, awaits_peers, enter_waits,
           enter_checks, waits, task_checks, callee, args, scalars, notifies, leave_notifies,
           pushed_by, arrivals, after_waits, after_arrivals)
ETC_FIELDS(Dispatch, ahead, ahead_range, capacity, tickets, cases)
ETC_FIELDS(Symbol, name, kind, range, bound, lo, hi, multiple, type, present)
ETC_FIELDS(AxisRange, lo, hi, extent)
ETC_FIELDS(WeightSource, name, ranges, range)
ETC_FIELDS(Tensor, name, kind, access, type, shape, value_lo, value_hi, offset, range, tile,
           swizzled, flagged, phased, symmetric, shard, in_parts, distinct, monotone, counts,
           indices, present, sources, array)
ETC_FIELDS(EventDim, var, extent)
ETC_FIELDS(Event, name, dims, count, realisation, range, first, trigger, symmetric)
ETC_FIELDS(ImplArg, name, given, word)
ETC_FIELDS(Box, tensor, rows, columns)
ETC_FIELDS(Impl, arch, header, name, args, preloaded, fetched, flagged, flagged_if, phased, boxes,
           text, range)
ETC_FIELDS(Device, name, generics, params, scalars, tasks, impls, body, range, braces)
ETC_FIELDS(DimRange, lo, hi)
ETC_FIELDS(Specialisation, dim, ranges, range)
ETC_FIELDS(Where, dim, lo, hi)
ETC_FIELDS(Alternative, name, condition, preference, body, range, braces)
ETC_FIELDS(Graph, name, generics, of, where, params, schedule, specialisations, body, alternatives,
           range, braces)
ETC_FIELDS(Watchdog, seconds, range)
ETC_FIELDS(Profile, spans, range)
ETC_FIELDS(Kernel, name, graph, schedule, params, where, consumer_warps, shared_bytes, depth,
           throttle, values, checks, check_accesses, watchdog, profile, declarations, body, range,
           braces, launch, sm_braces)
ETC_FIELDS(Require, condition)
#undef ETC_FIELDS

template <class T>
bool AreEqual(const T& a, const T& b);
template <class T>
bool AreEqual(const std::optional<T>& a, const std::optional<T>& b);
template <class... Kinds>
bool AreEqual(const std::variant<Kinds...>& a, const std::variant<Kinds...>& b);

template <class T>
bool AreEqual(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return AreEqual(x, y); });
}

template <class T>
bool AreEqual(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || AreEqual(*a, *b));
}

template <class... Kinds>
bool AreEqual(const std::variant<Kinds...>& a, const std::variant<Kinds...>& b) {
  return a.index() == b.index() &&
         std::visit(
             [&](const auto& x) { return AreEqual(x, std::get<std::decay_t<decltype(x)>>(b)); }, a);
}

template <class T>
bool AreEqual(const T& a, const T& b) {
  if constexpr (requires { FieldsOf(a); }) {
    return std::apply(
        [&](const auto&... x) {
          return std::apply([&](const auto&... y) { return (AreEqual(x, y) && ...); }, FieldsOf(b));
        },
        FieldsOf(a));
  } else {
    return a == b;
  }
}

/// Whether `after` still has all that `before` has; `matters` says of what this is asked.
template <class I, class T, class Matters>
bool Keeps(const Table<I, T>& before, const Table<I, T>& after, const Matters& matters) {
  return before.size() <= after.size() &&
         std::equal(before.begin(), before.end(), after.begin(),
                    [&](const T& x, const T& y) { return !matters(x) || AreEqual(x, y); });
}

constexpr auto kAll = [](const auto&) { return true; };

bool IsProgram(const Item& item) {
  return std::holds_alternative<GraphId>(item) || std::holds_alternative<KernelId>(item);
}

std::vector<Item> ItemsOf(const Module& module, bool programs) {
  std::vector<Item> items;
  std::copy_if(module.items.begin(), module.items.end(), std::back_inserter(items),
               [&](const Item& item) { return IsProgram(item) == programs; });
  return items;
}

/// What both halves of a module are made of.
bool KeepsExpressions(const Module& before, const Module& after) {
  return Keeps(before.exprs, after.exprs, kAll) && Keeps(before.symbols, after.symbols, kAll);
}

}  // namespace

bool AreDevicesEqual(const Module& before, const Module& after) {
  auto is_of_device = [](const Tensor& tensor) { return tensor.kind != TensorKind::Buffer; };
  return KeepsExpressions(before, after) && Keeps(before.stmts, after.stmts, kAll) &&
         Keeps(before.tensors, after.tensors, is_of_device) &&
         Keeps(before.devices, after.devices, kAll) &&
         AreEqual(ItemsOf(before, false), ItemsOf(after, false));
}

bool AreProgramsEqual(const Module& before, const Module& after) {
  return KeepsExpressions(before, after) && Keeps(before.nodes, after.nodes, kAll) &&
         Keeps(before.tensors, after.tensors, kAll) && Keeps(before.events, after.events, kAll) &&
         Keeps(before.graphs, after.graphs, kAll) && Keeps(before.kernels, after.kernels, kAll) &&
         AreEqual(ItemsOf(before, true), ItemsOf(after, true));
}

}  // namespace etc
