// Checkpoints and weights of include/etc/weights.h.
#include <memory>

#include "runtime/c_api.h"
#include "runtime/handles.h"
#include "runtime/sized.h"

using etc::runtime::Checkpoint;
using etc::runtime::CheckpointTensor;
using etc::runtime::Fail;
using etc::runtime::Guard;
using etc::runtime::Status;
using etc::runtime::Weights;

struct etc_checkpoint {
  Checkpoint checkpoint;
};

namespace {

constexpr int64_t kMostThreads = 1024;

Status Describe(const CheckpointTensor& tensor, etc_checkpoint_tensor_info* info) {
  etc_checkpoint_tensor_info described{};
  described.name = tensor.name.c_str();
  described.dtype = tensor.dtype.c_str();
  described.rank = static_cast<int32_t>(tensor.shape.size());
  described.shape = tensor.shape.data();
  described.data = tensor.bytes.data();
  described.bytes = static_cast<int64_t>(tensor.bytes.size());
  return etc::runtime::GiveSized("info", described, info);
}

}  // namespace

etc_status etc_checkpoint_open(const char* path, etc_checkpoint** checkpoint) {
  return Guard([&]() -> Status {
    ETC_NEED(path, checkpoint);
    auto opened = std::make_unique<etc_checkpoint>();
    ETC_RETURN_IF_BAD(opened->checkpoint.Open(path));
    *checkpoint = opened.release();
    return {};
  });
}

void etc_checkpoint_free(etc_checkpoint* checkpoint) { delete checkpoint; }

etc_status etc_checkpoint_describe(const etc_checkpoint* checkpoint, etc_checkpoint_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(checkpoint, info);
    etc_checkpoint_info described{};
    described.files = static_cast<int32_t>(checkpoint->checkpoint.files());
    described.tensors = static_cast<int32_t>(checkpoint->checkpoint.tensors().size());
    for (const CheckpointTensor& tensor : checkpoint->checkpoint.tensors()) {
      described.bytes += static_cast<int64_t>(tensor.bytes.size());
    }
    return etc::runtime::GiveSized("info", described, info);
  });
}

etc_status etc_checkpoint_tensor(const etc_checkpoint* checkpoint, int32_t index,
                                 etc_checkpoint_tensor_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(checkpoint, info);
    const auto& tensors = checkpoint->checkpoint.tensors();
    if (index < 0 || static_cast<size_t>(index) >= tensors.size()) {
      return Fail(ETC_ERROR_NOT_FOUND, "the checkpoint has ", tensors.size(),
                  " tensors, and none of number ", index);
    }
    return Describe(tensors[static_cast<size_t>(index)], info);
  });
}

etc_status etc_checkpoint_find(const etc_checkpoint* checkpoint, const char* name,
                               etc_checkpoint_tensor_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(checkpoint, name, info);
    const CheckpointTensor* tensor = checkpoint->checkpoint.Find(name);
    return tensor != nullptr
               ? Describe(*tensor, info)
               : Fail(ETC_ERROR_NOT_FOUND, "the checkpoint has no tensor `", name, "`");
  });
}

etc_status etc_weights_load(const etc_program* program, const char* graph,
                            const etc_checkpoint* checkpoint, const etc_weights_options* options,
                            etc_weights** weights) {
  return Guard([&]() -> Status {
    ETC_NEED(program, checkpoint, weights);
    etc_weights_options taken{};
    if (options != nullptr) {
      ETC_RETURN_IF_BAD(etc::runtime::TakeSized("options", *options, &taken));
    }
    if (taken.threads < 0 || taken.threads > kMostThreads) {
      return Fail(ETC_ERROR_ARGUMENT, "`options->threads` is ", taken.threads,
                  ", but must be in 0..", kMostThreads);
    }
    etc::runtime::LoadOptions load;
    load.prefix = taken.prefix != nullptr ? taken.prefix : "";
    load.upload.threads = static_cast<size_t>(taken.threads);
    if (taken.progress != nullptr) {
      load.upload.progress = [&](int64_t done, int64_t total) {
        return taken.progress(taken.user, done, total) == 0;
      };
    }
    load.upload.pack_on_host = taken.pack_on_host != 0;
    if (taken.ranks != 0) {
      load.share = {taken.rank, taken.ranks};
    }
    auto loaded = std::make_unique<etc_weights>();
    ETC_RETURN_IF_BAD(
        Weights::Load(program->program, graph, checkpoint->checkpoint, load, &loaded->weights));
    *weights = loaded.release();
    return {};
  });
}

etc_status etc_weights_bytes(const etc_weights* weights, int64_t* bytes) {
  return Guard([&]() -> Status {
    ETC_NEED(weights, bytes);
    *bytes = weights->weights->Bytes();
    return {};
  });
}

void etc_weights_free(etc_weights* weights) { delete weights; }
