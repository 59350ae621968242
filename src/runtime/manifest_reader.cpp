#include "runtime/manifest_reader.h"

#include <algorithm>
#include <utility>

#include "runtime/graph_reader.h"

namespace etc::runtime {
namespace {

using nlohmann::json;

Status ReadConstants(const JsonObject& root, manifest::Manifest* manifest) {
  const json* values = nullptr;
  ETC_RETURN_IF_BAD(root.Need("constants", &values));
  if (!values->is_object()) {
    return WrongKind("constants", *values, "an object");
  }
  for (const auto& [name, value] : values->items()) {
    const std::string where = Cat("constants.", name);
    manifest::Constant constant{name, false};
    if (value.is_boolean()) {
      constant.value = value.get<bool>();
    } else if (value.is_number_float()) {
      constant.value = value.get<double>();
    } else {
      int64_t number = 0;
      ETC_RETURN_IF_BAD(Read(value, where, &number));
      constant.value = number;
    }
    manifest->constants.push_back(std::move(constant));
  }
  return {};
}

Status ReadBinary(const JsonObject& root, manifest::Binary* binary) {
  JsonObject object;
  ETC_RETURN_IF_BAD(root.GetObject("binary", &object));
  ETC_RETURN_IF_BAD(object.Get("file", &binary->file));
  if (binary->file.empty() || binary->file.find('/') != std::string::npos) {
    return Bad(object.At("file"), Cat("is `", binary->file, "`, but must name a file beside it"));
  }
  ETC_RETURN_IF_BAD(object.Get("bytes", 0, INT64_MAX, &binary->bytes));
  return object.Get("xxh3_128", &binary->xxh3_128);
}

Status ReadProducer(const JsonObject& root, manifest::Producer* producer) {
  JsonObject object;
  ETC_RETURN_IF_BAD(root.GetObject("producer", &object));
  ETC_RETURN_IF_BAD(object.Get("etc", &producer->etc));
  ETC_RETURN_IF_BAD(object.Get("toolchain", &producer->toolchain));
  return object.ForEach("flags", [&](const json& flag, const std::string& place) {
    return Read(flag, place, &producer->flags.emplace_back());
  });
}

Status ReadRoot(const json& document, manifest::Manifest* manifest) {
  if (!document.is_object()) {
    return Fail(ETC_ERROR_MANIFEST, "is ", KindOf(document), ", but an object is expected");
  }
  JsonObject root;
  int64_t version = 0;
  ETC_RETURN_IF_BAD(JsonObject::Open(document, "", &root));
  ETC_RETURN_IF_BAD(root.Get("etc_manifest", &version));
  if (version != manifest::kVersion) {
    return Bad("etc_manifest", Cat("is version ", version, ", but this library reads version ",
                                   manifest::kVersion));
  }
  ETC_RETURN_IF_BAD(root.Get("target", &manifest->target));
  ETC_RETURN_IF_BAD(ReadBinary(root, &manifest->binary));
  ETC_RETURN_IF_BAD(ReadProducer(root, &manifest->producer));
  ETC_RETURN_IF_BAD(ReadConstants(root, manifest));
  ETC_RETURN_IF_BAD(root.ForEach("graphs", [&](const json& graph, const std::string& place) {
    return ReadGraph(graph, place, manifest);
  }));
  if (root.Find("debug_checks") != nullptr) {
    manifest->debug_checks.emplace();
    ETC_RETURN_IF_BAD(root.ForEach("debug_checks", [&](const json& text, const std::string& place) {
      return Read(text, place, &manifest->debug_checks->emplace_back());
    }));
  }
  return manifest->graphs.empty() ? Bad("graphs", "is empty") : Status{};
}

}  // namespace

Status ReadManifest(const std::string& text, manifest::Manifest* manifest) {
  json document;
  try {
    document = json::parse(text);
  } catch (const json::parse_error& error) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    return Fail(ETC_ERROR_MANIFEST, "what stands in line ", std::count(text.begin(), end, '\n') + 1,
                " is no JSON");
  } catch (const json::exception&) {
    return Fail(ETC_ERROR_MANIFEST, "has a number that is out of range");
  }
  return ReadRoot(document, manifest);
}

}  // namespace etc::runtime
