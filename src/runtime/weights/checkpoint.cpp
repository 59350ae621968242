#include "runtime/weights/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "runtime/json_object.h"
#include "runtime/log.h"

namespace etc::runtime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOneFile = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kConfig = "config.json";

/// Names of tensors by the file that holds them.
using Shards = std::map<std::string, std::vector<std::string>>;

/// A file beside the index: a path out of the folder is not one.
bool IsPlainName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

Status ReadIndex(std::string_view text, Shards* shards) {
  JsonDocument document;
  JsonObject root;
  const JsonValue* map = nullptr;
  ETC_RETURN_IF_BAD(document.Parse(text));
  ETC_RETURN_IF_BAD(JsonObject::Open(document.root(), &root));
  ETC_RETURN_IF_BAD(root.Need("weight_map", &map));
  if (map->kind != JsonValue::Kind::Object) {
    return WrongKind(*map, "an object");
  }
  for (const JsonValue* member = map->first; member != nullptr; member = member->next) {
    std::string file;
    ETC_RETURN_IF_BAD(Read(*member, &file));
    if (!IsPlainName(file)) {
      return Bad(*member, Cat("is `", Shown(file), "`, which is no file in the folder"));
    }
    (*shards)[file].emplace_back(member->key);
  }
  return {};
}

/// Of the model of text, where the configuration has one of it.
Status ReadUntied(std::string_view text, bool* untied) {
  JsonDocument document;
  JsonObject config;
  ETC_RETURN_IF_BAD(document.Parse(text));
  ETC_RETURN_IF_BAD(JsonObject::Open(document.root(), &config));
  if (config.Find("text_config") != nullptr) {
    ETC_RETURN_IF_BAD(config.GetObject("text_config", &config));
  }
  const JsonValue* tied = config.Find("tie_word_embeddings");
  *untied = tied != nullptr && tied->kind == JsonValue::Kind::Bool && !tied->boolean;
  return {};
}

/// A link to a file that is gone counts: reading it says so.
bool IsThere(const fs::path& file) {
  std::error_code error;
  return fs::exists(fs::symlink_status(file, error));
}

Status InFile(const std::string& path, Status status) {
  return status.Ok() ? status : Fail(ETC_ERROR_CHECKPOINT, "`", path, "`: ", status.message);
}

}  // namespace

Status Checkpoint::Open(const std::string& path) {
  path_ = path;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    ETC_RETURN_IF_BAD(AddFile(path, &tensors_));
  } else if (const fs::path index = fs::path(path) / kIndex; IsThere(index)) {
    ETC_RETURN_IF_BAD(OpenIndex(path, index.string()));
  } else if (const fs::path file = fs::path(path) / kOneFile; IsThere(file)) {
    ETC_RETURN_IF_BAD(AddFile(file.string(), &tensors_));
  } else {
    return Fail(ETC_ERROR_FILE, "folder `", path, "` has neither `", kIndex, "` nor `", kOneFile,
                "`");
  }
  ReadConfig((fs::path(path) / kConfig).string());
  MakeNames();
  return {};
}

Status Checkpoint::AddFile(const std::string& path, std::vector<CheckpointTensor>* tensors) {
  MappedFile& file = files_.emplace_back();
  ETC_RETURN_IF_BAD(MappedFile::Open(path, &file));
  ETC_RETURN_IF_BAD(InFile(path, ReadSafetensors(file.bytes(), tensors)));
  for (CheckpointTensor& tensor : *tensors) {
    tensor.file = &file;
  }
  return {};
}

Status Checkpoint::OpenIndex(const std::string& folder, const std::string& index) {
  MappedFile text;
  Shards shards;
  ETC_RETURN_IF_BAD(MappedFile::Open(index, &text));
  ETC_RETURN_IF_BAD(InFile(index, ReadIndex(text.bytes(), &shards)));
  for (auto& [file, names] : shards) {
    std::vector<CheckpointTensor> tensors;
    const std::string path = (fs::path(folder) / file).string();
    ETC_RETURN_IF_BAD(AddFile(path, &tensors));
    std::sort(names.begin(), names.end());
    for (CheckpointTensor& tensor : tensors) {
      if (const auto at = std::lower_bound(names.begin(), names.end(), tensor.name);
          at != names.end() && *at == tensor.name) {
        names.erase(at);
        tensors_.push_back(std::move(tensor));
      }
    }
    if (!names.empty()) {
      return Fail(ETC_ERROR_CHECKPOINT, "`", path, "` has no tensor `", Shown(names.front()),
                  "`, which `", kIndex, "` says is there");
    }
  }
  return {};
}

/// A checkpoint needs none, so one that cannot be read says nothing.
void Checkpoint::ReadConfig(const std::string& config) {
  std::error_code error;
  if (!fs::exists(config, error)) {
    return;
  }
  MappedFile text;
  bool untied = false;
  Status status = MappedFile::Open(config, &text);
  if (status.Ok()) {
    status = InFile(config, ReadUntied(text.bytes(), &untied));
  }
  if (!status.Ok()) {
    LogInfo("whether the embeddings are tied is not known: ", status.message);
  }
  if (untied) {
    untied_by_ = config;
  }
}

void Checkpoint::MakeNames() {
  for (const CheckpointTensor& tensor : tensors_) {
    by_name_.emplace(tensor.name, &tensor);
  }
}

const CheckpointTensor* Checkpoint::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

}  // namespace etc::runtime
