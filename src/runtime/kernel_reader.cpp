#include "runtime/kernel_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/expr_reader.h"
#include "runtime/launch_memory.h"
#include "runtime/launches.h"
#include "runtime/manifest_expr.h"
#include "runtime/requirements.h"
#include "runtime/tensor_maps.h"

namespace etc::runtime {
namespace {

using manifest::Kernel;
using manifest::Launch;

constexpr int kMaxRepeatDepth = 64;
constexpr const char* kNoBounds = "must be the first iteration and the one behind the last";
constexpr int64_t kThreadsOfWarp = 32;
constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kMostFieldBits = 48;  // of a record, beside the number of its span

Status ReadWhere(const JsonValue& value, const manifest::Graph& graph, Kernel* kernel) {
  JsonObject object;
  manifest::Where range;
  const JsonValue* dim = nullptr;
  ETC_RETURN_IF_BAD(JsonObject::Open(value, &object));
  ETC_RETURN_IF_BAD(object.Need("dim", &dim));
  ETC_RETURN_IF_BAD(FindDim(*dim, graph, &range.dim));
  ETC_RETURN_IF_BAD(object.Get("min", &range.min));
  ETC_RETURN_IF_BAD(object.Get("max", range.min, INT64_MAX, &range.max));
  kernel->where.push_back(range);
  return object.CheckKeys();
}

Status ReadEntry(const JsonObject& object, std::string* entry) {
  const JsonValue* value = nullptr;
  ETC_RETURN_IF_BAD(object.Need("entry", &value));
  ETC_RETURN_IF_BAD(Read(*value, entry));
  return entry->empty() ? Bad(*value, "is empty") : Status{};
}

/// `iterations` is their number, or 1 where the sizes decide it.
Status ReadRepeat(const JsonValue& value, const manifest::Graph& graph, Launch* launch,
                  int64_t* iterations) {
  std::vector<manifest::Expr> bounds;
  ETC_RETURN_IF_BAD(ReadEach(value, [&](const JsonValue& bound) {
    return ReadExpr(bound, graph, INT64_MIN, INT64_MAX, &bounds.emplace_back());
  }));
  if (bounds.size() != 2) {
    return Bad(value, kNoBounds);
  }
  *iterations = 1;
  if (!NamesDim(bounds[0]) && !NamesDim(bounds[1])) {
    int64_t begin = 0;
    int64_t end = 0;
    ETC_RETURN_IF_BAD(Evaluate(bounds[0], {}, &begin));
    ETC_RETURN_IF_BAD(Evaluate(bounds[1], {}, &end));
    if (begin < 0 || begin > end) {
      return Bad(value, kNoBounds);
    }
    *iterations = end - begin;
  }
  launch->is_repeat = true;
  launch->begin = std::move(bounds[0]);
  launch->end = std::move(bounds[1]);
  return {};
}

/// `times` is how often the block runs; `steps` counts the launches and iterations of the kernel.
Status ReadLaunches(const JsonValue& block, const manifest::Graph& graph, int depth, int64_t times,
                    int64_t* steps, std::vector<Launch>* launches) {
  return ReadEach(block, [&](const JsonValue& value) -> Status {
    JsonObject object;
    Launch& launch = launches->emplace_back();
    int64_t inner_times = times;
    ETC_RETURN_IF_BAD(JsonObject::Open(value, &object));
    const JsonValue* repeat = object.Find("repeat");
    if (repeat != nullptr) {
      int64_t iterations = 0;
      ETC_RETURN_IF_BAD(ReadRepeat(*repeat, graph, &launch, &iterations));
      if (depth == 0) {
        return Bad(value, "is nested too deep");
      }
      if (__builtin_mul_overflow(times, iterations, &inner_times)) {
        inner_times = INT64_MAX;
      }
    }
    if (__builtin_add_overflow(*steps, inner_times, steps) || *steps > kMaxLaunches) {
      return Bad(value, Cat("brings the kernel to more than ", kMaxLaunches, " launches"));
    }
    if (repeat == nullptr) {
      ETC_RETURN_IF_BAD(ReadEntry(object, &launch.entry));
      const JsonValue* tasks = nullptr;
      ETC_RETURN_IF_BAD(object.Need("tasks", &tasks));
      ETC_RETURN_IF_BAD(ReadExpr(*tasks, graph, 0, INT64_MAX, &launch.tasks));
    } else {
      const JsonValue* inner = nullptr;
      ETC_RETURN_IF_BAD(object.Need("launches", &inner));
      ETC_RETURN_IF_BAD(
          ReadLaunches(*inner, graph, depth - 1, inner_times, steps, &launch.launches));
    }
    return object.CheckKeys();
  });
}

Status ReadSpan(const JsonValue& value, manifest::Span* span) {
  constexpr std::pair<const char*, manifest::Span::Kind> kKinds[] = {
      {"task", manifest::Span::Kind::Task},
      {"wait", manifest::Span::Kind::Wait},
      {"signal", manifest::Span::Kind::Signal}};
  JsonObject object;
  const JsonValue* kind = nullptr;
  std::string word;
  int64_t bits = 0;
  ETC_RETURN_IF_BAD(JsonObject::Open(value, &object));
  ETC_RETURN_IF_BAD(object.Need("kind", &kind));
  ETC_RETURN_IF_BAD(Read(*kind, &word));
  const auto* known = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const auto& each) { return each.first == word; });
  if (known == std::end(kKinds)) {
    return Bad(*kind, Cat("is `", Shown(word), "`, but must be `task`, `wait` or `signal`"));
  }
  span->kind = known->second;
  ETC_RETURN_IF_BAD(object.Get("call", &span->call));
  ETC_RETURN_IF_BAD(object.Get("text", &span->text));
  ETC_RETURN_IF_BAD(object.Get("source", &span->source));
  ETC_RETURN_IF_BAD(object.ForEach("fields", [&](const JsonValue& field) -> Status {
    if (field.kind != JsonValue::Kind::Array || field.size != 2) {
      return Bad(field, "must be a name and a number of bits");
    }
    manifest::Span::Field& read = span->fields.emplace_back();
    ETC_RETURN_IF_BAD(Read(*field.first, &read.name));
    ETC_RETURN_IF_BAD(ReadWithin(*field.first->next, 0, kMostFieldBits - bits, &read.bits));
    bits += read.bits;
    return {};
  }));
  return object.CheckKeys();
}

