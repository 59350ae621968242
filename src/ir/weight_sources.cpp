#include "ir/weight_sources.h"

#include <algorithm>

#include "ir/evaluate.h"
#include "ir/shard.h"

namespace etc {
namespace {

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::optional<std::vector<std::string_view>> PlacesOf(std::string_view source) {
  std::vector<std::string_view> places;
  for (size_t at = source.find_first_of("{}"); at != std::string_view::npos;
       at = source.find_first_of("{}", at)) {
    size_t end = source.find_first_of("{}", at + 1);
    if (source[at] == '}' || end == std::string_view::npos || source[end] == '{') {
      return std::nullopt;
    }
    std::string_view place = source.substr(at + 1, end - at - 1);
    if (place.empty() || !std::all_of(place.begin(), place.end(), IsWordCharacter)) {
      return std::nullopt;
    }
    if (std::find(places.begin(), places.end(), place) == places.end()) {
      places.push_back(place);
    }
    at = end + 1;
  }
  return places;
}

std::optional<int64_t> WholeExtentOf(const Module& module, const Tensor& param, size_t axis) {
  return EvaluateInt(module, param.shard == axis ? WholeExtent(module, param) : param.shape[axis],
                     {});
}

}  // namespace etc
