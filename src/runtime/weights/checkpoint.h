// A checkpoint: tensors by name, in one file or in several that an index lists.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/weights/mapped_file.h"
#include "runtime/weights/safetensors.h"

namespace etc::runtime {

class Checkpoint {
 public:
  /// `path` is a file of the safetensors format, or a folder that holds
  /// `model.safetensors.index.json` or `model.safetensors`. Checks all headers; reads no tensor.
  Status Open(const std::string& path);

  /// By name; null where there is none.
  const CheckpointTensor* Find(std::string_view name) const;
  const std::vector<CheckpointTensor>& tensors() const { return tensors_; }
  const std::string& path() const { return path_; }
  size_t files() const { return files_.size(); }
  /// The folder's `config.json` where it says that the embeddings are not the head's weights too;
  /// empty where none says so.
  const std::string& untied_by() const { return untied_by_; }

 private:
  Status AddFile(const std::string& path, std::vector<CheckpointTensor>* tensors);
  Status OpenIndex(const std::string& folder, const std::string& index);
  void ReadConfig(const std::string& config);
  void MakeNames();

  std::string path_;
  std::string untied_by_;
  std::deque<MappedFile> files_;  // which tensors point to
  std::vector<CheckpointTensor> tensors_;
  std::unordered_map<std::string_view, const CheckpointTensor*> by_name_;
};

}  // namespace etc::runtime
