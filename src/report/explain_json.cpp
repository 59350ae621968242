#include <cmath>
#include <nlohmann/json.hpp>

#include "report/explain_report.h"

namespace etc {
namespace {

using Json = nlohmann::ordered_json;

/// Nanoseconds are more than the model knows.
double Rounded(double us) { return std::round(us * 1000) / 1000; }

Json ToJson(const Times& times) {
  Json json = Json::object();
  for (size_t i = 0; i < kLimits; ++i) {
    json[std::string(Spelling(static_cast<Limit>(i)))] = Rounded(times.us[i]);
  }
  return json;
}

Json ToJson(const std::optional<Throttle>& throttle) {
  Json json = {
      {"in_flight", nullptr}, {"interval", nullptr}, {"ahead", nullptr}, {"prefetch", nullptr}};
  if (throttle) {
    json["in_flight"] = throttle->in_flight;
    json["interval"] = throttle->interval;
    if (throttle->ahead) {
      json["ahead"] = *throttle->ahead;
    }
    if (throttle->prefetch) {
      json["prefetch"] = *throttle->prefetch;
    }
  }
  return json;
}

Json ToJson(const ExplainReport& report, const ExplainedKernel& explained) {
  const Kernel& kernel = report.module.kernels[explained.id];
  const KernelCost& cost = explained.cost;
  Json dims = Json::object();
  for (const auto& [dim, value] : explained.sizes) {
    dims[report.module.symbols[dim].name] = value;
  }
  Json calls = Json::array();
  for (size_t i = 0; i < cost.calls.size(); ++i) {
    const CallCost& call = cost.calls[i];
    Json edges = Json::array();
    for (size_t e = 0; e < call.edges.size(); ++e) {
      const EdgeCost& edge = call.edges[e];
      edges.push_back({{"tensor", report.module.tensors[edge.tensor].name},
                       {"mechanism", Spelling(edge.mechanism)},
                       {"reason", explained.reasons[i][e]}});
    }
    calls.push_back({{"callee", report.CalleeOf(call.share)},
                     {"generated", call.generated},
                     {"times", call.iterations},
                     {"tasks", call.tasks},
                     {"tasks_per_sm", call.tasks_per_sm},
                     {"balance", Rounded(call.balance)},
                     {"streamed_bytes", std::llround(call.streamed_bytes)},
                     {"read_bytes", std::llround(call.read_bytes)},
                     {"fetched_bytes", std::llround(call.fetched_bytes)},
                     {"flops", std::llround(call.flops)},
                     {"floor_us", Rounded(call.floor_us)},
                     {"chain_us", Rounded(call.latency_us)},
                     {"predicted_us", Rounded(call.times.Sum())},
                     {"limits_us", ToJson(call.times)},
                     {"edges", edges}});
  }
  Json loader = nullptr;
  if (!explained.throttles.empty()) {
    loader = {{"shared_bytes", kernel.shared_bytes}, {"depth", nullptr}, {"runs", Json::array()}};
    if (kernel.depth) {
      loader["depth"] = *kernel.depth;
    }
    for (const ThrottleChoice& choice : explained.throttles) {
      Json shares = Json::array();
      for (NodeId share : choice.shares) {
        Json entry = {{"callee", report.CalleeOf(share)}};
        entry.update(ToJson(report.ThrottleOf(kernel, share)));
        shares.push_back(std::move(entry));
      }
      loader["runs"].push_back({{"shares", std::move(shares)},
                                {"model", ToJson(choice.throttle)},
                                {"reason", choice.reason}});
    }
  }
  Json routing = nullptr;
  if (explained.routing) {
    const RoutingCost& found = *explained.routing;
    Json routed = Json::array();
    for (const RoutedCall& call : found.calls) {
      routed.push_back({{"callee", report.CalleeOf(cost.calls[call.call].share)},
                        {"expert_bytes", std::llround(call.expert_bytes)},
                        {"tasks", call.tasks ? Json(Rounded(*call.tasks)) : Json(nullptr)}});
    }
    routing = {{"asked", report.routing},
               {"router", report.CalleeOf(cost.calls[found.router].share)},
               {"tokens", found.tokens},
               {"chosen", found.chosen},
               {"experts", found.experts},
               {"distinct", found.distinct},
               {"bytes", std::llround(found.bytes)},
               {"calls", std::move(routed)}};
  }
  return {{"name", kernel.name},
          {"graph", kernel.graph},
          {"dims", dims},
          {"values", report.values},
          {"bytes", std::llround(cost.bytes)},
          {"flops", std::llround(cost.flops)},
          {"floor_us", Rounded(cost.floor_us)},
          {"predicted_us", Rounded(cost.times.Sum())},
          {"limits_us", ToJson(cost.times)},
          {"loader", loader},
          {"routing", routing},
          {"calls", calls}};
}

}  // namespace

std::string ExplainJson(const ExplainReport& report) {
  const Target& target = report.target;
  Json json = {{"machine",
                {{"name", target.product},
                 {"measured", target.measured},
                 {"sms", target.sms},
                 {"stream_bytes_per_us", target.stream_bytes}}},
               {"kernels", Json::array()}};
  for (const ExplainedKernel& kernel : report.kernels) {
    json["kernels"].push_back(ToJson(report, kernel));
  }
  return json.dump(2) + "\n";
}

}  // namespace etc
