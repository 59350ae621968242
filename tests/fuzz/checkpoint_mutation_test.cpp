// Damaged files of the safetensors format, the same in every run: none is read out of its bounds.
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "mutations.h"
#include "runtime/checkpoint_file.h"
#include "runtime/weights/safetensors.h"

namespace {

std::string FileOf(const std::string& header) {
  return etc::test::SafetensorsOf(header, std::string(128, 'x'));
}

/// Reads the file from memory that ends where it ends; what is wrong with the answer.
std::string Check(const std::string& file) {
  const std::vector<char> bytes(file.begin(), file.end());
  std::vector<etc::runtime::CheckpointTensor> tensors;
  const etc::runtime::Status status =
      etc::runtime::ReadSafetensors({bytes.data(), bytes.size()}, &tensors);
  if (!status.Ok()) {
    return status.code == ETC_ERROR_CHECKPOINT && !status.message.empty()
               ? ""
               : "refused without the status and a text";
  }
  unsigned sum = 0;
  for (const etc::runtime::CheckpointTensor& tensor : tensors) {
    if (tensor.bytes.data() < bytes.data() ||
        tensor.bytes.data() + tensor.bytes.size() > bytes.data() + bytes.size()) {
      return "tensor `" + tensor.name + "` lies outside of its file";
    }
    sum = std::accumulate(tensor.bytes.begin(), tensor.bytes.end(), sum);
  }
  return sum == 1 ? "an unlikely sum" : "";  // so that every byte is read
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: checkpoint_mutation_test COUNT\n");
    return 2;
  }
  const std::string header =
      R"({"__metadata__":{"format":"pt"},)"
      R"("embed":{"dtype":"BF16","shape":[4,8],"data_offsets":[0,64]},)"
      R"("layers.0.norm":{"dtype":"F32","shape":[16],"data_offsets":[64,128]},)"
      R"("empty":{"dtype":"I64","shape":[0,3],"data_offsets":[128,128]}})";
  const auto count = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
  for (unsigned number = 0; number < count; ++number) {
    const std::string whole = FileOf(header);
    for (const std::string& file :
         {number == 0 ? whole : etc::MutateBytes(whole, number),
          FileOf(number == 0 ? header : etc::MutateJson(header, number))}) {
      if (const std::string problem = Check(file); !problem.empty()) {
        std::fprintf(stderr, "mutation %u: %s\n--- the input:\n", number, problem.c_str());
        std::fwrite(file.data(), 1, file.size(), stderr);
        return 1;
      }
    }
  }
  return 0;
}
