#include "simulator/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "ir/peers.h"
#include "ir/walk.h"
#include "simulator/expert_reads.h"

namespace etc {
namespace {

/// The same on every machine.
class Draw {
 public:
  explicit Draw(uint64_t layer) : random_(layer + 1) {}

  /// How often each of `of` is taken by `times` draws of `takes` different ones, each with its
  /// weight.
  std::vector<int64_t> Taken(int64_t times, int64_t takes, int64_t of, double exponent) {
    std::vector<int64_t> taken(static_cast<size_t>(of));
    std::vector<std::pair<double, int64_t>> keys(static_cast<size_t>(of));
    std::vector<double> means;
    for (int64_t i = 0; i < of; ++i) {
      means.push_back(std::pow(static_cast<double>(i + 1), exponent));
    }
    for (int64_t draw = 0; draw < times; ++draw) {
      // The least of exponential times with these means.
      for (size_t i = 0; i < keys.size(); ++i) {
        keys[i] = {-std::log(Uniform()) * means[i], static_cast<int64_t>(i)};
      }
      auto last = keys.begin() + std::min(takes, of);
      std::nth_element(keys.begin(), last, keys.end());
      std::for_each(keys.begin(), last,
                    [&](const auto& key) { ++taken[static_cast<size_t>(key.second)]; });
    }
    return taken;
  }

 private:
  double Uniform() { return static_cast<double>((random_() >> 11) + 1) * 0x1p-53; }

