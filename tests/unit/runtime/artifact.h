// Small artifacts for the tests: a manifest written by hand and a binary compiled on the spot.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "etc/runtime.hpp"

namespace etc::test {

/// A directory that goes with its contents.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  void Write(const std::string& name, const std::string& bytes) const;

 private:
  std::string path_;
};

/// The manifest of `gather`: out[b, :] = factor * table[ids[b], :], where the factor is 2 in the
/// kernel for batches up to 8 and 3 in the other, so that a test sees which one ran. Each row goes
/// through the workspace, and from one thread to another by an event.
nlohmann::json GatherManifest();
/// The same for a GPU.
nlohmann::json DeviceManifest();
/// Has the manifest's graph be one of so many ranks, whose kernels take `symmetric_bytes`.
void AddRanks(nlohmann::json& manifest, const std::vector<int32_t>& ranks,
              const nlohmann::json& symmetric_bytes = 0);

/// The shared object of `gather`, compiled once for the process.
const std::string& GatherBinary();

/// The text of a manifest for the binary, whose size and hash are filled in, as is its own hash.
std::string ManifestText(nlohmann::json manifest, const std::string& binary);
/// The same without a binary: size and hash stay.
std::string Sealed(const nlohmann::json& manifest);

/// Writes `gather.json` and its binary.
std::string WriteArtifact(const TempDir& dir, const nlohmann::json& manifest,
                          const std::string& binary);

std::string Compile(const std::string& text);

struct Failure {
  etc_status status = ETC_OK;
  std::string text;
};

/// What `action` threw; ETC_OK when it did not.
Failure FailureOf(const std::function<void()>& action);

}  // namespace etc::test