Status ReadProfile(const JsonObject& kernel, const manifest::Graph& graph,
                   std::optional<manifest::Profile>* out) {
  if (kernel.Find("profile") == nullptr) {
    return {};
  }
  JsonObject object;
  const JsonValue* records = nullptr;
  manifest::Profile& profile = out->emplace();
  manifest::Graph with_sms;
  with_sms.name = graph.name;
  with_sms.dims = graph.dims;
  with_sms.dims.push_back({"sms", 1, INT32_MAX, 1});
  ETC_RETURN_IF_BAD(kernel.GetObject("profile", &object));
  ETC_RETURN_IF_BAD(object.Get("kernel", &profile.kernel));
  ETC_RETURN_IF_BAD(object.Need("records", &records));
  ETC_RETURN_IF_BAD(ReadExpr(*records, with_sms, 0, INT64_MAX, &profile.records));
  ETC_RETURN_IF_BAD(object.ForEach("spans", [&](const JsonValue& span) {
    return ReadSpan(span, &profile.spans.emplace_back());
  }));
  return object.CheckKeys();
}

/// The schedule says which of the two a kernel has.
Status ReadEntries(const JsonObject& object, const manifest::Graph& graph, Kernel* kernel) {
  const JsonValue* schedule = nullptr;
  ETC_RETURN_IF_BAD(object.Need("schedule", &schedule));
  ETC_RETURN_IF_BAD(Read(*schedule, &kernel->schedule));
  if (kernel->schedule == "kernels") {
    const JsonValue* launches = nullptr;
    int64_t steps = 0;
    ETC_RETURN_IF_BAD(object.Need("launches", &launches));
    return ReadLaunches(*launches, graph, kMaxRepeatDepth, 1, &steps, &kernel->launches);
  }
  if (kernel->schedule != "static" && kernel->schedule != "dynamic") {
    return Bad(*schedule, Cat("is `", Shown(kernel->schedule),
                              "`, but must be `static`, `dynamic` or `kernels`"));
  }
  return ReadEntry(object, &kernel->entry);
}

Status ReadThreads(const JsonObject& object, int64_t* threads) {
  const JsonValue* value = nullptr;
  ETC_RETURN_IF_BAD(object.Need("threads", &value));
  ETC_RETURN_IF_BAD(ReadWithin(*value, 1, kMaxThreads, threads));
  return *threads % kThreadsOfWarp == 0
             ? Status{}
             : Bad(*value, Cat("is ", *threads, ", which is not a multiple of ", kThreadsOfWarp));
}

}  // namespace

Status ReadKernel(const JsonValue& value, manifest::Graph* graph) {
  JsonObject object;
  Kernel kernel;
  const JsonValue* workspace = nullptr;
  const JsonValue* counters = nullptr;
  ETC_RETURN_IF_BAD(JsonObject::Open(value, &object));
  ETC_RETURN_IF_BAD(ReadEntries(object, *graph, &kernel));
  ETC_RETURN_IF_BAD(object.ForEach(
      "where", [&](const JsonValue& range) { return ReadWhere(range, *graph, &kernel); }));
  ETC_RETURN_IF_BAD(ReadRequirements(object, *graph, &kernel.requirements));
  ETC_RETURN_IF_BAD(ReadThreads(object, &kernel.threads));
  ETC_RETURN_IF_BAD(object.Get("shared_bytes", 0, INT32_MAX, &kernel.shared_bytes));
  ETC_RETURN_IF_BAD(object.Need("workspace_bytes", &workspace));
  ETC_RETURN_IF_BAD(ReadExpr(*workspace, *graph, 0, INT64_MAX, &kernel.workspace_bytes));
  ETC_RETURN_IF_BAD(object.Need("event_counters", &counters));
  ETC_RETURN_IF_BAD(
      ReadExpr(*counters, *graph, 0, LaunchMemory::kMaxEventCounters, &kernel.event_counters));
  if (graph->mesh) {
    const JsonValue* symmetric = nullptr;
    ETC_RETURN_IF_BAD(object.Need("symmetric_bytes", &symmetric));
    ETC_RETURN_IF_BAD(ReadExpr(*symmetric, *graph, 0, INT64_MAX, &kernel.symmetric_bytes));
  }
  if (const JsonValue* maps = object.Find("tensor_maps"); maps != nullptr) {
    ETC_RETURN_IF_BAD(ReadEach(*maps, [&](const JsonValue& map) {
      return ReadTensorMap(map, *graph, &kernel.tensor_maps.emplace_back());
    }));
  }
  ETC_RETURN_IF_BAD(ReadProfile(object, *graph, &kernel.profile));
  ETC_RETURN_IF_BAD(object.CheckKeys());
  graph->kernels.push_back(std::move(kernel));
  return {};
}

}  // namespace etc::runtime