  std::mt19937_64 random_;
};

/// What a body reads at experts: at those of all ranks, or where it reads none so, at those that
/// its rank has apart.
ExpertReads ReadsOf(const RoutingSizes& sizes, const Device& device, int64_t experts) {
  ExpertReads reads(sizes, device, experts, experts);
  const int64_t own = experts / RanksAt(sizes.module, sizes.dims);
  return reads.tensors.empty() && own < experts ? ExpertReads(sizes, device, experts, own) : reads;
}

bool FindRouter(const Module& module, const std::vector<CallCost>& calls, const RoutingSizes& sizes,
                RoutingCost* found) {
  for (size_t i = 0; i < calls.size(); ++i) {
    const auto& share = std::get<Share>(module.nodes[calls[i].share]);
    const Device& device = module.devices[share.callee];
    ChoiceFinder choice(sizes, device, device.tasks);
    if (choice.of > 1 && choice.takes > 0) {
      bool reads_experts = !ReadsOf(sizes, device, choice.of).tensors.empty();
      found->router = i;
      found->tokens = reads_experts ? ChoiceFinder(sizes, device, {}).times : choice.times;
      found->chosen = choice.takes;
      found->experts = choice.of;
      return true;
    }
  }
  return false;
}

void Add(std::vector<int64_t> tokens_of_layer, RoutingCost* found) {
  found->distinct.push_back(static_cast<int64_t>(tokens_of_layer.size()) -
                            std::count(tokens_of_layer.begin(), tokens_of_layer.end(), 0));
  found->tokens_of.push_back(std::move(tokens_of_layer));
}

/// The places of a list that a layer fills, if each has up to so many tokens of one expert. Of one
/// with at most half as many, tile kernels multiply half (docs/moe.md).
std::vector<Place> PlacesOf(const std::vector<int64_t>& tokens_of_layer, int64_t tokens_at_once) {
  std::vector<Place> places;
  for (int64_t tokens : tokens_of_layer) {
    int64_t left = tokens;
    while (left > 0) {
      double size = tokens_at_once > 0 && 2 * left <= tokens_at_once ? 0.5 : 1;
      places.push_back({size, left == tokens});
      left -= tokens_at_once > 0 ? tokens_at_once : left;
    }
  }
  return places;
}

/// Over all layers.
double MeanPlaces(const std::vector<std::vector<Place>>& lists) {
  size_t places = 0;
  for (const std::vector<Place>& list : lists) {
    places += list.size();
  }
  return static_cast<double>(places) / static_cast<double>(std::max<size_t>(lists.size(), 1));
}

/// The places of each layer. Of experts that ranks have apart, those of the rank with most experts
/// in use, for which the others wait.
std::vector<std::vector<Place>> ListsOf(const RoutingCost& routing, const RoutedCall& call) {
  std::vector<std::vector<Place>> lists;
  for (const std::vector<int64_t>& all : routing.tokens_of) {
    std::vector<int64_t> busiest;
    for (auto first = all.begin(); all.end() - first >= call.experts; first += call.experts) {
      std::vector<int64_t> own(first, first + call.experts);
      auto unused = [](const std::vector<int64_t>& tokens) {
        return std::count(tokens.begin(), tokens.end(), 0);
      };
      if (busiest.empty() || unused(own) < unused(busiest)) {
        busiest = std::move(own);
      }
    }
    lists.push_back(PlacesOf(busiest, call.tokens_at_once));
  }
  return lists;
}

/// The experts in use, in the mean of all layers.
double MeanDistinct(const std::vector<std::vector<Place>>& lists) {
  int64_t distinct = 0;
  for (const std::vector<Place>& list : lists) {
    distinct +=
        std::count_if(list.begin(), list.end(), [](const Place& place) { return place.is_first; });
  }
  return static_cast<double>(distinct) / static_cast<double>(std::max<size_t>(lists.size(), 1));
}

/// A token that chooses an expert more than once, and which; nothing where all choose distinct
/// ones.
std::optional<std::pair<int64_t, int64_t>> ChosenTwice(const std::vector<int64_t>& choices,
                                                       int64_t of_token) {
  for (size_t i = 0; i < choices.size(); ++i) {
    const auto token = static_cast<int64_t>(i) / of_token;
    const auto first = choices.begin() + token * of_token;
    const auto here = choices.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(first, here, *here) != here) {
      return std::pair(token, *here);
    }
  }
  return std::nullopt;
}

/// Of each layer; nothing, and a message, where the choices are not those of so many tokens.
bool CountDistinct(const Routing& routing, int64_t layers, RoutingCost* found,
                   std::string* mismatch) {
  const auto lines = static_cast<int64_t>(routing.choices.size());
  if (lines > 1 && lines != layers) {
    *mismatch = fmt::format("there are choices for {} layers, but {} {}", lines, layers,
                            layers == 1 ? "chooses" : "choose");
    return false;
  }
  for (int64_t layer = 0; layer < layers; ++layer) {
    if (routing.choices.empty()) {
      Add(Draw(static_cast<uint64_t>(layer))
              .Taken(found->tokens, found->chosen, found->experts, routing.exponent),
          found);
      continue;
    }
    const std::vector<int64_t>& choices =
        routing.choices[lines == 1 ? 0 : static_cast<size_t>(layer)];
    if (static_cast<int64_t>(choices.size()) != found->tokens * found->chosen) {
      *mismatch = fmt::format("layer {} has {} choices, but {} tokens choose {} experts each",
                              layer, choices.size(), found->tokens, found->chosen);
      return false;
    }
    std::set<int64_t> taken(choices.begin(), choices.end());
    if (*taken.begin() < 0 || *taken.rbegin() >= found->experts) {
      *mismatch =
          fmt::format("layer {} chooses expert {}, outside of 0..{}", layer,
                      *taken.begin() < 0 ? *taken.begin() : *taken.rbegin(), found->experts);
      return false;
    }
    if (auto twice = ChosenTwice(choices, found->chosen)) {
      *mismatch = fmt::format("in layer {} token {} chooses expert {} twice", layer, twice->first,
                              twice->second);
      return false;
    }
    std::vector<int64_t> tokens(static_cast<size_t>(found->experts));
    for (int64_t expert : choices) {
      ++tokens[static_cast<size_t>(expert)];
    }
    Add(std::move(tokens), found);
  }
  return true;
}

}  // namespace

