#include "runtime/weights/safetensors.h"

#include <algorithm>
#include <utility>

#include "runtime/json_object.h"
#include "runtime/little_endian.h"

namespace etc::runtime {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr size_t kMaxRank = 16;
constexpr std::string_view kMetadata = "__metadata__";

constexpr std::pair<std::string_view, int64_t> kDTypes[] = {
    {"F64", 8},     {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F8_E4M3", 1},
    {"F8_E5M2", 1}, {"I64", 8}, {"I32", 4}, {"I16", 2},  {"I8", 1},
    {"U64", 8},     {"U32", 4}, {"U16", 2}, {"U8", 1},   {"BOOL", 1}};

/// Where a tensor's bytes lie, counted from the end of the header.
struct Place {
  int64_t begin = 0;
  int64_t end = 0;
  const CheckpointTensor* tensor = nullptr;
};

/// Elements times bytes of each.
Status BytesOf(const JsonValue& value, const CheckpointTensor& tensor, int64_t element,
               int64_t* bytes) {
  *bytes = element;
  for (const int64_t extent : tensor.shape) {
    if (__builtin_mul_overflow(*bytes, extent, bytes)) {
      return Bad(value, "has more bytes than a file can have");
    }
  }
  return {};
}

Status ReadPlace(const JsonObject& object, int64_t room, Place* place) {
  const JsonValue* offsets = nullptr;
  std::vector<int64_t> ends;
  ETC_RETURN_IF_BAD(object.Need("data_offsets", &offsets));
  ETC_RETURN_IF_BAD(ReadEach(*offsets, [&](const JsonValue& offset) {
    return ReadWithin(offset, 0, room, &ends.emplace_back());
  }));
  if (ends.size() != 2 || ends[0] > ends[1]) {
    return Bad(*offsets, "must be the first byte and the one behind the last");
  }
  place->begin = ends[0];
  place->end = ends[1];
  return {};
}

Status ReadTensor(const JsonValue& value, std::string_view data, CheckpointTensor* tensor,
                  Place* place) {
  JsonObject object;
  const JsonValue* shape = nullptr;
  ETC_RETURN_IF_BAD(JsonObject::Open(value, &object));
  tensor->name = std::string(value.key);
  ETC_RETURN_IF_BAD(object.Get("dtype", &tensor->dtype));
  ETC_RETURN_IF_BAD(object.Need("shape", &shape));
  ETC_RETURN_IF_BAD(ReadEach(*shape, [&](const JsonValue& extent) {
    return ReadWithin(extent, 0, INT64_MAX, &tensor->shape.emplace_back());
  }));
  if (tensor->shape.size() > kMaxRank) {
    return Bad(*shape, Cat("has more than ", kMaxRank, " extents"));
  }
  ETC_RETURN_IF_BAD(ReadPlace(object, static_cast<int64_t>(data.size()), place));
  ETC_RETURN_IF_BAD(object.CheckKeys());
  const int64_t element = BytesOfSafetensorsDType(tensor->dtype);
  if (element != 0) {
    int64_t bytes = 0;
    ETC_RETURN_IF_BAD(BytesOf(value, *tensor, element, &bytes));
    if (bytes != place->end - place->begin) {
      return Bad(value, Cat("has ", place->end - place->begin, " bytes, but its shape and dtype ",
                            "need ", bytes));
    }
  }
  tensor->bytes = data.substr(static_cast<size_t>(place->begin),
                              static_cast<size_t>(place->end - place->begin));
  return {};
}

Status CheckApart(std::vector<Place> places) {
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  for (size_t i = 1; i < places.size(); ++i) {
    if (places[i].begin < places[i - 1].end) {
      return Fail(ETC_ERROR_CHECKPOINT, "the tensors `", Shown(places[i - 1].tensor->name),
                  "` and `", Shown(places[i].tensor->name), "` share bytes");
    }
  }
  return {};
}

/// The same failure as one of a checkpoint: the JSON reader's other users read manifests.
Status OfCheckpoint(Status status) {
  if (status.code == ETC_ERROR_MANIFEST) {
    status.code = ETC_ERROR_CHECKPOINT;
  }
  return status;
}

Status ReadHeader(std::string_view header, std::string_view data,
                  std::vector<CheckpointTensor>* tensors) {
  JsonDocument document;
  ETC_RETURN_IF_BAD(document.Parse(header));
  const JsonValue& root = document.root();
  if (root.kind != JsonValue::Kind::Object) {
    return WrongKind(root, "an object");
  }
  std::vector<Place> places;
  tensors->reserve(root.size);  // the places point to them
  for (const JsonValue* member = root.first; member != nullptr; member = member->next) {
    if (member->key != kMetadata) {
      ETC_RETURN_IF_BAD(
          ReadTensor(*member, data, &tensors->emplace_back(), &places.emplace_back()));
      places.back().tensor = &tensors->back();
    }
  }
  return CheckApart(std::move(places));
}

}  // namespace

int64_t BytesOfSafetensorsDType(std::string_view dtype) {
  for (const auto& [name, bytes] : kDTypes) {
    if (name == dtype) {
      return bytes;
    }
  }
  return 0;
}

Status ReadSafetensors(std::string_view file, std::vector<CheckpointTensor>* tensors) {
  if (file.size() < kLengthBytes) {
    return Fail(ETC_ERROR_CHECKPOINT, "the file has ", file.size(), " bytes, too few for a header");
  }
  const uint64_t length = NumberAt(file, 0);
  if (length > file.size() - kLengthBytes) {
    return Fail(ETC_ERROR_CHECKPOINT, "the file has ", file.size(),
                " bytes, but its header alone has ", length);
  }
  return OfCheckpoint(
      ReadHeader(file.substr(kLengthBytes, length), file.substr(kLengthBytes + length), tensors));
}

}  // namespace etc::runtime
