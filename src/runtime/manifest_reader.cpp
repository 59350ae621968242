#include "runtime/manifest_reader.h"

#include <cctype>
#include <limits>
#include <utility>

#include "runtime/features.h"
#include "runtime/graph_reader.h"
#include "runtime/hash.h"
#include "runtime/manifest_seal.h"

namespace etc::runtime {
namespace {

using Kind = JsonValue::Kind;

Status ReadTexts(const JsonObject& object, std::string_view key, std::vector<std::string>* texts) {
  return object.ForEach(key,
                        [&](const JsonValue& text) { return Read(text, &texts->emplace_back()); });
}

Status ReadTarget(const JsonObject& root, std::string* target) {
  const JsonValue* value = nullptr;
  ETC_RETURN_IF_BAD(root.Need("target", &value));
  ETC_RETURN_IF_BAD(Read(*value, target));
  const auto is_digit = [&](size_t at) {
    return std::isdigit(static_cast<unsigned char>((*target)[at])) != 0;
  };
  const bool is_arch =
      target->size() >= 5 && target->compare(0, 3, "sm_") == 0 && is_digit(3) && is_digit(4);
  return *target == "host" || is_arch
             ? Status{}
             : Bad(*value, Cat("is `", Shown(*target),
                               "`, but must be `host` or an arch such as `sm_90a`"));
}

/// JSON has no spelling for what is no finite number, so these are strings.
Status ReadFloat(const JsonValue& value, double* number) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const auto& [spelling, meant] :
       {std::pair("inf", kInfinity), std::pair("-inf", -kInfinity),
        std::pair("nan", std::numeric_limits<double>::quiet_NaN())}) {
    if (value.text == spelling) {
      *number = meant;
      return {};
    }
  }
  return WrongKind(value, "a number or a boolean");
}

Status ReadConstant(const JsonValue& value, manifest::Constant* constant) {
  if (value.key.empty() || value.key.find('\0') != std::string_view::npos) {
    return Bad(value, "has no name that a constant can have");
  }
  constant->name = value.key;
  switch (value.kind) {
    case Kind::Bool:
      constant->value = value.boolean;
      return {};
    case Kind::Float:
      constant->value = value.number;
      return {};
    case Kind::String:
      return ReadFloat(value, &constant->value.emplace<double>());
    case Kind::Integer:
    case Kind::Large:
      return Read(value, &constant->value.emplace<int64_t>());
    default:
      return WrongKind(value, "a number or a boolean");
  }
}

Status ReadConstants(const JsonObject& root, manifest::Manifest* manifest) {
  JsonObject constants;
  ETC_RETURN_IF_BAD(root.GetObject("constants", &constants));
  for (const JsonValue* value = constants.value().first; value != nullptr; value = value->next) {
    ETC_RETURN_IF_BAD(ReadConstant(*value, &manifest->constants.emplace_back()));
  }
  return {};
}

/// The first image is at 0, and each behind the one before.
Status ReadImages(const JsonValue& images, manifest::Binary* binary) {
  ETC_RETURN_IF_BAD(ReadEach(images, [&](const JsonValue& image) {
    const bool is_first = binary->images.empty();
    const int64_t least = is_first ? 0 : binary->images.back() + 1;
    const int64_t most = is_first ? 0 : binary->bytes - 1;
    return ReadWithin(image, least, most, &binary->images.emplace_back());
  }));
  return binary->images.empty() ? Bad(images, "is empty, but a binary has an image") : Status{};
}

Status ReadBinary(const JsonObject& root, manifest::Binary* binary) {
  JsonObject object;
  const JsonValue* file = nullptr;
  const JsonValue* hash = nullptr;
  ETC_RETURN_IF_BAD(root.GetObject("binary", &object));
  ETC_RETURN_IF_BAD(object.Need("file", &file));
  ETC_RETURN_IF_BAD(Read(*file, &binary->file));
  if (binary->file.empty() || binary->file == "." || binary->file == ".." ||
      binary->file.find('/') != std::string::npos) {
    return Bad(*file, Cat("is `", Shown(binary->file), "`, but must name a file beside it"));
  }
  ETC_RETURN_IF_BAD(object.Get("bytes", 0, INT64_MAX, &binary->bytes));
  ETC_RETURN_IF_BAD(object.Need("xxh3_128", &hash));
  ETC_RETURN_IF_BAD(Read(*hash, &binary->xxh3_128));
  if (!IsHash(binary->xxh3_128)) {
    return Bad(*hash, Cat("is `", Shown(binary->xxh3_128), "`, but must be 32 hexadecimal digits"));
  }
  if (const JsonValue* images = object.Find("images"); images != nullptr) {
    ETC_RETURN_IF_BAD(ReadImages(*images, binary));
  }
  return object.CheckKeys();
}

