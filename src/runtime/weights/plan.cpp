#include "runtime/weights/plan.h"

#include <algorithm>
#include <numeric>

#include "runtime/dtype.h"
#include "runtime/manifest_expr.h"
#include "runtime/parts.h"

namespace etc::runtime {
namespace {

std::string ShapeText(const std::vector<int64_t>& shape, size_t first) {
  std::string text = "[";
  for (size_t i = first; i < shape.size(); ++i) {
    text += Cat(i == first ? "" : ", ", shape[i]);
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
    const std::string& source = ChooseSource();
    if (!checkpoint_.untied_by().empty() && IsOfAnother(source)) {
      Problem(Cat("tensor `", FirstName(param_.sources.front()), "` is missing, and `",
                  checkpoint_.untied_by(), "` says that `", FirstName(source),
                  "` does not stand for it: `tie_word_embeddings` is false"));
      return;
    }
    const size_t places = PlacesOf(source).size();
    if (places > param_.shape.size() - (param_.tile ? 2 : 0)) {
      Problem(Cat("`", source, "` has ", places, " indices, too many for the rank ",
                  param_.shape.size()));
      return;
    }
    TakeRuns(places);
    const bool is_whole = TakeParts(source, places);
    if (is_whole) {
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
  std::string FirstName(const std::string& source) const {
    return prefix_ + FillName(source, std::vector<int64_t>(PlacesOf(source).size()));
  }

  /// Whether the parameter borrows the tensor of another one, as a head does with tied embeddings.
  bool IsOfAnother(const std::string& source) const {
    const auto owns = [&](const manifest::Param& param) {
      return !param.sources.empty() && param.sources.front() == source;
    };
    return !owns(param_) && std::any_of(graph_.params.begin(), graph_.params.end(), owns);
  }

  /// The first name whose first tensor is there; the first of all where none is.
  const std::string& ChooseSource() const {
    for (const std::string& source : param_.sources) {
      if (checkpoint_.Find(FirstName(source)) != nullptr) {
        return source;
      }
    }
    return param_.sources.front();
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
      is_whole &= TakePart(prefix_ + FillName(source, indices), places);
    }
    return is_whole;
  }

  /// Of a parameter of which ranks have parts.
  void TakeRuns(size_t places) {
    whole_ = weights_.shape;
    if (cut_ == 1) {
      return;
    }
    const auto axis = static_cast<size_t>(*param_.shard);
    whole_[axis] *= cut_;
    if (axis < places) {
      return;  // the places in a name are those of all ranks: see TakeParts
    }
    const int64_t length = std::accumulate(weights_.shape.begin() + *param_.shard,
                                           weights_.shape.end(), int64_t{1}, std::multiplies<>());
    weights_.runs = {length, own_ * length, cut_ * length};
  }

  bool TakePart(const std::string& name, size_t places) {
    const CheckpointTensor* tensor = checkpoint_.Find(name);
    if (tensor == nullptr) {
      Problem(Cat("tensor `", name, "` is missing"));
      return false;
    }
    if (!std::equal(tensor->shape.begin(), tensor->shape.end(),
                    whole_.begin() + static_cast<std::ptrdiff_t>(places), whole_.end())) {
      Problem(Cat("tensor `", name, "` has the shape ", ShapeText(tensor->shape, 0),
                  ", but must have ", ShapeText(whole_, places)));
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
             other.param->shard == param_.shard;
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
