/* Weights: tensors of a checkpoint, brought to where a program reads them. docs/weights.md shows
 * the way. C ABI, as runtime.h. */
#ifndef ETC_WEIGHTS_H_
#define ETC_WEIGHTS_H_

#include "etc/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Checkpoints: tensors by name, in files of the safetensors format ---- */

typedef struct etc_checkpoint etc_checkpoint;

/* `path` is a file of the safetensors format, or a folder that holds `model.safetensors.index.json`
 * and the files that it lists, or `model.safetensors`. The files stay open, and must stay as they
 * are until the checkpoint is freed. Checks their headers: ETC_ERROR_CHECKPOINT where a tensor lies
 * outside of its file, shares bytes with another, or has not the bytes of its shape and dtype. */
ETC_API etc_status etc_checkpoint_open(const char* path, etc_checkpoint** checkpoint);
/* Weights that were loaded from it stay. Null is allowed. */
ETC_API void etc_checkpoint_free(etc_checkpoint* checkpoint);

/* The library fills the structs as those of runtime.h; the caller sets struct_size. Texts and
 * shapes belong to the checkpoint. */
typedef struct etc_checkpoint_info {
  size_t struct_size;
  int32_t files;
  int32_t tensors;
  int64_t bytes; /* of all tensors */
} etc_checkpoint_info;

typedef struct etc_checkpoint_tensor_info {
  size_t struct_size;
  const char* name;
  const char* dtype; /* as the file spells it: "BF16" */
  int32_t rank;
  const int64_t* shape;
  const void* data; /* dense and row-major; not aligned; in a mapping of the file */
  int64_t bytes;
} etc_checkpoint_tensor_info;

ETC_API etc_status etc_checkpoint_describe(const etc_checkpoint* checkpoint,
                                           etc_checkpoint_info* info);
/* By number, from 0; the order is that of the files. */
ETC_API etc_status etc_checkpoint_tensor(const etc_checkpoint* checkpoint, int32_t index,
                                         etc_checkpoint_tensor_info* info);
/* By name; ETC_ERROR_NOT_FOUND where there is none. */
ETC_API etc_status etc_checkpoint_find(const etc_checkpoint* checkpoint, const char* name,
                                       etc_checkpoint_tensor_info* info);

/* ---- Weights: the parameters of a graph that name tensors (`from`) ---- */

typedef struct etc_weights etc_weights;

/* Gets the bytes that are there and all of them, on the thread of etc_weights_load, some ten times
 * a second and at the end. Anything but 0 stops the load, which is ETC_ERROR_CANCELLED then. It
 * must not throw. */
typedef int32_t (*etc_progress_function)(void* user, int64_t done, int64_t total);

typedef struct etc_weights_options {
  size_t struct_size;             /* sizeof(etc_weights_options) */
  etc_progress_function progress; /* null: none */
  void* user;
  const char* prefix;   /* stands before every name in the checkpoint, as "language_model." in one
                           with a picture encoder; null: nothing */
  int32_t rank;         /* of a graph with a mesh: whose part of each tensor is loaded, and */
  int32_t ranks;        /* how many ranks there are; 0: the graph has no mesh */
  int64_t threads;      /* that read and pack; 0: one less than there are cores, up to 16 */
  int32_t pack_on_host; /* not 0: the threads pack, else the device does, through memory beside the
                           weights (64 MB, more where a row of tiles has more than 16 MB) that is
                           freed at the end; where it cannot, the threads do */
} etc_weights_options;

/* Allocates memory for all parameters of `graph` (null where the program has one graph) that name
 * tensors, on the device whose context is current (as etc_device_alloc) or on the host, for a host
 * program. Fills it in the parameters' layouts and dtypes: f32, f16 and bf16 become one another, to
 * the nearest. Parameters with the same tensors and layout share memory. Returns when all is there.
 * Of a graph with a mesh, it loads the parts of one rank: along the axis that the parameter shards,
 * rank r of n has elements r/n to (r + 1)/n of the tensor, or where ranks share parts those of its
 * part (etc_program_part). Each rank's weights are loaded with its
 * device current, and bound to its instance.
 * `options` may be null. ETC_ERROR_CHECKPOINT where a tensor is missing or does not fit: the text
 * names the first one and how many others there are. */
ETC_API etc_status etc_weights_load(const etc_program* program, const char* graph,
                                    const etc_checkpoint* checkpoint,
                                    const etc_weights_options* options, etc_weights** weights);
/* Of the memory of all parameters, what they share once. */
ETC_API etc_status etc_weights_bytes(const etc_weights* weights, int64_t* bytes);
/* Binds all parameters that were loaded to an instance of a graph of the same program that has
 * them, or none of them behind an error. The weights must live until the launches that use them
 * end. ETC_ERROR_ARGUMENT where they were loaded for another program, rank, or number of ranks. */
ETC_API etc_status etc_instance_bind_weights(etc_instance* instance, const etc_weights* weights);
/* Waits for the work that may use the memory. Null is allowed. */
ETC_API void etc_weights_free(etc_weights* weights);

#ifdef __cplusplus
}
#endif

#endif /* ETC_WEIGHTS_H_ */