Status ReadProducer(const JsonObject& root, manifest::Producer* producer) {
  JsonObject object;
  ETC_RETURN_IF_BAD(root.GetObject("producer", &object));
  ETC_RETURN_IF_BAD(object.Get("etc", &producer->etc));
  ETC_RETURN_IF_BAD(object.Get("toolchain", &producer->toolchain));
  return ReadTexts(object, "flags", &producer->flags);  // other keys change nothing
}

Status ReadProofs(const JsonObject& root, const char* key, std::optional<manifest::Proofs>* out) {
  if (root.Find(key) == nullptr) {
    return {};
  }
  JsonObject object;
  manifest::Proofs& proofs = out->emplace();
  ETC_RETURN_IF_BAD(root.GetObject(key, &object));
  ETC_RETURN_IF_BAD(ReadTexts(object, "assumptions", &proofs.assumptions));
  ETC_RETURN_IF_BAD(ReadTexts(object, "not_proved", &proofs.not_proved));
  for (const JsonValue* value = object.value().first; value != nullptr; value = value->next) {
    if (value->is_read) {
      continue;
    }
    JsonObject tally;
    manifest::Proof& proof = proofs.tallies.emplace_back();
    proof.property = value->key;
    ETC_RETURN_IF_BAD(JsonObject::Open(*value, &tally));
    ETC_RETURN_IF_BAD(tally.Get("proved", 0, INT64_MAX, &proof.proved));
    ETC_RETURN_IF_BAD(tally.Get("not_proved", 0, INT64_MAX, &proof.not_proved));
    ETC_RETURN_IF_BAD(tally.CheckKeys());
  }
  return {};
}

Status ReadVersion(const JsonObject& root) {
  const JsonValue* value = nullptr;
  int64_t version = 0;
  ETC_RETURN_IF_BAD(root.Need("etc_manifest", &value));
  ETC_RETURN_IF_BAD(Read(*value, &version));
  return version == manifest::kVersion
             ? Status{}
             : Bad(*value, Cat("is version ", version, ", but this library reads version ",
                               manifest::kVersion));
}

/// That the text is whole and the library knows what it uses.
Status CheckWhole(const JsonObject& root, std::string_view text, manifest::Manifest* manifest) {
  const JsonValue* seal = nullptr;
  ETC_RETURN_IF_BAD(ReadVersion(root));
  ETC_RETURN_IF_BAD(root.Need(kSealKey, &seal));
  ETC_RETURN_IF_BAD(CheckSeal(text, &manifest->hash));
  if (seal->next != nullptr || seal->kind != Kind::String || seal->text != manifest->hash) {
    return Bad(*seal, "must be the last key, the hash of the text");
  }
  ETC_RETURN_IF_BAD(ReadTexts(root, "features", &manifest->features));
  return CheckFeaturesKnown(manifest->features);
}

Status ReadRoot(const JsonObject& root, manifest::Manifest* manifest) {
  const JsonValue* graphs = nullptr;
  ETC_RETURN_IF_BAD(ReadTarget(root, &manifest->target));
  ETC_RETURN_IF_BAD(ReadBinary(root, &manifest->binary));
  ETC_RETURN_IF_BAD(ReadProducer(root, &manifest->producer));
  ETC_RETURN_IF_BAD(ReadConstants(root, manifest));
  ETC_RETURN_IF_BAD(root.Need("graphs", &graphs));
  ETC_RETURN_IF_BAD(
      ReadEach(*graphs, [&](const JsonValue& graph) { return ReadGraph(graph, manifest); }));
  if (manifest->graphs.empty()) {
    return Bad(*graphs, "is empty");
  }
  if (root.Find("debug_checks") != nullptr) {
    ETC_RETURN_IF_BAD(ReadTexts(root, "debug_checks", &manifest->debug_checks.emplace()));
  }
  if (root.Find("watchdog") != nullptr) {
    ETC_RETURN_IF_BAD(ReadTexts(root, "watchdog", &manifest->watchdog.emplace()));
  }
  ETC_RETURN_IF_BAD(ReadProofs(root, "proofs", &manifest->proofs));
  ETC_RETURN_IF_BAD(ReadProofs(root, "kernel_proofs", &manifest->kernel_proofs));
  root.Find("resources");  // for readers: changes nothing
  ETC_RETURN_IF_BAD(root.CheckKeys());
  return CheckFeaturesListed(*manifest);
}

}  // namespace

Status ReadManifest(std::string_view text, manifest::Manifest* manifest) {
  JsonDocument document;
  JsonObject root;
  ETC_RETURN_IF_BAD(document.Parse(text));
  ETC_RETURN_IF_BAD(JsonObject::Open(document.root(), &root));
  ETC_RETURN_IF_BAD(CheckWhole(root, text, manifest));
  return ReadRoot(root, manifest);
}

}  // namespace etc::runtime
