// A file of the safetensors format: the length of a JSON header in eight bytes, the lowest first;
// the header, which names tensors with dtype, shape and place; and their bytes, dense and
// row-major, to the end of the file. Format: https://github.com/huggingface/safetensors, "Format".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/status.h"

namespace etc::runtime {

class MappedFile;

struct CheckpointTensor {
  std::string name;
  std::string dtype;  // as the file spells it: `BF16`
  std::vector<int64_t> shape;
  std::string_view bytes;            // in the file's memory
  const MappedFile* file = nullptr;  // that has it; null where the bytes were given alone
};

/// The tensors of a file, in the order of its header. Every one lies in the file, has the bytes
/// that its shape and dtype need, and shares none with another; a dtype that this library does not
/// know is taken as it is. Else ETC_ERROR_CHECKPOINT, with a text that does not name the file.
Status ReadSafetensors(std::string_view file, std::vector<CheckpointTensor>* tensors);

/// Bytes of an element; 0 for a dtype that this library does not know.
int64_t BytesOfSafetensorsDType(std::string_view dtype);

}  // namespace etc::runtime
