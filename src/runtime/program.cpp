#include "runtime/program.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "runtime/launches.h"
#include "runtime/manifest_expr.h"
#include "runtime/manifest_reader.h"

namespace etc::runtime {
namespace {

std::string WhereText(const manifest::Kernel& kernel, const manifest::Graph& graph) {
  std::string text;
  for (const manifest::Where& where : kernel.where) {
    text += Cat(text.empty() ? "" : ", ", graph.dims[static_cast<size_t>(where.dim)].name, " in ",
                where.min, "..", where.max);
  }
  return text;
}

}  // namespace

Status Program::Load(const std::string& path, std::shared_ptr<const Program>* program) {
  const std::filesystem::path given(path);
  auto loaded = std::make_shared<Program>();
  const bool is_manifest = given.extension() == ".json";
  loaded->path_ =
      (is_manifest ? given : std::filesystem::path(given).replace_extension(".json")).string();

  std::string text;
  ETC_RETURN_IF_BAD(ReadFile(loaded->path_, &text));
  if (Status status = ReadManifest(text, &loaded->manifest_); !status.Ok()) {
    return Fail(status.code, "manifest `", loaded->path_, "`: ", status.message);
  }
  const manifest::Binary& expected = loaded->manifest_.binary;
  if (!is_manifest && given.filename() != expected.file) {
    return Fail(ETC_ERROR_BINARY, "manifest `", loaded->path_, "` describes `", expected.file,
                "`, not `", given.filename().string(), "`");
  }
  ETC_RETURN_IF_BAD(loaded->CheckTarget());

  const std::string binary_path =
      std::filesystem::absolute(given).replace_filename(expected.file).string();
  std::string image;
  ETC_RETURN_IF_BAD(ReadBinary(binary_path, expected, &image));
  if (loaded->IsHost()) {
    loaded->host_ = std::make_unique<HostBinary>(binary_path, expected.xxh3_128);
  } else {
    loaded->device_ = std::make_unique<DeviceBinary>(binary_path, std::move(image));
  }
  loaded->WriteTexts();
  *program = std::move(loaded);
  return {};
}

Status Program::CheckTarget() const {
  const std::string_view target = manifest_.target;
  const bool is_arch = target.size() >= 5 && target.substr(0, 3) == "sm_" &&
                       std::isdigit(static_cast<unsigned char>(target[3])) != 0 &&
                       std::isdigit(static_cast<unsigned char>(target[4])) != 0;
  if (IsHost() || is_arch) {
    return {};
  }
  return Fail(ETC_ERROR_MANIFEST, "manifest `", path_, "`: `target` is `", target,
              "`, but must be `host` or an arch such as `sm_90a`");
}

void Program::WriteTexts() {
  texts_.resize(manifest_.graphs.size());
  for (size_t i = 0; i < texts_.size(); ++i) {
    const manifest::Graph& graph = manifest_.graphs[i];
    for (const manifest::Param& param : graph.params) {
      std::vector<std::string>& extents = texts_[i].extents.emplace_back();
      for (const manifest::Expr& extent : param.shape) {
        extents.push_back(ToText(extent, graph.dims));
      }
      auto& values = texts_[i].values.emplace_back();
      if (param.values) {
        values = {ToText(param.values->min, graph.dims), ToText(param.values->max, graph.dims)};
      }
    }
    for (const std::vector<std::string>& extents : texts_[i].extents) {
      std::vector<const char*>& pointers = texts_[i].extent_pointers.emplace_back();
      std::transform(extents.begin(), extents.end(), std::back_inserter(pointers),
                     [](const std::string& extent) { return extent.c_str(); });
    }
    for (const manifest::Kernel& kernel : graph.kernels) {
      texts_[i].where.push_back(WhereText(kernel, graph));
      texts_[i].entries.push_back(EntryNames(kernel));
    }
  }
}

Status Program::FindGraph(const char* name, const manifest::Graph** graph) const {
  if (name == nullptr) {
    if (manifest_.graphs.size() != 1) {
      return Fail(ETC_ERROR_ARGUMENT, "the program has ", manifest_.graphs.size(),
                  " graphs, so one must be named");
    }
    *graph = &manifest_.graphs.front();
    return {};
  }
  for (const manifest::Graph& candidate : manifest_.graphs) {
    if (candidate.name == name) {
      *graph = &candidate;
      return {};
    }
  }
  return Fail(ETC_ERROR_NOT_FOUND, "the program has no graph `", name, "`");
}

}  // namespace etc::runtime
