#include "runtime/weights/plan.h"

#include <algorithm>
#include <numeric>

#include "runtime/dtype.h"
#include "runtime/manifest_expr.h"
#include "runtime/parts.h"

namespace etc::runtime {
namespace {

using manifest::Source;

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += Cat(i == 0 ? "" : ", ", shape[i]);
  }
  return text + "]";
}

/// Calls `replace(place)` for each `{place}` and gives the text with what it returns.
template <class Replace>
std::string ReplacePlaces(const std::string& source, Replace replace) {
  std::string text;
  for (size_t at = 0; at < source.size();) {
    const size_t open = source.find('{', at);
    const size_t close = open == std::string::npos ? open : source.find('}', open);
    if (close == std::string::npos) {
      return text + source.substr(at);
    }
    text += source.substr(at, open - at) + replace(source.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  return text;
}

/// The plan of one parameter.
class Planner {
 public:
  Planner(const manifest::Graph& graph, const manifest::Param& param, const Checkpoint& checkpoint,
          const std::string& prefix, RankOf share, WeightPlan* plan)
      : graph_(graph),
        param_(param),
        checkpoint_(checkpoint),
        prefix_(prefix),
        share_(share),
        plan_(*plan),
        dims_(graph.dims.size()) {
    weights_.param = &param;
    if (graph.mesh) {
      dims_[static_cast<size_t>(graph.mesh->size)] = share.ranks;
    }
  }

  void Run() {
    if (!TakeShape() || !CountParts()) {
      return;
    }
    const Source* chosen = ChooseSource();
    if (chosen == nullptr) {
      return;
    }
    const Source& source = *chosen;
    if (!checkpoint_.untied_by().empty() && IsOfAnother(source)) {
      Problem(Cat("tensor `", FirstName(param_.sources.front()), "` is missing, and `",
                  checkpoint_.untied_by(), "` says that `", FirstName(source),
                  "` does not stand for it: `tie_word_embeddings` is false"));
      return;
    }
    const size_t places = PlacesOf(source.name).size();
    if (places > param_.shape.size() - (param_.tile ? 2 : 0)) {
      Problem(Cat("`", source.name, "` has ", places, " indices, too many for the rank ",
                  param_.shape.size()));
      return;
    }
    TakeWhole();
    if (!TakeRanges(source, places)) {
      return;
    }
    const bool is_whole = TakeParts(source.name, places);
    if (is_whole) {
      TakeRuns(places);
      FindSame();
      plan_.params.push_back(std::move(weights_));
    }
  }

 private:
  void Problem(std::string text) { plan_.problems.push_back({&param_, std::move(text)}); }

  bool TakeShape() {
    weights_.elements = 1;
    std::vector<int64_t> known;
    for (const std::optional<int64_t>& dim : dims_) {
      known.push_back(dim.value_or(0));
    }
    for (size_t axis = 0; axis < param_.shape.size(); ++axis) {
      const manifest::Expr& extent = param_.shape[axis];
      if (!IsKnown(extent, dims_)) {
        Problem("its shape depends on sizes");
        return false;
      }
      int64_t value = 0;
      if (Status status = Evaluate(extent, known, &value); !status.Ok()) {
        Problem(Cat("extent ", axis, " ", status.message));
        return false;
      }
      weights_.shape.push_back(value);
      if (__builtin_mul_overflow(weights_.elements, value, &weights_.elements)) {
        Problem("its size overflows");
        return false;
      }
    }
    if (param_.tile) {
      TiledShape tiled;
      if (Status status = FitTiles(graph_, param_, weights_.shape.data(),
                                   static_cast<int32_t>(weights_.shape.size()), &tiled);
          !status.Ok()) {
        Problem(status.message);
        return false;
      }
      weights_.tiled = tiled;
    }
    return true;
  }

  bool CountParts() {
    if (Status status = runtime::CountParts(graph_, param_, share_.ranks, &cut_); !status.Ok()) {
      Problem(status.message);
      return false;
    }
    own_ = PartOf(share_.rank, share_.ranks, cut_);
    return true;
  }

  /// In the checkpoint.
  std::string FirstName(const Source& source) const {
    return prefix_ + FillName(source.name, std::vector<int64_t>(PlacesOf(source.name).size()));
  }

  /// Whether the parameter borrows the tensor of another one, as a head does with tied embeddings.
  bool IsOfAnother(const Source& source) const {
    const auto owns = [&](const manifest::Param& param) {
      return !param.sources.empty() && param.sources.front().name == source.name;
    };
    return !owns(param_) && std::any_of(graph_.params.begin(), graph_.params.end(), owns);
  }

  /// The first name whose first tensor is there. Of several names, one has to be.
  const Source* ChooseSource() {
    std::string missing;
    for (const Source& source : param_.sources) {
      if (checkpoint_.Find(FirstName(source)) != nullptr) {
        return &source;
      }
      missing += Cat(missing.empty() ? "`" : ", `", FirstName(source), "`");
    }
    if (param_.sources.size() == 1) {
      return &param_.sources.front();
    }
    Problem(Cat("none of the tensors ", missing, " is there"));
    return nullptr;
  }

  bool TakeParts(const std::string& source, size_t places) {
    const auto axes = weights_.shape.begin() + static_cast<std::ptrdiff_t>(places);
    const int64_t parts =
        std::accumulate(weights_.shape.begin(), axes, int64_t{1}, std::multiplies<>());
    std::vector<int64_t> indices(places);
    bool is_whole = true;
    for (int64_t part = 0; part < parts; ++part) {
      int64_t rest = part;
      for (size_t axis = places; axis-- > 0;) {
        indices[axis] = rest % weights_.shape[axis];
        rest /= weights_.shape[axis];
        if (param_.shard == static_cast<int64_t>(axis)) {
          indices[axis] += own_ * weights_.shape[axis];
        }
      }
      is_whole &= TakePart(prefix_ + FillName(source, indices));
    }
    return is_whole;
  }

  void TakeWhole() {
    whole_ = weights_.shape;
    if (cut_ > 1) {
      whole_[static_cast<size_t>(*param_.shard)] *= cut_;
    }
  }

  /// Which elements are taken of each axis of a tensor.
  bool TakeRanges(const Source& source, size_t places) {
    if (source.ranges.size() > whole_.size() - places) {
      Problem(Cat("`", source.name, "` has ", source.ranges.size(), " ranges, too many for ",
                  whole_.size() - places, " axes"));
      return false;
    }
    for (size_t i = 0; places + i < whole_.size(); ++i) {
      const int64_t extent = whole_[places + i];
      const bool has_range = i < source.ranges.size() && source.ranges[i];
      const Source::Range range =
          has_range ? *source.ranges[i] : Source::Range{0, extent, extent, false};
      const int64_t elements = range.end - range.first;
      if (range.is_padded && (i != 0 || elements > extent)) {
        Problem(Cat("`", source.name, "` pads axis ", i, " of ", elements, " elements to ", extent,
                    i == 0 ? "" : ", but only the first axis can be padded"));
        return false;
      }
      if (!range.is_padded && elements != extent) {
        Problem(Cat("`", source.name, "` has a range of ", elements, " elements for an axis of ",
                    extent));
        return false;
      }
      weights_.taken.push_back(range);
      of_tensor_.push_back(range.extent);
    }
    return true;
  }

  /// Of each tensor.
  void TakeRuns(size_t places) {
    PartRuns runs{1, 0, {}};
    int64_t stride = 1;
    bool is_all = true;  // of the axes so far
    for (size_t i = of_tensor_.size(); i-- > 0;) {
      const size_t axis = places + i;
      const int64_t elements = weights_.shape[axis];
      const int64_t before = param_.shard == static_cast<int64_t>(axis) ? own_ * elements : 0;
      runs.offset += (weights_.taken[i].first + before) * stride;
      if (is_all) {
        runs.length *= elements;
        is_all = whole_[axis] == elements && elements == of_tensor_[i];
      } else {
        runs.loops.push_back({elements, stride});
      }
      stride *= of_tensor_[i];
    }
    if (!is_all) {
      weights_.runs = std::move(runs);
    }
  }

  bool TakePart(const std::string& name) {
    const CheckpointTensor* tensor = checkpoint_.Find(name);
    if (tensor == nullptr) {
      Problem(Cat("tensor `", name, "` is missing"));
      return false;
    }
    if (tensor->shape != of_tensor_) {
      Problem(Cat("tensor `", name, "` has the shape ", ShapeText(tensor->shape),
                  ", but must have ", ShapeText(of_tensor_)));
      return false;
    }
    if (FindConversion(tensor->dtype, param_.dtype).kind == Conversion::Kind::None) {
      Problem(Cat("tensor `", name, "` has the dtype ", tensor->dtype, ", which does not become ",
                  FindDType(param_.dtype)->name));
      return false;
    }
    weights_.parts.push_back(tensor);
    return true;
  }

  void FindSame() {
    const auto same = [&](const ParamWeights& other) {
      return other.parts == weights_.parts && other.shape == weights_.shape &&
             other.param->dtype == param_.dtype && other.param->tile == param_.tile &&
             other.param->shard == param_.shard && other.runs == weights_.runs;
    };
    const auto found = std::find_if(plan_.params.begin(), plan_.params.end(), same);
    if (found != plan_.params.end() && !weights_.parts.empty()) {
      weights_.same_as = static_cast<size_t>(found - plan_.params.begin());
    }
  }

  const manifest::Graph& graph_;
  const manifest::Param& param_;
  const Checkpoint& checkpoint_;
  const std::string& prefix_;
  const RankOf share_;
  WeightPlan& plan_;
  std::vector<std::optional<int64_t>> dims_;  // that of the mesh alone is known
  std::vector<int64_t> whole_;                // the shape of all parts together
  std::vector<int64_t> of_tensor_;            // the shape of each tensor
  int64_t cut_ = 1;                           // in so many parts,
  int64_t own_ = 0;                           // of which the rank has this one
  ParamWeights weights_;
};

}  // namespace

int64_t ParamWeights::Bytes() const { return elements * FindDType(param->dtype)->bytes; }

std::vector<std::string> PlacesOf(const std::string& source) {
  std::vector<std::string> places;
  ReplacePlaces(source, [&](const std::string& place) {
    if (std::find(places.begin(), places.end(), place) == places.end()) {
      places.push_back(place);
    }
    return std::string();
  });
  return places;
}

std::string FillName(const std::string& source, const std::vector<int64_t>& indices) {
  const std::vector<std::string> places = PlacesOf(source);
  return ReplacePlaces(source, [&](const std::string& place) {
    const auto at = std::find(places.begin(), places.end(), place);
    return std::to_string(indices[static_cast<size_t>(at - places.begin())]);
  });
}

WeightPlan PlanWeights(const manifest::Graph& graph, const Checkpoint& checkpoint,
                       const std::string& prefix, RankOf share) {
  WeightPlan plan;
  for (const manifest::Param& param : graph.params) {
    if (!param.sources.empty()) {
      Planner(graph, param, checkpoint, prefix, share, &plan).Run();
    }
  }
  return plan;
}

}  // namespace etc::runtime