std::optional<RoutingCost> CostOfRouting(const Module& module, const Kernel& kernel,
                                         const std::vector<CallCost>& calls, const Env& dims,
                                         const Routing& routing, std::string* mismatch) {
  RoutingSizes sizes{module, dims, RangesOf(module, kernel)};
  RoutingCost found;
  if (!FindRouter(module, calls, sizes, &found)) {
    *mismatch = fmt::format("no call of kernel `@{}` chooses by `topk`", kernel.name);
    return std::nullopt;
  }
  if (!CountDistinct(routing, calls[found.router].iterations, &found, mismatch)) {
    return std::nullopt;
  }
  double sum = 0;
  for (int64_t distinct : found.distinct) {
    sum += static_cast<double>(distinct);
  }
  auto layers = static_cast<double>(std::max<size_t>(found.distinct.size(), 1));
  found.mean_distinct = sum / layers;
  for (size_t i = 0; i < calls.size(); ++i) {
    const auto& share = std::get<Share>(module.nodes[calls[i].share]);
    const Device& device = module.devices[share.callee];
    const ExpertReads reads = ReadsOf(sizes, device, found.experts);
    if (reads.tensors.empty()) {
      continue;
    }
    RoutedCall call{i, {}, reads.own};
    for (TensorId id : reads.tensors) {
      double bytes = static_cast<double>(SizeInBytes(module.tensors[id].type));
      for (ExprId extent : module.tensors[id].shape) {
        bytes *= static_cast<double>(sizes.Of(extent));
      }
      call.expert_bytes += bytes / static_cast<double>(call.experts);
      size_t param = static_cast<size_t>(std::find(device.params.begin(), device.params.end(), id) -
                                         device.params.begin());
      call.tensors.push_back(share.args[param].tensor);
    }
    call.tokens_at_once = reads.tokens_at_once;
    const std::vector<std::vector<Place>> lists = ListsOf(found, call);
    if (!ReadsTensor(module, device.tasks)) {
      // Where a coordinate says the place in the list, tasks at places behind it have no expert.
      // Else each task has all places.
      call.tasks = static_cast<double>(calls[i].tasks);
      call.places = reads.list;
      int64_t inner = 1;
      for (auto axis = device.tasks.rbegin(); axis != device.tasks.rend(); ++axis) {
        int64_t extent = sizes.Of(axis->hi) - sizes.Of(axis->lo);
        bool is_place = std::any_of(reads.places.begin(), reads.places.end(), [&](ExprId place) {
          return IsSymbol(module, place, axis->var);
        });
        if (is_place && extent > 0) {
          call.places = extent;
          call.tasks_of_place = inner;
          *call.tasks *= std::min(MeanPlaces(lists) / static_cast<double>(extent), 1.0);
        }
        inner *= extent;
      }
    }
    found.bytes += MeanDistinct(lists) * layers * call.expert_bytes;
    found.calls.push_back(std::move(call));
  }
  return found;
}

void ApplyRouting(const RoutingCost& routing, std::vector<CallCost>& calls) {
  for (const RoutedCall& routed : routing.calls) {
    CallCost& call = calls[routed.call];
    std::vector<std::vector<Place>> lists = ListsOf(routing, routed);
    call.streamed_bytes = call.copied_bytes = routed.expert_bytes * MeanDistinct(lists);
    for (TensorId tensor : call.streams) {
      call.reads.erase(tensor);
    }
    for (TensorId tensor : routed.tensors) {
      if (auto read = call.reads.find(tensor); read != call.reads.end()) {
        call.read_bytes -= read->second;
      }
      call.reads[tensor] = call.streamed_bytes / static_cast<double>(routed.tensors.size());
    }
    if (routed.places == 0) {
      continue;
    }
    double taken = MeanPlaces(lists), sizes = 0;
    for (const std::vector<Place>& list : lists) {
      for (const Place& place : list) {
        sizes += place.size / static_cast<double>(lists.size());
      }
    }
    // As the bodies are counted, all places are full.
    double part = sizes / static_cast<double>(routed.places);
    call.fetched_bytes *= part;
    call.flops *= part;
    for (auto* bytes : {&call.fetches, &call.stores}) {
      for (auto& [tensor, number] : *bytes) {
        number *= part;
      }
    }
    if (routed.tasks_of_place == 0 || taken <= 0) {
      continue;
    }
    call.copied_bytes = routed.expert_bytes * taken;
    call.working_tasks = std::llround(*routed.tasks);
    for (std::vector<Place>& list : lists) {
      for (Place& place : list) {
        place.size *= taken / sizes;
      }
    }
    call.listed = {routed.places, routed.tasks_of_place, std::move(lists)};
  }
}

}  // namespace etc
