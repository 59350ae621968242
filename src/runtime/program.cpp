#include "runtime/program.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "runtime/container.h"
#include "runtime/launches.h"
#include "runtime/manifest_expr.h"
#include "runtime/manifest_reader.h"

namespace etc::runtime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifestExtension = ".json";
constexpr std::string_view kElfMagic = "\177ELF";  // of shared objects and of cubins

std::string WhereText(const manifest::Kernel& kernel, const manifest::Graph& graph) {
  std::string text;
  for (const manifest::Where& where : kernel.where) {
    text += Cat(text.empty() ? "" : ", ", graph.dims[static_cast<size_t>(where.dim)].name, " in ",
                where.min, "..", where.max);
  }
  return text;
}

void PointTo(const std::vector<std::vector<std::string>>& texts,
             std::vector<std::vector<const char*>>* pointers) {
  for (const std::vector<std::string>& of_one : texts) {
    std::transform(of_one.begin(), of_one.end(), std::back_inserter(pointers->emplace_back()),
                   [](const std::string& text) { return text.c_str(); });
  }
}

/// Whether a file may be an artifact, or of one the manifest or the binary, before all of it is
/// read.
Status CheckBegin(const std::string& path, std::string_view begin) {
  const fs::path extension = fs::path(path).extension();
  if (IsContainer(begin)) {
    return {};
  }
  if (extension == kContainerExtension) {
    return Fail(ETC_ERROR_BINARY, "artifact `", path, "` does not begin like one");
  }
  if (extension == kManifestExtension) {
    const size_t first = begin.find_first_not_of(" \t\r\n");
    return first == std::string_view::npos || begin[first] == '{'
               ? Status{}
               : Fail(ETC_ERROR_MANIFEST, "manifest `", path, "` does not begin like one");
  }
  return begin.substr(0, kElfMagic.size()) == kElfMagic
             ? Status{}
             : Fail(ETC_ERROR_BINARY, "`", path,
                    "` is no artifact: it begins like neither one nor the binary of one");
}

Status ReadArtifact(const std::string& path, std::string* bytes) {
  return ReadFile(path, bytes, [&](std::string_view begin) { return CheckBegin(path, begin); });
}

}  // namespace

Status Program::Load(const std::string& path, std::shared_ptr<const Program>* program) {
  auto loaded = std::make_shared<Program>();
  std::string bytes;
  ETC_RETURN_IF_BAD(ReadArtifact(path, &bytes));
  if (IsContainer(bytes) || fs::path(path).extension() == kContainerExtension) {
    ETC_RETURN_IF_BAD(loaded->TakeContainer(path, std::move(bytes)));
  } else {
    ETC_RETURN_IF_BAD(loaded->LoadFiles(path, std::move(bytes)));
  }
  *program = std::move(loaded);
  return {};
}

Status Program::LoadMemory(std::string_view bytes, std::shared_ptr<const Program>* program) {
  auto loaded = std::make_shared<Program>();
  ETC_RETURN_IF_BAD(loaded->TakeContainer("(memory)", std::string(bytes)));
  *program = std::move(loaded);
  return {};
}

Status Program::TakeContainer(const std::string& name, std::string bytes) {
  ContainerParts parts;
  if (Status status = ReadContainer(bytes, &parts); !status.Ok()) {
    return Fail(status.code, "artifact `", name, "` ", status.message);
  }
  ETC_RETURN_IF_BAD(TakeManifest(name, parts.manifest));
  // In place: new memory for a copy would cost more than all the rest.
  bytes.erase(0, static_cast<size_t>(parts.binary.data() - bytes.data()));
  return TakeBinary(name, std::move(bytes));
}

Status Program::LoadFiles(const std::string& path, std::string given) {
  const fs::path given_path(path);
  if (given_path.extension() == kManifestExtension) {
    ETC_RETURN_IF_BAD(TakeManifest(path, given));
    const std::string binary_path =
        fs::path(given_path).replace_filename(manifest_.binary.file).string();
    ETC_RETURN_IF_BAD(ReadFile(binary_path, &given));
    return TakeBinary(binary_path, std::move(given));
  }
  const std::string manifest_path =
      fs::path(given_path).replace_extension(kManifestExtension).string();
  std::string text;
  if (Status status = ReadArtifact(manifest_path, &text); !status.Ok()) {
    return Fail(status.code, "the manifest of binary `", path, "`: ", status.message);
  }
  ETC_RETURN_IF_BAD(TakeManifest(manifest_path, text));
  if (given_path.filename() != manifest_.binary.file) {
    return Fail(ETC_ERROR_BINARY, "manifest `", manifest_path, "` describes `",
                manifest_.binary.file, "`, not `", given_path.filename().string(), "`");
  }
  return TakeBinary(path, std::move(given));
}

Status Program::TakeManifest(const std::string& name, std::string_view text) {
  if (Status status = ReadManifest(text, &manifest_); !status.Ok()) {
    return Fail(status.code, "manifest `", name, "`: ", status.message);
  }
  WriteTexts();
  WriteProgramText();
  return {};
}

Status Program::TakeBinary(const std::string& name, std::string image) {
  ETC_RETURN_IF_BAD(CheckBinary(name, manifest_.binary, image));
  if (IsHost()) {
    host_ = std::make_unique<HostBinary>(name, std::move(image));
  } else {
    device_ = std::make_unique<DeviceBinary>(name, std::move(image), manifest_.binary.images);
  }
  return {};
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
      std::vector<const char*>& sources = texts_[i].source_pointers.emplace_back();
      std::vector<std::string>& ranges = texts_[i].source_ranges.emplace_back();
      for (const manifest::Source& source : param.sources) {
        sources.push_back(source.name.c_str());
        ranges.push_back(RangesText(source));
      }
      auto& values = texts_[i].values.emplace_back();
      if (param.values) {
        values = {ToText(param.values->min, graph.dims), ToText(param.values->max, graph.dims)};
      }
    }
    PointTo(texts_[i].extents, &texts_[i].extent_pointers);
    PointTo(texts_[i].source_ranges, &texts_[i].range_pointers);
    for (const manifest::Kernel& kernel : graph.kernels) {
      texts_[i].where.push_back(WhereText(kernel, graph));
      texts_[i].entries.push_back(EntryNames(kernel));
    }
  }
}

void Program::WriteProgramText() {
  const auto add = [](const std::vector<std::string>& texts, std::vector<const char*>* pointers) {
    std::transform(texts.begin(), texts.end(), std::back_inserter(*pointers),
                   [](const std::string& text) { return text.c_str(); });
  };
  add(manifest_.producer.flags, &program_text_.flags);
  for (const auto& [subject, proofs] :
       {std::pair("source", &manifest_.proofs), std::pair("kernels", &manifest_.kernel_proofs)}) {
    if (!*proofs) {
      continue;
    }
    for (const manifest::Proof& proof : (*proofs)->tallies) {
      program_text_.proofs.push_back(
          {0, subject, proof.property.c_str(), proof.proved, proof.not_proved});
    }
    add((*proofs)->assumptions, &program_text_.assumptions);
    add((*proofs)->not_proved, &program_text_.not_proved);
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
